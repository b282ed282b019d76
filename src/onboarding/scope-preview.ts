// In charge of showing a school what a scope opens: every field by its plain name, in the school's own numbers and with
// examples out of its own records. Before anything was collected the fields are the same.
import { scopeDescriptions, type Opening, type Scope } from '../access/scopes.ts';
import type { Fragment, Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { columnsOf, kindColumns, storedFields, type Field, type Item, type Resource } from '../roster/resource.ts';
import { describeDetail } from './plain-names.ts';
import { listFields, listThings, type Thing } from './shared-things.ts';

export type SharedField = { label: string; first: boolean; names: string[]; example: string | undefined };
export type SharedThing = { title: string; fields: SharedField[] };
/** A count with the words for one and for many. */
export type Count = { one: string; many: string; count: number };
export type ScopePreview = { scope: Scope; description: string; counts: Count[]; things: SharedThing[] };

/** An example may be in none of these. */
const sampledRows = 20;
const longestExample = 60;
const shownInList = 3;

const counted: Readonly<Partial<Record<Scope, readonly [one: string, many: string, collection: string, kinds: readonly string[] | null][]>>> = {
  School: [
    ['class', 'classes', 'classes', null],
    ['course', 'courses', 'courses', null],
    ['term or other session', 'terms and other sessions', 'academicSessions', null],
  ],
  Student: [['student', 'students', 'users', ['student']]],
  Staff: [['teacher', 'teachers', 'users', ['teacher']], ['other member of staff', 'other staff', 'users', ['staff']]],
  Contact: [['parent, guardian or relative', 'parents, guardians and relatives', 'users', ['contact']]],
  StudentDemographic: [['record of a student', 'records of students', 'demographics', ['student']]],
};

/** Rows of answers that are not records of the roster, with the answer's own names. */
const answered: Readonly<Record<string, (sql: Sql, estab: string) => Fragment>> = {
  SchoolInfo: (sql, estab) =>
    sql`select e.estab as "Estab", e.name as "Name", e.email as "Email", e.time_zone as "TimeZone" from establishment e where e.estab = ${estab}`,
  Students: (sql, estab) => sql`
    select c.title as "RegistrationGroup" from roster_class c where c.estab = ${estab} and c.status = 'active' and c.class_type = 'homeroom'
      order by c.sourced_id limit 1`,
  AttendanceForDate: (sql, estab) => sql`
    select m.student_id as "StudentId", m.date::text as "Date", m.session as "Session", m.mark as "Mark", m.minutes_late as "MinsLate", m.notes as "Notes"
    from attendance_mark m where m.estab = ${estab} and m.mark is not null order by m.date desc, m.student_id, m.session limit ${sampledRows}`,
};

export async function previewScopes(sql: Sql, estab: string, scopes: readonly string[], openings: readonly Opening[]): Promise<ScopePreview[]> {
  const previews: ScopePreview[] = [];
  for (const scope of scopes as Scope[]) {
    const counts: Count[] = [];
    for (const [one, many, collection, kinds] of counted[scope] ?? []) counts.push({ one, many, count: await count(sql, estab, collection, kinds) });
    if (scope === 'Attendance') counts.push({ one: 'mark', many: 'marks', count: await countMarks(sql, estab) });
    const things: SharedThing[] = [];
    for (const thing of listThings(scope, openings)) things.push(await previewThing(sql, estab, thing, openings));
    previews.push({ scope, description: scopeDescriptions[scope].description, counts, things });
  }
  return previews;
}

async function previewThing(sql: Sql, estab: string, thing: Thing, openings: readonly Opening[]): Promise<SharedThing> {
  const examples = await findExamples(sql, estab, thing);
  const further = await listDetails(sql, estab, thing);
  const fields = listFields(thing, openings).map(({ label, first, sources }): SharedField => ({
    label,
    // What stands in it is told by itself.
    first: first && !further.some(({ names: [name] }) => sources.some(({ field }) => name?.startsWith(`${field}.`))),
    names: [...new Set(sources.map(({ field }) => field))],
    example: sources.map(({ of, field }) => examples.get(`${of} ${field}`)).find((example) => example !== undefined),
  }));
  return { title: thing.title, fields: [...fields.filter(({ first }) => first), ...further, ...fields.filter(({ first }) => !first)] };
}

/** By "collection field" or "answer field"; of each the first value that there is. */
async function findExamples(sql: Sql, estab: string, thing: Thing): Promise<Map<string, string>> {
  const examples = new Map<string, string>();
  const note = (of: string, field: string, value: unknown) => {
    const text = formatExample(value);
    if (text !== undefined && !examples.has(`${of} ${field}`)) examples.set(`${of} ${field}`, text);
  };
  const { collection, answers = [] } = thing;
  if (collection) {
    const resource = collections[collection];
    const columns = ['sourced_id', 'status', ...kindColumns(resource), ...new Set(storedFields(resource).flatMap(columnsOf).map(({ name }) => name))];
    const rows = await sql<Record<string, unknown>[]>`
      select ${sql(columns)} from ${sql(resource.table)} r where ${chosen(sql, estab, thing)} order by r.sourced_id limit ${sampledRows}`;
    for (const row of rows) {
      note(collection, 'sourcedId', row.sourced_id);
      note(collection, 'status', row.status);
      for (const field of resource.fields) if (field.type !== 'userIds') note(collection, field.name, sharedOf(resource, thing, field, row));
    }
  }
  for (const answer of answers) {
    const rows = answered[answer] ? await sql<Record<string, unknown>[]>`${answered[answer](sql, estab)}` : [];
    for (const row of rows) for (const [field, value] of Object.entries(row)) note(answer, field, value);
  }
  return examples;
}

/** Of what somebody is, only that by which they are shared here; of somebody who is several things, nothing that may tell of another. */
function sharedOf({ kindBy, kindsBy }: Resource, { kinds }: Thing, { name, column, namedBy, relates, tellsOf }: Field, row: Record<string, unknown>): unknown {
  const value = row[column];
  if (!kinds) return value;
  const isTelling = namedBy !== undefined || relates !== undefined || (tellsOf !== undefined && !kinds.includes(tellsOf));
  if (isTelling && (row.kinds ?? null) !== null) return undefined;
  if (name === kindBy?.field) return kinds.includes(kindBy.kindOf(String(value))) ? value : undefined;
  return name === kindsBy?.field && Array.isArray(value) ? value.filter((item: Item) => kinds.includes(kindsBy.kindOf(item))) : value;
}

/** Whoever is of several kinds is shared by each of them, in one edition of OneRoster or another. */
function chosen(sql: Sql, estab: string, { collection, kinds }: Thing): Fragment {
  const active = sql`r.estab = ${estab} and r.status = 'active'`;
  if (!collection || kinds === undefined) return active;
  const any = kindColumns(collections[collection]).includes('kinds') ? sql`or r.kinds && ${[...kinds]}::text[]` : sql``;
  return sql`${active} and (r.kind = any(${[...kinds]}::text[]) ${any})`;
}

/** What a school's own system has put into the fields that have no fixed content: kinds of identifiers, further details. */
async function listDetails(sql: Sql, estab: string, thing: Thing): Promise<SharedField[]> {
  if (!thing.collection) return [];
  const { table, fields } = collections[thing.collection];
  const details = await sql<{ name: string; key: string; example: string | null }[]>`
    select 'metadata' as name, d.key, min(d.value) as example from ${sql(table)} r cross join lateral jsonb_each_text(r.metadata) d
      where ${chosen(sql, estab, thing)} group by d.key
    ${
      fields.some(({ type }) => type === 'userIds')
        ? sql`union all select 'userIds', i.type, min(i.identifier) from ${sql(table)} r
            cross join lateral unnest(r.user_id_types, r.user_id_identifiers) as i (type, identifier) where ${chosen(sql, estab, thing)} group by i.type`
        : sql``
    } order by name desc, key`;
  return details.map(({ name, key, example }) => ({ label: describeDetail(key), first: true, names: [`${name}.${key}`], example: formatExample(example) }));
}

function formatExample(value: unknown): string | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  if (value instanceof Date) return value.toISOString().slice(0, 10);
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  if (Array.isArray(value)) return formatExample(`${value.slice(0, shownInList).map(formatItem).join(', ')}${value.length > shownInList ? ' …' : ''}`);
  const text = String(value);
  return text.length > longestExample ? `${text.slice(0, longestExample)}…` : text;
}

/** Of what has fields of its own, what they say. */
function formatItem(item: unknown): string {
  return typeof item === 'object' && item !== null ? Object.values(item).filter((one) => typeof one === 'string').join(' ') : String(item);
}

async function count(sql: Sql, estab: string, collection: string, kinds: readonly string[] | null): Promise<number> {
  const some = sql`${[...(kinds ?? [])]}::text[]`;
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(count), 0)::int as count from roster_total
    where estab = ${estab} and collection = ${collection} and status = 'active'
      and (${kinds === null} or kind = any(${some}) or string_to_array(kinds, ',') && ${some})`;
  return row?.count ?? 0;
}

async function countMarks(sql: Sql, estab: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select coalesce(row_count, 0) as count from component_database where estab = ${estab} and name = 'Attendance'`;
  return row?.count ?? 0;
}
