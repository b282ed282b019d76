// In charge of the shrink guard: a collection that would lose more than the allowed share of its active records at
// once is held until a person approves it, because a truncated read looks just like a mass departure.
import type { Tx } from '../db/connect.ts';
import type { Resource } from '../roster/resource.ts';
import { stageTable } from './stage.ts';
import type { Modes } from './verify.ts';

export type Shrinkage = { collection: string; role: string | null; active: number; removed: number; percent: number };

const fewestGuarded = 50;

export async function findShrinkage(tx: Tx, estab: string, modes: Modes, limitPercent: number): Promise<Shrinkage[]> {
  const found: Shrinkage[] = [];
  for (const [resource, mode] of modes) {
    const rows = await tx<{ role: string | null; active: number; removed: number }[]>`
      select ${resource.collection === 'users' ? tx`t.role` : tx`null`} as role, count(*)::int as active,
        (count(*) filter (where ${goes(tx, resource, mode)}))::int as removed
      from ${tx(resource.table)} t left join ${tx(stageTable(resource))} s on s.sourced_id = t.sourced_id
      where t.estab = ${estab} and t.status = 'active' group by 1 order by 1`;
    for (const { role, active, removed } of rows) {
      if (active >= fewestGuarded && removed * 100 > active * limitPercent) {
        found.push({ collection: resource.collection, role, active, removed, percent: Math.round((removed * 1000) / active) / 10 });
      }
    }
  }
  return found;
}

/** Whether the active record t goes: it is marked so, or a bulk file no longer has it. `s` is its staged row, if any. */
function goes(tx: Tx, resource: Resource, mode: 'bulk' | 'delta') {
  if (mode === 'delta') return tx`s.status = 'tobedeleted'`;
  return tx`(s.status = 'tobedeleted' or (s.sourced_id is null and not exists (
    select from stage_rejected r where r.collection = ${resource.collection} and (r.sourced_id = t.sourced_id or r.sourced_id is null))))`;
}
