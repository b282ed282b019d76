// Merges attendance marks in sets. Only marks that differ are written, each replaced entry goes into the history, and every change has one
// version and one instant.
import { laterThan, readClock } from '../db/clock.ts';
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { withHashJoins } from '../db/join-by-hash.ts';
import { collections } from '../roster/collections.ts';
import { attendanceFile, type MarkRow } from './mark.ts';
import type { Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import { tellRejected } from './reject-staged.ts';
import { staged, stagedMarks, stagedRejected } from './stage.ts';

export type Author = { rp: string; trackingId: string; reason: string | null };
/** The author of the marks, or the instant at which an MIS had them; marks that an application wrote after that instant stay. */
type Origin = { author: Author } | { asOf: Date };
/** written: marks that differed. gained: the growth of the number of marks. version: of this change, undefined if nothing differed. */
export type Merged = { written: number; gained: number; version: number | undefined };
export type MarksCount = Merged & { unchanged: number };

const advisoryLock = 5_219_006;

/** Lets one transaction at a time change a school's marks. No row is locked, so readers do not wait. */
export async function lockMarks(tx: Tx, estab: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
}

/** Merges staged marks of known pupils. Needs the lock; the caller then records the database's state and calls `sealMarks`. */
export async function mergeStagedMarks(tx: Tx, reading: Reading, asOf: Date): Promise<MarksCount> {
  const { given, ...merged } = await withHashJoins(tx, () => merge(tx, reading.estab, stagedMarks(tx, reading), { asOf }));
  return { ...merged, unchanged: given - merged.written };
}

/**
 * Merges an application's marks, without those of pupils who have left the roster since. Needs the lock; the caller then records the
 * database's state and calls `sealMarks`.
 */
export async function mergeAuthorsMarks(tx: Tx, estab: string, rows: readonly MarkRow[], author: Author): Promise<Merged> {
  const marks = tx`(select * from unnest(${rows.map((row) => row.studentId)}::text[], ${rows.map((row) => row.date)}::date[],
    ${rows.map((row) => row.session)}::text[],
    ${rows.map((row) => row.mark ?? null)}::text[], ${rows.map((row) => row.minutesLate ?? null)}::int[], ${rows.map((row) => row.notes ?? null)}::text[])
    as given (student_id, date, session, mark, minutes_late, notes)
    where exists (select from roster_user u where u.estab = ${estab} and u.sourced_id = given.student_id and u.kind = 'student'))`;
  return withHashJoins(tx, () => merge(tx, estab, marks, { author }));
}

/**
 * Leaves out marks of people who will not be pupils of the roster after this import. If the person's own row was rejected, the mark is
 * rejected by the same fault. Returns the number of rejected marks.
 */
export async function rejectUnknownMarks(tx: Tx, reading: Reading, problems: Problems): Promise<number> {
  const { estab, number } = reading;
  const people = staged(tx, collections.users, reading);
  const known = problems.total;
  const { count } = await withHashJoins(tx, async () => tx`
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
    from unknown u left join fell on fell.sourced_id = u.student_id`);
  if (count === 0) return 0;
  await tellRejected(tx, reading, { collection: attendanceFile, file: attendanceFile, column: 'studentSourcedId' }, problems);
  // `is true` keeps this from becoming a join: the planner does not know how many rows are staged, and a nested loop would not end.
  await tx`
    delete from stage_mark s where s.estab = ${estab} and s.reading = ${number}
      and (s.student_id in (select r.about from ${stagedRejected(tx, reading)} r where r.collection = ${attendanceFile} and r.about is not null)) is true`;
  return count;
}

/**
 * Compares the given marks with the stored marks of the same days. Stored rows are read by their days and joined by hash, so that the cost
 * does not depend on what the planner knows about the school.
 */
async function merge(tx: Tx, estab: string, marks: Fragment, origin: Origin): Promise<Merged & { given: number }> {
  const author = 'author' in origin ? origin.author : undefined;
  const [size] = await tx<{ given: number; days: string[]; current: number }[]>`
    select count(*)::int as given, coalesce(array_agg(distinct s.date::text), '{}') as days,
      (select coalesce(max(version), 0)::int from attendance_version where estab = ${estab}) as current
    from ${marks} s`;
  const { given, days, current } = size ?? { given: 0, days: [], current: 0 };
  const version = current + 1;
  const older =
    'asOf' in origin
      ? tx`and not exists (select from attendance_history h where h.estab = ${estab} and h.date = any(${days}::date[]) and h.date = s.date
        and h.student_id = s.student_id and h.session = s.session and h.tracking_id is not null and h.at > ${origin.asOf})`
      : tx``;
  // Separate statements: on a database that is spread over nodes, the result of one part of a statement would go to every node first.
  const differing = tx`
    ${marks} s left join attendance_mark o on o.estab = ${estab} and o.date = any(${days}::date[]) and o.date = s.date
      and o.student_id = s.student_id and o.session = s.session
    where (s.mark, s.minutes_late, s.notes) is distinct from (o.mark, o.minutes_late, o.notes) ${older}`;
  const [counted] = await tx<{ written: number; gained: number }[]>`
    select count(*)::int as written,
      (count(*) filter (where o.mark is null and s.mark is not null) - count(*) filter (where o.mark is not null and s.mark is null))::int as gained
    from ${differing}`;
  const { written, gained } = counted ?? { written: 0, gained: 0 };
  if (written === 0) return { given, written, gained, version: undefined };
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
  return { given, written, gained, version };
}

/** Records the instant of a change, by which clients read deltas. Must be the last statement before the commit. */
export async function sealMarks(tx: Tx, estab: string, { version }: Merged): Promise<void> {
  if (version === undefined) return;
  const [last] = await tx<{ instant: Date | null }[]>`select max(instant) as instant from attendance_version where estab = ${estab}`;
  await tx`insert into attendance_version (estab, version, instant) values (${estab}, ${version}, ${laterThan(last?.instant, await readClock(tx))})`;
}

/** Counts the marks of a school by reading all of them; after a small change, add `gained` instead. */
export async function countMarks(sql: Sql, estab: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from attendance_mark where estab = ${estab} and mark is not null`;
  return row?.count ?? 0;
}
