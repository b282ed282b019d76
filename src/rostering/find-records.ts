// In charge of finding the records of a school by what somebody types: the beginning of a name, in any case and with or without
// accents, of two names in either order, or an id. People are found along an index; what a school has few of (classes, courses) is read.
// Each record stands in one place of one order, whichever way it is found: the exact id, then by name, then by the beginning of an id.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import type { CollectionName } from '../roster/resource.ts';
import { nameOf } from './record-names.ts';

/** kind: of the roster for people; elsewhere the collection has only one that a person would name. */
export const findableKinds = ['student', 'teacher', 'staff', 'contact', 'class', 'course', 'org', 'session'] as const;
export type FindableKind = (typeof findableKinds)[number];

export type FoundRecord = Readonly<{
  collection: CollectionName;
  sourcedId: string;
  name: string;
  status: string;
  kind: string;
  /** The role of a person, the type of a class, an organisation or a session. */
  role: string | null;
  grades: readonly string[] | null;
}>;
/** next: where the further ones begin, if there are any. */
export type Found = Readonly<{ records: readonly FoundRecord[]; next: string | undefined }>;

const [exact, named, numbered] = [0, 1, 2];
/** Where a record stands: first and second are the letters of what it was found by, and nothing where that is the id. */
type Place = Readonly<{ rank: number; collection: CollectionName; first: string; second: string; sourcedId: string }>;
/** last: of those that could be looked at; further ones come behind it. wanted: it is not there for that alone. */
type Row = FoundRecord & Place & { wanted: boolean; last: boolean };
/** The beginning of a family name, of a given name, or of both. */
type Names = Readonly<{ family?: string; given?: string }>;

export const mostFound = 50;
const mostWords = 6;
const longestTyped = 300;
/** Ids with one beginning that are looked at for those of the kinds that are asked for. */
const idsLookedAt = 1_000;
const people = ['student', 'teacher', 'staff', 'contact'] as const;
/** Behind every text that begins with what stands before it. */
const behindAll = '\u{10ffff}';

type Titled = { kind: FindableKind; collection: CollectionName; table: string; texts: readonly string[]; role: string };
const titled: readonly Titled[] = [
  { kind: 'class', collection: 'classes', table: 'roster_class', texts: ['title', 'class_code'], role: 'class_type' },
  { kind: 'course', collection: 'courses', table: 'roster_course', texts: ['title'], role: 'kind' },
  { kind: 'org', collection: 'orgs', table: 'roster_org', texts: ['name'], role: 'type' },
  { kind: 'session', collection: 'academicSessions', table: 'roster_academic_session', texts: ['title'], role: 'type' },
];
const order: readonly CollectionName[] = ['users', 'classes', 'courses', 'orgs', 'academicSessions', 'enrollments'];

/** Without words, the first of a kind; without either, nothing. An exact id comes first. after: the `next` of the page before. */
export async function findRecords(db: Db, estab: string, typed: string, kind?: FindableKind, after = ''): Promise<Found> {
  // A sign that only changes another begins nothing by itself.
  const text = typed.trim().slice(0, longestTyped).toWellFormed().replace(/^[\u0300-\u036f]+/, '');
  const words = text.split(/[\s,]+/).filter((word) => word !== '').slice(0, mostWords);
  if (words.length === 0 && kind === undefined) return { records: [], next: undefined };
  const kinds = people.filter((one) => kind === undefined || kind === one);
  const places = titled.filter((one) => kind === undefined || kind === one.kind);
  const splits = kinds.length > 0 ? splitNames(words) : [];
  const seen = await findPlace(db, estab, after);
  /** Nothing of what stands before the place, and there only what comes behind it. */
  const from = (rank: number, collection: CollectionName, way: (behind: Place | undefined) => Fragment): Fragment[] => {
    const ahead = seen === undefined ? 1 : rank - seen.rank || order.indexOf(collection) - order.indexOf(seen.collection);
    return ahead < 0 ? [] : [way(ahead === 0 ? seen : undefined)];
  };
  const ways = [
    ...splits.flatMap((names) => from(named, 'users', (behind) => byName(db, estab, kinds, names, text, behind))),
    ...places.flatMap((one) => from(named, one.collection, (behind) => byTitle(db, estab, one, text, behind))),
    ...(text === '' || seen !== undefined ? [] : [byExactPerson(db, estab, kinds, text), ...places.map((one) => byExactId(db, estab, one, text))]),
    ...(text === '' || seen !== undefined || kind !== undefined ? [] : [byEnrolment(db, estab, text)]),
    ...(text === '' || kinds.length === 0 ? [] : from(numbered, 'users', (behind) => byPersonId(db, estab, kinds, splits, text, behind))),
    ...(text === '' ? [] : places.flatMap((one) => from(numbered, one.collection, (behind) => byId(db, estab, one, text, behind)))),
  ];
  if (ways.length === 0) return { records: [], next: undefined };
  const rows = await db<Row[]>`${ways.map((way) => db`select * from (${way}) way`).reduce((all, one) => db`${all} union all ${one}`)}`;
  return takePage(rows.toSorted(compareRows));
}

function takePage(rows: readonly Row[]): Found {
  const end = rows.findIndex(({ last }) => last);
  const sure = (end === -1 ? rows : rows.slice(0, end + 1)).filter(({ wanted }) => wanted);
  // Whoever is found by two names is shown once.
  const found = [...Map.groupBy(sure, ({ collection, sourcedId }) => `${collection} ${sourcedId}`).values()].flatMap((same) => same.slice(0, 1));
  const seen = found.length > mostFound ? found[mostFound - 1] : rows[end];
  return {
    records: found.slice(0, mostFound).map(({ rank: _rank, first: _first, second: _second, wanted: _wanted, last: _last, ...record }) => record),
    next: seen && `${seen.rank}.${seen.collection}.${seen.sourcedId}`,
  };
}

/** Without the names themselves, so that an address has none; what is no place, or is not there any more, begins at the first page. */
async function findPlace(db: Db, estab: string, after: string): Promise<Place | undefined> {
  const [, rank = '', collection = '', sourcedId = ''] = /^([012])\.(\w+)\.(.{1,255})$/s.exec(after) ?? [];
  const of = order.find((one) => one === collection);
  if (of === undefined) return undefined;
  const place = { rank: Number(rank), collection: of, first: '', second: '', sourcedId };
  if (place.rank !== named) return place;
  const one = titled.find((other) => other.collection === of);
  const [letters] = await db<{ first: string; second: string }[]>`
    select ${one ? titleLetters(db, estab, one) : personLetters(db)} from ${db(one?.table ?? 'roster_user')} t
    where t.estab = ${estab} and t.sourced_id = ${sourcedId}`;
  return letters && { ...place, ...letters };
}

/** Whatever the words are: a family name, a given name, or one before the other. */
function splitNames(words: readonly string[]): Names[] {
  const join = (some: readonly string[]) => some.join(' ');
  if (words.length === 0) return [{}];
  const split = words.slice(1).flatMap((_, at) => {
    const [one, other] = [join(words.slice(0, at + 1)), join(words.slice(at + 1))];
    return [{ given: one, family: other }, { given: other, family: one }];
  });
  return [{ family: join(words) }, { given: join(words) }, ...split];
}

function begins(sql: Sql, value: Fragment, text: string): Fragment {
  return sql`${value} >= roster_letters(${text}) and ${value} < roster_letters(${text}) || ${behindAll}`;
}

const startsId = (sql: Sql, text: string) => sql`t.sourced_id >= ${text} and t.sourced_id < ${text + behindAll}`;

const behindId = (sql: Sql, behind: Place | undefined) => (behind === undefined ? sql`` : sql`and t.sourced_id > ${behind.sourcedId}`);
const noLetters = (sql: Sql) => sql`'' as first, '' as second`;
const personLetters = (sql: Sql) => sql`roster_letters(t.family_name) as first, roster_letters(t.given_name) as second`;
const titleLetters = (sql: Sql, estab: string, { collection }: Titled) => sql`roster_letters(${nameOf(sql, collection, estab)}) as first, '' as second`;

function personColumns(sql: Sql, estab: string, rank: number, letters: Fragment, looked = sql`true as wanted, false as last`): Fragment {
  return sql`${rank}::int as rank, 'users' as collection, t.sourced_id as "sourcedId", ${nameOf(sql, 'users', estab)} as name, t.status, t.kind, t.role,
    t.grades, ${letters}, ${looked}`;
}

function startsName(sql: Sql, { family, given }: Names): Fragment {
  const conditions = [
    ...(family === undefined ? [] : [begins(sql, sql`roster_letters(t.family_name)`, family)]),
    ...(given === undefined ? [] : [begins(sql, sql`roster_letters(t.given_name)`, given)]),
  ];
  return conditions.length === 0 ? sql`true` : conditions.reduce((all, one) => sql`${all} and ${one}`);
}

/** Each kind by itself, in the order of the index: a given name that many have is found soon, and one that few have without reading others. */
function byName(sql: Sql, estab: string, kinds: readonly string[], names: Names, text: string, behind: Place | undefined): Fragment {
  const key = sql`roster_letters(t.family_name), roster_letters(t.given_name), t.sourced_id`;
  return sql`
    select found.* from unnest(${kinds}::text[]) as asked (kind) cross join lateral (
      select ${personColumns(sql, estab, named, personLetters(sql))} from roster_user t
      where t.estab = ${estab} and t.kind = asked.kind and ${startsName(sql, names)} and t.sourced_id <> ${text}
        ${behind === undefined ? sql`` : sql`and (${key}) > (${behind.first}, ${behind.second}, ${behind.sourcedId})`}
      order by ${key} limit ${mostFound + 1}) found`;
}

function byExactPerson(sql: Sql, estab: string, kinds: readonly string[], text: string): Fragment {
  return sql`
    select ${personColumns(sql, estab, exact, noLetters(sql))} from roster_user t
    where t.estab = ${estab} and t.sourced_id = ${text} and t.kind = any(${kinds}::text[])`;
}

/** Who is found by name stands there. So many are looked at; behind the last of them the next page goes on. */
function byPersonId(sql: Sql, estab: string, kinds: readonly string[], splits: readonly Names[], text: string, behind: Place | undefined): Fragment {
  const byOther = splits.map((names) => sql`(${startsName(sql, names)})`).reduce((all, one) => sql`${all} or ${one}`);
  const wanted = sql`t.kind = any(${kinds}::text[]) and not (${byOther})`;
  return sql`
    select ${personColumns(sql, estab, numbered, noLetters(sql), sql`${wanted} as wanted, t.at = ${idsLookedAt} as last`)}
    from (
      select t.*, row_number() over (order by t.sourced_id) as at from roster_user t
      where t.estab = ${estab} and ${startsId(sql, text)} and t.sourced_id <> ${text} ${behindId(sql, behind)} order by t.sourced_id limit ${idsLookedAt}) t
    where t.estab = ${estab} and (${wanted} or t.at = ${idsLookedAt}) order by t.sourced_id limit ${mostFound + 1}`;
}

function titledColumns(sql: Sql, estab: string, { collection, role }: Titled, rank: number, letters: Fragment): Fragment {
  const grades = collection === 'classes' || collection === 'courses' ? sql`t.grades` : sql`null::text[]`;
  return sql`${rank}::int as rank, ${collection}::text as collection, t.sourced_id as "sourcedId", ${nameOf(sql, collection, estab)} as name, t.status, t.kind,
    t.${sql(role)} as role, ${grades} as grades, ${letters}, true as wanted, false as last`;
}

/** Where there is no code, there is nothing that begins. */
function startsTitle(sql: Sql, { texts }: Titled, text: string): Fragment {
  const one = (column: string) => sql`coalesce(${begins(sql, sql`roster_letters(t.${sql(column)})`, text)}, false)`;
  return sql`(${texts.map(one).reduce((all, next) => sql`${all} or ${next}`)})`;
}

function byTitle(sql: Sql, estab: string, place: Titled, text: string, behind: Place | undefined): Fragment {
  const key = sql`roster_letters(${nameOf(sql, place.collection, estab)}), t.sourced_id`;
  return sql`
    select ${titledColumns(sql, estab, place, named, titleLetters(sql, estab, place))} from ${sql(place.table)} t
    where t.estab = ${estab} and t.sourced_id <> ${text} ${text === '' ? sql`` : sql`and ${startsTitle(sql, place, text)}`}
      ${behind === undefined ? sql`` : sql`and (${key}) > (${behind.first}, ${behind.sourcedId})`}
    order by ${key} limit ${mostFound + 1}`;
}

function byExactId(sql: Sql, estab: string, place: Titled, text: string): Fragment {
  return sql`
    select ${titledColumns(sql, estab, place, exact, noLetters(sql))} from ${sql(place.table)} t where t.estab = ${estab} and t.sourced_id = ${text}`;
}

function byId(sql: Sql, estab: string, place: Titled, text: string, behind: Place | undefined): Fragment {
  return sql`
    select ${titledColumns(sql, estab, place, numbered, noLetters(sql))} from ${sql(place.table)} t
    where t.estab = ${estab} and ${startsId(sql, text)} and t.sourced_id <> ${text} and not ${startsTitle(sql, place, text)} ${behindId(sql, behind)}
    order by t.sourced_id limit ${mostFound + 1}`;
}

/** An enrolment has no name: it is found by its whole id. */
function byEnrolment(sql: Sql, estab: string, text: string): Fragment {
  return sql`
    select ${exact}::int as rank, 'enrollments' as collection, t.sourced_id as "sourcedId", ${nameOf(sql, 'enrollments', estab)} as name, t.status, t.kind,
      t.role, null::text[] as grades, ${noLetters(sql)}, true as wanted, false as last
    from roster_enrollment t where t.estab = ${estab} and t.sourced_id = ${text}`;
}

function compareRows(one: Row, other: Row): number {
  const byOrder = one.rank - other.rank || order.indexOf(one.collection) - order.indexOf(other.collection);
  // As the indexes have it, which is by bytes.
  const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return byOrder || compare(one.first, other.first) || compare(one.second, other.second) || compare(one.sourcedId, other.sourcedId);
}
