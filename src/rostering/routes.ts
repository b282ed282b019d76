// In charge of the addresses of the rostering API: every operation in every dialect that offers it.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import type { Authenticate } from '../access/authenticate.ts';
import type { Ledger } from '../access/disclosures.ts';
import type { Prefer } from '../db/replicas.ts';
import { sqlStates } from '../db/unavailable.ts';
import { SchoolbellError } from '../errors.ts';
import { NobodyWaits, whileAwaited } from '../http/deadline.ts';
import { useErrorShape } from '../http/error-shape.ts';
import type { Query } from '../http/query.ts';
import { noteRecords } from '../http/request-log.ts';
import { sendRead, type SlowReaderLimit } from '../http/slow-reader.ts';
import { answerOperation, type Answer, type Answering } from './answer.ts';
import type { Reading } from './by-school.ts';
import { dialects } from './dialects/all.ts';
import { errorSchemas } from './dialects/error-schemas.ts';
import { createDescribeOperation } from './describe-operation.ts';
import { operations, type Operation } from './operations.ts';
import { createVersionNames } from './pin.ts';
import { readAgain } from './read-again.ts';
import { recordSchemas } from './record-schema.ts';
import type { Readings } from './readings.ts';
import { createFindSight } from './sight.ts';
import { createTurnstile } from './turnstile.ts';
import { reportUnknownParameters } from './unknown-parameters.ts';

export const wholeListsPerApplication = 8;
const longestWaitMs = 8_000;

export type Rostering = {
  authenticate: Authenticate;
  readings: Readings;
  publicUrl: string;
  ledger: Ledger;
  slowReader: SlowReaderLimit;
};

export function rosteringRoutes(app: FastifyInstance, { authenticate, readings, publicUrl, ledger, slowReader }: Rostering): void {
  const findSight = createFindSight();
  const names = createVersionNames(readings.primary);
  readings.primary.onMoved(names.forget);
  const turnstile = createTurnstile(wholeListsPerApplication, longestWaitMs);
  for (const schema of [...recordSchemas, ...errorSchemas]) app.addSchema(schema);
  for (const dialect of dialects) {
    const answering = { findSight, dialect, turnstile, names, address: publicUrl + dialect.root };
    const describe = createDescribeOperation(dialect);
    app.register(async (scope) => {
      useErrorShape(scope, dialect.errors);
      scope.addHook('onSend', reportUnknownParameters);
      for (const operation of operations.filter(({ name }) => dialect.offers(name))) {
        const path = dialect.root + operation.path;
        scope.get(path, describe(operation), async (request, reply) => {
          const over = whileAwaited(reply);
          try {
            return send(await answer(answering, readings.prefer, operation, authenticate, request, ledger, over), reply, slowReader);
          } catch (error) {
            if (error instanceof NobodyWaits) return reply;
            throw error;
          }
        });
      }
    });
  }
}

async function answer(
  answering: Omit<Answering, 'reading'>,
  prefer: Prefer<Reading>,
  operation: Operation,
  authenticate: Authenticate,
  request: FastifyRequest,
  ledger: Ledger,
  over: AbortSignal,
): Promise<Answer> {
  const note: Ledger['note'] = (disclosure) => {
    noteRecords(request, disclosure.records);
    ledger.note(disclosure);
  };
  return readAgain(async () => {
    const caller = await authenticate(request, answering.dialect.tokenKind);
    const asked = {
      rp: caller.rp,
      params: request.params as Record<string, string>,
      query: request.query as Query,
      ifRosterVersion: single(request.headers['if-roster-version']),
      ifNoneMatch: request.headers['if-none-match'],
      acceptEncoding: request.headers['accept-encoding'],
      head: request.method === 'HEAD',
      note,
    };
    return prefer((reading) => answerOperation({ ...answering, reading: { ...reading, over } }, operation, caller, asked)).catch(sayTooLong);
  }, over);
}

function sayTooLong(error: unknown): never {
  if ((error as { code?: string }).code !== sqlStates.queryCanceled) throw error;
  throw new SchoolbellError('unavailable', 'This took too long to find. Ask for less at once, or filter by fewer fields.', {
    headers: { 'retry-after': '30' },
    cause: error,
  });
}

/** A header that is sent twice is joined by Node, and then names nothing. */
function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join() : header;
}

function send({ status, headers, body }: Answer, reply: FastifyReply, slowReader: SlowReaderLimit): FastifyReply {
  reply.code(status).headers(headers);
  if (status === 304) return reply.send();
  reply.type('application/json; charset=utf-8');
  // A stream, so that HEAD states no length: that of GET depends on its encoding.
  if (reply.request.method === 'HEAD') return reply.send(Readable.from([]));
  return sendRead(reply, body, slowReader);
}
