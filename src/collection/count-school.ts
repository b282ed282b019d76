// In charge of how much there is of a school, before it is removed for good.
import type { Counts } from '../access/erasures.ts';
import type { Sql } from '../db/connect.ts';
import { placements } from '../db/placement.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';

/** What is part of something counted, or merely says how things stand, is not counted by itself; a test knows which tables those are. */
export const counted: readonly (readonly [words: string, ...tables: string[]])[] = [
  ...allResources.map(({ collection, table }) => [collection, table] as const),
  ['earlier states of records', ...allResources.map(historyTable)],
  ['attendance marks', 'attendance_mark'],
  ['replaced marks', 'attendance_history'],
  ['writebacks', 'writeback'],
  ['logins', 'login'],
  ['people added by hand', 'manual_user'],
  ['records of identity operations', 'identity_audit'],
  ['authorisations', 'authorisation'],
  ['decisions', 'authorisation_event', 'past_decision'],
  ['invitations', 'invitation'],
  ['days of what applications read', 'disclosure'],
  ['requests of the last days', 'request_line'],
  ['registrations', 'webhook'],
  ['calls, mails and other work', 'outbox'],
  ['reports of imports', 'import_run'],
  ['faults of imports', 'import_fault'],
  ['records that a held import would remove', 'import_loss'],
  ['uploaded packages', 'upload'],
  ['receipts of packages', 'upload_receipt'],
  ['upload tokens', 'upload_token'],
];

/**
 * What there is none of is left out. most: where counting one table ends, for whoever only wants to know how much it is about. One statement for
 * all tables that lie together, not forty.
 */
export async function countSchool(sql: Sql, estab: string, most?: number): Promise<Counts> {
  const tables = counted.flatMap(([words, ...those]) => those.map((table) => ({ words, table })));
  const found = new Map<string, number>();
  for (const together of Map.groupBy(tables, ({ table }) => placements.get(table)).values()) {
    const rows = await sql<{ table: string; count: number }[]>`
      ${together.reduce((all, { table }, at) => sql`${all} ${at === 0 ? sql`` : sql`union all`}
        select ${table}::text as table, count(*)::int as count from (select from ${sql(table)} where estab = ${estab} limit ${most ?? null}::bigint) counted`,
      sql``)}`;
    for (const { table, count } of rows) found.set(table, count);
  }
  const sum = (those: readonly string[]) => those.reduce((all, table) => all + (found.get(table) ?? 0), 0);
  return Object.fromEntries(counted.map(([words, ...those]) => [words, sum(those)] as const).filter(([, count]) => count > 0));
}
