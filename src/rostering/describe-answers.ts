// In charge of describing what an operation answers with: records and their headers, and every error as the dialect has it.
import { Type } from '../http/json-schema.ts';
import { answerHeaders, createDescribeErrors, ownFaults, type DescribeErrors, type Refusal } from '../http/describe-errors.ts';
import { collections } from '../roster/collections.ts';
import type { Dialect } from './dialects/dialect.ts';
import { selectableFields } from './field-path.ts';
import type { Operation } from './operations.ts';
import { unknownParametersHeader } from './unknown-parameters.ts';
import { neededScopes } from './visibility.ts';

const text = (description: string, example: string) => ({ type: 'string', description, examples: [example] });

const versionHeaders = {
  'X-Roster-Version': text('The version of the roster that the records are of; send it back as `If-Roster-Version`.', '7-3f1c9a20'),
  ETag: text('Send it back as `If-None-Match`: 304 while the answer would be the same.', 'W/"hZ3v0s1cUq2m9KxYw7eRtA"'),
  'Cache-Control': text('Whoever keeps it must ask whether it still holds.', 'private, no-cache'),
  Vary: text('What the answer depends on beside the address.', 'authorization, if-roster-version'),
  [unknownParametersHeader]: text(
    'Query parameters of the request that are unknown and had no effect, percent-encoded: at most 10 names of 60 characters. Absent if all are known.',
    'limt, since',
  ),
};
const listHeaders = (root: string) => ({
  'X-Total-Count': { type: 'integer', description: 'How many records match on all pages.', examples: [1193] },
  Link: text(
    'With `limit`: the pages `first`, `prev`, `next` and `last`, absolute, with all other parameters kept.',
    `<https://schoolbell.example${root}/users?limit=2&offset=2&rosterVersion=7-3f1c9a20>; rel="next"`,
  ),
});

/** Of all operations of a dialect. */
export const createErrorsOf = (dialect: Dialect): DescribeErrors => createDescribeErrors(dialect.errors, { schema: dialect.errorSchema, limited: true });

export function describeAnswers(operation: Operation, dialect: Dialect, describeErrors: DescribeErrors): Record<number, object> {
  const resource = collections[operation.collection];
  const record = Type.Unsafe({ $ref: `${dialect.schemaOf(resource.refType)}#` });
  const schema = Type.Object(operation.single ? { [resource.one]: record } : { [resource.collection]: Type.Array(record) }, { additionalProperties: false });
  return {
    200: {
      description: operation.single ? 'The record.' : 'The records; an empty list where there are none.',
      headers: { ...(operation.single ? {} : listHeaders(dialect.root)), ...versionHeaders, ...answerHeaders },
      content: { 'application/json': { schema } },
    },
    304: { description: 'What `If-None-Match` names is still right; there is no body.', headers: { ...versionHeaders, ...answerHeaders }, type: 'null' },
    ...describeErrors(refusalsOf(operation, dialect)),
  };
}

function refusalsOf(operation: Operation, dialect: Dialect): Refusal[] {
  const filters = !dialect.filter.ignoredOn.includes(operation.collection);
  const list: Refusal[] = [
    {
      code: 'invalid_request',
      when: 'A parameter cannot be read.',
      message: `limit is "none"; it must be a whole number from 1 to ${Number.MAX_SAFE_INTEGER}.`,
    },
    ...(filters ? [invalidFilter(dialect)] : []),
    ...(dialect.refusesUnknownSort
      ? [{ code: 'invalid_sort', when: '`sort` names no field.', message: 'sort is empty. Leave it out, or name a field.' } as const]
      : []),
  ];
  const fields = selectableFields(collections[operation.collection], dialect.edition);
  const single: Refusal[] = [
    { code: 'invalid_request', when: 'The query cannot be read.', message: 'The query is not valid percent-encoded UTF-8 at "x=%zz".' },
    ...(dialect.severalSchools ? [ambiguous] : []),
  ];
  const missing = operation.parents ? 'There is no such record to look into.' : 'There is no such record.';
  const byId: Refusal[] =
    operation.single || operation.parents ? [{ code: 'not_found', when: 'There is no such record, or none that the caller may see.', message: missing }] : [];
  return [
    ...(operation.single ? single : list),
    {
      code: 'blank_selection',
      when: '`fields` names no field.',
      message: 'fields names an empty field. Leave it out, or list fields separated by commas.',
    },
    {
      code: 'invalid_selection',
      when: '`fields` names something that the record does not have.',
      message: `fields names "shoeSize" at position 1, which is not a field of this record. Fields are ${fields.join(', ')}.`,
    },
    {
      code: 'missing_token',
      when: 'There is no token.',
      message: 'There is no Authorization header. Send "Authorization: Bearer" and a token from the token endpoint.',
    },
    {
      code: 'invalid_token',
      when: 'The token does not hold: obtain a new one and try once more.',
      message: 'The Authorization header must be "Bearer" followed by one token.',
    },
    {
      code: 'forbidden',
      when: 'The school has not granted this, or the authorisation is paused or revoked.',
      message: `The school has not granted a scope that opens this: it needs ${neededScopes[operation.collection]}.`,
    },
    ...byId,
    {
      code: 'version_gone',
      when: 'The version in `If-Roster-Version` is not kept any more: begin again without it.',
      message: 'The version "7-3f1c9a20" is not kept, or not of these schools. Begin again without If-Roster-Version.',
    },
    { code: 'too_many_requests', when: 'Too many requests in this minute.', message: 'More than 1200 requests in this minute. Wait and try again.' },
    ownFaults.unexpected,
    ownFaults.unavailable,
  ];
}

const ambiguous: Refusal = {
  code: 'ambiguous',
  when: 'More than one school has such a record.',
  message: 'More than one school has a record with this sourcedId; read it from the list, or with a token of one school.',
};

function invalidFilter({ filter }: Dialect): Refusal {
  const message = filter.fields
    ? `The filter names "role" at position 1; only ${filter.fields.join(', ')} can be filtered by.`
    : 'The filter cannot be read at position 8: expected a value in single quotes (a quote inside is doubled: \'O\'\'Brien\'), found "active". ' +
      "Write it as field='value', for example status='active'.";
  return { code: 'invalid_filter', when: 'The filter cannot be read, or names what cannot be filtered by.', message };
}
