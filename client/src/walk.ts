// In charge of walking a list page by page: every page of the same version of the roster, and all records or an error, never
// a mixture and never a short list.
import { readJson, type Call } from './call.ts';
import type { Dialect } from './dialects.ts';
import { SchoolbellError, VersionGone } from './errors.ts';
import { wrappers, type Base } from './records.ts';
import type { Session } from './session.ts';

/** What is asked of a list, in the words of the API. */
export type Question = {
  filter?: string | undefined;
  sort?: string | undefined;
  orderBy?: 'asc' | 'desc' | undefined;
  fields?: readonly string[] | undefined;
  of?: Readonly<Record<string, string>> | undefined;
  /** Records in one answer; 1000. */
  pageSize?: number | undefined;
  /** Where to begin, to go on with a walk of the same version. */
  offset?: number | undefined;
  /** The version that every page must be of; otherwise that of the first. */
  version?: string | undefined;
  signal?: AbortSignal | undefined;
};

/** total: of the whole list. offset: of the first record of this page. etag: the same as long as version, grant, schools and address are. */
export type Page<R> = { records: R[]; total: number; version: string; offset: number; etag: string };

/** @internal */
export type Reader = { session: Session; dialect: Dialect };

const usualPage = 1000;
const plurals: Readonly<Record<string, string>> = {
  school: 'schools', class: 'classes', term: 'terms', course: 'courses', student: 'students', teacher: 'teachers', user: 'users',
};

/** @internal */
export async function* walkPages(reader: Reader, list: string, question: Question): AsyncGenerator<Page<Base>, void, undefined> {
  const { pageSize = usualPage } = question;
  let { offset = 0, version } = question;
  let total: number | undefined;
  for (;;) {
    const asked = requestOf(reader.dialect, list, question, { limit: pageSize, offset, version });
    const page = await readPage(reader, list, asked, offset);
    requireSame(page, { version, total }, asked);
    const due = Math.max(0, Math.min(pageSize, page.total - offset));
    if (page.records.length !== due)
      throw new SchoolbellError(`GET ${asked.path} gave ${page.records.length} records from ${offset} on where ${due} of ${page.total} were due.`, {
        code: 'incomplete',
      });
    ({ version, total } = page);
    yield page;
    offset += page.records.length;
    if (offset >= total) return;
  }
}

/** @internal How many there are, and at which version, without reading any. */
export async function countRecords(reader: Reader, list: string, question: Question): Promise<{ total: number; version: string }> {
  const asked: Call = { ...requestOf(reader.dialect, list, question, { version: question.version }), method: 'HEAD' };
  const { headers } = await reader.session.send(asked);
  return { total: readTotal(headers, asked), version: readVersion(headers, asked) };
}

async function readPage({ session }: Reader, list: string, asked: Call, offset: number): Promise<Page<Base>> {
  const answer = await session.send(asked);
  const records = readJson<Record<string, unknown>>(answer, `GET ${asked.path}`)[wrappers[list as keyof typeof wrappers].many];
  if (!Array.isArray(records)) throw new SchoolbellError(`What GET ${asked.path} was answered with is no list of ${list}.`, { code: 'unreadable' });
  const { headers } = answer;
  return { records: records as Base[], total: readTotal(headers, asked), version: readVersion(headers, asked), offset, etag: headers.get('etag') ?? '' };
}

/** What the caller may see is judged at each page: a grant that changes in between changes the list, though not the roster. */
function requireSame(page: Page<Base>, walk: { version: string | undefined; total: number | undefined }, { path }: Call): void {
  const sameVersion = walk.version === undefined || walk.version === page.version;
  if (sameVersion && (walk.total === undefined || walk.total === page.total)) return;
  const what = sameVersion ? `held ${walk.total} records and then ${page.total}` : `was of version ${walk.version} and then of ${page.version}`;
  throw new VersionGone(`GET ${path} ${what}: begin the walk again.`, { code: 'walk_changed' });
}

/** The request for a list or a part of it. */
function requestOf(
  dialect: Dialect,
  list: string,
  { filter, sort, orderBy, fields, of, signal }: Question,
  { limit, offset, version }: { limit?: number; offset?: number; version: string | undefined },
): Call {
  requireTaken(dialect, list, { filter, sort, orderBy, fields, of });
  const query = { limit, offset, filter, sort, orderBy, fields: fields?.join(',') };
  return { path: pathOf(dialect, list, of), query, headers: { 'if-roster-version': version }, signal };
}

/** @internal */
export function requireTaken({ variant, takes, unfiltered }: Dialect, list: string, given: Question): void {
  for (const [name, value] of Object.entries(given)) {
    const ignored = !takes.some((taken) => taken === name) || (name === 'filter' && unfiltered.includes(list));
    if (value !== undefined && ignored)
      throw new SchoolbellError(`Variant ${variant} would ignore "${name}" on ${list}; leave it out.`, { code: 'unsupported' });
  }
}

function pathOf({ root }: Dialect, list: string, of: Readonly<Record<string, string>> = {}): string {
  if (!Object.hasOwn(wrappers, list)) throw new SchoolbellError(`There is no list "${list}".`, { code: 'invalid_request' });
  // In the order of the table: a class stands behind its school.
  const parents = Object.entries(plurals).flatMap(([parent, plural]) => (of[parent] === undefined ? [] : [`/${plural}/${pathId(of[parent])}`]));
  if (parents.length < Object.keys(of).length)
    throw new SchoolbellError(`of: each of ${Object.keys(of).join()} must be one of ${Object.keys(plurals).join()}, with an id.`, { code: 'invalid_request' });
  return `${root}${parents.join('')}/${list}`;
}

/** @internal */
export function recordPath(dialect: Dialect, list: string, id: string): string {
  return `${pathOf(dialect, list)}/${pathId(id)}`;
}

/** No address can hold an id that is empty or nothing but dots; the list can. */
function pathId(id: string): string {
  if (!/^\.{0,2}$/.test(id)) return encodeURIComponent(id);
  throw new SchoolbellError(`"${id}" cannot stand in an address; read the record from its list.`, { code: 'invalid_request' });
}

function readTotal(headers: Headers, { path }: Call): number {
  const total = headers.get('x-total-count');
  if (total !== null && /^\d{1,15}$/.test(total)) return Number(total);
  throw new SchoolbellError(`GET ${path} was answered without a total (X-Total-Count), so that nobody can know whether it is whole.`, { code: 'incomplete' });
}

function readVersion(headers: Headers, { path }: Call): string {
  const version = headers.get('x-roster-version');
  if (version) return version;
  throw new SchoolbellError(`GET ${path} was answered without a version (X-Roster-Version), so that pages cannot be held together.`, { code: 'incomplete' });
}
