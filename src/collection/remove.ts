// In charge of removing an establishment with everything that belongs to it; what stays is the record that it was done.
import { recordErasure, type Counts } from '../access/erasures.ts';
import type { Db } from '../db/connect.ts';
import { removeWork } from '../outbox/remove-work.ts';
import { allResources } from '../roster/collections.ts';
import { countSchool } from './count-school.ts';
import { historyTable } from './history.ts';
import { lockRoster } from './lock-roster.ts';

export async function removeRoster(db: Db, estab: string): Promise<Counts> {
  return db.begin(async (tx) => {
    await lockRoster(tx, estab);
    const counts = await countSchool(tx, estab);
    for (const resource of allResources) {
      await tx`delete from ${tx(resource.table)} where estab = ${estab}`;
      await tx`delete from ${tx(historyTable(resource))} where estab = ${estab}`;
    }
    await removeWork(tx, tx`estab = ${estab}`);
    // These know the school by its name alone.
    await tx`delete from identity_audit where estab = ${estab}`;
    await tx`delete from oidc_record where starts_with(payload ->> 'accountId', ${`${estab}|`})`;
    await tx`delete from establishment where estab = ${estab}`;
    await recordErasure(tx, 'school', counts);
    return counts;
  });
}
