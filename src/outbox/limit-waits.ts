// Shortens waits after the database's clock was set back. A retry that was planned under the later time would otherwise wait for its own delay and
// for the whole step of the clock.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { coalescing, outboxChannel } from './enqueue.ts';
import { breaker } from './settle.ts';

/** A step that is smaller than this is left alone: it makes no wait much longer. */
const smallestStepMs = 1_000;

/** Returns whether the clock that it is given was set back since the previous call, measured against a clock that is never set. */
export function createStepWatch(elapsedMs: () => number = () => performance.now()): (at: Date) => boolean {
  let previous: { at: number; elapsed: number } | undefined;
  return (at) => {
    const present = { at: at.getTime(), elapsed: elapsedMs() };
    const expected = previous === undefined ? -Infinity : previous.at + present.elapsed - previous.elapsed;
    previous = present;
    return present.at < expected - smallestStepMs;
  };
}

/**
 * Returns a job that shortens waits in three cases: when the process starts, because the clock may have been set back while no process ran; when
 * the job sees that the clock was set back; and when an attempt lies in the future, because the job then missed such a step.
 */
export function createWaitLimit(db: Db): () => Promise<void> {
  const wasSetBack = createStepWatch();
  const smallestStep = db`make_interval(secs => ${smallestStepMs / 1000})`;
  const longestCoalescing = db`make_interval(secs => ${coalescing.longestSeconds})`;
  let isDue = true;
  return async () => {
    const [present] = await db<{ at: Date; isLate: boolean }[]>`
      select clock_timestamp() as at, exists (
        select from outbox_attempt a join outbox o on o.estab = a.estab and o.id = a.id
        where a.at > now() + ${smallestStep} and o.state = 'waiting' and o.attempts = a.number
          and o.due_at > now() + ${delayOf(db, db`a`)} + ${smallestStep}
      ) or exists (
        select from outbox o where o.created_at > now() + ${smallestStep} and o.state = 'waiting' and o.attempts = 0
          and o.due_at > now() + ${longestCoalescing}
      ) as "isLate"`;
    if (present && (wasSetBack(present.at) || present.isLate)) isDue = true;
    if (isDue) isDue = !(await limitWaits(db));
  };
}

/** The pause that an attempt set before the next one. For work that was not tried yet: the longest time for which events are collected. */
const delayOf = (sql: Sql, attempt: Fragment): Fragment =>
  sql`coalesce(${attempt}.next_at - ${attempt}.at, make_interval(secs => ${coalescing.longestSeconds}))`;

/** Queues that are corrected, and so held, at a time. */
const queuesAtOnce = 50;

/**
 * Lets no queued work wait longer from now on than the delay that its last attempt asked for, and no breaker stay open for longer than its
 * longest pause. Returns false if another transaction held some of the queues, so that it has to be repeated.
 */
export async function limitWaits(db: Db): Promise<boolean> {
  const late = await findLateQueues(db);
  let areAllFree = true;
  for (let at = 0; at < late.length; at += queuesAtOnce) areAllFree = (await correct(db, late.slice(at, at + queuesAtOnce))) && areAllFree;
  return areAllFree;
}

const lastAttempt = (sql: Sql): Fragment => sql`
  left join lateral (select a.at, a.next_at from outbox_attempt a where a.estab = o.estab and a.id = o.id order by a.number desc limit 1) last on true`;
const longestPause = (sql: Sql): Fragment => sql`make_interval(secs => ${breaker.longestPauseSeconds})`;
const firstDue = (sql: Sql): Fragment => sql`(select min(o.due_at) from outbox o where o.lane = lane.key and o.state = 'waiting')`;

/** Finds queues whose work, breaker or next turn waits too long. It locks nothing, because most backlogs are as they should be. */
async function findLateQueues(db: Db): Promise<string[]> {
  const rows = await db<{ key: string }[]>`
    select o.lane as key from outbox o ${lastAttempt(db)}
    where o.state = 'waiting' and o.due_at > now() and o.due_at > now() + ${delayOf(db, db`last`)}
    union select key from lane where open_until > now() + ${longestPause(db)}
    union select key from lane where next_at > now() + make_interval(secs => ${smallestStepMs / 1000}) and next_at > greatest(open_until, ${firstDue(db)})
    order by key`;
  return rows.map(({ key }) => key);
}

/** Returns false if another transaction held some of these queues. */
async function correct(db: Db, late: readonly string[]): Promise<boolean> {
  return db.begin(async (tx) => {
    const lanes = await tx<{ key: string }[]>`select key from lane where key = any(${[...late]}) order by key for update skip locked`;
    const keys = lanes.map(({ key }) => key);
    await tx`
      with planned as materialized (
        select o.estab, o.id, ${delayOf(tx, tx`last`)} as delay from outbox o ${lastAttempt(tx)}
        where o.lane = any(${keys}) and o.state = 'waiting' and o.due_at > now()
      )
      update outbox o set due_at = now() + planned.delay from planned
      where o.estab = planned.estab and o.id = planned.id and o.state = 'waiting' and o.due_at > now() + planned.delay`;
    await tx`
      update lane set open_until = least(open_until, now() + ${longestPause(tx)})
      where key = any(${keys}) and open_until > now()`;
    await tx`update lane set next_at = greatest(open_until, ${firstDue(tx)}) where key = any(${keys}) and next_at > now()`;
    await tx`select pg_notify(${outboxChannel}, '')`;
    return keys.length === late.length;
  });
}
