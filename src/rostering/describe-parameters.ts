// In charge of describing what an operation takes: ids in the path, the query as the dialect reads it, headers. The examples are
// of the demo school, so that a request that is made of them is answered there.
import { Type, type TSchema } from '../http/json-schema.ts';
import { exampleStudent } from '../collection/connectors/demo/named-in-reference.ts';
import { collections } from '../roster/collections.ts';
import { fieldsOf, type CollectionName, type Edition } from '../roster/resource.ts';
import { nameOne, type Thing } from './describe-words.ts';
import type { Dialect } from './dialects/dialect.ts';
import { selectableFields } from './field-path.ts';
import { maxConditions } from './filter.ts';
import { pathParameters, type Operation } from './operations.ts';

/** Of the demo, by collection and kind. */
const exampleIds: Readonly<Record<CollectionName, string>> & Readonly<Record<'term' | 'gradingPeriod' | 'teacher', string>> = {
  orgs: 'org-9990001',
  academicSessions: 'ses-2027',
  term: 'ses-2027-aut',
  gradingPeriod: 'ses-2027-aut1',
  courses: 'crs-27-07-rg',
  classes: 'cls-27-7a-02wqw',
  users: exampleStudent,
  teacher: 'u-e-tkpdh8rbk6',
  enrollments: 'enr-qhc6anysjw',
  demographics: exampleStudent,
};

function exampleOf({ collection, kinds }: Thing): string {
  const [kind = ''] = kinds ?? [];
  return (exampleIds as Readonly<Record<string, string>>)[kind] ?? exampleIds[collection];
}

/** What each parameter of the path is the id of. */
export function describePath(operation: Operation): TSchema | undefined {
  const names = pathParameters(operation.path);
  if (names.length === 0) return undefined;
  const things: readonly Thing[] = operation.parents ?? [operation];
  const described = names.map((name, at) => {
    const thing = things[at] ?? operation;
    const description = `The sourcedId of the ${nameOne(thing)}, percent-encoded; a slash in it is \`%2F\`.`;
    return [name, Type.String({ minLength: 1, maxLength: 255, description, examples: [exampleOf(thing)] })] as const;
  });
  return Type.Object(Object.fromEntries(described));
}

const unknown = ' What is no field of the record has no effect.';
const ignored = 'Accepted, checked and without effect in this variant.';

export function describeQuery(operation: Operation, dialect: Dialect): TSchema {
  const fields = Type.Optional(
    Type.String({
      description: `Fields to answer with, separated by commas; all others are left out, also those that a record otherwise always has. \
${dialect.selects ? '' : ignored} Fields are ${selectableFields(collections[operation.collection], dialect.edition).join(', ')}.`,
      examples: ['sourcedId,status,dateLastModified'],
    }),
  );
  const rosterVersion = Type.Optional(
    Type.String({ description: 'Stands in the links of a page: the version that the walk is of, served while it is kept, else the current one.' }),
  );
  if (operation.single) return Type.Object({ fields, rosterVersion });
  const sorts = dialect.sorts ? `Behind it records come in the order of their schools and sourcedIds.${dialect.refusesUnknownSort ? '' : unknown}` : ignored;
  const order = 'Without it records come school by school, in the order of their sourcedIds.';
  return Type.Object({
    limit: Type.Optional(Type.Integer({ minimum: 1, description: 'How many records at most. There is no maximum; without it all come.', examples: [2] })),
    offset: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Zero-based index of the first record; past the end the list is empty.', examples: [0] }),
    ),
    filter: Type.Optional(Type.String({ description: describeFilter(operation, dialect), examples: ["status='active'"] })),
    sort: Type.Optional(Type.String({ description: `The field to sort by. ${order} ${sorts}`, examples: [exampleSort(operation.collection)] })),
    orderBy: Type.Optional(
      Type.Unsafe<string>({
        type: 'string',
        enum: ['asc', 'desc'],
        description: dialect.sorts ? 'The direction of `sort`: asc unless given.' : ignored,
        examples: ['asc'],
      }),
    ),
    fields,
    rosterVersion,
  });
}

function exampleSort(collection: CollectionName): string {
  const { fields } = collections[collection];
  return fields.find(({ name }) => ['familyName', 'title', 'name', 'beginDate', 'birthDate'].includes(name))?.name ?? 'sourcedId';
}

function describeFilter({ collection }: Operation, { filter, edition }: Dialect): string {
  if (filter.ignoredOn.includes(collection)) return 'Accepted and ignored entirely on this list.';
  const on = filter.fields ? filter.fields.map((name) => `\`${name}\``).join(', ') : 'any field of the record';
  const first = `An expression \`field operator 'value'\` on ${on}, with ${filter.operators.map((one) => `\`${one}\``).join(' ')}.`;
  if (!filter.joined) return `${first} One expression only; anything else is answered with 400.`;
  return `${first} Dots lead into references, lists of objects and metadata: \`${dotted(collection, edition)}\`, \`metadata.house\`. \
A quote inside a value is doubled: \`'O''Brien'\`. \`~\` means contains. \
Lists: \`=\` has all of the values, which are separated by commas, \`~\` has any. Expressions are joined by \`and\` \
and \`or\`, of which \`and\` binds tighter, up to ${maxConditions} of them. What changed since: \`dateLastModified>'2026-09-01T08:00:00.000Z'\`.`;
}

function dotted(collection: CollectionName, edition: Edition): string {
  const reference = fieldsOf(collections[collection], edition).find(({ type }) => type === 'ref' || type === 'refs');
  return `${reference?.name ?? 'sourcedId'}${reference ? '.sourcedId' : ''}`;
}

export const requestHeaders = Type.Object({
  'If-Roster-Version': Type.Optional(
    Type.String({
      description: 'An `X-Roster-Version` of an earlier answer: the records are exactly those of that version, or the answer is 412.',
    }),
  ),
  'If-None-Match': Type.Optional(Type.String({ description: 'An `ETag` of an earlier answer: 304 without a body while nothing has changed.' })),
  'X-Request-Id': Type.Optional(Type.String({ description: 'An id of your own for the log.' })),
});
