// Renders every error response, in the shape of the API that the request belongs to.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TroubleLog } from '../db/trouble-log.ts';
import { isDiskFull, isOutcomeUnknown, isUnavailable } from '../db/unavailable.ts';
import { EnvironmentFault } from '../environment-fault.ts';
import { errorCodes, SchoolbellError, type ErrorCode } from '../errors.ts';
import { requestIdHeader } from './request-log.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a POST that stores nothing: a response without a result does not warn that something may have been done. */
    changesNothing?: true;
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Failures of requests that repeat while a disk is full. */
    troubles?: TroubleLog;
  }
}

export type ErrorShape = Readonly<{
  contentType: string;
  /** Statuses that differ from the table of codes. */
  statuses: Partial<Record<ErrorCode, number>>;
  /** Headers that go with a status. */
  headers: Readonly<Record<number, Record<string, string>>>;
  /** Headers that go with every error. */
  always?: Readonly<Record<string, string>>;
  body: (error: SchoolbellError) => string;
  /** The shape of faults of the service itself (`unexpected` and `unavailable`), if it differs. */
  ownFaults?: ErrorShape;
}>;

const ownFaults: readonly ErrorCode[] = ['unexpected', 'unavailable'];

/** Returns the shape in which an error with this code is sent. */
export function shapeOf(shape: ErrorShape, code: ErrorCode): ErrorShape {
  return ownFaults.includes(code) ? (shape.ownFaults ?? shape) : shape;
}

/** Plain text for clients that know no server errors: a fault of the service is a 400 as well. */
export const plainTextShape: ErrorShape = {
  contentType: 'text/plain; charset=utf-8',
  statuses: { unavailable: 400, unexpected: 400 },
  headers: {},
  body: (error) => error.message,
};

/** JSON Schema of a body in plain text. */
export const plainTextSchema = { type: 'string', description: 'What was wrong and what would be right, for people.' } as const;

/** The token endpoints: RFC 6749. */
export const oauthShape: ErrorShape = {
  contentType: 'application/json; charset=utf-8',
  statuses: {},
  headers: { 401: { 'www-authenticate': 'Basic realm="schoolbell"' } },
  body: (error) => JSON.stringify({ error: oauthCodes[error.code] ?? 'invalid_request', error_description: error.message }),
};

const oauthCodes: Partial<Record<ErrorCode, string>> = {
  invalid_client: 'invalid_client',
  unsupported_grant_type: 'unsupported_grant_type',
  invalid_scope: 'invalid_scope',
  too_many_requests: 'slow_down',
  unavailable: 'temporarily_unavailable',
  unexpected: 'server_error',
};

/** Everything else: the envelope, with its four last fields. */
export const envelopeShape: ErrorShape = {
  contentType: 'application/json; charset=utf-8',
  statuses: {},
  headers: { 401: { 'www-authenticate': 'Bearer realm="schoolbell"' } },
  body: (error) => JSON.stringify({ Message: null, ExceptionType: error.code, ExceptionMessage: error.message, InnerException: null }),
};

export function useErrorShape(app: FastifyInstance, shape: ErrorShape): void {
  app.setErrorHandler((error: FastifyError | SchoolbellError, request, reply) => sendError(error, shape, request, reply));
}

export function sendError(error: FastifyError | SchoolbellError, given: ErrorShape, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toSchoolbellError(error, request);
  const shape = shapeOf(given, known.code);
  request.refusedAs = known.code;
  const status = shape.statuses[known.code] ?? errorCodes[known.code].status;
  if (known.code === 'unexpected') request.log.error({ err: error }, 'unexpected error');
  else if (known.code === 'unavailable') logUnavailable(error, request);
  else if (known.detail !== undefined) request.log.info({ code: known.code, detail: known.detail }, 'request refused');
  // Headers of an answer that failed half-way (its length, encoding, version) do not describe the error.
  for (const name of Object.keys(reply.getHeaders())) if (name !== requestIdHeader) reply.removeHeader(name);
  return reply
    .code(status)
    .headers({ ...shape.always, ...shape.headers[status], ...known.headers, 'cache-control': 'no-store' })
    .type(shape.contentType)
    .send(shape.body(known));
}

const diskFullMessage = 'a disk is full: nothing can be written until there is room';

/** A full disk, or a folder that cannot be used, fails every request that writes to it, until a person puts it right. */
function logUnavailable(error: unknown, { log, server }: FastifyRequest): void {
  if (isDiskFull(error)) server.troubles?.failed('requests', error, {}, diskFullMessage);
  else if (error instanceof EnvironmentFault) server.troubles?.failed('requests', error, {}, error.message);
  else log.error({ err: error }, 'the database does not answer');
}

/** The documentation quotes these messages. */
export const awayMessage = 'The service cannot reach its data at present. Try again in a moment.';
const unknownMessage = 'The service could not reach its data in time: what was asked for may have been done, or not. Look before you do it again.';
export const renderFaultMessage = (requestId: string) => `Something went wrong on the server; it has been logged as ${requestId}.`;

/** Whether the request may change stored data. */
export const mayChange = ({ method, routeOptions }: FastifyRequest) =>
  method !== 'GET' && method !== 'HEAD' && !routeOptions.config.changesNothing;

/** mayBeDone: the connection was lost while data was being saved. */
export function noAnswerInTime(cause?: unknown, mayBeDone = false): SchoolbellError {
  return new SchoolbellError('unavailable', mayBeDone ? unknownMessage : awayMessage, { headers: { 'retry-after': '5' }, cause });
}

/** PostgreSQL refuses NUL in text and JSON, so a NUL can only come from the request. */
const holdsNul: readonly string[] = ['22021', '22P05'];

/** Maps errors of the database and of Fastify to ours. Any other error is unexpected. */
function toSchoolbellError(error: FastifyError | SchoolbellError, request: FastifyRequest): SchoolbellError {
  if (error instanceof SchoolbellError) return error;
  if (error instanceof EnvironmentFault) return noAnswerInTime(error);
  if (isUnavailable(error)) return noAnswerInTime(error, isOutcomeUnknown(error) && mayChange(request));
  if (holdsNul.includes(error.code)) return new SchoolbellError('invalid_request', 'Something in the request holds a NUL character; nothing here does.');
  if (error.code === 'FST_ERR_BAD_URL') return new SchoolbellError('invalid_request', 'The path is not valid percent-encoded UTF-8.');
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new SchoolbellError('too_large', 'The body is too large.');
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new SchoolbellError('unsupported_media_type', 'The Content-Type is not one that this address takes.');
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) return new SchoolbellError('invalid_request', error.message);
  return new SchoolbellError('unexpected', renderFaultMessage(request.id), { cause: error });
}
