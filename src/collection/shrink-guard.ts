// In charge of the shrink guard: a collection that would lose more than the allowed share of its active records at
// once is held until a person approves it, because a truncated read looks just like a mass departure.
import type { Tx } from '../db/connect.ts';
import type { Changes } from './compare-stage.ts';

export type Shrinkage = { collection: string; role: string | null; active: number; removed: number; percent: number };

const fewestGuarded = 50;

/** To be asked when what will change is known, and before it is written. */
export async function findShrinkage(tx: Tx, changes: Changes, limitPercent: number): Promise<Shrinkage[]> {
  const found: Shrinkage[] = [];
  const { estab, number } = changes.reading;
  for (const [resource, { removed: going }] of changes.counts) {
    if (going === 0) continue;
    const rows = await tx<{ role: string | null; active: number; removed: number }[]>`
      select ${resource.collection === 'users' ? tx`t.role` : tx`null`} as role, count(*)::int as active, count(c.sourced_id)::int as removed
      from ${tx(resource.table)} t left join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = ${resource.collection}
        and c.sourced_id = t.sourced_id and c.what in ('missing', 'marked')
      where t.estab = ${estab} and t.status = 'active' group by 1 order by 1`;
    for (const { role, active, removed } of rows) {
      if (active >= fewestGuarded && removed * 100 > active * limitPercent) {
        found.push({ collection: resource.collection, role, active, removed, percent: Math.round((removed * 1000) / active) / 10 });
      }
    }
  }
  return found;
}
