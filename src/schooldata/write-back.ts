// In charge of writing marks to the MIS as durable work: tried every five minutes for an hour and when the MIS answers
// others again, written once however often it is tried; its outcome, the change of the data and the calls are one transaction.
import { lockMarks, mergeAuthorsMarks, sealMarks, type Merged } from '../collection/attendance.ts';
import { MisError, type Rejection } from '../collection/connector.ts';
import { recordWritten } from '../collection/fetch-outcome.ts';
import type { MarkRow } from '../collection/mark.ts';
import { openConnector, type ConnectorParts } from '../collection/connector-settings.ts';
import { forMis } from '../collection/mis-answers.ts';
import { readClock } from '../db/clock.ts';
import type { Db, Fragment, Tx } from '../db/connect.ts';
import { announceChange } from '../notifications/announce.ts';
import { holdsClaim, type ClaimedWork } from '../outbox/claim.ts';
import { notHeld } from '../outbox/leases.ts';
import { ownFault, type Outcome } from '../outbox/settle.ts';
import { wakeWork } from '../outbox/wake.ts';
import type { Handler } from '../outbox/worker.ts';
import { tellOutcome } from './outcome.ts';
import { takeTurn, type Turn } from './turn.ts';

type End = { status: 'Completed' | 'Rejected' | 'Failed' | 'TimedOut'; message: string | null; rejections: readonly Rejection[] };

const everySeconds = 300;
/** Whoever waits for another is woken; this is for a word that was lost. */
const lookAgainSeconds = 60;
/** The lease is renewed while the MIS takes its time; this is what one step may take. */
const longestStepSeconds = 20;

const forWriteback = (trackingId: string) => `writeback ${trackingId}`;

export function createWriteback(parts: ConnectorParts): Handler {
  const { db } = parts;
  const oneByOne = createQueues();
  return {
    longestSeconds: longestStepSeconds,
    async run(work, isHeld = () => true) {
      const turn = await takeTurn(db, work.estab, String(work.payload.trackingId));
      if (!turn) return { success: true, state: 'done', detail: { message: 'was settled before' } };
      if ('after' in turn) {
        const detail = { message: `waits for the writeback ${turn.after}, which has a mark of the same pupil and session` };
        return wait(lookAgainSeconds, forWriteback(turn.after), ownFault, detail);
      }
      if (turn.undoOf !== null) await leaveChanged(db, work.estab, turn);
      const marks = await selectPending(db, work.estab, turn.trackingId);
      const ended = await write(parts, work.estab, turn, marks, isHeld);
      if (!ended) return notHeld;
      if ('retrySeconds' in ended) return wait(ended.retrySeconds, forMis, 'mis', { message: ended.message });
      const finished = await oneByOne(work.estab, () => db.begin((tx) => finish(tx, work, turn, marks, ended)));
      return finished
        ? describe(ended)
        : { success: false, state: 'cancelled', charged: false, errorClass: 'mis', detail: { message: 'another worker has taken this over' } };
    },
  };
}

function wait(delaySeconds: number, waitsFor: string, errorClass: string, detail: Outcome['detail']): Outcome {
  return { success: false, state: 'waiting', charged: false, delaySeconds, waitsFor, errorClass, detail };
}

/** Of a school one at a time: all change the same marks, and would each hold a connection while they wait for the lock. */
function createQueues(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work, work);
    last.set(key, mine);
    const forget = () => last.get(key) === mine && last.delete(key);
    mine.then(forget, forget);
    return mine;
  };
}

function describe({ status, message }: End): Outcome {
  return status === 'Completed'
    ? { success: true, state: 'done', detail: { status } }
    : { success: false, state: 'failed', charged: false, errorClass: 'mis', detail: { status, message } };
}

/** Somebody may have entered another mark since it was asked to take this one back. */
async function leaveChanged(db: Db, estab: string, { trackingId, undoOf }: Turn): Promise<void> {
  await db`
    update writeback_mark m set result = 'Failed', code = 'ChangedSince', message = 'the mark was changed since; it is left alone'
    where m.estab = ${estab} and m.tracking_id = ${trackingId} and m.result is null and ${writtenBy(db, estab)} is distinct from ${undoOf}::uuid`;
}

/** The writeback whose entry is the stored mark for the student, date and session of a row m: a subquery, so that each is found by its key. */
function writtenBy(db: Db, estab: string): Fragment {
  return db`(
    select h.tracking_id from attendance_mark o join attendance_history h on h.estab = ${estab} and h.date = o.date and h.student_id = o.student_id
      and h.session = o.session and h.version = o.version
    where o.estab = ${estab} and o.date = m.date::date and o.student_id = m.student_id and o.session = m.session)`;
}

async function selectPending(db: Db, estab: string, trackingId: string): Promise<MarkRow[]> {
  const rows = await db<
    { line: number; studentId: string; date: string; session: 'AM' | 'PM'; mark: string | null; minutesLate: number | null; notes: string | null }[]
  >`
    select index as line, student_id as "studentId", date, session, mark, minutes_late as "minutesLate", notes from writeback_mark where estab = ${estab}
      and tracking_id = ${trackingId} and result is null order by index`;
  return rows.map((row) => ({ ...row, mark: row.mark ?? undefined, minutesLate: row.minutesLate ?? undefined, notes: row.notes ?? undefined }));
}

/** Undefined if the MIS was not called, because another worker may have freed the work. */
async function write(
  parts: ConnectorParts,
  estab: string,
  { trackingId, rp, partial, secondsLeft, undoOf }: Turn,
  marks: readonly MarkRow[],
  isHeld: () => boolean,
): Promise<End | { retrySeconds: number; message: string } | undefined> {
  try {
    // What is taken back may be taken back because the application is no longer welcome.
    const [pair] =
      undoOf !== null
        ? [{}]
        : await parts.db`select from authorisation where estab = ${estab} and rp = ${rp} and state = 'Approved' and 'WritebackAttendance' = any(scopes)`;
    if (!pair) throw new MisError('Error', 'the school no longer lets the application enter marks', { later: false });
    const connector = await openConnector(parts, estab);
    if (!connector?.writeMarks) throw new MisError('Error', "the school's connector cannot write marks", { later: false });
    if (!isHeld()) return undefined;
    const rejections = await connector.writeMarks({ trackingId, partial, marks });
    return rejections.length > 0 && !partial
      ? { status: 'Rejected', message: 'the MIS did not take the marks; nothing was written', rejections }
      : { status: 'Completed', message: null, rejections };
  } catch (error) {
    if (!(error instanceof MisError) && secondsLeft > 0) throw error;
    if (!(error instanceof MisError)) return { status: 'TimedOut', message: 'it could not be written for an hour', rejections: [] };
    if (!error.later) return { status: 'Failed', message: error.message, rejections: [] };
    if (secondsLeft <= 0) return { status: 'TimedOut', message: `the MIS could not be reached for an hour: ${error.message}`, rejections: [] };
    return { retrySeconds: Math.min(everySeconds, secondsLeft), message: error.message };
  }
}

/** False when another worker has taken the work over meanwhile. */
async function finish(tx: Tx, work: ClaimedWork, writeback: Turn, marks: readonly MarkRow[], { status, message, rejections }: End): Promise<boolean> {
  const { estab } = work;
  const { trackingId, rp } = writeback;
  if (!(await holdsClaim(tx, work))) return false;
  if (status === 'Completed') await lockMarks(tx, estab);
  await notePrevious(tx, estab, trackingId);
  await tx`
    update writeback_mark m set result = 'Failed', code = r.code, message = r.message
    from jsonb_to_recordset(${tx.json(rejections)}) as r (index int, code text, message text) where m.estab = ${estab} and m.tracking_id = ${trackingId}
      and m.index = r.index`;
  let merged: Merged | undefined;
  if (status === 'Completed') {
    const refused = new Set(rejections.map(({ index }) => index));
    merged = await mergeAuthorsMarks(tx, estab, marks.filter(({ line }) => !refused.has(line)), {
      rp,
      trackingId,
      reason: writeback.undoOf === null ? null : `undo of ${writeback.undoOf}`,
    });
    if (merged.written > 0) {
      // Makes the school one that has attendance, which what was not written must not do.
      await recordWritten(tx, estab, merged.gained);
      await announceChange(tx, estab, 'Attendance');
    }
  } else {
    await tx`update writeback_mark set result = 'Failed', code = ${status === 'Rejected' ? 'NotWritten' : status}, message = ${message} where estab = ${estab}
      and tracking_id = ${trackingId} and result is distinct from 'Failed'`;
  }
  await tx`update writeback set status = ${status}, message = ${message}, completed_at = ${await readClock(tx)} where estab = ${estab}
    and tracking_id = ${trackingId}`;
  await tellOutcome(tx, { ...writeback, estab });
  // Last, since it holds up whoever puts something into the lane. What an MIS cannot make sense of is no answer.
  const answered = status === 'Completed' || status === 'Rejected';
  await wakeWork(tx, { estab, lane: work.lane }, [forWriteback(trackingId), ...(answered ? [forMis] : [])]);
  if (merged) await sealMarks(tx, estab, merged);
  return true;
}

/** Which marks these replace, and whether they say anything new. What was judged faulty may have a date that is none. */
async function notePrevious(tx: Tx, estab: string, trackingId: string): Promise<void> {
  await tx`
    update writeback_mark m set (previous_mark, result) = (
      select o.mark, case when (m.mark, m.minutes_late, m.notes) is not distinct from (o.mark, o.minutes_late, o.notes) then 'Unchanged' else 'Written' end
      from (select) one left join attendance_mark o on o.estab = ${estab} and o.date = m.date::date and o.student_id = m.student_id and o.session = m.session)
    where m.estab = ${estab} and m.tracking_id = ${trackingId} and m.result is null`;
}
