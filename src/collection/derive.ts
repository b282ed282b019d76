// In charge of what a record shows of other records: the children of orgs and academic sessions, and the kind of the
// person that an enrolment or demographics record is about.
import type { Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { renderReference } from '../roster/record.ts';
import type { Resource } from '../roster/resource.ts';

/** Children are the active records that name this one as their parent. A parent whose list changed has changed. */
export async function deriveChildren(tx: Tx, estab: string, resource: Resource, version: number): Promise<void> {
  const table = tx(resource.table);
  const children = tx`(select array_agg(c.sourced_id order by c.sourced_id) from ${table} c where c.estab = ${estab} and c.parent_id = p.sourced_id
    and c.status = 'active')`;
  const rows = await tx<{ sourcedId: string; ids: string[] | null }[]>`
    select * from (select p.sourced_id as "sourcedId", p.child_ids, ${children} as ids from ${table} p where p.estab = ${estab}) p where child_ids is distinct
      from ids`;
  const late = rows.map(({ ids }) => (ids ? `,"children":[${ids.map((id) => renderReference(resource.collection, id)).join(',')}]` : ''));
  await tx`
    update ${table} p set child_ids = ${children}, late = given.late, version = ${version}
    from unnest(${rows.map((row) => row.sourcedId)}::text[], ${late}::text[]) as given (sourced_id, late)
    where p.estab = ${estab} and p.sourced_id = given.sourced_id`;
}

/** Follows users whose role changed in this version; gives the collections in which that moved a record. */
export async function derivePersonKinds(tx: Tx, estab: string, version: number): Promise<Resource[]> {
  const moved: Resource[] = [];
  for (const resource of allResources) {
    if (!resource.personColumn) continue;
    const { count } = await tx`
      update ${tx(resource.table)} t set kind = p.kind from ${tx(collections.users.table)} p
      where p.estab = ${estab} and p.version = ${version} and t.estab = p.estab and t.${tx(resource.personColumn)} = p.sourced_id and t.kind <> p.kind`;
    if (count > 0) moved.push(resource);
  }
  return moved;
}
