// In charge of what a caller asks of a list or a record: reads and checks the query parameters as the dialect has
// them. Nothing is guessed: what is wrong is named, with what would be right.
import { SchoolbellError } from '../errors.ts';
import type { Query } from '../http/query.ts';
import type { Resource } from '../roster/resource.ts';
import type { Dialect } from './dialects/dialect.ts';
import { findFieldPath, pathHint, selectableFields, type FieldPath } from './field-path.ts';
import { parseFilter, type Condition } from './filter.ts';
import { parseInstant } from './instant.ts';

export type Check = { path: FieldPath; operator: Condition['operator']; value: string };

export type ListRequest = Readonly<{
  limit: number | undefined;
  offset: number;
  /** Alternatives, each a list of checks that must all hold; undefined means no filter. */
  filter: readonly (readonly Check[])[] | undefined;
  sort: { path: FieldPath; descending: boolean } | undefined;
  fields: readonly string[] | undefined;
}>;

/** In our links: the version that the walk is of, served while it is kept. */
export const wishName = 'rosterVersion';

const known = ['limit', 'offset', 'filter', 'sort', 'orderBy', 'fields'] as const;

export function parseListRequest(query: Query, resource: Resource, dialect: Dialect): ListRequest {
  const filterCounts = !dialect.filter.ignoredOn.includes(resource.collection);
  const given = (name: (typeof known)[number]) => single(query, name);
  const asked = filterCounts ? given('filter') : undefined;
  const filter = asked?.trim() === '' && !dialect.filter.refusesBlank ? undefined : asked;
  const sort = given('sort');
  const orderBy = given('orderBy');
  const fields = given('fields');
  if (filter?.trim() === '') throw new SchoolbellError('invalid_filter', "The filter is empty. Leave it out, or write it as field='value'.");
  if (sort?.trim() === '' && dialect.refusesUnknownSort) throw new SchoolbellError('invalid_sort', 'sort is empty. Leave it out, or name a field.');
  if (fields !== undefined && fields.split(',').some((name) => name.trim() === ''))
    throw new SchoolbellError('blank_selection', 'fields names an empty field. Leave it out, or list fields separated by commas.');
  if (orderBy !== undefined && orderBy !== 'asc' && orderBy !== 'desc')
    throw new SchoolbellError('invalid_request', `orderBy is "${orderBy.slice(0, 40)}"; it must be asc or desc.`);
  // Checked in every dialect, so that a mistake is never silent; whether they have an effect is the dialect's.
  const sortPath = sort === undefined ? undefined : findSortPath(resource, sort.trim(), dialect);
  const selection = fields === undefined ? undefined : requireFields(resource, fields, dialect);
  return {
    limit: wholeNumber('limit', given('limit'), 1),
    offset: wholeNumber('offset', given('offset'), 0) ?? 0,
    filter: filter === undefined ? undefined : resolveFilter(filter, resource, dialect),
    sort: dialect.sorts && sortPath ? { path: sortPath, descending: orderBy === 'desc' } : undefined,
    fields: dialect.selects ? selection : undefined,
  };
}

export function parseWish(query: Query): string | undefined {
  return single(query, wishName);
}

/** A read by id takes only a selection. */
export function parseSelection(query: Query, resource: Resource, dialect: Dialect): readonly string[] | undefined {
  const { fields } = parseListRequest(query.fields ? { fields: query.fields } : {}, resource, dialect);
  return fields;
}

function single(query: Query, name: string): string | undefined {
  const values = query[name];
  if (values && values.length > 1) throw new SchoolbellError('invalid_request', `${name} is given ${values.length} times; give it once.`);
  return values?.[0];
}

function wholeNumber(name: string, text: string | undefined, least: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new SchoolbellError('invalid_request', `${name} is "${text.slice(0, 40)}"; it must be a whole number from ${least} to ${Number.MAX_SAFE_INTEGER}.`);
}

function resolveFilter(text: string, resource: Resource, dialect: Dialect): Check[][] {
  const { fields, operators, joined } = dialect.filter;
  const filter = parseFilter(text);
  const conditions = filter.flat();
  if (!joined && conditions.length > 1)
    throw new SchoolbellError(
      'invalid_filter',
      `The filter may hold one expression only, such as ${fields?.[0] ?? 'status'}='active'; at position ${conditions[1]?.position} there is another.`,
    );
  return filter.map((all) =>
    all.map(({ field, operator, value, position }) => {
      if (fields && !fields.includes(field))
        throw new SchoolbellError(
          'invalid_filter',
          `The filter names "${field.slice(0, 60)}" at position ${position}; only ${fields.join(', ')} can be filtered by.`,
        );
      if (!operators.includes(operator))
        throw new SchoolbellError('invalid_filter', `The filter compares with ${operator} at position ${position}; only ${operators.join(' ')} can be used.`);
      const path = findFieldPath(resource, field, dialect.edition);
      if (!path)
        throw new SchoolbellError(
          'invalid_filter',
          `The filter names "${field.slice(0, 60)}" at position ${position}, which cannot be filtered by. ${pathHint(resource, field, dialect.edition)}`,
        );
      requireComparable(path, operator, value, position);
      return { path, operator, value };
    }),
  );
}

function requireComparable({ name, comparison }: FieldPath, operator: string, value: string, position: number): void {
  const ordering = !['=', '!=', '~'].includes(operator);
  if (ordering && (comparison === 'exactList' || comparison === 'textList'))
    throw new SchoolbellError('invalid_filter', `"${name}" at position ${position} is a list: compare it with = (has all), != or ~ (has any).`);
  const inTime = (comparison === 'date' || comparison === 'instant') && operator !== '~';
  if (inTime && parseInstant(value) === undefined)
    throw new SchoolbellError(
      'invalid_filter',
      `"${name}" at position ${position} is compared with "${value.slice(0, 40)}"; write a date as 2026-09-01 or a time as 2026-09-01T08:00:00.000Z.`,
    );
}

function findSortPath(resource: Resource, name: string, { edition, refusesUnknownSort }: Dialect): FieldPath | undefined {
  const path = findFieldPath(resource, name, edition);
  if (path || !refusesUnknownSort) return path;
  throw new SchoolbellError('invalid_sort', `sort names "${name.slice(0, 60)}" at position 1, which cannot be sorted by. ${pathHint(resource, name, edition)}`);
}

function requireFields(resource: Resource, text: string, { edition }: Dialect): string[] {
  const selectable = selectableFields(resource, edition);
  const names = text.split(',');
  names.forEach((name, index) => {
    if (selectable.includes(name.trim())) return;
    const blanks = name.length - name.trimStart().length;
    const position = names.slice(0, index).join(',').length + (index > 0 ? 2 : 1) + blanks;
    throw new SchoolbellError(
      'invalid_selection',
      `fields names "${name.trim().slice(0, 60)}" at position ${position}, which is not a field of this record. Fields are ${selectable.join(', ')}.`,
    );
  });
  return [...new Set(names.map((name) => name.trim()))];
}
