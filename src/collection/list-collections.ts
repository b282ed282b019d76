// In charge of the record of a school's collections: when each was asked for, how it ended, and what was said of it.
import type { Sql } from '../db/connect.ts';
import { topicOf } from './component-databases.ts';
import type { Ending } from './collect.ts';
import { databaseNames, type DatabaseName } from './connector.ts';

export type ListedCollection = {
  number: number;
  id: string;
  database: DatabaseName;
  /** What was to be read: everything, changes, or a package. */
  what: 'everything' | 'changes' | 'package';
  approved: boolean;
  state: 'waiting' | 'running' | 'done' | 'failed' | 'superseded' | 'cancelled';
  attempts: number;
  askedAt: Date;
  /** Of one that waits: when it is tried. */
  due: Date | null;
  settledAt: Date | null;
  message: string | null;
  /** Of one that was read but not merged: the import with its report, and what was decided about it. */
  ending: (Ending & { decision: 'approved' | 'discarded' | 'replaced' | null }) | null;
};

/** Newest first; `before` is the number of the last one that was seen. Each database has an index of its own, so that none is counted. */
export async function listCollections(sql: Sql, estab: string, { before, most }: { before?: number | undefined; most: number }): Promise<ListedCollection[]> {
  const found = await Promise.all(databaseNames.map((name) => listOf(sql, estab, name, before, most)));
  const shown = found
    .flat()
    .toSorted((one, other) => other.number - one.number)
    .slice(0, most);
  const endings = await readEndings(sql, estab, shown.flatMap((one) => one.import ?? []));
  return shown.map(({ import: id, ...one }) => ({ ...one, ending: endings.get(id ?? '') ?? null }));
}

/** Returns the import that a fetch ended with, by the id of the fetch. */
export async function findImportOfFetch(sql: Sql, estab: string, id: string): Promise<string | undefined> {
  const [row] = await sql<{ import: string | null }[]>`
    select a.detail ->> 'import' as import from outbox_attempt a where a.estab = ${estab} and a.id::text = ${id} order by a.number desc limit 1`;
  return row?.import ?? undefined;
}

/** Of those imports that are still known. */
async function readEndings(sql: Sql, estab: string, ids: readonly string[]): Promise<Map<string, NonNullable<ListedCollection['ending']>>> {
  if (ids.length === 0) return new Map();
  const rows = await sql<NonNullable<ListedCollection['ending']>[]>`
    select id as import, outcome, decision from import_run where estab = ${estab} and id = any(${[...ids]}::uuid[])`;
  return new Map(rows.map((row) => [row.import, row]));
}

/** import: the id of the import that the fetch ended with, if it got that far. */
type Found = Omit<ListedCollection, 'ending'> & { import: string | null };

async function listOf(sql: Sql, estab: string, name: DatabaseName, before: number | undefined, most: number): Promise<Found[]> {
  return sql<Found[]>`
    select o.seq::float8 as number, o.id, ${name} as database, o.state, o.attempts, o.created_at as "askedAt",
      case when o.state = 'waiting' then o.due_at end as due, o.settled_at as "settledAt",
      case when o.payload ? 'upload' then 'package' when (o.payload ->> 'full')::boolean then 'everything' else 'changes' end as what,
      o.payload ? 'approved' as approved, last.message, case when o.state in ('done', 'failed') then last.import end as import
    from outbox o
      left join lateral (select a.detail ->> 'message' as message, a.detail ->> 'import' as import from outbox_attempt a
        where a.estab = ${estab} and a.id = o.id order by a.number desc limit 1) last on true
    where o.estab = ${estab} and o.topic = ${topicOf(name)} ${before === undefined ? sql`` : sql`and o.seq < ${before}`}
    order by o.seq desc limit ${most}`;
}

/** When each database is tried that a collection waits for, be it the first time or again. */
export async function readDue(sql: Sql, estab: string): Promise<ReadonlyMap<DatabaseName, Date>> {
  const rows = await sql<{ database: DatabaseName; due: Date }[]>`
    select n.name as database, w.due from unnest(${[...databaseNames]}::text[], ${databaseNames.map(topicOf)}::text[]) as n (name, topic)
      cross join lateral (select min(o.due_at) as due from outbox o where o.estab = ${estab} and o.topic = n.topic and o.state = 'waiting') w
    where w.due is not null`;
  return new Map(rows.map(({ database, due }) => [database, due]));
}
