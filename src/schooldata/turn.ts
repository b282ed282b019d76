// In charge of whose turn it is to write: a writeback waits only for another pending one of the same school that has a
// mark of the same pupil, date and session, whoever asked for it. What does not meet is written side by side.
import { misLane } from '../collection/mis-answers.ts';
import { readClock } from '../db/clock.ts';
import type { Db, Tx } from '../db/connect.ts';

/** For how long a writeback to the MIS is retried before it times out. */
export const longestMinutes = 60;

export type Turn = { trackingId: string; rp: string; partial: boolean; undoOf: string | null; callbacks: { url: string }[]; secondsLeft: number };

const advisoryLock = 5_219_012;

/**
 * Takes the turn and counts the attempt; or says which one has to be settled first; undefined when it is settled itself.
 *
 * One that has been tried before, and may have reached the MIS, goes on until it is settled and waits for nobody. One
 * that has not waits for those, and for whoever came before it. So nobody waits in a circle, and one that was asked for
 * earlier, but committed when a later one was under way already, comes after it.
 */
export async function takeTurn(db: Db, estab: string, trackingId: string): Promise<Turn | { after: string } | undefined> {
  return db.begin(async (tx) => {
    // Two that meet would otherwise each look before the other has begun.
    await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
    const after = await findEarlier(tx, estab, trackingId);
    if (after !== undefined) return { after };
    const at = await readClock(tx);
    // A deadline further ahead was set before the clock was set back.
    const [turn] = await tx<(Omit<Turn, 'secondsLeft'> & { deadlineAt: Date })[]>`
      update writeback set attempts = attempts + 1, deadline_at = least(deadline_at, ${at}::timestamptz + make_interval(mins => ${longestMinutes}))
      where estab = ${estab} and tracking_id = ${trackingId} and status = 'Pending'
      returning tracking_id as "trackingId", rp, partial, undo_of as "undoOf", callbacks, deadline_at as "deadlineAt"`;
    if (!turn) return undefined;
    const { deadlineAt, ...mine } = turn;
    return { ...mine, secondsLeft: (deadlineAt.getTime() - at.getTime()) / 1000 };
  });
}

/** The last of them, so that as few as possible are left when that one is settled. One whose work was lost holds up nobody. */
async function findEarlier(tx: Tx, estab: string, trackingId: string): Promise<string | undefined> {
  // The offset keeps it to one lookup by key per mark, whatever the planner knows of the tables.
  const earlier = await tx<{ trackingId: string }[]>`
    with met as materialized (
      select distinct other.tracking_id from writeback_mark m
      cross join lateral (
        select o.tracking_id from writeback_mark o where o.estab = ${estab} and o.student_id = m.student_id and o.date = m.date and o.session = m.session
          and o.result is null offset 0
      ) other
      where m.estab = ${estab} and m.tracking_id = ${trackingId} and m.result is null and other.tracking_id <> m.tracking_id
    )
    select w.tracking_id as "trackingId" from met join writeback w on w.estab = ${estab} and w.tracking_id = met.tracking_id and w.status = 'Pending'
    join writeback own on own.estab = ${estab} and own.tracking_id = ${trackingId} and own.attempts = 0
    where (w.attempts > 0 or (w.submitted_at, w.tracking_id) < (own.submitted_at, own.tracking_id))
    order by w.attempts, w.submitted_at desc, w.tracking_id desc`;
  if (earlier.length === 0) return undefined;
  const ids = earlier.map((one) => one.trackingId);
  const rows = await tx<{ trackingId: string }[]>`
    select distinct o.payload ->> 'trackingId' as "trackingId" from outbox o where o.estab = ${estab} and o.lane = ${misLane(estab).key}
      and o.payload ->> 'trackingId' = any(${ids}::text[]) and o.state in ('waiting', 'running')`;
  const working = new Set(rows.map((row) => row.trackingId));
  return ids.find((id) => working.has(id));
}
