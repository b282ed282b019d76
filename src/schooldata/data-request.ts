// In charge of reading a request for data: names in any case, each parameter once, every value checked, so that what
// is wrong is said before anything is read.
import { SchoolbellError } from '../errors.ts';
import { findParameter, isDay, parseInstant, parseWhole } from '../http/parameters.ts';
import type { Query } from '../http/query.ts';
import { longestRangeDays, type Endpoint, type Parameter } from './catalogue.ts';

export type DataRequest = Readonly<{
  page: number;
  /** Undefined: everything on one page. */
  pageSize: number | undefined;
  updatedSince: Date | undefined;
  onlyStatus: boolean;
  values: Readonly<Record<string, string>>;
}>;

const common = ['page', 'pagesize', 'updatedsince', 'onlygetdbstatus', 'callbackurl'];
const dayMs = 86_400_000;

export function parseDataRequest(query: Query, endpoint: Endpoint): DataRequest {
  const own = endpoint.parameters.map(({ name }) => name.toLowerCase());
  const stranger = Object.keys(query).find((name) => ![...common, ...own].includes(name.toLowerCase()));
  if (stranger !== undefined) {
    const known = [...endpoint.parameters.map(({ name }) => name), 'page, pageSize, updatedSince, onlyGetDBStatus, callbackUrl'].join(', ');
    throw new SchoolbellError(
      'invalid_request',
      `"${stranger.slice(0, 60)}" is not a parameter of ${endpoint.name}: it takes ${known}. ` +
        'If it belongs to your callbackUrl, percent-encode that as a whole.',
    );
  }
  const page = parseWhole(query, 'page') ?? 1;
  const pageSize = parseWhole(query, 'pageSize');
  if (pageSize === undefined && page !== 1) throw new SchoolbellError('invalid_request', 'page without pageSize: say how many rows a page has.');
  const values = Object.fromEntries(endpoint.parameters.flatMap((parameter) => {
    const value = parseValue(query, parameter);
    return value === undefined ? [] : [[parameter.name, value]];
  }));
  requireRange(values);
  return { page, pageSize, updatedSince: parseInstant(query, 'updatedSince'), onlyStatus: parseFlag(query, 'onlyGetDBStatus'), values };
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
  if (kind === 'session' && !/^(am|pm)$/i.test(text)) throw new SchoolbellError('invalid_request', `${name}: "${text.slice(0, 40)}" is neither AM nor PM.`);
  return kind === 'session' ? text.toUpperCase() : text;
}

function requireRange({ dateFrom, dateTo }: Readonly<Record<string, string>>): void {
  if (dateFrom === undefined || dateTo === undefined) return;
  const days = (Date.parse(dateTo) - Date.parse(dateFrom)) / dayMs + 1;
  if (days < 1) throw new SchoolbellError('invalid_request', 'dateTo is before dateFrom.');
  if (days > longestRangeDays)
    throw new SchoolbellError('invalid_request', `dateFrom to dateTo is ${days} days; at most ${longestRangeDays} are served at once.`);
}
