// In charge of the registers of the demo school: what its teachers marked on the last school days and on the day that the reference
// names, the same on every machine, with what was written to it since laid over.
import { sessions, type MarkRow, type Session } from '../../mark.ts';
import { lessonsEnd } from './calendar.ts';
import { Sheet, type DemoFile } from './demo-file.ts';
import { exampleDay } from './named-in-reference.ts';
import { lastSchoolDays, localTimeOf, type LocalTime } from './school-days.ts';
import { seededRandom } from './seeded-random.ts';

/** A mark without its place in a source. */
export type DemoMark = Omit<MarkRow, 'line'>;
export type Pupil = Readonly<{ id: string; from: string; until: string }>;

const keptDays = 14;
const batchRows = 1000;
/** A register is taken at nine and at one and shows ten minutes later. */
const registersShow: Readonly<Record<Session, string>> = { AM: '09:10', PM: '13:10' };
/** By then the office has found out why somebody was missing. */
const daysToExplain = 3;

/** What a day was like for a pupil, how often in a thousand, and the marks it makes; the rest was present all day. */
const days: readonly (readonly [share: number, am: string, pm: string])[] = [
  [22, 'L', '\\'], [2, '/', 'L'],
  [28, 'I', 'I'], [4, '/', 'I'],
  [4, 'M', '\\'], [4, '/', 'M'],
  [4, 'C', 'C'], [1, 'R', 'R'], [2, 'E', 'E'], [1, 'J1', '\\'], [1, 'C2', '\\'],
  [4, 'V', 'V'], [2, 'P', '\\'], [2, 'B', 'B'], [1, 'W', 'W'],
  [4, 'O', 'O'], [2, 'U', '\\'], [1, 'G', 'G'], [1, 'Y1', 'Y1'],
  [6, 'N', 'N'],
];

/** The days whose registers there are at an instant, oldest first. years: how many school years have begun since the present one. */
export function registerDays(at: Date, years = 0): string[] {
  const last = lastSchoolDays(localTimeOf(at).date, keptDays, years);
  return exampleDay < (last[0] ?? '') ? [exampleDay, ...last] : last;
}

/** Whether the register of a session has been taken. */
export function isTaken(date: string, session: Session, now: LocalTime): boolean {
  return date < now.date || (date === now.date && now.time >= registersShow[session]);
}

/** Batches of the marks at an instant; `written` are those that were written to the demo MIS on these days or later. */
export function* demoMarks(pupils: readonly Pupil[], at: Date, written: readonly DemoMark[], years = 0): Generator<MarkRow[]> {
  const overlay = new Map(written.map((mark) => [keyOf(mark), mark]));
  let batch: MarkRow[] = [];
  let line = 0;
  for (const drawn of drawMarks(pupils, localTimeOf(at), registerDays(at, years))) {
    const mark = overlay.get(keyOf(drawn)) ?? drawn;
    overlay.delete(keyOf(drawn));
    batch.push({ line: (line += 1), ...mark });
    if (batch.length === batchRows) {
      yield batch;
      batch = [];
    }
  }
  // Written for a register that the demo has not taken itself.
  for (const mark of overlay.values()) batch.push({ line: (line += 1), ...mark });
  if (batch.length > 0) yield batch;
}

/** Pupils who are on roll, with the days between which they have lessons. */
export function listPupils(school: readonly DemoFile[], years = 0): Pupil[] {
  const sheet = (name: string): Sheet => new Sheet(school.find((file) => file.name === name) ?? { name, header: ['sourcedId'], rows: [] });
  const [users, enrollments] = [sheet('users.csv'), sheet('enrollments.csv')];
  const joined = new Map<string, string>();
  for (const enrolment of enrollments.where({ role: 'student' })) {
    const [user, begin] = [enrollments.get(enrolment, 'userSourcedId'), enrollments.get(enrolment, 'beginDate')];
    if (begin <= (joined.get(user) ?? begin)) joined.set(user, begin);
  }
  const endOf = (id: string) => lessonsEnd(Number(users.get(id, 'grades')), years);
  return users.where({ role: 'student', status: '' }).map((id) => ({ id, from: joined.get(id) ?? '', until: endOf(id) }));
}

function* drawMarks(pupils: readonly Pupil[], now: LocalTime, dates: readonly string[]): Generator<DemoMark> {
  for (const [position, date] of dates.entries()) {
    const taken = sessions.filter((session) => isTaken(date, session, now));
    const explained = dates.length - position > daysToExplain;
    for (const pupil of pupils) {
      if (date < pupil.from || date >= pupil.until) continue;
      const day = drawDay(pupil.id, date, explained);
      for (const session of taken) yield { studentId: pupil.id, date, session, ...day[session] };
    }
  }
}

type Entry = Pick<DemoMark, 'mark' | 'minutesLate' | 'notes'>;

/** Each pupil's day is a chance of its own, so that neither joiners nor the passing of days change what was marked. */
function drawDay(pupil: string, date: string, explained: boolean): Record<Session, Entry> {
  const random = seededRandom(`${pupil} ${date}`);
  let chance = random.below(1000);
  const [, am, pm] = days.find(([share]) => (chance -= share) < 0) ?? [0, '/', '\\'];
  const minutesLate = 1 + random.below(25);
  const reason = random.pick(['I', 'I', 'O']);
  const entry = (mark: string): Entry => ({
    mark: mark === 'N' && explained ? reason : mark,
    minutesLate: mark === 'L' || mark === 'U' ? minutesLate + (mark === 'U' ? 30 : 0) : undefined,
    notes: mark === 'M' ? 'Appointment' : mark === 'V' ? 'Educational visit' : undefined,
  });
  return { AM: entry(am), PM: entry(pm) };
}

function keyOf({ studentId, date, session }: DemoMark): string {
  return `${date} ${session} ${studentId}`;
}
