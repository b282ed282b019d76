// In charge of taking marks in: judged at once, and then a row and its work in one transaction; or refused, with a row
// and its calls where somebody waits to be called. The same request again is the same writeback.
import { createHash, randomUUID } from 'node:crypto';
import type { SchoolCaller } from '../access/school-caller.ts';
import { writingKinds } from '../collection/connector-settings.ts';
import { misLane } from '../collection/mis-answers.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { RequireTarget } from '../notifications/inbox/require-target.ts';
import { enqueue } from '../outbox/enqueue.ts';
import { judgeMarks, type Fault } from './judge-marks.ts';
import { parseMarksBody, type MarksBody } from './marks-body.ts';
import { renderOutcomeUrl, tellOutcome } from './outcome.ts';
import { failUnwritten, storeMarks, type JudgedMarks } from './store-marks.ts';
import { longestMinutes } from './turn.ts';

export type Submission = Readonly<{
  body: unknown;
  partial: boolean;
  validateOnly: boolean;
  idempotencyKey: string | undefined;
  /** From the query: one more callback beside those in the body. */
  callbackUrl: string | undefined;
}>;

export type Submitted =
  /** Without a callback nothing is kept of it. */
  | { kind: 'faulty'; faults: Fault[]; trackingId: string | undefined }
  | {
      kind: 'judged';
      marks: { index: number; studentId: string; date: string; session: string; mark: string | undefined; previousMark: string | null }[];
      faults: Fault[];
    }
  | { kind: 'taken'; trackingId: string; total: number; called: boolean };

export const writebackKind = 'writeback';
const longestKey = 255;

export async function submitMarks(db: Db, who: SchoolCaller, submission: Submission, requireTarget: RequireTarget, now: Date): Promise<Submitted> {
  const { marks, callbacks } = parseMarksBody(submission.body);
  const extra = submission.callbackUrl === undefined ? [] : [{ name: 'callbackUrl', url: submission.callbackUrl }];
  // Checked with the parameters that will be appended, so that the URL is not found to be too long after the marks were written.
  for (const { name, url } of [...callbacks.map((one, at) => ({ name: `callback[${at}].Url`, url: one.url })), ...extra])
    await requireTarget(name, renderOutcomeUrl(url, { TrackingId: randomUUID(), Status: 'TimedOut' }), who.rp);
  const body: MarksBody = { marks, callbacks: [...callbacks, ...extra.map(({ url }) => ({ url }))] };
  const school = await requireWritable(db, who.estab);
  const request = {
    key: requireKey(submission.idempotencyKey),
    hash: createHash('sha256')
      .update(JSON.stringify([submission.body, submission.partial, ...extra.map(({ url }) => url)]))
      .digest(),
  };
  if (!submission.validateOnly) {
    const known = await findSame(db, who, request);
    if (known) return describe(known, body);
  }
  const { faults, good } = await judgeMarks(db, { ...school, now }, body.marks);
  const refused = faults.length > 0 && (!submission.partial || good.length === 0);
  if (refused && (submission.validateOnly || body.callbacks.length === 0)) return { kind: 'faulty', faults, trackingId: undefined };
  if (submission.validateOnly) return { kind: 'judged', faults, marks: await withPrevious(db, who.estab, good) };
  return describe(await store(db, who, body, { partial: submission.partial, refused, faults, good, ...request }), body);
}

function describe({ trackingId, total, faults }: Same, { callbacks }: MarksBody): Submitted {
  return faults ? { kind: 'faulty', faults, trackingId } : { kind: 'taken', trackingId, total, called: callbacks.length > 0 };
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

/** faults: of one that was refused. */
type Same = { trackingId: string; total: number; faults: Fault[] | null };

/** With a key: whatever became of it, for a day. Without: only one that is still pending. */
async function findSame(sql: Db | Tx, who: SchoolCaller, { key, hash }: { key: string | undefined; hash: Buffer }): Promise<Same | undefined> {
  const total = sql`(select count(*)::int from writeback_mark m where m.estab = ${who.estab} and m.tracking_id = w.tracking_id) as total`;
  if (key === undefined) {
    const [pending] = await sql<
      Same[]
    >`select w.tracking_id as "trackingId", w.faults, ${total} from writeback w where w.estab = ${who.estab} and w.rp = ${who.rp} and w.request_hash = ${hash}
      and w.status = 'Pending' and w.idempotency_key is null`;
    return pending;
  }
  await sql`update writeback set idempotency_key = null where estab = ${who.estab} and rp = ${who.rp} and idempotency_key = ${key}
    and submitted_at < now() - interval '1 day' and status <> 'Pending'`;
  const [same] = await sql<
    (Same & { equal: boolean })[]
  >`select w.tracking_id as "trackingId", w.request_hash = ${hash} as equal, w.faults, ${total} from writeback w
    where w.estab = ${who.estab} and w.rp = ${who.rp} and w.idempotency_key = ${key}`;
  if (same && !same.equal)
    throw new SchoolbellError('conflict', `This Idempotency-Key was used for another request within a day (TrackingId ${same.trackingId}); use a new one.`);
  return same;
}

async function withPrevious(db: Db, estab: string, good: Awaited<ReturnType<typeof judgeMarks>>['good']) {
  // A subquery for each mark: a join could compare each with every stored mark of a school that the statistics do not include.
  const rows = await db<{ previousMark: string | null }[]>`
    select (select m.mark from attendance_mark m where m.estab = ${estab} and m.date = given.date and m.student_id = given.student_id
      and m.session = given.session) as "previousMark"
    from unnest(${good.map((row) => row.date)}::date[], ${good.map((row) => row.studentId)}::text[], ${good.map((row) => row.session)}::text[])
      with ordinality as given (date, student_id, session, place) order by place`;
  return good.map(({ line, studentId, date, session, mark }, at) => ({
    index: line,
    studentId,
    date,
    session,
    mark,
    previousMark: rows[at]?.previousMark ?? null,
  }));
}

type Judged = JudgedMarks & { partial: boolean; refused: boolean; key: string | undefined; hash: Buffer };

async function store(db: Db, who: SchoolCaller, body: MarksBody, judged: Judged): Promise<Same> {
  const { refused } = judged;
  return db.begin(async (tx) => {
    // Two equal requests at once: the second finds the first here.
    const [row] = await tx<Same[]>`
      insert into writeback (estab, rp, partial, request_hash, idempotency_key, callbacks, status, message, completed_at, faults, deadline_at)
      values (${who.estab}, ${who.rp}, ${judged.partial}, ${judged.hash}, ${judged.key ?? null}, ${tx.json(body.callbacks)},
        ${refused ? 'Rejected' : 'Pending'}, ${refused ? describeFaults(judged.faults) : null}, case when ${refused} then now() end,
        case when ${refused} then ${tx.json(judged.faults)} end, now() + make_interval(mins => ${longestMinutes}))
      on conflict do nothing returning tracking_id as "trackingId", ${body.marks.length}::int as total, faults`;
    if (!row) {
      const same = await findSame(tx, who, judged);
      if (!same) throw new SchoolbellError('conflict', 'The same marks were just taken; ask again.');
      return same;
    }
    const { trackingId } = row;
    await storeMarks(tx, who.estab, trackingId, body.marks, judged);
    if (refused) {
      await failUnwritten(tx, who.estab, trackingId);
      await tellOutcome(tx, { estab: who.estab, rp: who.rp, trackingId, callbacks: body.callbacks });
    } else await enqueueWriteback(tx, who, trackingId);
    return row;
  });
}

export function describeFaults({ length }: readonly Fault[]): string {
  return `${length} fault${length === 1 ? '' : 's'} in the marks; nothing was written.`;
}

export async function enqueueWriteback(tx: Tx, { estab, rp }: { estab: string; rp: string }, trackingId: string): Promise<void> {
  await enqueue(tx, { estab, rp, kind: writebackKind, lane: misLane(estab), payload: { trackingId }, body: null });
}
