// In charge of the marks of one pupil, month by month: each with what it means, when it came and who wrote it. The days are
// looked up one by one in the register's own key, so that a pupil costs no more in a large school.
import type { Db } from '../db/connect.ts';
import { findCode } from './attendance-codes.ts';

/** by: the application that wrote it back, if one did. earlier: what stood there before, newest first. */
export type PupilMark = Readonly<{
  date: string;
  session: string;
  mark: string | null;
  meaning: string | undefined;
  minutesLate: number | null;
  notes: string | null;
  at: Date | null;
  by: MarkAuthor | null;
  earlier: readonly EarlierMark[];
}>;
export type MarkAuthor = Readonly<{ rp: string; name: string | null; trackingId: string | null; reason: string | null }>;
export type EarlierMark = Readonly<{ mark: string | null; minutesLate: number | null; notes: string | null; replacedAt: Date }>;

/** earlier, later: the next months, in either direction, that have marks. */
export type MarksOfMonth = Readonly<{ month: string; marks: readonly PupilMark[]; earlier: string | undefined; later: string | undefined }>;

type Row = Omit<PupilMark, 'meaning' | 'by' | 'earlier'> & { version: number };
type Replaced = EarlierMark & { date: string; session: string; version: number; rp: string | null } & Omit<MarkAuthor, 'rp'>;

const monthPattern = /^(?:19|20|21)\d{2}-(?:0[1-9]|1[0-2])$/;
export const isMonth = (text: string) => monthPattern.test(text);
/** How many days are looked at at once for the next month that has marks, and how often: no pupil is at a school for longer. */
const [daysAtOnce, mostStretches] = [750, 10];
const mostReplaced = 500;

/** month: YYYY-MM; anything else is the newest that has marks, or this one. */
export async function readPupilMarks(db: Db, estab: string, studentId: string, month: string, today: string): Promise<MarksOfMonth> {
  const asked = isMonth(month) ? month : (await findMonth(db, estab, studentId, dayAfter(today, 31), -1)) ?? today.slice(0, 7);
  const days = daysOf(asked);
  const rows = await db<Row[]>`
    select to_char(m.date, 'YYYY-MM-DD') as date, m.session, m.mark, m.minutes_late as "minutesLate", m.notes, m.version, v.instant as at
    from attendance_mark m left join attendance_version v on v.estab = ${estab} and v.version = m.version
    where m.estab = ${estab} and m.date = any(${days}::date[]) and m.student_id = ${studentId} order by m.date, m.session`;
  const replaced = await db<Replaced[]>`
    select to_char(h.date, 'YYYY-MM-DD') as date, h.session, h.version, h.rp, p.name, h.tracking_id as "trackingId", h.reason, h.at as "replacedAt",
      h.previous_mark as mark, h.previous_minutes_late as "minutesLate", h.previous_notes as notes
    from attendance_history h left join application p on p.rp = h.rp
    where h.estab = ${estab} and h.date = any(${days}::date[]) and h.student_id = ${studentId} order by h.at desc limit ${mostReplaced}`;
  return {
    month: asked,
    marks: rows.map((row) => describeMark(row, replaced.filter(({ date, session }) => date === row.date && session === row.session))),
    earlier: await findMonth(db, estab, studentId, days[0] ?? asked, -1),
    later: await findMonth(db, estab, studentId, days.at(-1) ?? asked, 1),
  };
}

function describeMark({ version, ...mark }: Row, replaced: readonly Replaced[]): PupilMark {
  const own = replaced.find((one) => one.version === version && one.rp !== null);
  return {
    ...mark,
    meaning: mark.mark === null ? undefined : findCode(mark.mark, mark.date)?.description ?? findCode(mark.mark)?.description,
    by: own && own.rp !== null ? { rp: own.rp, name: own.name, trackingId: own.trackingId, reason: own.reason } : null,
    earlier: replaced
      .filter((one) => one.mark !== null)
      .map(({ mark: was, minutesLate, notes, replacedAt }) => ({ mark: was, minutesLate, notes, replacedAt })),
  };
}

/** The month of the nearest day with a mark, before or after this one. */
async function findMonth(db: Db, estab: string, studentId: string, day: string, direction: 1 | -1): Promise<string | undefined> {
  const [ends] = await db<{ first: string | null; last: string | null }[]>`
    select to_char(min(date), 'YYYY-MM-DD') as first, to_char(max(date), 'YYYY-MM-DD') as last from attendance_mark where estab = ${estab}`;
  const end = direction < 0 ? ends?.first : ends?.last;
  if (end === null || end === undefined) return undefined;
  for (let from = day, stretch = 0; stretch < mostStretches && (direction < 0 ? from > end : from < end); stretch += 1) {
    const days = Array.from({ length: daysAtOnce }, (_, at) => dayAfter(from, direction * (at + 1)));
    const [row] = await db<{ month: string }[]>`
      select to_char(m.date, 'YYYY-MM') as month from attendance_mark m
      where m.estab = ${estab} and m.date = any(${days}::date[]) and m.student_id = ${studentId}
      order by m.date ${direction < 0 ? db`desc` : db`asc`} limit 1`;
    if (row) return row.month;
    from = dayAfter(from, direction * daysAtOnce);
  }
  return undefined;
}

function daysOf(month: string): string[] {
  const [year = 0, number = 1] = month.split('-').map(Number);
  const count = new Date(Date.UTC(year, number, 0)).getUTCDate();
  return Array.from({ length: count }, (_, at) => `${month}-${String(at + 1).padStart(2, '0')}`);
}

function dayAfter(day: string, days: number): string {
  return new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
}
