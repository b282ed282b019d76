// In charge of what the planner knows after an import.
import type { Db } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';
import type { ImportReport } from './import-report.ts';

const fewestRows = 500;
/** Of all that is counted in a table. Where a school is one of many, how large schools are is known already. */
const leastShare = 0.1;

/** Without fresh statistics the planner takes a school that was just loaded for an empty one, and joins row by row. */
export async function refreshStatistics(db: Db, report: ImportReport): Promise<void> {
  if (report.outcome !== 'done') return;
  for (const resource of allResources) {
    const { collection, table } = resource;
    const { added = 0, changed = 0, removed = 0 } = report.collections[collection] ?? {};
    const differing = added + changed + removed;
    if (differing < fewestRows) continue;
    const [known] = await db<{ rows: number }[]>`select reltuples::float8 as rows from pg_class where oid = ${table}::regclass`;
    if (differing < (known?.rows ?? 0) * leastShare) continue;
    await db`analyze ${db(table)}`;
    await db`analyze ${db(historyTable(resource))}`;
  }
}
