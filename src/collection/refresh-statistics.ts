// Refreshes the planner's statistics of tables in which an import or a fetch changed many rows.
import type { Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import { isUnavailable } from '../db/unavailable.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';
import type { ImportReport } from './import-report.ts';

/** A table, its history, and how many rows of it changed. */
export type ChangedTable = Readonly<{ table: string; history: string; rows: number }>;

const fewestRows = 500;
/** A share of the rows that the statistics count in a table. */
const leastShare = 0.1;
/** The statistics list up to this many schools one by one and take any other school for empty. With more schools they hold an average. */
const manySchools = 100;

export const changedMarks = (rows: number): ChangedTable => ({ table: 'attendance_mark', history: 'attendance_history', rows });

export function listChangedTables({ collections, marks }: ImportReport): ChangedTable[] {
  const rosters = allResources.map((resource) => {
    const { added = 0, changed = 0, removed = 0 } = collections[resource.collection] ?? {};
    return { table: resource.table, history: historyTable(resource), rows: added + changed + removed };
  });
  return [...rosters, changedMarks(marks?.written ?? 0)];
}

/**
 * Without fresh statistics the planner takes a school that was just loaded for empty and joins row by row. On a database that is spread over
 * nodes, only the shards of this school are analysed, on their node: other nodes may be away, and nothing changed there. If the database does
 * not answer, the import stays valid and PostgreSQL gathers the statistics by itself later.
 */
export async function refreshStatistics(db: Db, estab: string, changed: readonly ChangedTable[]): Promise<void> {
  const many = changed.filter(({ rows }) => rows >= fewestRows);
  if (many.length === 0) return;
  await refresh(db, estab, many).catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
  });
}

async function refresh(db: Db, estab: string, changed: readonly ChangedTable[]): Promise<void> {
  const spread = await knowsNotes(db);
  for (const { table, history, rows } of changed) {
    const whole = spread ? await findPiece(db, table, estab) : table;
    const [known] = await db<{ rows: number | null; schools: number | null }[]>`
      select k.rows, k.schools from roster r cross join lateral known_statistics(${whole}) k where r.estab = ${estab}`;
    if ((known?.schools ?? 0) > manySchools && rows < (known?.rows ?? 0) * leastShare) continue;
    for (const each of [table, history])
      await db`select gather_statistics(${spread ? await findPiece(db, each, estab) : each}) from roster where estab = ${estab}`;
  }
}

/** Returns the name of the school's shard of a table, which is a table of its own on its node. */
async function findPiece(db: Db, table: string, estab: string): Promise<string> {
  const [row] = await db<{ name: string }[]>`
    select shard_name(${table}::text::regclass, get_shard_id_for_distribution_column(${table}::text::regclass, ${estab}::text)) as name`;
  return row?.name ?? table;
}
