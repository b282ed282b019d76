// Records in the status of a component database how a fetch or an import ended, or that marks were written.
import { readMoment } from '../db/clock.ts';
import type { Sql } from '../db/connect.ts';
import { installDatabases, minutesToLive, notifyStatus, topicOf } from './component-databases.ts';
import type { DatabaseName } from './connector.ts';
import { lockForTimes } from './next-collection.ts';

/** Records that a fetch or an import of this database succeeded. */
export async function recordCollected(
  sql: Sql,
  estab: string,
  name: DatabaseName,
  { rowCount, changed, message = null }: { rowCount: number; changed: boolean; message?: string | null },
): Promise<void> {
  await installDatabases(sql, estab, [name]);
  const times = await lockForTimes(sql, estab, name, minutesToLive[name]);
  await sql`
    update component_database set status = 'OK', message = ${message}, row_count = ${rowCount}, updated_at = ${times?.at ?? null},
      refreshing_since = null, progress = null, changed_at = case when ${changed} then ${times?.at ?? null} else changed_at end,
      expires_at = ${times?.expiresAt ?? null}, refresh_at = ${times?.refreshAt ?? null}
    where estab = ${estab} and name = ${name}`;
  await notifyStatus(sql, estab);
}

/** Marks that were written here are data too, in a school that had none. Counting those of years at every change would read them all. */
export async function recordWritten(sql: Sql, estab: string, gained: number): Promise<void> {
  const { count } = await sql`update component_database set row_count = row_count + ${gained} where estab = ${estab} and name = 'Attendance'`;
  if (count === 0) await installDatabases(sql, estab, ['Attendance']);
  const at = await readMoment(sql);
  await sql`
    update component_database set changed_at = ${at}, updated_at = coalesce(updated_at, ${at}), status = case when status = 'NoData' then 'OK' else status end
    where estab = ${estab} and name = 'Attendance'`;
  await notifyStatus(sql, estab);
}

/** One that did not; what was collected before stays as it was. Nobody is asked to decide about what a newer package, which waits, will replace. */
export async function recordFailure(sql: Sql, estab: string, name: DatabaseName, status: 'Error' | 'Timeout' | 'Paused', message: string): Promise<void> {
  await installDatabases(sql, estab, [name]);
  const times = await lockForTimes(sql, estab, name, minutesToLive[name]);
  await sql`
    update component_database set status = ${status}, message = ${message}, progress = null,
      refreshing_since = case when ${status} = 'Paused' and exists (select from outbox o
        where o.estab = ${estab} and o.topic = ${topicOf(name)} and o.state = 'waiting' and o.attempts = 0) then refreshing_since end,
      failing_since = case when status in ('Error', 'Timeout') then coalesce(failing_since, ${times?.at ?? null}) else ${times?.at ?? null} end,
      refresh_at = ${times?.retryAt ?? null}
    where estab = ${estab} and name = ${name}`;
  await notifyStatus(sql, estab);
}

/**
 * A package that was refused says nothing about the data that is there: that stands as before, and the message says what became of the
 * package. `upload`: it was being collected, in the place of one that may have been held.
 */
export async function recordRefused(sql: Sql, estab: string, name: DatabaseName, message: string, { upload }: { upload: boolean }): Promise<void> {
  await sql`
    update component_database set status = case when updated_at is null then 'Error' when ${upload} and status = 'Paused' then 'OK' else status end,
      message = case when status = 'Paused' and not ${upload} then message else ${message} end,
      refreshing_since = case when not ${upload} then refreshing_since end, progress = case when not ${upload} then progress end
    where estab = ${estab} and name = ${name}`;
  await notifyStatus(sql, estab);
}

/** A newer one was merged while this one was read: what is there stays as it is. */
export async function recordOvertaken(sql: Sql, estab: string, name: DatabaseName, message: string): Promise<void> {
  await sql`update component_database set refreshing_since = null, progress = null, message = ${message} where estab = ${estab} and name = ${name}`;
  await notifyStatus(sql, estab);
}

/** There was nothing to ask: what is there stays as it is, and where nothing is, the reason is said. */
export async function recordNothing(sql: Sql, estab: string, name: DatabaseName, message: string): Promise<void> {
  await sql`
    update component_database set refreshing_since = null, progress = null, refresh_at = null,
      message = case when status = 'NoData' then ${message} else message end
    where estab = ${estab} and name = ${name}`;
  await notifyStatus(sql, estab);
}

/** Records that an import which waited for approval was discarded or dropped: no fault, so a school without data is left without data. */
export async function recordDropped(sql: Sql, estab: string, name: DatabaseName, message: string): Promise<void> {
  await sql`
    update component_database set status = case when updated_at is null then 'NoData' else 'OK' end, message = ${message}
    where estab = ${estab} and name = ${name} and status = 'Paused' and refreshing_since is null`;
  await notifyStatus(sql, estab);
}
