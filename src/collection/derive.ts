// Derives the children of organisations and academic sessions.
import type { Tx } from '../db/connect.ts';
import { renderReference } from '../roster/record.ts';
import type { Resource } from '../roster/resource.ts';
import { keepReplaced } from './history.ts';

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
