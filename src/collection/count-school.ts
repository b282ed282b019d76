// In charge of how much there is of a school, before it is removed for good.
import type { Counts } from '../access/erasures.ts';
import type { Sql } from '../db/connect.ts';
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

/** What there is none of is left out. most: where counting one table ends, for whoever only wants to know how much it is about. One statement, not forty. */
export async function countSchool(sql: Sql, estab: string, most?: number): Promise<Counts> {
  const tables = counted.flatMap(([words, ...those]) => those.map((table) => [words, table] as const));
  const rows = await sql<{ words: string; count: number }[]>`
    ${tables.reduce((all, [words, table], at) => sql`${all} ${at === 0 ? sql`` : sql`union all`}
      select ${words}::text as words, count(*)::int as count from (select from ${sql(table)} where estab = ${estab} limit ${most ?? null}::bigint) counted`,
    sql``)}`;
  const counts: Record<string, number> = {};
  for (const { words, count } of rows) if (count > 0) counts[words] = (counts[words] ?? 0) + count;
  return counts;
}
