// In charge of how a school stands as a whole: one word, decided here from its source, its data and its applications, for
// lists, for its page and for whoever counts schools. It only reads.
import { ages, troubles } from '../collection/troubled-schools.ts';
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { cutPage } from '../http/cut-page.ts';
import type { Badge } from '../http/pages/badge.ts';
import { unanswered } from './open-questions.ts';

/** Those first that need a person. */
export const schoolStates = [
  'Proposed', 'Held', 'Failing', 'Stale', 'Waiting', 'Empty', 'Invited', 'Installing', 'Live', 'Paused', 'Ready', 'New',
] as const;
export type SchoolState = (typeof schoolStates)[number];

export const sourceKinds = ['csv', 'oneroster', 'demo'] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** What is counted of schools in whatever state they are, and listed by. */
export const schoolFacts = ['old-roster', 'no-roster', 'old-attendance', 'no-attendance', 'unanswered'] as const;
export type SchoolFact = (typeof schoolFacts)[number];

export type ListedSchool = {
  estab: string;
  name: string;
  email: string;
  timeZone: string;
  connector: SourceKind | null;
  confirmed: boolean;
  since: Date;
  state: SchoolState;
  /** Applications that may read, or could if they were not paused. */
  applications: number;
  pupils: number;
  /** When its roster was last collected. */
  updatedAt: Date | null;
};

/** after: the key of the last one that was seen. most: all, unless it is given. */
export type SchoolsAsked = Readonly<{
  q?: string | undefined;
  state?: SchoolState | undefined;
  source?: SourceKind | 'none' | undefined;
  with?: SchoolFact | undefined;
  after?: string | undefined;
  most?: number | undefined;
}>;

/** So much of a name puts it in its place; what follows stands in an address. */
const sortedLetters = 100;
const longestTyped = 300;

const words: Readonly<Record<SchoolState, Badge & { text: string }>> = {
  Proposed: { badge: 'To confirm', tone: 'wait', text: 'Only an application has named this school. Nothing is sent to it until somebody vouches for it.' },
  Held: { badge: 'Import waits', tone: 'wait', text: 'An import would delete so much that it waits for approval.' },
  Failing: { badge: 'Failing', tone: 'bad', text: 'The last import failed. Applications can still read the data from before, if there was any.' },
  Stale: { badge: 'Stale', tone: 'wait', text: 'Its data is overdue: it should have been fetched again by now.' },
  Waiting: { badge: 'No source', tone: 'wait', text: 'An application is approved and waits for data: the school is not connected to a source yet.' },
  Empty: { badge: 'No package yet', tone: 'wait', text: 'This school uploads CSV files. Nothing has been imported yet.' },
  Invited: { badge: 'Invited', tone: 'busy', text: 'The school has been asked and has not decided yet.' },
  Installing: { badge: 'Installing', tone: 'busy', text: 'Connected; its data is being collected for the first time.' },
  Live: { badge: 'Live', tone: 'good', text: 'Data is up to date and applications can read it.' },
  Paused: { badge: 'Paused', tone: 'off', text: 'Every application of the school is paused and can read nothing. Its data is still collected.' },
  Ready: { badge: 'No application', tone: 'off', text: 'Data is up to date, but no application has been approved to read it.' },
  New: { badge: 'New', tone: 'off', text: 'It has no source and no application yet.' },
};

export function describeSchoolState(state: SchoolState): Badge & { text: string } {
  return words[state];
}

export function findSchoolState(text: string): SchoolState | undefined {
  return schoolStates.find((state) => state.toLowerCase() === text.toLowerCase());
}

const databases = (sql: Sql): Fragment => sql`
  bool_or(${troubles.held(sql)}) as held, bool_or(${troubles.failing(sql)}) as failing, bool_or(${troubles.stale(sql)}) as stale,
  bool_and(d.updated_at is not null) as collected, bool_or(d.refreshing_since is not null) as busy,
  max(d.updated_at) filter (where d.name = 'SchoolData') as updated_at from component_database d`;
const authorisations = (sql: Sql): Fragment => sql`
  count(*) filter (where a.state = 'Approved')::int as approved, count(*) filter (where a.state = 'Paused')::int as paused from authorisation a`;
const invitations = (sql: Sql): Fragment => sql`count(*)::int as open from invitation i where i.state = 'Invited' and i.expires_at > now()`;

/** Of establishment e, for what is decided below: of a few schools by indexes, one by one. */
const factsOfFew = (sql: Sql): Fragment => sql`
  cross join lateral (select ${databases(sql)} where d.estab = e.estab) d
  cross join lateral (select ${authorisations(sql)} where a.estab = e.estab) a
  cross join lateral (select ${invitations(sql)} and i.estab = e.estab) i`;

/** Of all schools in one go: measured with a thousand of them, that takes a third of the time. */
const factsOfAll = (sql: Sql): Fragment => sql`
  left join (select d.estab, ${databases(sql)} group by d.estab) d on d.estab = e.estab
  left join (select a.estab, ${authorisations(sql)} group by a.estab) a on a.estab = e.estab
  left join (select i.estab, ${invitations(sql)} group by i.estab) i on i.estab = e.estab`;

/** Nobody is asked for its data: somebody brings it. */
const uploads = (sql: Sql): Fragment => sql`
  e.connector = 'csv' and not exists (select from connector_setting s where s.estab = e.estab and s.settings ? 'folder')`;

const stateOf = (sql: Sql): Fragment => sql`
  case when e.confirmed_at is null then 'Proposed' when d.held then 'Held' when d.failing then 'Failing' when d.stale then 'Stale'
    when a.approved = 0 and a.paused > 0 then 'Paused' when d.collected and a.approved > 0 then 'Live'
    when ${uploads(sql)} and d.collected is not true and d.busy is not true then 'Empty'
    when e.connector is not null and d.collected is not true then 'Installing' when a.approved > 0 then 'Waiting' when i.open > 0 then 'Invited'
    when d.collected then 'Ready' else 'New' end`;

const columns = (sql: Sql): Fragment => sql`
  e.estab, e.name, e.email, e.time_zone as "timeZone", e.connector, e.confirmed_at is not null as confirmed, e.created_at as since, ${stateOf(sql)} as state,
    coalesce(a.approved + a.paused, 0) as applications, d.updated_at as "updatedAt",
    coalesce((select r.pupils from roster_standing r where r.estab = e.estab), 0) as pupils`;

/** By name, in any case; next: the key that goes on, if there are more. */
export async function listSchools(db: Db, asked: SchoolsAsked = {}): Promise<{ schools: ListedSchool[]; next: string | undefined }> {
  const { state, source, after, most } = asked;
  const sort = db`left(lower(e.name), ${sortedLetters}::int) collate "C"`;
  const key = parseKey(after);
  const limit = most === undefined ? null : most + 1;
  // How a school stands is found out for those of the page alone, unless that is what chooses them.
  const rows = await db<(ListedSchool & { sortKey: string })[]>`
    with e as materialized (
      select e.*, ${sort} as sort from establishment e
      where ${whenNamed(db, asked.q ?? '')} and (${source ?? null}::text is null or coalesce(e.connector, 'none') = ${source ?? null})
        and ${whenSo(db, asked.with)}
        and (${key?.estab ?? null}::text is null or (${sort}, e.estab) > (${key?.sort ?? null} collate "C", ${key?.estab ?? null}))
      order by sort, e.estab limit ${state === undefined ? limit : null}::bigint)
    select ${columns(db)}, e.sort as "sortKey" from e
      ${state === undefined ? factsOfFew(db) : db`${factsOfAll(db)} where ${stateOf(db)} = ${state}`}
    order by e.sort, e.estab limit ${limit}::bigint`;
  const { shown, last } = cutPage(rows, most);
  return { schools: shown.map(withoutKey), next: last && `${last.estab} ${last.sortKey}` };
}

function withoutKey(row: ListedSchool & { sortKey: string }): ListedSchool {
  const { sortKey: _, ...school } = row;
  return school;
}

/** One statement, whatever is asked for. */
function whenSo(sql: Sql, fact: SchoolFact | undefined): Fragment {
  const age = fact === undefined || fact === 'unanswered' ? null : fact.startsWith('old-') ? 'old' : 'none';
  const database = fact?.endsWith('-attendance') ? 'Attendance' : 'SchoolData';
  return sql`(${age}::text is null or e.estab in (select d.estab from component_database d
      where d.name = ${database} and case ${age}::text when 'old' then ${ages.old(sql)} else ${ages.none(sql)} end))
    and (${fact ?? ''} <> 'unanswered' or e.estab in (select i.estab from invitation i where ${unanswered.endsSoon(sql)} or ${unanswered.ended(sql)}))`;
}

/** Before the first blank stands the number: no number has one. */
function parseKey(after: string | undefined): { estab: string; sort: string } | undefined {
  const [, estab, sort] = /^(\S+) (.*)$/s.exec(after ?? '') ?? [];
  return estab === undefined || sort === undefined ? undefined : { estab, sort };
}

/** Every word that was typed stands in the name or in the number; letters and digits count, in any case. A few thousand schools need no index for that. */
function whenNamed(sql: Sql, typed: string): Fragment {
  const asked = typed.slice(0, longestTyped).split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
  const hopeless = asked.length === 0 && typed.trim() !== '';
  const letters = (of: Fragment) => sql`regexp_replace(lower(${of}), '[^[:alnum:]]+', '', 'g')`;
  return sql`not ${hopeless}::boolean and not exists (select from unnest(${asked}::text[]) as word
    where strpos(${letters(sql`e.name`)}, ${letters(sql`word`)}) = 0 and strpos(${letters(sql`e.estab`)}, ${letters(sql`word`)}) = 0)`;
}

export async function requireListedSchool(db: Db, estab: string): Promise<ListedSchool> {
  const [found] = await db<ListedSchool[]>`select ${columns(db)} from establishment e ${factsOfFew(db)} where e.estab = ${estab}`;
  if (!found) throw new SchoolbellError('not_found', `There is no school ${estab.slice(0, 40)} here. It may have been removed.`);
  return found;
}

/** How many schools stand how; a state in which none is, is left out. */
export async function countSchoolStates(db: Db): Promise<Partial<Record<SchoolState, number>>> {
  const rows = await db<{ state: SchoolState; count: number }[]>`
    select ${stateOf(db)} as state, count(*)::int as count from establishment e ${factsOfAll(db)} group by 1`;
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}
