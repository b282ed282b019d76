// In charge of reading a request for data: names in any case, each parameter once, every value checked, so that what
// is wrong is said before anything is read.
import { SchoolbellError } from '../errors.ts';
import { requireKnownNames } from '../http/known-parameters.ts';
import { findParameter, isDay, parseInstant, parseWhole } from '../http/parameters.ts';
import type { Query } from '../http/query.ts';
import { commonParameters, longestRangeDays, type Endpoint, type Parameter } from './catalogue.ts';

export type DataRequest = Readonly<{
  page: number;
  /** Undefined: everything on one page. */
  pageSize: number | undefined;
  updatedSince: Date | undefined;
  onlyStatus: boolean;
  values: Readonly<Record<string, string>>;
  /** Of the endpoint's fields, those to give, in their order. */
  fields: readonly string[];
  /** Only the row with this Id. */
  row: string | undefined;
}>;

const dayMs = 86_400_000;

/** `row`: the Id in the path. */
export function parseDataRequest(query: Query, endpoint: Endpoint, row?: string): DataRequest {
  const known = [...endpoint.parameters, ...commonParameters.filter(({ ofLists }) => row === undefined || !ofLists)].map(({ name }) => name);
  requireKnownNames(query, known, row === undefined ? endpoint.name : `${endpoint.name}/{Id}`);
  const page = parseWhole(query, 'page') ?? 1;
  const pageSize = parseWhole(query, 'pageSize');
  if (pageSize === undefined && page !== 1) throw new SchoolbellError('invalid_request', 'page without pageSize: say how many rows a page has.');
  const given = Object.fromEntries(endpoint.parameters.flatMap((parameter) => {
    const value = parseValue(query, row === undefined ? parameter : { ...parameter, required: false });
    return value === undefined ? [] : [[parameter.name, value]];
  }));
  requireRange(given);
  const values = row === undefined ? given : { ...given, ...requireRowValues(endpoint, row, given) };
  const fields = parseFields(query, endpoint);
  return { page, pageSize, updatedSince: parseInstant(query, 'updatedSince'), onlyStatus: parseFlag(query, 'onlyGetDBStatus'), values, fields, row };
}

export function noSuchRow({ name, valuesOfId }: Endpoint, row: string): SchoolbellError {
  const hint = valuesOfId?.(row) ? '' : ' The Id of a mark is StudentId.Date.Session, such as p1.2026-11-12.AM; for all marks of a student give id.';
  return new SchoolbellError('not_found', `${name} has no row with the Id "${row.slice(0, 255)}" now.${hint}`);
}

/** What the Id itself says, unless the parameters say otherwise. */
function requireRowValues(endpoint: Endpoint, row: string, given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const own = row.includes('\0') ? undefined : endpoint.valuesOfId?.(row);
  if (!own || (own.date !== undefined && !isDay(own.date)) || Object.entries(own).some(([name, value]) => (given[name] ?? value) !== value))
    throw noSuchRow(endpoint, row);
  return own;
}

/** In the order of the catalogue, however they were asked for. */
function parseFields(query: Query, { name, fields }: Endpoint): readonly string[] {
  const text = findParameter(query, 'select');
  if (text === undefined) return fields;
  const asked = text.split(',').map((one) => one.trim().toLowerCase());
  const unknown = asked.find((one) => !fields.some((field) => field.toLowerCase() === one));
  if (unknown !== undefined) {
    const what = unknown === '' ? 'a field is empty' : `"${unknown.slice(0, 60)}" is not a field of ${name}`;
    throw new SchoolbellError('invalid_request', `select: ${what}; its fields are ${fields.join(', ')}.`);
  }
  return fields.filter((field) => asked.includes(field.toLowerCase()));
}

function parseFlag(query: Query, name: string): boolean {
  const text = findParameter(query, name)?.toLowerCase();
  if (text === undefined) return false;
  if (!['true', 'false', '1', '0'].includes(text)) throw new SchoolbellError('invalid_request', `${name}: "${text.slice(0, 40)}" is neither true nor false.`);
  return text === 'true' || text === '1';
}

function parseValue(query: Query, { name, kind, required }: Parameter): string | undefined {
  const text = findParameter(query, name);
  if (text === undefined || text === '') {
    if (required) throw new SchoolbellError('invalid_request', `${name} is missing${kind === 'date' ? '; give it as YYYY-MM-DD' : ''}.`);
    if (text === '') throw new SchoolbellError('invalid_request', `${name} is empty; leave it out or give a value.`);
    return undefined;
  }
  if (kind === 'date' && !isDay(text))
    throw new SchoolbellError('invalid_request', `${name}: "${text.slice(0, 40)}" is not a day of the calendar, written YYYY-MM-DD.`);
  if (typeof kind === 'string') return text;
  const known = kind.oneOf.find((one) => one.toLowerCase() === text.toLowerCase());
  if (known === undefined) throw new SchoolbellError('invalid_request', `${name}: "${text.slice(0, 40)}" is neither ${kind.oneOf.join(' nor ')}.`);
  return known;
}

function requireRange({ dateFrom, dateTo }: Readonly<Record<string, string>>): void {
  if (dateFrom === undefined || dateTo === undefined) return;
  const days = (Date.parse(dateTo) - Date.parse(dateFrom)) / dayMs + 1;
  if (days < 1) throw new SchoolbellError('invalid_request', 'dateTo is before dateFrom.');
  if (days > longestRangeDays)
    throw new SchoolbellError('invalid_request', `dateFrom to dateTo is ${days} days; at most ${longestRangeDays} are served at once.`);
}
