// In charge of taking a writeback back: what it wrote is written once more as it was before, as an amendment of its
// own, unless somebody has changed it since.
import { atOnce } from '../at-once.ts';
import type { Db } from '../db/connect.ts';
import { withHashJoins } from '../db/join-by-hash.ts';
import { SchoolbellError } from '../errors.ts';
import { isTrackingId } from './outcome.ts';
import { enqueueWriteback } from './submit-marks.ts';
import { longestMinutes } from './turn.ts';

export type Undone = { trackingId: string; undoOf: string; marks: number; changedSince: number };

const schoolsAtOnce = 20;

type Row = {
  index: number;
  studentId: string;
  date: string;
  session: string;
  previousMark: string | null;
  previousMinutesLate: number | null;
  previousNotes: string | null;
  same: boolean;
};

/** Whoever takes it back knows nothing but its id. */
export async function undoWriteback(db: Db, trackingId: string): Promise<Undone> {
  const unknown = `there is no writeback ${trackingId}`;
  const estab = isTrackingId(trackingId) ? await findSchool(db, trackingId) : undefined;
  if (estab === undefined) throw new SchoolbellError('not_found', unknown);
  return db.begin(async (tx) => {
    const [found] = await tx<
      { rp: string; status: string }[]
    >`select rp, status from writeback where estab = ${estab} and tracking_id = ${trackingId} for update`;
    if (!found) throw new SchoolbellError('not_found', unknown);
    if (found.status !== 'Completed') throw new SchoolbellError('conflict', `the writeback is ${found.status}: there is nothing to take back`);
    const [before] = await tx<
      { trackingId: string; status: string }[]
    >`select tracking_id as "trackingId", status from writeback where estab = ${estab} and undo_of = ${trackingId}
      and status in ('Pending', 'Completed')`;
    if (before) throw new SchoolbellError('conflict', `it was taken back already by ${before.trackingId} (${before.status})`);
    const rows = await withHashJoins(tx, async () => tx<Row[]>`
      select m.index, m.student_id as "studentId", m.date, m.session, h.previous_mark as "previousMark", h.previous_minutes_late as "previousMinutesLate",
        h.previous_notes as "previousNotes", o.version = h.version as same
      from writeback_mark m
      join attendance_history h on h.estab = ${estab} and h.tracking_id = m.tracking_id and h.date = case when m.result = 'Written' then m.date::date end
        and h.student_id = m.student_id and h.session = m.session
      join attendance_mark o on o.estab = ${estab} and o.date = h.date and o.student_id = h.student_id and o.session = h.session
      where m.estab = ${estab} and m.tracking_id = ${trackingId} and m.result = 'Written' order by m.index`);
    const back = rows.filter((row) => row.same);
    if (back.length === 0) throw new SchoolbellError('conflict', rows.length === 0 ? 'it changed nothing' : 'every mark that it wrote has been changed since');
    const [undo] = await tx<{ trackingId: string }[]>`
      insert into writeback (estab, rp, partial, request_hash, idempotency_key, callbacks, deadline_at, undo_of)
      values (${estab}, ${found.rp}, false, '', ${`undo ${trackingId} ${Date.now()}`}, '[]', now() + make_interval(mins => ${longestMinutes}), ${trackingId})
        returning tracking_id as "trackingId"`;
    const undoId = undo?.trackingId ?? '';
    const marks = back.map((row, index) => ({
      index,
      student_id: row.studentId,
      date: row.date,
      session: row.session,
      mark: row.previousMark,
      minutes_late: row.previousMinutesLate,
      notes: row.previousNotes,
    }));
    await tx`
      insert into writeback_mark (estab, tracking_id, index, student_id, date, session, mark, minutes_late, notes)
      select ${estab}, ${undoId}, * from jsonb_to_recordset(${tx.json(marks as never)})
        as given (index int, student_id text, date text, session text, mark text, minutes_late int, notes text)`;
    await enqueueWriteback(tx, { estab, rp: found.rp }, undoId);
    return { trackingId: undoId, undoOf: trackingId, marks: back.length, changedSince: rows.length - back.length };
  });
}

/** Each school has its writebacks to itself, so that every one is asked, some at a time, until it is found. */
async function findSchool(db: Db, trackingId: string): Promise<string | undefined> {
  const schools = await db<{ estab: string }[]>`select estab from establishment order by estab`;
  let found: string | undefined;
  await atOnce(schoolsAtOnce, schools, async ({ estab }) => {
    if (found !== undefined) return;
    const [own] = await db<{ estab: string }[]>`select estab from writeback where estab = ${estab} and tracking_id = ${trackingId}`;
    found ??= own?.estab;
  });
  return found;
}
