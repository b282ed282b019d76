// In charge of removing an establishment with everything that belongs to it.
import type { Db } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { lockRoster } from './merge.ts';

export async function removeRoster(db: Db, estab: string): Promise<void> {
  await db.begin(async (tx) => {
    await lockRoster(tx, estab);
    for (const resource of allResources) await tx`delete from ${tx(resource.table)} where estab = ${estab}`;
    await tx`with gone as (delete from outbox where estab = ${estab} returning lane) delete from lane where key in (select lane from gone) and not exists (select from outbox o where o.lane = lane.key and o.estab <> ${estab})`;
    await tx`delete from establishment where estab = ${estab}`;
  });
}
