// Follows a change of an application's callback URL: events that have not arrived go to the new URL, and the failures of the old one no
// longer count. Events that waited for a confirmation of the URL are released here.
import type { Tx } from '../db/connect.ts';
import { replayWork } from '../outbox/replay.ts';
import { wakeWork } from '../outbox/wake.ts';

/** The reason (`waitsFor`) of events with secrets that wait until the callback URL is confirmed or uses https. */
export const forCallback = 'callback';

export const callbackLane = (rp: string) => `callback ${rp}`;
export const hostOf = (url: string) => new URL(url).hostname.replace(/^\[|\]$/g, '');

/** One that is under way is not stopped; if it fails there, it goes on to the new address. Gives how many had not arrived. */
export async function moveCallback(tx: Tx, rp: string, url: string, schools: readonly string[]): Promise<number> {
  // The lane comes first, here as everywhere.
  await tx`
    update lane set epoch = epoch + 1, host = ${hostOf(url)}, failures = 0, failing_since = null, open_until = null, openings = 0, warned_at = null,
      disabled_at = null, disabled_why = null, woken_at = clock_timestamp(), next_at = case when paused_at is null then now() end
    where key = ${callbackLane(rp)}`;
  let moved = 0;
  for (const estab of schools) {
    const { count } = await tx`
      update outbox set payload = payload || ${tx.json({ url })}, forgiven = case when state = 'waiting' then attempts else forgiven end,
        due_at = case when state = 'waiting' then least(due_at, clock_timestamp()) else due_at end
      where estab = ${estab} and rp = ${rp} and lane = ${callbackLane(rp)} and state <> 'done' and state <> 'superseded'`;
    moved += count;
  }
  return moved;
}

/**
 * Gives events that waited for the callback URL a new schedule that begins now. Of those whose schedule ended while they waited, only the latest
 * of each school is sent: an earlier approval's secret has been replaced.
 */
export async function releaseCallback(tx: Tx, rp: string, schools: readonly string[]): Promise<void> {
  const lane = callbackLane(rp);
  for (const estab of schools) {
    // An event that is under way finds here that it need not wait.
    await wakeWork(tx, { estab, lane }, [forCallback]);
    await replayWork(tx, tx`o.estab = ${estab} and o.lane = ${lane} and o.waits_for = ${forCallback}
      and (o.state = 'waiting' or (o.state = 'failed' and not exists (select from outbox n where n.estab = o.estab and n.lane = o.lane and n.seq > o.seq)))`);
  }
}
