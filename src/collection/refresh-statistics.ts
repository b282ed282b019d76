// In charge of what the planner knows after an import.
import type { Db } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';
import type { ImportReport } from './import-report.ts';

const fewestRows = 500;
/** Of all that is counted in a table. */
const leastShare = 0.1;
/** Of so many the planner knows each by itself, and takes one more for empty; of more it knows how large schools are. */
const manySchools = 100;

/** Without fresh statistics the planner takes a school that was just loaded for an empty one, and joins row by row. */
export async function refreshStatistics(db: Db, report: ImportReport): Promise<void> {
  if (report.outcome !== 'done') return;
  for (const resource of allResources) {
    const { collection, table } = resource;
    const { added = 0, changed = 0, removed = 0 } = report.collections[collection] ?? {};
    const differing = added + changed + removed;
    if (differing < fewestRows) continue;
    const [known] = await db<{ rows: number; schools: number | null }[]>`
      select reltuples::float8 as rows,
        (select n_distinct from pg_stats where schemaname = current_schema() and tablename = ${table} and attname = 'estab') as schools
      from pg_class where oid = ${table}::regclass`;
    if (known && (known.schools ?? 0) > manySchools && differing < known.rows * leastShare) continue;
    await db`analyze ${db(table)}`;
    await db`analyze ${db(historyTable(resource))}`;
  }
}
