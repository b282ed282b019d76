// In charge of answering a request that writes marks: every fault at once, the outcome if it comes soon, or the way to
// ask for it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SchoolCaller } from '../access/school-caller.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { fine } from '../http/envelope.ts';
import { findParameter } from '../http/parameters.ts';
import type { Query } from '../http/query.ts';
import type { RequireTarget } from '../notifications/inbox/require-target.ts';
import type { OutcomeWaits } from './outcome-waits.ts';
import type { WritebackOutcome } from './outcome.ts';
import { describeFaults, submitMarks, type Submitted } from './submit-marks.ts';

export async function answerMarks(
  { db, requireTarget, now, waits }: { db: Db; requireTarget: RequireTarget; now: () => number; waits: OutcomeWaits },
  who: SchoolCaller,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  if (!who.scopes.includes('WritebackAttendance'))
    throw new SchoolbellError('forbidden', 'The school has not granted WritebackAttendance, which entering marks needs.');
  const query = request.query as Query;
  const submission = {
    body: request.body,
    ...parseModes(query),
    idempotencyKey: request.headers['idempotency-key'] as string | undefined,
    callbackUrl: findParameter(query, 'callbackUrl'),
  };
  const submitted = await submitMarks(db, who, submission, requireTarget, new Date(now()));
  if (submitted.kind !== 'taken') return answerJudged(submitted, reply);
  const pending = {
    TrackingId: submitted.trackingId,
    Estab: who.estab,
    Status: 'Pending',
    Total: submitted.total,
    Path: outcomePath(submitted.trackingId),
    ...fine,
    Message: 'The marks were taken and will be written to the MIS.',
  };
  if (submitted.called) return reply.code(202).send(pending);
  const outcome = await waitForOutcome(waits, who, submitted.trackingId, request);
  return outcome ? renderOutcome(outcome) : reply.code(202).send(pending);
}

function parseModes(query: Query): { partial: boolean; validateOnly: boolean } {
  const mode = findParameter(query, 'mode')?.toLowerCase();
  if (mode !== undefined && mode !== 'partial' && mode !== 'atomic')
    throw new SchoolbellError('invalid_request', `mode: "${mode.slice(0, 40)}" is neither atomic, which is usual, nor partial.`);
  const validate = findParameter(query, 'validateOnly')?.toLowerCase();
  if (validate !== undefined && validate !== 'true' && validate !== 'false')
    throw new SchoolbellError('invalid_request', `validateOnly: "${validate.slice(0, 40)}" is neither true nor false.`);
  return { partial: mode === 'partial', validateOnly: validate === 'true' };
}

function answerJudged(submitted: Exclude<Submitted, { kind: 'taken' }>, reply: FastifyReply): unknown {
  if (submitted.kind === 'faulty') {
    const { faults, trackingId } = submitted;
    return reply.code(400).send({
      Errors: faults,
      ...(trackingId === undefined ? {} : { TrackingId: trackingId, Path: outcomePath(trackingId) }),
      ...fine,
      ExceptionType: 'invalid_marks',
      ExceptionMessage: describeFaults(faults),
    });
  }
  const marks = submitted.marks.map(({ index, studentId, date, session, mark, previousMark }) => ({
    Index: index,
    StudentId: studentId,
    Date: date,
    Session: session,
    Mark: mark ?? null,
    PreviousMark: previousMark,
    Result: 'Valid',
  }));
  return {
    Errors: submitted.faults,
    Total: marks.length + new Set(submitted.faults.map((fault) => fault.Index)).size,
    Valid: marks.length,
    Marks: marks,
    ...fine,
    Message: 'The marks were judged; nothing was written.',
  };
}

/** Gives up early when nobody listens any more. */
async function waitForOutcome(waits: OutcomeWaits, { estab, rp }: SchoolCaller, trackingId: string, request: FastifyRequest) {
  const gone = new AbortController();
  const { socket } = request.raw;
  const leave = () => gone.abort();
  if (socket.destroyed) leave();
  socket.once('close', leave);
  return waits.wait({ estab, rp, trackingId }, gone.signal).finally(() => socket.off('close', leave));
}

function outcomePath(trackingId: string): string {
  return `/api/v1/Writeback/${trackingId}`;
}

/** Clients look at ExceptionMessage: what was not written must not look like a success. */
function renderOutcome(outcome: WritebackOutcome): Record<string, unknown> {
  const failed = outcome.Status !== 'Completed';
  return {
    ...outcome,
    ExceptionType: failed ? 'writeback_failed' : null,
    ExceptionMessage: failed ? `${outcome.Status}: ${String(outcome.Message)}` : null,
    InnerException: null,
  };
}
