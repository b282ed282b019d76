// In charge of removing an establishment with everything that belongs to it; what stays is the record that it was done.
import { recordErasure, type Counts } from '../access/erasures.ts';
import type { Db, Tx } from '../db/connect.ts';
import { laneKey } from '../notifications/webhooks.ts';
import { removeWork } from '../outbox/remove-work.ts';
import { allResources } from '../roster/collections.ts';
import { countSchool } from './count-school.ts';
import { historyTable } from './history.ts';
import { lockRoster } from './lock-roster.ts';

/** They would go with the establishment, but all in its one statement, which may take no longer than any other. */
const large = ['attendance_mark', 'attendance_history', 'demo_mark', 'disclosure', 'import_fault', 'import_loss', 'writeback_mark'] as const;

/** check: whether it may go, seeing how much there is of it; throws if not. */
export async function removeRoster(db: Db, estab: string, check?: (tx: Tx, counts: Counts) => Promise<void>): Promise<Counts> {
  return db.begin(async (tx) => {
    await lockRoster(tx, estab);
    const counts = await countSchool(tx, estab);
    await check?.(tx, counts);
    await deleteSchool(tx, estab);
    await recordErasure(tx, 'school', counts);
    return counts;
  });
}

/** Deletes the establishment with all its rows. The caller has locked its roster. */
export async function deleteSchool(tx: Tx, estab: string): Promise<void> {
  for (const resource of allResources) {
    await tx`delete from ${tx(resource.table)} where estab = ${estab}`;
    await tx`delete from ${tx(historyTable(resource))} where estab = ${estab}`;
  }
  // Before their lanes, as whoever announces or pauses does it.
  const registrations = await tx<{ id: string }[]>`select id from webhook where estab = ${estab} order by id for update`;
  for (const table of large) await tx`delete from ${tx(table)} where estab = ${estab}`;
  await removeWork(tx, tx`estab = ${estab}`);
  // One that is paused stays without work too, but not without its registration.
  await tx`delete from lane where key = any(${registrations.map(({ id }) => laneKey(id))})`;
  // These know the school by its name alone.
  await tx`delete from identity_audit where estab = ${estab}`;
  // Who did what stays to be seen, and not with whom.
  await tx`update audit_event set estab = null, subject = null, detail = '{}', message = null where estab = ${estab}`;
  await tx`delete from request_line where estab = ${estab}`;
  await tx`delete from oidc_record where starts_with(payload ->> 'accountId', ${`${estab}|`})`;
  await tx`delete from establishment where estab = ${estab}`;
}
