// The deletion guard: finds the losses of an import that a person has to approve before anything is written. A truncated read looks like
// a mass departure. A person with several roles counts once for each role.
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { CollectionName, Resource } from '../roster/resource.ts';
import type { Changes } from './compare-stage.ts';
import { staged } from './stage.ts';

/**
 * many: more records than the limit would be deleted; `--force` approves it. all: no record of the kind would be left. none: a first import
 * brings classes, but no record of this kind. The last two are only approved for one import, by its id.
 */
type LossSize = 'many' | 'all' | 'none';

/** The loss of one collection, or of users of one role. staying: how many of `removed` stay in the roster and only lose the role. */
export type Shrinkage = {
  collection: CollectionName;
  role: string | null;
  size: LossSize;
  active: number;
  removed: number;
  percent: number;
  staying?: number;
};

/** Up to this many records of a kind may be deleted, whatever share that is. */
const deletedFreely = 5;

const expectedWithClasses = [collections.users, collections.enrollments];

/** To be called when the changes are known and not yet written. first: nothing was imported into this roster before. */
export async function findShrinkage(tx: Tx, changes: Changes, { limitPercent, first }: { limitPercent: number; first: boolean }): Promise<Shrinkage[]> {
  const isTooMany = (active: number, removed: number) => removed > deletedFreely && removed * 100 > active * limitPercent;
  const found = await findLostRoles(tx, changes, isTooMany);
  for (const resource of allResources) {
    if (resource === collections.users || (changes.counts.get(resource)?.removed ?? 0) === 0) continue;
    const { active, removed } = await countRemoved(tx, changes, resource);
    const size = active === removed && !(await isStaged(tx, changes, resource)) ? 'all' : isTooMany(active, removed) ? 'many' : undefined;
    if (size) found.push(shrinkageOf(resource.collection, null, size, active, removed));
  }
  if (first && (await isStaged(tx, changes, collections.classes))) {
    for (const resource of expectedWithClasses)
      if (!(await isStaged(tx, changes, resource))) found.push(shrinkageOf(resource.collection, null, 'none', 0, 0));
  }
  return found;
}

/** Whether `--force` approves it. */
export const mayBeForced = ({ size }: Shrinkage): boolean => size === 'many';

function shrinkageOf(collection: CollectionName, role: string | null, size: LossSize, active: number, removed: number): Shrinkage {
  return { collection, role, size, active, removed, percent: active === 0 ? 0 : Math.round((removed * 1000) / active) / 10 };
}

async function countRemoved(tx: Tx, { reading: { estab, number } }: Changes, { table, collection }: Resource): Promise<{ active: number; removed: number }> {
  const [counted] = await tx<{ active: number; removed: number }[]>`
    select count(*)::int as active, count(c.sourced_id)::int as removed
    from ${tx(table)} t left join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = ${collection}
      and c.sourced_id = t.sourced_id and c.what in ('missing', 'marked')
    where t.estab = ${estab} and t.status = 'active'`;
  return counted ?? { active: 0, removed: 0 };
}

/** Whether an active record was staged. With a role: an active user who has it. */
async function isStaged(tx: Tx, { reading }: Changes, resource: Resource, role?: string): Promise<boolean> {
  const withRole = role === undefined ? tx`` : tx`and (s.role = ${role} or s.roles @> ${tx.json([{ role }])}::jsonb)`;
  const [row] = await tx`select from ${staged(tx, resource, reading)} s where s.status = 'active' ${withRole} limit 1`;
  return row !== undefined;
}

/** going: users who would be deleted. fewer: users who stay with fewer roles. without: users who stay without this role. */
type LostRole = { role: string; going: number; fewer: number; without: number };

/** Students first, then by role. */
async function findLostRoles(tx: Tx, changes: Changes, isTooMany: (active: number, removed: number) => boolean): Promise<Shrinkage[]> {
  const { removed = 0, changed = 0 } = changes.counts.get(collections.users) ?? {};
  if (removed === 0 && changed === 0) return [];
  const { estab, number } = changes.reading;
  const lost = await tx<LostRole[]>`
    select l.role, count(*) filter (where l.way = 'going')::int as going, count(*) filter (where l.way = 'fewer')::int as fewer,
      count(*) filter (where l.way <> 'going' and l.last)::int as without
    from (
      select i.role, 'going' as way, true as last
      from roster_user t
        join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = 'users' and c.sourced_id = t.sourced_id
          and c.what in ('missing', 'marked')
        cross join lateral (${rolesOf(tx, tx`t`)}) i
      where t.estab = ${estab} and t.status = 'active' group by t.sourced_id, i.role
      union all select r.role, case when r.fewer then 'fewer' else 'swapped' end, r.last from ${roleLosses(tx, changes)} r) l
    group by l.role order by l.role <> 'student', l.role`;
  if (lost.length === 0) return [];
  const holders = await tx<{ role: string; active: number }[]>`
    select i.role, count(distinct t.sourced_id)::int as active
    from roster_user t cross join lateral (${rolesOf(tx, tx`t`)}) i
    where t.estab = ${estab} and t.status = 'active' and i.role = any(${lost.map(({ role }) => role)}::text[]) group by i.role`;
  const found: Shrinkage[] = [];
  for (const { role, going, fewer, without } of lost) {
    const active = holders.find((one) => one.role === role)?.active ?? 0;
    const none = active === going + without && !(await isStaged(tx, changes, collections.users, role));
    const staying = none ? without : fewer;
    if (none || isTooMany(active, going + staying))
      found.push({ ...shrinkageOf('users', role, none ? 'all' : 'many', active, going + staying), ...(staying > 0 ? { staying } : {}) });
  }
  return found;
}

/** The roles of a user, repeated if the user has one at several organisations. */
function rolesOf(tx: Tx, row: Fragment): Fragment {
  return tx`select ${row}.role where ${row}.roles is null union all select has.item ->> 'role' from jsonb_array_elements(${row}.roles) has (item)`;
}

/**
 * Selects users who stay but lose a role, one row for each role. fewer: the user has fewer roles than before, as when roles.csv was
 * cut off. last: the user does not have the role anywhere any more.
 */
export function roleLosses(tx: Tx, { reading }: Changes): Fragment {
  const { estab, number } = reading;
  return tx`(
    select t.sourced_id, had.role, coalesce(jsonb_array_length(t.roles) > jsonb_array_length(s.roles), false) as fewer, has.count = 0 as last
    from roster_user t join ${staged(tx, collections.users, reading)} s on s.sourced_id = t.sourced_id
      join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = 'users' and c.sourced_id = t.sourced_id and c.what = 'changed'
      cross join lateral (select h.role, count(*) as count from (${rolesOf(tx, tx`t`)}) h group by h.role) had
      cross join lateral (select count(*) as count from (${rolesOf(tx, tx`s`)}) h where h.role = had.role) has
    where t.estab = ${estab} and t.status = 'active' and s.status = 'active' and has.count < had.count
      and (has.count = 0 or jsonb_array_length(t.roles) > jsonb_array_length(s.roles)))`;
}
