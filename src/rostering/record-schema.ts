// In charge of the schema of a record, made of the description of its class that also renders it.
import { Type, type TSchema } from '../http/json-schema.ts';
import { allResources, collections } from '../roster/collections.ts';
import { extension, fieldsOf, isRequired, statuses, type Edition, type Field, type Resource } from '../roster/resource.ts';
import { aboutOf, wordsOf } from '../roster/shown.ts';
import { dialects } from './dialects/all.ts';

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

/** Closed, or with room for words that begin with `ext:`. */
function wordSchema(field: Field, edition: Edition): TSchema {
  const { words, extended } = wordsOf(field, edition);
  if (!extended) return oneOf(words, field.about);
  const description = `${field.about} One of ${words.join(', ')}; a source may extend them by words that begin with \`ext:\`.`;
  return Type.String({ pattern: `^(?:${words.join('|')}|${extension.source.slice(1, -1)})$`, description, examples: [words[0] ?? ''] });
}

function fieldSchema(field: Field, edition: Edition): TSchema {
  const { type, to = 'users' } = field;
  const description = aboutOf(field, edition);
  switch (type) {
    case 'enum':
      return wordSchema(field, edition);
    case 'uri':
      return Type.String({ format: 'uri', description });
    case 'items':
      return Type.Array(objectOf(field.items ?? [], edition), { minItems: 1, description });
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

const propertiesOf = (fields: readonly Field[], edition: Edition) =>
  Object.fromEntries(
    fields.map((field) => [field.name, isRequired(field, edition) ? fieldSchema(field, edition) : Type.Optional(fieldSchema(field, edition))] as const),
  );

function objectOf(fields: readonly Field[], edition: Edition): TSchema {
  return Type.Object(propertiesOf(fields, edition), { additionalProperties: false });
}

export function recordSchema(resource: Resource, edition: Edition): TSchema {
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
      ...propertiesOf(fieldsOf(resource, edition), edition),
    },
    { additionalProperties: false, description: `${resource.about} A field without a value is left out; none is null or empty.` },
  );
}

/** The records' schemas, which the operations refer to by name. */
export const recordSchemas: readonly (TSchema & { $id: string })[] = [
  ...new Map(
    dialects.flatMap(({ edition, schemaOf }) =>
      allResources.map((resource) => [schemaOf(resource.refType), { $id: schemaOf(resource.refType), ...recordSchema(resource, edition) }] as const),
    ),
  ).values(),
];
