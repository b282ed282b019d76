// In charge of lanes over a long time: a notice to those that have done nothing but fail for four days (one more
// failure after five ends them), and the forgetting of what was settled long ago.
import type { Db } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';
import { endAfterHours } from './settle.ts';

export type LaneNotice = { key: string; failingSince: Date };

const noticeHoursBefore = 24;

export async function warnFailingLanes(db: Db): Promise<LaneNotice[]> {
  return db<LaneNotice[]>`
    update lane set warned_at = now() where lasting and disabled_at is null and paused_at is null and warned_at is null
      and failing_since < now() - make_interval(hours => ${endAfterHours - noticeHoursBefore})
    returning key, failing_since as "failingSince"`;
}

/** Settled work with its attempts, and lanes that have nothing to say any more. One that is paused stays so, however long nothing comes. */
export async function forgetSettled(db: Db, days: number): Promise<number> {
  const count = await deleteInBatches(db, 'outbox', db`settled_at < now() - make_interval(days => ${days})`);
  await db`
    delete from lane l where l.next_at is null and l.disabled_at is null and l.paused_at is null and l.failing_since is null
      and not exists (select from outbox o where o.lane = l.key)
      and l.key in (select key from lane where next_at is null for update skip locked)`;
  return count;
}
