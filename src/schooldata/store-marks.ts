// In charge of the marks of a writeback as rows: those that are to be written, and what is said of those that are not.
import type { MarkRow } from '../collection/mark.ts';
import type { Tx } from '../db/connect.ts';
import { cutText } from '../http/cut-text.ts';
import type { Fault } from './judge-marks.ts';
import type { GivenMark } from './marks-body.ts';

export type JudgedMarks = { faults: readonly Fault[]; good: readonly MarkRow[] };

/** As long as a student's id can be. What is longer is no value of any field, and is kept only to be recognised. */
const longestKept = 255;

/** What was judged faulty is part of the outcome, as failed, and is not written. */
export async function storeMarks(tx: Tx, estab: string, trackingId: string, given: readonly GivenMark[], { faults, good }: JudgedMarks): Promise<void> {
  const firstFault = new Map(faults.toReversed().map((fault) => [fault.Index, fault]));
  const byIndex = new Map(good.map((row) => [row.line, row]));
  const rows = given.map((one) => {
    const { index } = one;
    const row = byIndex.get(index);
    const fault = firstFault.get(index);
    return {
      index,
      student_id: row?.studentId ?? clip(one.studentId),
      date: row?.date ?? clip(one.date),
      session: row?.session ?? clip(one.session),
      mark: row ? (row.mark ?? null) : one.mark === undefined ? null : clip(one.mark),
      minutes_late: row?.minutesLate ?? null,
      notes: row?.notes ?? null,
      result: fault ? 'Failed' : null,
      code: fault?.Code ?? null,
      message: fault?.Message ?? null,
    };
  });
  await tx`
    insert into writeback_mark (estab, tracking_id, index, student_id, date, session, mark, minutes_late, notes, result, code, message)
    select ${estab}, ${trackingId}, * from jsonb_to_recordset(${tx.json(rows)}) as given (index int, student_id text, date text, session text, mark text,
      minutes_late int, notes text, result text, code text, message text)`;
}

/** Of marks that were refused together: there was nothing wrong with these, but they were not written either. */
export async function failUnwritten(tx: Tx, estab: string, trackingId: string): Promise<void> {
  await tx`
    update writeback_mark m set result = 'Failed', code = 'NotWritten', message = 'other marks of the call have faults; nothing was written', previous_mark = (
      select o.mark from attendance_mark o where o.estab = ${estab} and o.date = m.date::date and o.student_id = m.student_id and o.session = m.session)
    where m.estab = ${estab} and m.tracking_id = ${trackingId} and m.result is null`;
}

function clip(text = ''): string {
  return cutText(text, longestKept);
}
