// In charge of taking marks in: judged at once, and then a row and its work in one transaction. The same request again
// is the same writeback.
import { createHash, randomUUID } from 'node:crypto';
import type { SchoolCaller } from '../access/school-caller.ts';
import { writingKinds } from '../collection/connector-settings.ts';
import { misLane } from '../collection/mis-answers.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { AllowList } from '../http/address-guard.ts';
import { requireCallable } from '../http/callable.ts';
import { enqueue } from '../outbox/enqueue.ts';
import { judgeMarks, type Fault } from './judge-marks.ts';
import { parseMarksBody, type GivenMark, type MarksBody } from './marks-body.ts';
import { renderOutcomeUrl } from './outcome.ts';

export type Submission = Readonly<{ body: unknown; partial: boolean; validateOnly: boolean; idempotencyKey: string | undefined }>;

export type Submitted =
  | { kind: 'faulty'; faults: Fault[] }
  | {
      kind: 'judged';
      marks: { index: number; studentId: string; date: string; session: string; mark: string | undefined; previousMark: string | null }[];
      faults: Fault[];
    }
  | { kind: 'taken'; trackingId: string; total: number; called: boolean };

export const writebackKind = 'writeback';
const longestMinutes = 60;
const longestKey = 255;

export async function submitMarks(db: Db, who: SchoolCaller, submission: Submission, allowed: AllowList, now: Date): Promise<Submitted> {
  const body = parseMarksBody(submission.body);
  // As it will be called: what is put behind it must not make it too long when the marks are already written.
  for (const [at, { url }] of body.callbacks.entries())
    await requireCallable(`callback[${at}].Url`, renderOutcomeUrl(url, { TrackingId: randomUUID(), Status: 'TimedOut' }), allowed);
  const school = await requireWritable(db, who.estab);
  const request = {
    key: requireKey(submission.idempotencyKey),
    hash: createHash('sha256')
      .update(JSON.stringify([submission.body, submission.partial]))
      .digest(),
  };
  if (!submission.validateOnly) {
    const known = await findSame(db, who, request);
    if (known) return { kind: 'taken', trackingId: known.trackingId, total: known.total, called: body.callbacks.length > 0 };
  }
  const { faults, good } = await judgeMarks(db, { ...school, now }, body.marks);
  if (faults.length > 0 && (!submission.partial || good.length === 0)) return { kind: 'faulty', faults };
  if (submission.validateOnly) return { kind: 'judged', faults, marks: await withPrevious(db, who.estab, good) };
  const trackingId = await store(db, who, body, { partial: submission.partial, faults, good, ...request });
  return { kind: 'taken', trackingId, total: body.marks.length, called: body.callbacks.length > 0 };
}

async function requireWritable(db: Db, estab: string): Promise<{ estab: string; timeZone: string }> {
  const [school] = await db<
    { connector: string | null; timeZone: string }[]
  >`select connector, time_zone as "timeZone" from establishment where estab = ${estab}`;
  if (!school?.connector) throw new SchoolbellError('conflict', 'The school is not connected to its MIS yet; there is nowhere to write marks to.');
  if (!writingKinds.includes(school.connector))
    throw new SchoolbellError('conflict', `The school's data comes through ${school.connector}, which cannot write marks.`);
  return { estab, timeZone: school.timeZone };
}

function requireKey(key: string | undefined): string | undefined {
  if (key === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > longestKey)
    throw new SchoolbellError('invalid_request', `Idempotency-Key must be 1 to ${longestKey} printable characters without spaces.`);
  return key;
}

type Same = { trackingId: string; total: number };

/** With a key: whatever became of it, for a day. Without: only one that is still pending. */
async function findSame(sql: Db | Tx, who: SchoolCaller, { key, hash }: { key: string | undefined; hash: Buffer }): Promise<Same | undefined> {
  const total = sql`(select count(*)::int from writeback_mark m where m.estab = w.estab and m.tracking_id = w.tracking_id) as total`;
  if (key === undefined) {
    const [pending] = await sql<
      Same[]
    >`select w.tracking_id as "trackingId", ${total} from writeback w where w.estab = ${who.estab} and w.rp = ${who.rp} and w.request_hash = ${hash}
      and w.status = 'Pending' and w.idempotency_key is null`;
    return pending;
  }
  await sql`update writeback set idempotency_key = null where estab = ${who.estab} and rp = ${who.rp} and idempotency_key = ${key}
    and submitted_at < now() - interval '1 day' and status <> 'Pending'`;
  const [same] = await sql<
    (Same & { equal: boolean })[]
  >`select w.tracking_id as "trackingId", w.request_hash = ${hash} as equal, ${total} from writeback w where w.estab = ${who.estab} and w.rp = ${who.rp}
    and w.idempotency_key = ${key}`;
  if (same && !same.equal)
    throw new SchoolbellError('conflict', `This Idempotency-Key was used for another request within a day (TrackingId ${same.trackingId}); use a new one.`);
  return same;
}

async function withPrevious(db: Db, estab: string, good: Awaited<ReturnType<typeof judgeMarks>>['good']) {
  const rows = await db<{ studentId: string; date: string; session: string; mark: string | null }[]>`
    select m.student_id as "studentId", to_char(m.date, 'YYYY-MM-DD') as date, m.session, m.mark from attendance_mark m
    join unnest(${good.map((row) => row.date)}::date[], ${good.map((row) => row.studentId)}::text[],
      ${good.map((row) => row.session)}::text[]) as given (date, student_id, session) on m.date = given.date and m.student_id = given.student_id
        and m.session = given.session
    where m.estab = ${estab}`;
  const found = new Map(rows.map((row) => [`${row.date} ${row.session} ${row.studentId}`, row.mark]));
  return good.map(({ line, studentId, date, session, mark }) => ({
    index: line,
    studentId,
    date,
    session,
    mark,
    previousMark: found.get(`${date} ${session} ${studentId}`) ?? null,
  }));
}

type Judged = { partial: boolean; faults: readonly Fault[]; good: Awaited<ReturnType<typeof judgeMarks>>['good']; key: string | undefined; hash: Buffer };

async function store(db: Db, who: SchoolCaller, body: MarksBody, judged: Judged): Promise<string> {
  return db.begin(async (tx) => {
    // Two equal requests at once: the second finds the first here.
    const [row] = await tx<{ trackingId: string }[]>`
      insert into writeback (estab, rp, partial, request_hash, idempotency_key, callbacks, deadline_at)
      values (${who.estab}, ${who.rp}, ${judged.partial}, ${judged.hash}, ${judged.key ?? null}, ${tx.json(body.callbacks)},
        now() + make_interval(mins => ${longestMinutes}))
      on conflict do nothing returning tracking_id as "trackingId"`;
    if (!row) {
      const same = await findSame(tx, who, judged);
      if (!same) throw new SchoolbellError('conflict', 'The same marks were just taken; ask again.');
      return same.trackingId;
    }
    await storeMarks(tx, who.estab, row.trackingId, body.marks, judged);
    await enqueueWriteback(tx, who, row.trackingId);
    return row.trackingId;
  });
}

export async function enqueueWriteback(tx: Tx, { estab, rp }: { estab: string; rp: string }, trackingId: string): Promise<void> {
  await enqueue(tx, { estab, rp, kind: writebackKind, lane: misLane(estab), payload: { trackingId }, body: null });
}

/** What was judged faulty is part of the outcome, as failed, and is not written. */
async function storeMarks(tx: Tx, estab: string, trackingId: string, given: readonly GivenMark[], { faults, good }: Judged): Promise<void> {
  const firstFault = new Map(faults.toReversed().map((fault) => [fault.Index, fault]));
  const byIndex = new Map(good.map((row) => [row.line, row]));
  const rows = given.map(({ index, studentId, date, session, mark }) => {
    const row = byIndex.get(index);
    const fault = firstFault.get(index);
    const shown = row ?? { studentId: studentId ?? '', date: date ?? '', session: session ?? '', mark, minutesLate: undefined, notes: undefined };
    return {
      index,
      student_id: shown.studentId,
      date: shown.date,
      session: shown.session,
      mark: shown.mark ?? null,
      minutes_late: shown.minutesLate ?? null,
      notes: shown.notes ?? null,
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
