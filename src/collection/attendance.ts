// In charge of the marks of a school: merged in sets, touching only those that differ, each replaced entry kept, with
// one version and instant per change.
import { laterThan, readClock } from '../db/clock.ts';
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import { attendanceFile, type MarkRow } from './mark.ts';
import type { Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import { tellRejected } from './reject-staged.ts';
import { staged, stagedMarks, stagedRejected } from './stage.ts';

/** Whose entry it is. */
export type Author = { rp: string; trackingId: string; reason: string | null };
/** Marks of an author, or as an MIS had them at an instant: what was written here later is newer. */
type Origin = { author: Author } | { asOf: Date };
/** How many differed, how many more marks there are than before, and the version that they are; undefined when none did. */
export type Merged = { written: number; gained: number; version: number | undefined };
export type MarksCount = Merged & { unchanged: number };

const advisoryLock = 5_219_006;

/** Only one change of a school's marks at a time, until the transaction ends. No row is locked: whoever asks how they stand goes on. */
export async function lockMarks(tx: Tx, estab: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
}

/**
 * Under the lock. Marks that were staged by a reading, of pupils who are known. How the database stands is yet to be said, and their
 * instant to be sealed.
 */
export async function mergeStagedMarks(tx: Tx, reading: Reading, asOf: Date): Promise<MarksCount> {
  const [counted] = await tx<{ count: number }[]>`select count(*)::int as count from ${stagedMarks(tx, reading)} s`;
  const merged = await merge(tx, reading.estab, stagedMarks(tx, reading), { asOf });
  return { ...merged, unchanged: (counted?.count ?? 0) - merged.written };
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

/**
 * A mark of somebody whom the roster does not know, or not as a pupil, is left out: the roster as it will be with what else was staged.
 * If their row fell, so does the mark, by the same fault. Gives how many.
 */
export async function rejectUnknownMarks(tx: Tx, reading: Reading, problems: Problems): Promise<number> {
  const { estab, number } = reading;
  const people = staged(tx, collections.users, reading);
  const known = problems.total;
  const { count } = await tx`
    with fell as materialized (
      select r.sourced_id, min(r.fault) as fault from ${stagedRejected(tx, reading)} r
      where r.collection = ${collections.users.collection} and r.sourced_id is not null group by r.sourced_id
    ), unknown as materialized (
      select s.line, s.student_id from ${stagedMarks(tx, reading)} s
      where not exists (select from ${people} p where p.sourced_id = s.student_id and p.kind = 'student')
        and not exists (select from roster_user u where u.estab = ${estab} and u.sourced_id = s.student_id and u.kind = 'student'
          and not exists (select from ${people} p where p.sourced_id = u.sourced_id))
    )
    insert into stage_rejected (estab, reading, collection, line, fault, dependent, about, rule)
    select ${estab}::text, ${number}::int, ${attendanceFile}, u.line,
      coalesce(fell.fault, (${known}::int + row_number() over (partition by fell.fault is null order by u.line))::int), fell.fault is not null,
      u.student_id, 'there is no such student in the roster'
    from unknown u left join fell on fell.sourced_id = u.student_id`;
  if (count === 0) return 0;
  await tellRejected(tx, reading, { collection: attendanceFile, file: attendanceFile, column: 'studentSourcedId' }, problems);
  // `is true` keeps it from becoming a join: nobody knows how many rows are staged, and one that is made row by row would not end.
  await tx`
    delete from stage_mark s where s.estab = ${estab} and s.reading = ${number}
      and (s.student_id in (select r.about from ${stagedRejected(tx, reading)} r where r.collection = ${attendanceFile} and r.about is not null)) is true`;
  return count;
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
  // One after the other, not in one statement: where the database is spread, what one part of it hands to the next goes to every node first.
  const differing = tx`
    ${marks} s left join attendance_mark o on o.estab = ${estab} and o.date = s.date and o.student_id = s.student_id and o.session = s.session
    where (s.mark, s.minutes_late, s.notes) is distinct from (o.mark, o.minutes_late, o.notes) ${older}`;
  const [counted] = await tx<{ written: number; gained: number }[]>`
    select count(*)::int as written,
      (count(*) filter (where o.mark is null and s.mark is not null) - count(*) filter (where o.mark is not null and s.mark is null))::int as gained
    from ${differing}`;
  const { written, gained } = counted ?? { written: 0, gained: 0 };
  if (written === 0) return { written, gained, version: undefined };
  await tx`
    insert into attendance_history (estab, date, session, student_id, version, rp, tracking_id, reason, mark, minutes_late, notes, previous_mark,
      previous_minutes_late, previous_notes)
    select ${estab}, s.date, s.session, s.student_id, ${version}::int, ${author?.rp ?? null}::text, ${author?.trackingId ?? null}::uuid,
      ${author?.reason ?? null}::text, s.mark, s.minutes_late, s.notes, o.mark, o.minutes_late, o.notes
    from ${differing} and (o.version is not null or ${author !== undefined}::boolean)`;
  await tx`
    insert into attendance_mark (estab, date, session, student_id, mark, minutes_late, notes, version)
    select ${estab}, s.date, s.session, s.student_id, s.mark, s.minutes_late, s.notes, ${version}::int from ${differing}
    on conflict (estab, date, student_id, session) do update
      set mark = excluded.mark, minutes_late = excluded.minutes_late, notes = excluded.notes, version = excluded.version`;
  return { written, gained, version };
}

/** The instant of a change, by which readers of deltas ask: to be taken last, when only the commit is left to do. */
export async function sealMarks(tx: Tx, estab: string, { version }: Merged): Promise<void> {
  if (version === undefined) return;
  const [last] = await tx<{ instant: Date | null }[]>`select max(instant) as instant from attendance_version where estab = ${estab}`;
  await tx`insert into attendance_version (estab, version, instant) values (${estab}, ${version}, ${laterThan(last?.instant, await readClock(tx))})`;
}

/** All of them are read; whoever changes a few says by how many, as a merge does. */
export async function countMarks(sql: Sql, estab: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from attendance_mark where estab = ${estab} and mark is not null`;
  return row?.count ?? 0;
}
