// In charge of the marks of a school: merged in sets, touching only those that differ, each replaced entry kept, with
// one version and instant per change.
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { attendanceFile, type MarkRow } from './mark.ts';
import { listedProblems, type Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import { stagedMarks } from './stage.ts';

/** Whose entry it is. */
export type Author = { rp: string; trackingId: string; reason: string | null };
/** Marks of an author, or as an MIS had them at an instant: what was written here later is newer. */
type Origin = { author: Author } | { asOf: Date };
/** How many differed, how many more marks there are than before, and the version that they are; undefined when none did. */
export type Merged = { written: number; gained: number; version: number | undefined };
export type MarksCount = Merged & { unchanged: number; rejected: number };

const advisoryLock = 5_219_006;

/** Only one change of a school's marks at a time, until the transaction ends. No row is locked: whoever asks how they stand goes on. */
export async function lockMarks(tx: Tx, estab: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
}

/** Under the lock. Marks that were staged by a reading. How the database stands is yet to be said, and their instant to be sealed. */
export async function mergeStagedMarks(tx: Tx, reading: Reading, problems: Problems, asOf: Date): Promise<MarksCount> {
  const rejected = await rejectUnknown(tx, reading, problems);
  const [staged] = await tx<{ count: number }[]>`select count(*)::int as count from ${stagedMarks(tx, reading)} s`;
  const merged = await merge(tx, reading.estab, stagedMarks(tx, reading), { asOf });
  return { ...merged, unchanged: (staged?.count ?? 0) - merged.written, rejected };
}

/**
 * Under the lock. Marks of an author; of somebody who has gone from the roster since there are none. How the database stands is yet to be
 * said, and their instant to be sealed.
 */
export async function mergeAuthorsMarks(tx: Tx, estab: string, rows: readonly MarkRow[], author: Author): Promise<Merged> {
  return merge(
    tx,
    estab,
    tx`(select * from unnest(${rows.map((row) => row.studentId)}::text[], ${rows.map((row) => row.date)}::date[], ${rows.map((row) => row.session)}::text[],
      ${rows.map((row) => row.mark ?? null)}::text[], ${rows.map((row) => row.minutesLate ?? null)}::int[], ${rows.map((row) => row.notes ?? null)}::text[])
      as given (student_id, date, session, mark, minutes_late, notes)
      where exists (select from roster_user u where u.estab = ${estab} and u.sourced_id = given.student_id and u.kind = 'student'))`,
    { author },
  );
}

/** A mark of somebody whom the roster does not know, or not as a pupil. */
async function rejectUnknown(tx: Tx, { estab, number }: Reading, problems: Problems): Promise<number> {
  const rows = await tx<{ line: number; studentId: string; total: number }[]>`
    with fallen as (
      delete from stage_mark s where s.estab = ${estab} and s.reading = ${number}
        and not exists (select from roster_user u where u.estab = ${estab} and u.sourced_id = s.student_id and u.kind = 'student')
      returning s.line, s.student_id
    )
    select line, student_id as "studentId", (count(*) over ())::int as total from fallen order by line limit ${listedProblems}`;
  for (const { line, studentId } of rows)
    problems.add({ file: attendanceFile, line, column: 'studentSourcedId', value: studentId, rule: 'there is no such student in the roster' });
  const total = rows[0]?.total ?? 0;
  problems.count(total - rows.length);
  return total;
}

async function merge(tx: Tx, estab: string, marks: Fragment, origin: Origin): Promise<Merged> {
  const author = 'author' in origin ? origin.author : undefined;
  const older =
    'asOf' in origin
      ? tx`and not exists (select from attendance_history h where h.estab = ${estab} and h.date = s.date and h.student_id = s.student_id
        and h.session = s.session and h.tracking_id is not null and h.at > ${origin.asOf})`
      : tx``;
  const [current] = await tx<{ version: number }[]>`select coalesce(max(version), 0)::int as version from attendance_version where estab = ${estab}`;
  const version = (current?.version ?? 0) + 1;
  const [counted] = await tx<{ written: number; gained: number }[]>`
    with differing as materialized (
      select s.*, o.mark as previous_mark, o.minutes_late as previous_minutes_late, o.notes as previous_notes, o.version as previous_version
      from ${marks} s left join attendance_mark o on o.estab = ${estab} and o.date = s.date and o.student_id = s.student_id and o.session = s.session
      where (s.mark, s.minutes_late, s.notes) is distinct from (o.mark, o.minutes_late, o.notes) ${older}
    ), written as (
      insert into attendance_mark (estab, date, session, student_id, mark, minutes_late, notes, version)
      select ${estab}, date, session, student_id, mark, minutes_late, notes, ${version} from differing
      on conflict (estab, date, student_id, session) do update
        set mark = excluded.mark, minutes_late = excluded.minutes_late, notes = excluded.notes, version = excluded.version
    ), kept as (
      insert into attendance_history (estab, date, session, student_id, version, rp, tracking_id, reason, mark, minutes_late, notes, previous_mark,
        previous_minutes_late, previous_notes)
      select ${estab}, date, session, student_id, ${version}, ${author?.rp ?? null}, ${author?.trackingId ?? null}, ${author?.reason ?? null}, mark,
        minutes_late, notes, previous_mark, previous_minutes_late, previous_notes
      from differing where previous_version is not null or ${author !== undefined}
    )
    select count(*)::int as written,
      (count(*) filter (where previous_mark is null and mark is not null) - count(*) filter (where previous_mark is not null and mark is null))::int as gained
    from differing`;
  const { written, gained } = counted ?? { written: 0, gained: 0 };
  return written === 0 ? { written, gained, version: undefined } : { written, gained, version };
}

/** The instant of a change, by which readers of deltas ask: to be taken last, when only the commit is left to do. */
export async function sealMarks(tx: Tx, estab: string, { version }: Merged): Promise<void> {
  if (version === undefined) return;
  await tx`
    insert into attendance_version (estab, version, instant)
    select ${estab}, ${version}, greatest(date_trunc('milliseconds', clock_timestamp()), (select max(instant) + interval '1 millisecond'
      from attendance_version where estab = ${estab}))`;
}

/** All of them are read; whoever changes a few says by how many, as a merge does. */
export async function countMarks(sql: Sql, estab: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from attendance_mark where estab = ${estab} and mark is not null`;
  return row?.count ?? 0;
}
