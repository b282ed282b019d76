// In charge of what a record shows of other records: the children of orgs and academic sessions, and the kind of the
// person that an enrolment or demographics record is about.
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { renderReference } from '../roster/record.ts';
import type { Resource } from '../roster/resource.ts';
import { keepReplaced } from './history.ts';
import { renderAdministrators } from './render-editions.ts';

/** Children are the active records that name this one as their parent. A parent whose list changed has changed. */
export async function deriveChildren(tx: Tx, estab: string, resource: Resource, version: number): Promise<void> {
  const table = tx(resource.table);
  const children = tx`(select array_agg(c.sourced_id order by c.sourced_id) from ${table} c where c.estab = ${estab} and c.parent_id = p.sourced_id
    and c.status = 'active')`;
  const rows = await tx<{ sourcedId: string; ids: string[] | null }[]>`
    select * from (select p.sourced_id as "sourcedId", p.child_ids, ${children} as ids from ${table} p where p.estab = ${estab}) p where child_ids is distinct
      from ids`;
  if (rows.length === 0) return;
  const parents = rows.map((row) => row.sourcedId);
  await keepReplaced(tx, estab, resource, version, tx`t.sourced_id = any(${parents})`);
  const late = rows.map(({ ids }) => (ids ? `,"children":[${ids.map((id) => renderReference(resource.collection, id)).join(',')}]` : ''));
  await tx`
    update ${table} p set child_ids = ${children}, late = given.late, version = ${version},
      place = case when p.version = ${version} then p.place end
    from unnest(${parents}::text[], ${late}::text[]) as given (sourced_id, late)
    where p.estab = ${estab} and p.sourced_id = given.sourced_id`;
}

/** To 1.2, what an administrator is depends on the organisation; gives whether that changed anybody. */
export async function deriveAdministrators(tx: Tx, estab: string, version: number): Promise<boolean> {
  const changed = await renderAdministrators(tx, estab, version);
  if (changed.length === 0) return false;
  const ids = changed.map(({ sourcedId }) => sourcedId);
  await keepReplaced(tx, estab, collections.users, version, tx`t.sourced_id = any(${ids})`);
  await tx`
    update roster_user t set v1p2 = given.v1p2, version = ${version}, place = case when t.version = ${version} then t.place end
    from unnest(${ids}::text[], ${changed.map(({ v1p2 }) => v1p2)}::text[]) as given (sourced_id, v1p2)
    where t.estab = ${estab} and t.sourced_id = given.sourced_id`;
  return true;
}

/** The further kinds of a record about somebody: all of the person's, or the one that it is of itself, where the person is of it. */
export function kindsByPerson(tx: Tx, { ownKind }: Resource, record: Fragment, person: Fragment): Fragment {
  if (!ownKind) return tx`${person}.kinds`;
  const own = tx`(${tx.json(ownKind.kinds)}::jsonb ->> ${record}.${tx(ownKind.column)})`;
  return tx`case when ${person}.kinds is not null and ${own} = any(${person}.kinds) and ${own} <> ${person}.kind then array[${own}] end`;
}

/**
 * Follows users whose role changed in this version; gives the collections in which that moved a record. To whoever may
 * see only one of the two kinds such a record comes or goes, so that it has changed.
 */
export async function derivePersonKinds(tx: Tx, estab: string, version: number): Promise<Resource[]> {
  const moved: Resource[] = [];
  for (const resource of allResources) {
    if (!resource.personColumn) continue;
    const [table, kinds] = [tx(resource.table), kindsByPerson(tx, resource, tx`t`, tx`p`)];
    const rows = await tx<{ sourcedId: string }[]>`
      select t.sourced_id as "sourcedId" from ${table} t join ${tx(collections.users.table)} p on t.${tx(resource.personColumn)} = p.sourced_id
      where p.estab = ${estab} and p.version = ${version} and t.estab = ${estab} and (t.kind <> p.kind or t.kinds is distinct from ${kinds})`;
    if (rows.length === 0) continue;
    const ids = rows.map((row) => row.sourcedId);
    await keepReplaced(tx, estab, resource, version, tx`t.sourced_id = any(${ids})`);
    await tx`
      update ${table} t set kind = p.kind, kinds = ${kinds}, version = ${version}, place = case when t.version = ${version} then t.place end
      from ${tx(collections.users.table)} p
      where p.estab = ${estab} and t.estab = ${estab} and t.sourced_id = any(${ids}) and t.${tx(resource.personColumn)} = p.sourced_id`;
    moved.push(resource);
  }
  return moved;
}
