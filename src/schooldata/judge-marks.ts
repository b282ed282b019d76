// In charge of judging attendance marks before anything is queued: every fault of every mark at once, each with the
// place where it is, and one statement to the database however many marks there are.
import type { MarkRow, Session } from '../collection/mark.ts';
import type { Sql } from '../db/connect.ts';
import { cutText } from '../http/cut-text.ts';
import { findCode, isInUse, type AttendanceCode } from './attendance-codes.ts';
import { markFields, type GivenMark, type MarkField } from './marks-body.ts';
import { localDate, schoolDays } from './school-day.ts';

/** The codes are for programs and stay; messages are for people and may change. */
export const faultCodes = {
  Missing: 'A field that every mark needs is not given.',
  Malformed: 'A mark is not an object, or a field is not a string.',
  UnknownStudent: 'The school has no student with this id.',
  Duplicate: 'An earlier mark of the call is for the same student and session.',
  NotOnRoll: 'The student had left by that day.',
  InvalidMarkType: 'MarkType is not S.',
  InvalidDate: 'Date is not a day written YYYY-MM-DD.',
  SeveralDates: 'Date is not that of the first mark; a call is about one day.',
  FutureDate: 'The day has not come yet where the school is.',
  NotASchoolDay: 'The school is closed on that day.',
  InvalidSession: 'Session is not AM or PM.',
  UnknownMark: 'There is no such code.',
  MarkNotWritable: 'The code is not for applications to enter.',
  MarkNotValidForDate: 'The code was not in use on that day.',
  WrongSessionMark: '/ is for the morning, \\ for the afternoon.',
  InvalidMins: 'Mins is not a whole number from 0 to 999.',
  NotesTooLong: 'Notes has more than 500 characters.',
  NotesRequired: 'The code needs Notes.',
} as const;
export type FaultCode = keyof typeof faultCodes;

export type Fault = Readonly<{ Index: number; Field: MarkField | 'Marks'; Code: FaultCode; Message: string; Suggestion?: string }>;
export type JudgedSchool = Readonly<{ estab: string; timeZone: string; now: Date }>;

/** What only the database knows of a mark; null where it was not asked. */
type Facts = Readonly<{ index: number; known: boolean; onRoll: boolean | null; schoolDay: boolean | null }>;
/** What is judged of a call as a whole. */
type Call = Readonly<{ today: string; date: string | undefined; earlier: Map<string, number> }>;
type Add = (field: Fault['Field'], code: FaultCode, message: string, suggestion?: string) => undefined;

const mostNotes = 500;

export async function judgeMarks(sql: Sql, school: JudgedSchool, marks: readonly GivenMark[]): Promise<{ faults: Fault[]; good: MarkRow[] }> {
  const facts = await selectFacts(sql, school, marks);
  const call: Call = { today: localDate(school.now, school.timeZone), date: marks.find((given) => isDate(given.date))?.date, earlier: new Map() };
  const faults: Fault[] = [];
  const good: MarkRow[] = [];
  for (const given of marks) {
    const own: Fault[] = [];
    const row = judgeMark(
      given,
      facts.get(given.index),
      call,
      (Field, Code, Message, Suggestion) => void own.push({ Index: given.index, Field, Code, Message, ...(Suggestion === undefined ? {} : { Suggestion }) }),
    );
    if (row && own.length === 0) good.push(row);
    faults.push(...own.sort((a, b) => fieldOrder(a) - fieldOrder(b)));
  }
  return { faults, good };
}

function judgeMark(given: GivenMark, facts: Facts | undefined, call: Call, add: Add): MarkRow | undefined {
  for (const [field, message] of given.malformed) add(field, 'Malformed', message);
  if (given.malformed.has('Marks')) return undefined;
  const required = [
    ['StudentId', given.studentId],
    ['MarkType', given.markType],
    ['Date', given.date],
    ['Session', given.session],
    ['Mark', given.mark],
  ] as const;
  for (const [field, value] of required) if (value === undefined && !given.malformed.has(field)) add(field, 'Missing', `${field} is missing.`);

  const date = judgeDate(given, facts, call, add);
  const session = judgeSession(given, add);
  judgeStudent(given, facts, call, { date, session }, add);
  if (given.markType !== undefined && given.markType.trim().toUpperCase() !== 'S')
    add('MarkType', 'InvalidMarkType', `MarkType is ${quote(given.markType)}; it must be S, for a session. Lesson marks are not taken.`);
  const code = judgeCode(given.mark, date, session, add);
  const minutesLate = judgeMins(given, add);
  const notes = judgeNotes(given, code, add);
  if (given.studentId === undefined || !date || !session || !code) return undefined;
  return { line: given.index, studentId: given.studentId, date, session, mark: code.mark, minutesLate, notes };
}

function judgeStudent(
  { index, studentId }: GivenMark,
  facts: Facts | undefined,
  call: Call,
  { date, session }: { date: string | undefined; session: Session | undefined },
  add: Add,
): void {
  if (studentId === undefined) return;
  if (!facts?.known) add('StudentId', 'UnknownStudent', `The school has no student with the id ${quote(studentId)}.`);
  else if (facts.onRoll === false) add('StudentId', 'NotOnRoll', `The student ${quote(studentId)} had left by ${date}.`);
  if (!session) return;
  // A date that cannot be read is taken for the one of the call, which it has to become.
  const key = `${session} ${date ?? call.date} ${studentId}`;
  const earlier = call.earlier.get(key);
  if (earlier === undefined) call.earlier.set(key, index);
  else add('StudentId', 'Duplicate', `The student ${quote(studentId)} already has a mark for ${session} at index ${earlier}.`);
}

function judgeDate({ date }: GivenMark, facts: Facts | undefined, call: Call, add: Add): string | undefined {
  if (date === undefined) return undefined;
  if (!isDate(date)) return add('Date', 'InvalidDate', `Date is ${quote(date)}; it must be a day of the calendar written YYYY-MM-DD.`);
  if (date !== call.date) add('Date', 'SeveralDates', `Date is ${date}, but an earlier mark's is ${call.date}; a call is about one day.`);
  if (date > call.today) add('Date', 'FutureDate', `${date} has not come yet: at the school it is ${call.today}.`);
  if (facts?.schoolDay === false) add('Date', 'NotASchoolDay', `${date} is no school day: it is a weekend, or outside the terms that the school's MIS gives.`);
  return date;
}

function judgeSession({ session }: GivenMark, add: Add): Session | undefined {
  const read = session?.trim().toUpperCase();
  if (session === undefined || read === 'AM' || read === 'PM') return read as Session | undefined;
  return add('Session', 'InvalidSession', `Session is ${quote(session)}; it must be AM or PM.`);
}

function judgeCode(mark: string | undefined, date: string | undefined, session: Session | undefined, add: Add): AttendanceCode | undefined {
  if (mark === undefined) return undefined;
  const code = findCode(mark);
  if (!code) {
    const meant = findCode(mark.trim().toUpperCase(), date);
    return add('Mark', 'UnknownMark', `There is no code ${quote(mark)}; AttendanceCodes lists those there are.`, meant?.writable ? meant.mark : undefined);
  }
  if (!code.writable) return add('Mark', 'MarkNotWritable', `${mark} (${code.description}) is not for applications to enter.`);
  if (date !== undefined && !isInUse(code, date)) {
    const when = code.validTo !== undefined && date > code.validTo ? `was withdrawn after ${code.validTo}` : `is in use from ${code.validFrom} on`;
    // One code became eight: only the school knows which reason it was.
    const others = code.mark === 'Y' ? ', or Y2 to Y7 or Q where one of those was the reason' : '';
    return add('Mark', 'MarkNotValidForDate', `${mark} ${when} and cannot be entered for ${date}; use ${code.instead}${others}.`, code.instead);
  }
  if (mark === '/' && session === 'PM') add('Mark', 'WrongSessionMark', '/ is present in the morning; in the afternoon it is \\ (in JSON "\\\\").', '\\');
  if (mark === '\\' && session === 'AM') add('Mark', 'WrongSessionMark', '\\ is present in the afternoon; in the morning it is /.', '/');
  return code;
}

function judgeMins({ mins }: GivenMark, add: Add): number | undefined {
  const read = mins?.trim() ?? '';
  if (read === '') return undefined;
  return /^\d{1,3}$/.test(read) ? Number(read) : add('Mins', 'InvalidMins', `Mins is ${quote(read)}; it must be a whole number from 0 to 999.`);
}

function judgeNotes({ notes, malformed }: GivenMark, code: AttendanceCode | undefined, add: Add): string | undefined {
  const read = notes?.trim() === '' ? undefined : notes;
  const length = read === undefined ? 0 : [...read].length;
  if (length > mostNotes) add('Notes', 'NotesTooLong', `Notes has ${length} characters; at most ${mostNotes} are taken.`);
  // The guidance: the register must say what the unavoidable cause was.
  if (code?.mark === 'Y7' && length === 0 && !malformed.has('Notes')) add('Notes', 'NotesRequired', 'Y7 needs Notes that say what the unavoidable cause was.');
  return read;
}

/**
 * A student who is active is on roll. One marked tobedeleted was on roll up to the day, where the school is, of the
 * roster's version that marked them; or, where each of their enrolments was removed and has an end, which says more
 * than when we happened to learn of it, only up to the last of those (ends are exclusive). Someone who was gone
 * before the first import counts as having left with it: nothing tells otherwise.
 */
async function selectFacts(sql: Sql, { estab, timeZone }: JudgedSchool, marks: readonly GivenMark[]): Promise<Map<number, Facts>> {
  const dates = marks.map(({ date }) => (isDate(date) ? date : null));
  // The limit keeps it to one lookup by key per mark. As a plain join, a planner whose statistics do not know the school
  // yet reads all of it again for each: 20 s instead of 0.2 s for 5,000 marks among 50,000 students.
  const rows = await sql<Facts[]>`
    with given as materialized (
      select * from unnest(${marks.map(({ index }) => index)}::int[], ${marks.map(({ studentId }) => studentId ?? null)}::text[],
        ${dates}::text[]::date[]) as given (index, student_id, date)
    )
    select given.index, u.sourced_id is not null as known, day.is_school_day as "schoolDay",
      case
        when u.sourced_id is null or given.date is null then null
        when u.status = 'active' then true
        else given.date <= (u.instant at time zone ${timeZone})::date and not coalesce((
          select bool_and(e.status = 'tobedeleted' and e.end_date is not null) and max(e.end_date) <= given.date
          from roster_enrollment e where e.estab = ${estab} and e.user_id = u.sourced_id), false)
      end as "onRoll"
    from given
    left join lateral (
      select u.sourced_id, u.status, v.instant from roster_user u left join roster_version v on v.estab = ${estab} and v.version = u.version
      where u.estab = ${estab} and u.sourced_id = given.student_id and u.kind = 'student' limit 1
    ) u on true
    left join (${schoolDays(sql, estab, sql`select distinct date from given where date is not null`)}) day on day.date = given.date`;
  return new Map(rows.map((row) => [row.index, row]));
}

/** The years before 1000 are not worth what they do to parsers. */
function isDate(text: string | undefined): text is string {
  if (text === undefined || !/^[1-9]\d{3}-\d{2}-\d{2}$/.test(text)) return false;
  const read = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(text);
}

function fieldOrder({ Field }: Fault): number {
  return Field === 'Marks' ? -1 : markFields.indexOf(Field);
}

function quote(text: string): string {
  return `"${cutText(text, 60)}"`;
}
