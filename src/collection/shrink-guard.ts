// In charge of the shrink guard: a collection that would lose more than the allowed share of its active records at
// once is held until a person approves it, because a truncated read looks just like a mass departure. Of people, whoever loses a role counts
// for that role.
import type { Fragment, Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Changes } from './compare-stage.ts';
import { staged } from './stage.ts';

/** staying: of those that are removed, how many stay and only lose the role, if any do. */
export type Shrinkage = { collection: string; role: string | null; active: number; removed: number; percent: number; staying?: number };

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
      if (isTooMuch(active, removed, limitPercent)) found.push(shrinkageOf(resource.collection, role, active, removed));
    }
  }
  for (const { role, active, removed, staying } of await countLessened(tx, changes)) {
    if (!isTooMuch(active, removed, limitPercent)) continue;
    const known = found.findIndex((one) => one.collection === 'users' && one.role === role);
    found.splice(known < 0 ? found.length : known, 1, { ...shrinkageOf('users', role, active, removed), staying });
  }
  return found;
}

const isTooMuch = (active: number, removed: number, limitPercent: number) => active >= fewestGuarded && removed * 100 > active * limitPercent;

function shrinkageOf(collection: string, role: string | null, active: number, removed: number): Shrinkage {
  return { collection, role, active, removed, percent: Math.round((removed * 1000) / active) / 10 };
}

/** Of each role that somebody who stays loses: how many people have it, and how many of them lose it or go. */
async function countLessened(tx: Tx, changes: Changes): Promise<{ role: string; active: number; removed: number; staying: number }[]> {
  if ((changes.counts.get(collections.users)?.changed ?? 0) === 0) return [];
  const lost = await tx<{ role: string; staying: number }[]>`
    select role, count(*)::int as staying from ${lessened(tx, changes)} l group by role order by role`;
  if (lost.length === 0) return [];
  const { estab, number } = changes.reading;
  const rows = await tx<{ role: string; active: number; going: number }[]>`
    select i.role, count(*)::int as active, count(c.sourced_id)::int as going
    from roster_user t
      cross join lateral (
        select t.role where t.roles is null union select has.item ->> 'role' from jsonb_array_elements(t.roles) has (item)) i (role)
      left join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = 'users' and c.sourced_id = t.sourced_id
        and c.what in ('missing', 'marked')
    where t.estab = ${estab} and t.status = 'active' and i.role = any(${lost.map(({ role }) => role)}::text[]) group by 1`;
  const counted = new Map(rows.map((row) => [row.role, row]));
  return lost.map(({ role, staying }) => {
    const { active = 0, going = 0 } = counted.get(role) ?? {};
    return { role, active, removed: going + staying, staying };
  });
}

/**
 * People who stay but with fewer roles, once for each that they lose, to select from: a roles.csv that was cut off takes roles from those
 * who have several.
 */
export function lessened(tx: Tx, { reading }: Changes): Fragment {
  const { estab, number } = reading;
  return tx`(
    select distinct t.sourced_id, gone.role
    from roster_user t join ${staged(tx, collections.users, reading)} s on s.sourced_id = t.sourced_id
      join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = 'users' and c.sourced_id = t.sourced_id and c.what = 'changed'
      cross join lateral (
        select had.item ->> 'role' as role from jsonb_array_elements(t.roles) had (item)
        except all select has.item ->> 'role' from jsonb_array_elements(s.roles) has (item)) gone
    where t.estab = ${estab} and t.status = 'active' and s.status = 'active' and jsonb_array_length(t.roles) > jsonb_array_length(s.roles))`;
}
