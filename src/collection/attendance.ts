// In charge of the marks of a school: merged in sets, touching only those that differ, each replaced entry kept, with
// one version and instant per change.
import type { Sql, Tx } from '../db/connect.ts';
import { announceChange } from '../notifications/announce.ts';
import { installDatabases, recordGain } from './component-databases.ts';
import type { MarkRow } from './mark.ts';
import type { Problems } from './problem.ts';

/** Whose entry it is. */
export type Author = { rp: string; trackingId: string; reason: string | null };
/** Marks of an author, or as an MIS had them at an instant: what was written here later is newer. */
export type Origin = { author: Author } | { asOf: Date };
export type MarksCount = { written: number; unchanged: number; rejected: number };

const rowsAtOnce = 5000;

const advisoryLock = 5_219_006;

/** Only one change of a school's marks at a time, until the transaction ends. No row is locked: whoever asks how the database stands goes on. */
export async function lockMarks(tx: Tx, estab: string): Promise<void> {
  await installDatabases(tx, estab, ['Attendance']);
  await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
}

export async function mergeMarks(
  tx: Tx,
  estab: string,
  batches: AsyncIterable<readonly MarkRow[]> | Iterable<readonly MarkRow[]>,
  problems: Problems,
  origin: Origin,
): Promise<MarksCount> {
  await tx`
    create temp table if not exists stage_mark (line int, student_id text collate "C", date date, session text, mark text, minutes_late int, notes text)
    on commit drop`;
  await tx`truncate stage_mark`;
  let staged = 0;
  for await (const batch of batches) {
    for (let at = 0; at < batch.length; at += rowsAtOnce) await stage(tx, batch.slice(at, at + rowsAtOnce));
    staged += batch.length;
  }
  await tx`analyze stage_mark`;
  // After reading, which may take long.
  await lockMarks(tx, estab);
  const rejected = await rejectUnknown(tx, estab, problems);
  const written = await merge(tx, estab, origin);
  return { written, unchanged: staged - rejected - written, rejected };
}

async function stage(tx: Tx, rows: readonly MarkRow[]): Promise<void> {
  await tx`
    insert into stage_mark select * from unnest(
      ${rows.map((row) => row.line)}::int[], ${rows.map((row) => row.studentId)}::text[],
      ${rows.map((row) => row.date)}::date[], ${rows.map((row) => row.session)}::text[],
      ${rows.map((row) => row.mark ?? null)}::text[], ${rows.map((row) => row.minutesLate ?? null)}::int[], ${rows.map((row) => row.notes ?? null)}::text[])`;
}

/** A mark of somebody whom the roster does not know, or not as a pupil. */
async function rejectUnknown(tx: Tx, estab: string, problems: Problems): Promise<number> {
  const rows = await tx<{ line: number; studentId: string }[]>`
    delete from stage_mark s where not exists (select from roster_user u where u.estab = ${estab} and u.sourced_id = s.student_id and u.kind = 'student')
    returning s.line, s.student_id as "studentId"`;
  for (const { line, studentId } of rows)
    problems.add({ file: 'attendance.csv', line, column: 'studentSourcedId', value: studentId, rule: 'there is no such student in the roster' });
  return rows.length;
}

async function merge(tx: Tx, estab: string, origin: Origin): Promise<number> {
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
      from stage_mark s left join attendance_mark o on o.estab = ${estab} and o.date = s.date and o.student_id = s.student_id and o.session = s.session
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
  if (written === 0) return 0;
  await recordGain(tx, estab, gained);
  await announceChange(tx, estab, 'Attendance');
  await tx`
    insert into attendance_version (estab, version, instant)
    select ${estab}, ${version}, greatest(date_trunc('milliseconds', clock_timestamp()), (select max(instant) + interval '1 millisecond'
      from attendance_version where estab = ${estab}))`;
  return written;
}

/** All of them are read; whoever changes a few says by how many, as a merge does. */
export async function countMarks(sql: Sql, estab: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::int as count from attendance_mark where estab = ${estab} and mark is not null`;
  return row?.count ?? 0;
}
