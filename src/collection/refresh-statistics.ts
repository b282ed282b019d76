// In charge of what the planner knows after an import.
import type { Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import { isUnavailable } from '../db/unavailable.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';
import type { ImportReport } from './import-report.ts';

const fewestRows = 500;
/** Of all that is counted in a table. */
const leastShare = 0.1;
/** Of so many the planner knows each by itself, and takes one more for empty; of more it knows how large schools are. */
const manySchools = 100;

/**
 * Without fresh statistics the planner takes a school that was just loaded for an empty one, and joins row by row. Where the database is spread this
 * is about the pieces that the school lies in, on its own node: the others may be away, and know nothing new. What was imported stays so where
 * that cannot be had; PostgreSQL gathers them by itself, later.
 */
export async function refreshStatistics(db: Db, report: ImportReport): Promise<void> {
  if (report.outcome !== 'done') return;
  await refresh(db, report).catch((error: unknown) => {
    if (!isUnavailable(error)) throw error;
  });
}

async function refresh(db: Db, { estab, collections }: ImportReport): Promise<void> {
  const differing = allResources.flatMap((resource) => {
    const { added = 0, changed = 0, removed = 0 } = collections[resource.collection] ?? {};
    const rows = added + changed + removed;
    return rows < fewestRows ? [] : [{ resource, rows }];
  });
  if (differing.length === 0) return;
  const spread = await knowsNotes(db);
  for (const { resource, rows } of differing) {
    const { table } = resource;
    const whole = spread ? await findPiece(db, table, estab) : table;
    const [known] = await db<{ rows: number | null; schools: number | null }[]>`
      select k.rows, k.schools from roster r cross join lateral known_statistics(${whole}) k where r.estab = ${estab}`;
    if ((known?.schools ?? 0) > manySchools && rows < (known?.rows ?? 0) * leastShare) continue;
    for (const each of [table, historyTable(resource)])
      await db`select gather_statistics(${spread ? await findPiece(db, each, estab) : each}) from roster where estab = ${estab}`;
  }
}

/** What the table is called on the node, where it is many. */
async function findPiece(db: Db, table: string, estab: string): Promise<string> {
  const [row] = await db<{ name: string }[]>`
    select shard_name(${table}::text::regclass, get_shard_id_for_distribution_column(${table}::text::regclass, ${estab}::text)) as name`;
  return row?.name ?? table;
}
