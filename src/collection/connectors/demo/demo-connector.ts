// In charge of the demo connector: an MIS of our own, whose school changes by itself, that keeps the marks written to
// it, and that can be told to misbehave so that an integrator can rehearse every case.
import type { Db } from '../../../db/connect.ts';
import { MisError, type Connector, type MarksToWrite, type Rejection } from '../../connector.ts';
import { sessions, type MarkRow } from '../../mark.ts';
import { openCsvSource } from '../csv/csv-source.ts';
import { demoMarks, isTaken, listPupils, registerDays, type DemoMark } from './demo-attendance.ts';
import { demoPackage } from './demo-package.ts';
import { countYears } from './calendar.ts';
import { demoSchool, type Moved } from './school.ts';
import { localTimeOf, type LocalTime } from './school-days.ts';

export const demoModes = ['normal', 'slow', 'offline', 'broken', 'rejecting'] as const;
/** Those of `demo mode`, and what only the sandbox has. */
export const misModes = [...demoModes, 'half-written'] as const;
export type DemoMode = (typeof misModes)[number];

export type DemoConnectorParts = {
  db: Db;
  /** Any establishment; the people are always those of the demo school. */
  estab: string;
  mode: DemoMode;
  /** What its clock says. */
  now: () => number;
  /** What clocks say elsewhere, unless its own is right. */
  rightNow?: () => number;
  /** What somebody asked for, beside what changes by itself. */
  moved?: Moved;
  pause: (milliseconds: number) => Promise<void>;
};

export const slowMs = 20_000;

type Behaviour = {
  /** What happens before each operation. */
  before?: (operation: 'read' | 'write', pause: DemoConnectorParts['pause']) => Promise<void>;
  judge?: (marks: readonly MarkRow[]) => Rejection[];
  /** What is read ends in the middle. */
  halfWritten?: true;
};

const behaviours: Readonly<Record<DemoMode, Behaviour>> = {
  normal: {},
  slow: { before: (_operation, pause) => pause(slowMs) },
  offline: {
    before: async () => {
      throw new MisError('Error', 'The demo MIS cannot be reached (it was set to offline). Set it to normal to go on.', { later: true });
    },
  },
  broken: {
    before: async (operation) => {
      if (operation === 'read')
        throw new MisError('Error', 'The demo MIS answered with something that cannot be read (it was set to broken). Set it to normal to go on.', {
          later: true,
        });
      throw new MisError('Error', 'The demo MIS could not make sense of the marks and wrote none of them (it was set to broken).', { later: false });
    },
  },
  rejecting: {
    judge: (marks) =>
      marks.slice(0, 1).map(({ line }) => ({ index: line, code: 'RegisterClosed', message: 'The register is closed (the demo MIS was set to rejecting).' })),
  },
  'half-written': { halfWritten: true },
};

const cutOff = 'The demo MIS stopped in the middle of the registers (it was set to half-written). Set it to normal to go on.';

export function createDemoConnector({ db, estab, mode, now, rightNow = now, moved = {}, pause }: DemoConnectorParts): Connector {
  const { before = async () => {}, judge = () => [], halfWritten = false } = behaviours[mode];
  return {
    kind: 'demo',
    offers: ['SchoolData', 'Attendance'],
    async openRoster() {
      await before('read', pause);
      return openCsvSource(demoPackage(new Date(now()), { ...moved, halfWritten }));
    },
    async *readMarks() {
      await before('read', pause);
      const at = new Date(now());
      const years = moved.rollsOver ? countYears(at) : 0;
      const known = await selectStudents(db, estab);
      // Marks are collected more often than the roster: those of a joiner wait until the roster has met them.
      const pupils = listPupils(demoSchool(at, moved), years).filter(({ id }) => known.size === 0 || known.has(id));
      const written = await selectWritten(db, estab, registerDays(at, years)[0] ?? '-infinity');
      for (const batch of demoMarks(pupils, at, written, years)) {
        yield batch;
        if (halfWritten) throw new MisError('Error', cutOff, { later: true });
      }
      // A clock that was set back does not undo days that were real.
      const ahead = await selectAhead(db, estab, localTimeOf(new Date(Math.max(now(), rightNow()))));
      if (ahead.length > 0) yield ahead;
    },
    async writeMarks(marks) {
      await before('write', pause);
      return writeOnce(db, estab, marks, judge(marks.marks));
    },
  };
}

async function selectStudents(db: Db, estab: string): Promise<Set<string>> {
  const rows = await db<{ id: string }[]>`select sourced_id as id from roster_user where estab = ${estab} and kind = 'student'`;
  return new Set(rows.map(({ id }) => id));
}

async function selectWritten(db: Db, estab: string, from: string): Promise<DemoMark[]> {
  const rows = await db<{ studentId: string; date: string; session: 'AM' | 'PM'; mark: string | null; minutesLate: number | null; notes: string | null }[]>`
    select student_id as "studentId", date::text, session, mark, minutes_late as "minutesLate", notes
    from demo_mark where estab = ${estab} and date >= ${from}::text::date order by date, student_id, session`;
  return rows.map((row) => ({ ...row, mark: row.mark ?? undefined, minutesLate: row.minutesLate ?? undefined, notes: row.notes ?? undefined }));
}

/**
 * Of registers that were handed over while the clock was ahead, and whose hour has not come: each is taken back, so that whoever keeps a copy
 * learns it as of any other mark. What an application wrote stays.
 */
async function selectAhead(db: Db, estab: string, at: LocalTime): Promise<MarkRow[]> {
  const yetToCome = sessions.filter((session) => !isTaken(at.date, session, at));
  const rows = await db<Pick<MarkRow, 'studentId' | 'date' | 'session'>[]>`
    select m.student_id as "studentId", m.date::text, m.session from attendance_mark m
    where m.estab = ${estab} and m.date >= ${at.date}::text::date and (m.date > ${at.date}::text::date or m.session = any(${yetToCome}::text[]))
      and m.mark is not null and not exists (
        select from demo_mark w where w.estab = ${estab} and w.date = m.date and w.student_id = m.student_id and w.session = m.session)
    order by m.date, m.student_id, m.session`;
  return rows.map((row, at) => ({ line: at + 1, ...row, mark: undefined, minutesLate: undefined, notes: undefined }));
}

async function writeOnce(db: Db, estab: string, { trackingId, partial, marks }: MarksToWrite, rejections: readonly Rejection[]): Promise<readonly Rejection[]> {
  return db.begin(async (tx) => {
    // The answer goes first: a second writer waits here for the first to end, and then finds what it was told.
    const [first] = await tx`
      insert into demo_write (estab, tracking_id, answer) values (${estab}, ${trackingId}, ${tx.json(rejections)})
      on conflict do nothing returning tracking_id`;
    if (!first) {
      const [known] = await tx<{ answer: Rejection[] }[]>`select answer from demo_write where estab = ${estab} and tracking_id = ${trackingId}`;
      return known?.answer ?? [];
    }
    const refused = new Set(rejections.map(({ index }) => index));
    const taken = refused.size > 0 && !partial ? [] : marks.filter(({ line }) => !refused.has(line));
    await tx`
      insert into demo_mark (estab, date, session, student_id, mark, minutes_late, notes)
      select distinct on (date, student_id, session) ${estab}, date, session, student_id, mark, minutes_late, notes
      from unnest(
        ${taken.map(({ line }) => line)}::int[], ${taken.map(({ date }) => date)}::text[]::date[], ${taken.map(({ session }) => session)}::text[],
        ${taken.map(({ studentId }) => studentId)}::text[], ${taken.map(({ mark }) => mark ?? null)}::text[],
        ${taken.map(({ minutesLate }) => minutesLate ?? null)}::int[], ${taken.map(({ notes }) => notes ?? null)}::text[]
      ) as given (line, date, session, student_id, mark, minutes_late, notes)
      order by date, student_id, session, line desc
      on conflict (estab, date, student_id, session) do update set mark = excluded.mark, minutes_late = excluded.minutes_late, notes = excluded.notes`;
    return rejections;
  });
}
