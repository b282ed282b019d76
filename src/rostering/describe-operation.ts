// In charge of describing an operation for the documentation, from the tables that also run it.
import type { RouteShorthandOptions } from 'fastify';
import { Type, type TSchema } from 'typebox';
import type { OneRosterScope } from '../access/scopes.ts';
import { allResources, collections } from '../roster/collections.ts';
import { statuses, type Field, type Resource } from '../roster/resource.ts';
import type { Dialect } from './dialects/dialect.ts';
import { pathParameters, type Operation } from './operations.ts';

const reference = (type: string) => Type.Object({ href: Type.String(), sourcedId: Type.String(), type: Type.Literal(type) }, { additionalProperties: false });

function fieldSchema(field: Field): TSchema {
  switch (field.type) {
    case 'enum':
      return Type.Union((field.values ?? []).map((value) => Type.Literal(value)));
    case 'boolean':
      return Type.Union([Type.Literal('true'), Type.Literal('false')]);
    case 'date':
      return Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' });
    case 'year':
      return Type.String({ pattern: '^\\d{4}$' });
    case 'list':
    case 'idList':
      return Type.Array(Type.String({ minLength: 1 }), { minItems: 1 });
    case 'userIds':
      return Type.Array(Type.Object({ type: Type.String(), identifier: Type.String() }, { additionalProperties: false }), { minItems: 1 });
    case 'ref':
      return reference(collections[field.to ?? 'users'].refType);
    case 'refs':
      return Type.Array(reference(collections[field.to ?? 'users'].refType), { minItems: 1 });
    default:
      return Type.String({ minLength: 1 });
  }
}

export function recordSchema(resource: Resource): TSchema {
  const fields = resource.fields.map((field) => [field.name, field.required ? fieldSchema(field) : Type.Optional(fieldSchema(field))] as const);
  return Type.Object(
    {
      sourcedId: Type.String({ minLength: 1, maxLength: 255 }),
      status: Type.Union(statuses.map((status) => Type.Literal(status))),
      dateLastModified: Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$' }),
      metadata: Type.Optional(Type.Record(Type.String(), Type.String())),
      ...Object.fromEntries(fields),
    },
    { additionalProperties: false },
  );
}

/** The records' schemas, which the operations refer to by name. */
export const recordSchemas = allResources.map((resource) => ({ $id: resource.refType, ...recordSchema(resource) }));

function querySchema(operation: Operation, dialect: Dialect): TSchema {
  const ignored = ' (accepted and ignored)';
  const fields = Type.Optional(Type.String({ description: `fields of the record, separated by commas${dialect.selects ? '' : ignored}` }));
  const rosterVersion = Type.Optional(Type.String({ description: 'in the links of a page: the version of the walk, served while it is kept' }));
  if (operation.single) return Type.Object({ fields, rosterVersion });
  const filtered = dialect.filter.ignoredOn.includes(operation.collection)
    ? `ignored`
    : `for example status='active'; ${dialect.filter.fields ? `on ${dialect.filter.fields.join(', ')}` : 'on any field'},` +
      ` with ${dialect.filter.operators.join(' ')}${dialect.filter.joined ? ', joined by and / or' : ''}`;
  return Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, description: 'how many records at most; without it all come' })),
    offset: Type.Optional(Type.Integer({ minimum: 0, description: 'zero-based index of the first record' })),
    filter: Type.Optional(Type.String({ description: filtered })),
    sort: Type.Optional(Type.String({ description: `field to sort by${dialect.sorts ? '' : ignored}` })),
    orderBy: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')], { description: dialect.sorts ? 'asc unless given' : ignored.trim() })),
    fields,
    rosterVersion,
  });
}

const headers = Type.Object({
  'if-roster-version': Type.Optional(Type.String({ description: 'an X-Roster-Version: the records are of that version, or it is answered with 412' })),
});

/** Behind the variant, the operation's tag. */
const groups: Readonly<Record<OneRosterScope, string>> = { core: 'records', roster: 'what belongs to a record', demographics: 'demographics' };

export function describeOperation(operation: Operation, dialect: Dialect): RouteShorthandOptions {
  const resource = collections[operation.collection];
  const record = Type.Unsafe({ $ref: `${resource.refType}#` });
  const ids = pathParameters(operation.path);
  return {
    schema: {
      summary: operation.name,
      operationId: `${operation.name}_${dialect.name}`,
      tags: [`Variant ${dialect.name}: ${groups[operation.scope]}`],
      security: [{ [`variant${dialect.name}Token`]: [] }],
      querystring: querySchema(operation, dialect),
      headers,
      ...(ids.length > 0 ? { params: Type.Object(Object.fromEntries(ids.map((name) => [name, Type.String()]))) } : {}),
      response: { 200: operation.single ? Type.Object({ [resource.one]: record }) : Type.Object({ [resource.collection]: Type.Array(record) }) },
    },
    // The dialect's own reader checks the query, with the dialect's words, and the body is made of rendered records.
    validatorCompiler: () => () => true,
    serializerCompiler: () => (data) => JSON.stringify(data),
  };
}
