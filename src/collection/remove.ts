// In charge of removing an establishment with everything that belongs to it.
import type { Db } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';
import { lockRoster } from './lock-roster.ts';

export async function removeRoster(db: Db, estab: string): Promise<void> {
  await db.begin(async (tx) => {
    await lockRoster(tx, estab);
    for (const resource of allResources) {
      await tx`delete from ${tx(resource.table)} where estab = ${estab}`;
      await tx`delete from ${tx(historyTable(resource))} where estab = ${estab}`;
    }
    await tx`select from lane where key in (select lane from outbox where estab = ${estab}) order by key for update`;
    const gone = await tx<{ lane: string }[]>`delete from outbox where estab = ${estab} returning lane`;
    const lanes = [...new Set(gone.map((row) => row.lane))];
    await tx`delete from lane where key = any(${lanes}) and not exists (select from outbox o where o.lane = lane.key)`;
    // What stood in the way of others in a shared lane may just have gone.
    await tx`update lane set next_at = now() where key = any(${lanes})`;
    // These know the school by its name alone.
    await tx`delete from identity_audit where estab = ${estab}`;
    await tx`delete from oidc_record where starts_with(payload ->> 'accountId', ${`${estab}|`})`;
    await tx`delete from establishment where estab = ${estab}`;
  });
}
