// In charge of the kinds of a record that is about a person: those of the person.
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { keepReplaced } from './history.ts';

/** The further kinds of a record about somebody: all of the person's, or the one that it is of itself, where the person is of it. */
export function kindsByPerson(tx: Tx, { ownKind }: Resource, record: Fragment, person: Fragment): Fragment {
  if (!ownKind) return tx`${person}.kinds`;
  const own = tx`(${tx.json(ownKind.kinds)}::jsonb ->> ${record}.${tx(ownKind.column)})`;
  return tx`case when ${person}.kinds is not null and ${own} = any(${person}.kinds) and ${own} <> ${person}.kind then array[${own}] end`;
}

/**
 * Follows users whose role changed in this version; gives the collections in which that moved a record. To whoever may
 * see only one of the two kinds such a record comes or goes, so that it has changed. fresh: of which nothing was there before, so that all
 * follows the users as they are.
 */
export async function derivePersonKinds(tx: Tx, estab: string, version: number, fresh: ReadonlySet<Resource>): Promise<Resource[]> {
  const moved: Resource[] = [];
  for (const resource of allResources) {
    if (!resource.personColumn || fresh.has(resource)) continue;
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
