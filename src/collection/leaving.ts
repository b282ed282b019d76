// In charge of who would go with an import that is held, one by one: all of them, also those beyond the first that are named
// in what is kept, because their records still stand in the roster.
import type { Sql } from '../db/connect.ts';
import { cutPage } from '../http/cut-page.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { wordsOf } from './held.ts';

/** loses: of whoever would stay, the roles that would go. */
export type Leaving = { sourcedId: string; role: string | null; loses: string[] | null; name: string | null };

/**
 * stays: of a role only those who would lose it and stay, or only those who would go. search: part of a name or of an id. after: the id of
 * the last one that was seen, or behind which is sought.
 */
export type LeavingAsked = Readonly<{
  collection: CollectionName;
  role?: string | undefined;
  stays?: boolean | undefined;
  search?: string | undefined;
  after?: string | undefined;
  most: number;
}>;

export function findCollection(name: string): CollectionName | undefined {
  return Object.hasOwn(collections, name) ? (name as CollectionName) : undefined;
}

/** Among so many names is sought at once; whoever seeks on goes on behind them. */
const soughtAtOnce = 5_000;

/** By id. next: behind which it goes on, if there are more, or more among which was not sought yet. */
export async function listLeaving(
  sql: Sql,
  estab: string,
  run: string,
  { collection, role, stays, search = '', after, most }: LeavingAsked,
): Promise<{ leaving: Leaving[]; next: string | undefined }> {
  const { name, joins } = wordsOf(sql, estab, collection);
  const pattern = `%${search.replaceAll(/[\\%_]/g, (one) => `\\${one}`)}%`;
  const way = stays === undefined ? sql`` : sql`and (l.loses is not null) = ${stays}`;
  const ofRole = role === undefined ? sql`` : sql`and ${role} = any(coalesce(l.loses, array[l.role])) ${way}`;
  // In the order of the key, which ends early: of one role they would have to be sorted.
  const looked = sql`
    select l.sourced_id, l.role, l.loses from import_loss l
    where l.estab = ${estab} and l.import = ${run} and l.collection = ${collection} ${search === '' ? ofRole : sql``}
      ${after === undefined ? sql`` : sql`and l.sourced_id > ${after}`}
    order by l.sourced_id limit ${search === '' ? most + 1 : soughtAtOnce}`;
  const rows = await sql<Leaving[]>`
    with looked as materialized (${looked})
    select l.sourced_id as "sourcedId", l.role, l.loses, ${name} as name
    from looked l left join ${sql(collections[collection].table)} t on t.estab = ${estab} and t.sourced_id = l.sourced_id ${joins}
    ${search === '' ? sql`` : sql`where (${name} ilike ${pattern} or l.sourced_id ilike ${pattern}) ${ofRole}`}
    order by l.sourced_id limit ${most + 1}`;
  const { shown: leaving, last: seen } = cutPage(rows, most);
  if (seen || search === '') return { leaving, next: seen?.sourcedId };
  const [last] = await sql<{ id: string | null; count: number }[]>`select max(l.sourced_id) as id, count(*)::int as count from (${looked}) l`;
  return { leaving, next: last?.count === soughtAtOnce ? (last.id ?? undefined) : undefined };
}
