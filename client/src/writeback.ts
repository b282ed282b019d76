// In charge of entering attendance marks and of what became of them.
import { readJson, toError, type Abortable, type Call } from './call.ts';
import { pathPart } from './envelope.ts';
import { SchoolbellError, type ErrorFacts } from './errors.ts';
import type { FaultCode } from './rows.ts';
import type { Session } from './session.ts';

/** Date: YYYY-MM-DD, the same for all marks of a call. */
export type Mark = {
  StudentId: string;
  Date: string;
  Session: 'AM' | 'PM';
  Mark: string;
  MarkType?: 'S' | undefined;
  Mins?: number | undefined;
  Notes?: string | undefined;
};

/** Index: of the mark, from 0. Suggestion: the code that would be right. */
export type MarkFault = { Index: number; Field: keyof Mark | 'Marks'; Code: FaultCode; Message: string; Suggestion?: string };

export type OutcomeMark = {
  Index: number;
  StudentId: string;
  Date: string;
  Session: string;
  Mark: string | null;
  PreviousMark: string | null;
  Result: string;
  Code: string | null;
  Message: string | null;
};

export type WritebackOutcome = {
  TrackingId: string;
  Estab: string;
  Status: 'Pending' | 'Completed' | 'Rejected' | 'Failed' | 'TimedOut';
  SubmittedAt: string;
  CompletedAt: string | null;
  Attempts: number;
  Total: number;
  Written: number;
  Unchanged: number;
  Failed: number;
  Message: string | null;
  Marks: OutcomeMark[];
};

export type WritebackPending = { TrackingId: string; Estab: string; Status: 'Pending'; Total: number; Message: string | null };

export type JudgedMarks = {
  Errors: MarkFault[];
  Total: number;
  Valid: number;
  Marks: { Index: number; StudentId: string; Date: string; Session: string; Mark: string | null; PreviousMark: string | null; Result: 'Valid' }[];
};

/** Nothing was written; faults says why. */
export class InvalidMarks extends SchoolbellError {
  override readonly name = 'InvalidMarks';
  readonly faults: readonly MarkFault[];
  /** Where a callback was given. */
  readonly trackingId: string | undefined;

  constructor(message: string, facts: ErrorFacts & { faults: readonly MarkFault[]; trackingId: string | undefined }) {
    super(message, facts);
    this.faults = facts.faults;
    this.trackingId = facts.trackingId;
  }
}

/** mode partial: the marks that are right are written although others are not. */
export type WriteOptions = {
  /** Where the outcome is to be posted. */
  callback?: string | readonly string[] | undefined;
  /** The same key within a day is the same writeback; made up unless given. */
  idempotencyKey?: string | undefined;
  mode?: 'atomic' | 'partial' | undefined;
  signal?: AbortSignal | undefined;
};

type Waiting = Abortable & { waitMs?: number | undefined };

export type Writeback = {
  /** The outcome, if it comes within half a minute and no callback was given. */
  writeMarks(marks: readonly Mark[], options?: WriteOptions): Promise<WritebackOutcome | WritebackPending>;
  /** Judges every mark and writes nothing; throws InvalidMarks where writeMarks would. */
  judgeMarks(marks: readonly Mark[], options?: Pick<WriteOptions, 'mode' | 'signal'>): Promise<JudgedMarks>;
  outcome(trackingId: string, options?: Abortable): Promise<WritebackOutcome | undefined>;
  /** Until it is decided; waitMs: 70 minutes, as an MIS is tried for an hour. */
  waitForOutcome(trackingId: string, options?: Waiting): Promise<WritebackOutcome>;
};

/** The service waits for the MIS, half a minute at most. */
const writeTimeoutMs = 60_000;
const usualWaitMs = 70 * 60_000;
const pauses = { firstMs: 1_000, longestMs: 30_000 };

/** @internal */
export function createWriteback(session: Session, estab: string): Writeback {
  async function post<T>(marks: readonly Mark[], query: NonNullable<Call['query']>, { callback, idempotencyKey, signal }: WriteOptions): Promise<T> {
    const urls = callback === undefined ? [] : typeof callback === 'string' ? [callback] : callback;
    const path = `/api/v1/School/${pathPart(estab)}/Attendance`;
    const called = urls.length > 0 ? { callback: urls.map((Url) => ({ Method: 'POST', Url })) } : {};
    const answer = await session.send({
      method: 'POST',
      path,
      query,
      headers: { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() },
      body: { Marks: marks.map((mark) => ({ MarkType: 'S', ...mark })), ...called },
      // Under its key it is the same writeback, however often it is sent.
      repeatable: true,
      accepts: [400],
      timeoutMs: Math.max(writeTimeoutMs, session.settings.timeoutMs),
      signal,
    });
    const error = answer.status === 400 ? toError(answer, `POST ${path}`, session.settings.now()) : undefined;
    // Of something in between, which knows nothing of marks.
    if (error?.code === 'http_400') throw error;
    const body = readJson<T & { Errors?: MarkFault[]; TrackingId?: string }>(answer, `POST ${path}`);
    if (!error) return body;
    throw body.Errors ? new InvalidMarks(error.message, { ...error, faults: body.Errors, trackingId: body.TrackingId }) : error;
  }

  function outcome(trackingId: string, { signal }: Abortable = {}): Promise<WritebackOutcome | undefined> {
    return session.find({ path: `/api/v1/Writeback/${pathPart(trackingId)}`, signal });
  }

  return {
    writeMarks: (marks, options = {}) => post(marks, { mode: options.mode }, options),
    judgeMarks: (marks, options = {}) => post(marks, { mode: options.mode, validateOnly: true }, options),
    outcome,
    async waitForOutcome(trackingId, { waitMs = usualWaitMs, signal } = {}) {
      let waited = 0;
      for (let pause = pauses.firstMs; ; pause = Math.min(2 * pause, pauses.longestMs)) {
        const found = await outcome(trackingId, { signal });
        if (!found) throw new SchoolbellError(`There is no writeback ${trackingId}.`, { code: 'not_found', status: 404 });
        if (found.Status !== 'Pending') return found;
        if (waited + pause > waitMs) throw new SchoolbellError(`The writeback ${trackingId} is not decided after ${waitMs} ms.`, { code: 'timeout' });
        await session.settings.sleep(pause, signal);
        waited += pause;
      }
    },
  };
}
