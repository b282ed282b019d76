// In charge of what became of a writeback: the same object for whoever asks and for whoever is called.
import { misLane } from '../collection/mis-answers.ts';
import type { Sql, Tx } from '../db/connect.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import { enqueueOneOff } from '../notifications/one-off.ts';

export type WritebackOutcome = Readonly<
  { TrackingId: string; Estab: string; Status: string; Total: number; Written: number; Unchanged: number; Failed: number } & Record<string, unknown>
>;

type Row = { trackingId: string; status: string; submittedAt: Date; completedAt: Date | null; attempts: number; message: string | null };
type Mark = {
  index: number;
  studentId: string;
  date: string;
  session: string;
  mark: string | null;
  previousMark: string | null;
  result: string | null;
  code: string | null;
  message: string | null;
};

/** What is said of each mark. */
export const outcomeFields = ['Index', 'StudentId', 'Date', 'Session', 'Mark', 'PreviousMark', 'Result', 'Code', 'Message'] as const;

/** Where the TrackingId of every writeback that has ended is said, for requests that wait for it in any process. */
export const outcomeChannel = 'schoolbell_writeback';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
export const isTrackingId = (text: string) => uuid.test(text);

/** Of one application at one school; undefined when it has no such writeback. */
export async function findOutcome(sql: Sql, estab: string, rp: string, trackingId: string): Promise<WritebackOutcome | undefined> {
  if (!isTrackingId(trackingId)) return undefined;
  const [row] = await sql<Row[]>`
    select tracking_id as "trackingId", status, submitted_at as "submittedAt", completed_at as "completedAt", attempts, message from writeback
      where estab = ${estab} and rp = ${rp} and tracking_id = ${trackingId}`;
  if (!row && (await isUnderWay(sql, estab, rp, trackingId)))
    throw new DatabaseUnavailable('lost', 'a writeback that was taken is not to be seen yet on the node of its school');
  if (!row) return undefined;
  const marks = await sql<Mark[]>`
    select index, student_id as "studentId", date, session, mark, previous_mark as "previousMark", result, code, message from writeback_mark
      where estab = ${estab} and tracking_id = ${trackingId} order by index`;
  const count = (result: string) => marks.filter((mark) => mark.result === result).length;
  return {
    TrackingId: row.trackingId,
    Estab: estab,
    Status: row.status,
    SubmittedAt: row.submittedAt.toISOString(),
    CompletedAt: row.completedAt?.toISOString() ?? null,
    Attempts: row.attempts,
    Total: marks.length,
    Written: count('Written'),
    Unchanged: count('Unchanged'),
    Failed: count('Failed'),
    Message: row.message,
    Marks: marks.map((mark): Record<(typeof outcomeFields)[number], unknown> => ({
      Index: mark.index,
      StudentId: mark.studentId,
      Date: mark.date,
      Session: mark.session,
      Mark: mark.mark,
      PreviousMark: mark.previousMark,
      Result: mark.result ?? 'Pending',
      Code: mark.code,
      Message: mark.message,
    })),
  };
}

/** Its work is seen before it, where the database is spread and the node has not committed yet. */
async function isUnderWay(sql: Sql, estab: string, rp: string, trackingId: string): Promise<boolean> {
  const [work] = await sql`
    select from outbox where estab = ${estab} and rp = ${rp} and lane = ${misLane(estab).key} and state in ('waiting', 'running')
      and payload ->> 'trackingId' = ${trackingId.toLowerCase()} limit 1`;
  return work !== undefined;
}

/** The caller's own query stays as it is; what happened is put behind it. */
export function renderOutcomeUrl(url: string, { TrackingId, Status }: Pick<WritebackOutcome, 'TrackingId' | 'Status'>): string {
  const [address = '', fragment] = url.split('#', 2);
  const joint = !address.includes('?') ? '?' : /[?&]$/.test(address) ? '' : '&';
  return `${address}${joint}trackingid=${TrackingId}&completed=${Status === 'Completed' ? 'True' : 'False'}${fragment === undefined ? '' : `#${fragment}`}`;
}

const originOf = (url: string) => new URL(url).origin;

/** In the transaction that ends it: whoever asked to be called will be, and whoever waits is woken. */
export async function tellOutcome(tx: Tx, writeback: { estab: string; rp: string; trackingId: string; callbacks: readonly { url: string }[] }): Promise<void> {
  const { estab, rp, trackingId, callbacks } = writeback;
  const outcome = callbacks.length > 0 ? await findOutcome(tx, estab, rp, trackingId) : undefined;
  // Each locks the lane of its receiver: in the same order as everybody else, or two might wait for one another.
  if (outcome)
    for (const { url } of callbacks.toSorted((a, b) => (originOf(a.url) < originOf(b.url) ? -1 : 1)))
      await enqueueOneOff(tx, { estab, rp, event: 'writeback', url: renderOutcomeUrl(url, outcome), body: outcome });
  await tx`select pg_notify(${outcomeChannel}, ${trackingId})`;
}
