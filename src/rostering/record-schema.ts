// In charge of the schema of a record, made of the description of its class that also renders it.
import { Type, type TSchema } from 'typebox';
import { allResources, collections } from '../roster/collections.ts';
import { statuses, type Field, type Resource } from '../roster/resource.ts';

const isoDay = { pattern: '^\\d{4}-\\d{2}-\\d{2}$', format: 'date' } as const;
const instantPattern = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$';

/** Of words: which are meant. */
const oneOf = (values: readonly string[], description?: string) =>
  Type.Unsafe<string>({ type: 'string', enum: [...values], ...(description ? { description } : {}) });

function referenceSchema(type: string, description?: string): TSchema {
  return Type.Object(
    {
      href: Type.String({ format: 'uri', description: 'Where the record is read, under the variant that was asked.' }),
      sourcedId: Type.String({ description: 'Its id.' }),
      type: oneOf([type], 'Its class.'),
    },
    { additionalProperties: false, ...(description ? { description } : {}) },
  );
}

const identifiers = Type.Object(
  { type: Type.String({ description: 'Which system, or which kind of number.' }), identifier: Type.String({ description: 'The identifier there.' }) },
  { additionalProperties: false },
);

function fieldSchema({ type, about: description, values = [], to = 'users' }: Field): TSchema {
  switch (type) {
    case 'enum':
      return oneOf(values, description);
    case 'boolean':
      return oneOf(['true', 'false'], `${description} A string, as the standard has it.`);
    case 'date':
      return Type.String({ ...isoDay, description });
    case 'year':
      return Type.String({ pattern: '^\\d{4}$', description });
    case 'list':
    case 'idList':
      return Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description });
    case 'userIds':
      return Type.Array(identifiers, { minItems: 1, description });
    case 'ref':
      return referenceSchema(collections[to].refType, description);
    case 'refs':
      return Type.Array(referenceSchema(collections[to].refType), { minItems: 1, description });
    default:
      return Type.String({ minLength: 1, description });
  }
}

export function recordSchema(resource: Resource): TSchema {
  const fields = resource.fields.map((field) => [field.name, field.required ? fieldSchema(field) : Type.Optional(fieldSchema(field))] as const);
  return Type.Object(
    {
      sourcedId: Type.String({ minLength: 1, maxLength: 255, description: 'The id of the record, which never changes.' }),
      status: oneOf(statuses, 'tobedeleted: the record has left its source, and is purged after a while.'),
      dateLastModified: Type.String({
        pattern: instantPattern,
        format: 'date-time',
        description: 'When it last changed here: one instant for each import that changed something, later than that of the import before.',
      }),
      metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'Further details that the source exports, by their names there.' })),
      ...Object.fromEntries(fields),
    },
    { additionalProperties: false, description: `${resource.about} A field without a value is left out; none is null or empty.` },
  );
}

/** The records' schemas, which the operations refer to by name. */
export const recordSchemas = allResources.map((resource) => ({ $id: resource.refType, ...recordSchema(resource) }));
