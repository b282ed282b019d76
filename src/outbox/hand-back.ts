// In charge of handing back what a worker has claimed and will not finish: it waits again at once, under its id and fenced by its claim, and
// the other workers are told, so that nobody waits for a lease to end.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import type { ClaimedWork } from './claim.ts';
import { outboxChannel } from './enqueue.ts';

export type HandedBack = Pick<ClaimedWork, 'estab' | 'id' | 'claim' | 'lane'>;

/** For as long as somebody else is changing it, or the database does not answer; then its lease has to end. */
const longestMs = 2_000;
const againMs = 50;

export async function handBackInTime(db: Db, held: readonly HandedBack[], how: { begun: boolean }): Promise<void> {
  const until = performance.now() + longestMs;
  const handing = async () => {
    for (let left = held; left.length > 0 && performance.now() < until; ) {
      left = await handBack(db, left, how);
      if (left.length > 0) await pause(againMs);
    }
  };
  await Promise.race([handing(), pause(longestMs, undefined, { ref: false })]);
}

/**
 * begun: the attempt is noted, since the call may have been made, but costs none of the schedule. If something newer was said on the same topic,
 * there is nothing left to say. Gives those whose lane or row somebody is changing just now; what is no longer the worker's is left alone.
 */
export async function handBack(db: Db, held: readonly HandedBack[], { begun }: { begun: boolean }): Promise<HandedBack[]> {
  if (held.length === 0) return [];
  const left = await db.begin(async (tx) => {
    const mine = tx`unnest(${held.map((work) => work.estab)}::text[], ${held.map((work) => work.id)}::text[], ${held.map((work) => work.claim)}::uuid[])
      as held (estab, id, claim)`;
    // Lanes before work, as everywhere: what is put into them meanwhile waits, and is seen as newer or comes after this.
    const lanes = await tx<
      { key: string }[]
    >`select key from lane where key = any(${held.map((work) => work.lane)}) order by key for update skip locked`;
    await tx`
      with freed as (
        update outbox o set claim = null, lease_until = null, attempts = attempts + ${begun ? 1 : 0}::int, forgiven = forgiven + ${begun ? 1 : 0}::int,
          state = case when newer.yes then 'superseded' else 'waiting' end, settled_at = case when newer.yes then now() end
        from (select e.estab, e.id, exists (select from outbox n where n.estab = e.estab and n.topic = e.topic and n.seq > e.seq
          and n.state in ('waiting', 'running', 'done')) as yes
              from outbox e join ${mine} on e.estab = held.estab and e.id = held.id and e.claim = held.claim
              where e.lane = any(${lanes.map(({ key }) => key)}) for update of e skip locked) newer
        where o.estab = newer.estab and o.id = newer.id
        returning o.estab, o.id, o.lane, o.attempts
      ), logged as (
        insert into outbox_attempt (estab, id, number, success, error_class, detail)
        select estab, id, attempts, false, 'handed_back', '{"message": "the process ended while this was under way; another does it"}' from freed
        where ${begun}::boolean
      )
      update lane set next_at = now() where key in (select lane from freed) and paused_at is null`;
    await tx`select pg_notify(${outboxChannel}, '')`;
    return tx<{ id: string }[]>`select o.id from outbox o join ${mine} on o.estab = held.estab and o.id = held.id and o.claim = held.claim`;
  });
  const ids = new Set(left.map(({ id }) => id));
  return held.filter(({ id }) => ids.has(id));
}
