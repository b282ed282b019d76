// In charge of purging: a record that has been tobedeleted for long enough leaves for good, once nothing that stays
// refers to it. A purge is a version of its own, so that a walk over pages notices it.
import type { Db, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { finishVersion, lockRoster } from './merge.ts';

export async function purgeRosters(db: Db, afterDays: number): Promise<number> {
  const due = await db<{ estab: string }[]>`select estab from roster_version where instant < now() - make_interval(days => ${afterDays}) group by estab`;
  let purged = 0;
  for (const { estab } of due) purged += await db.begin((tx) => purgeRoster(tx, estab, afterDays));
  return purged;
}

async function purgeRoster(tx: Tx, estab: string, afterDays: number): Promise<number> {
  const current = await lockRoster(tx, estab);
  const [ripe] = await tx<{ version: number | null }[]>`select max(version) as version from roster_version where estab = ${estab} and instant < now() - make_interval(days => ${afterDays})`;
  const touched = new Set<Resource>();
  let purged = 0;
  // Those that refer come before those that are referred to; within one collection it goes round until nothing more falls.
  for (const resource of allResources.toReversed()) {
    for (let fell = 1; fell > 0; ) {
      ({ count: fell } = await tx`
        delete from ${tx(resource.table)} t
        where t.estab = ${estab} and t.status = 'tobedeleted' and t.version <= ${ripe?.version ?? 0} ${unreferenced(tx, estab, resource, ripe?.version ?? 0)}`);
      purged += fell;
      if (fell > 0) touched.add(resource);
    }
  }
  if (purged > 0) await finishVersion(tx, estab, current + 1, touched);
  return purged;
}

/** Within one collection, what is about to leave as well does not count: pupils and contacts name each other. */
function unreferenced(tx: Tx, estab: string, target: Resource, ripe: number) {
  const references = allResources.flatMap((resource) => [
    ...resource.fields.filter((field) => field.to === target.collection && field.csv !== undefined).map((field) => ({ resource, column: field.column, many: field.type === 'refs' })),
    ...(target === collections.users && resource.personColumn === 'sourced_id' ? [{ resource, column: 'sourced_id', many: false }] : []),
  ]);
  const conditions = references.map(({ resource, column, many }) => {
    const refers = many ? tx`r.${tx(column)} @> array[t.sourced_id]` : tx`r.${tx(column)} = t.sourced_id`;
    const stays = resource === target ? tx`and not (r.status = 'tobedeleted' and r.version <= ${ripe})` : tx``;
    return tx`and not exists (select from ${tx(resource.table)} r where r.estab = ${estab} and ${refers} ${stays})`;
  });
  return conditions.reduce((all, one) => tx`${all} ${one}`, tx``);
}
