// Gives every request an end. A request without a response in time gets an error: 408 if its body has not arrived, otherwise 503.
// Whatever its handler sends or throws afterwards is ignored. A response that has begun may take as long as its reader does.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { SchoolbellError } from '../errors.ts';
import { mayChange, noAnswerInTime } from './error-shape.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Milliseconds until the response must begin, for a route that waits for more than the database. */
    longestMs?: number;
  }
}

/** Milliseconds from the arrival of a request to the beginning of its response. Each database statement has a shorter limit. */
const longestAnswerMs = 14_500;
/** For a route that also waits for something else: the share of its time that its statements may take. */
export const longestStatementsMs = longestAnswerMs;

export function answerInTime(app: FastifyInstance): void {
  const timers = new WeakMap<FastifyRequest, NodeJS.Timeout>();
  const overdue = new WeakSet<FastifyReply>();
  app.addHook('onRoute', (route) => {
    const { handler } = route;
    route.handler = function handleInTime(request, reply) {
      const result: unknown = handler.call(this, request, reply);
      if (!(result instanceof Promise)) return result;
      // Fastify logs an error if a handler fails after the response, so its failure ends here.
      return result.catch((error: unknown) => {
        if (!overdue.has(reply)) throw error;
        request.log.debug({ err: error }, 'the handler failed after the deadline');
      });
    };
  });
  app.addHook('onRequest', (request, reply, done) => {
    start(request, reply);
    // The time that the sender takes for the body is not the handler's.
    if (isArriving(request)) request.raw.once('end', () => timers.has(request) && start(request, reply));
    reply.raw.once('close', () => stop(request));
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    stop(request);
    done(null, payload);
  });

  function start(request: FastifyRequest, reply: FastifyReply): void {
    const { longestMs = longestAnswerMs } = request.routeOptions.config;
    stop(request);
    timers.set(request, setTimeout(() => answerFor(request, reply), longestMs));
  }

  function answerFor(request: FastifyRequest, reply: FastifyReply): void {
    if (reply.sent) return;
    void reply.send(isArriving(request) ? new SchoolbellError('request_timeout', bodyLateMessage) : noAnswerInTime(undefined, mayChange(request)));
    overdue.add(reply);
    reply.send = (payload) => ignore(reply, payload);
  }

  function stop(request: FastifyRequest): void {
    clearTimeout(timers.get(request));
    timers.delete(request);
  }
}

function ignore(reply: FastifyReply, payload: unknown): FastifyReply {
  if (payload instanceof Readable) payload.destroy();
  return reply;
}

/** The reason with which `whileAwaited` aborts. */
export class NobodyWaits extends Error {}
const nobodyWaits = new NobodyWaits('nobody waits for the answer any more');

/** Returns a signal that aborts when the response has gone out (even if it only says that it took too long) or the caller has left. */
export function whileAwaited(reply: FastifyReply): AbortSignal {
  const end = new AbortController();
  // One error for all requests, because creating it with its stack takes longer than everything else here.
  reply.raw.once('close', () => end.abort(nobodyWaits));
  return end.signal;
}

/** Whether part of the body is still to come. An injected request is complete from the beginning and has no `complete`. */
function isArriving(request: FastifyRequest): boolean {
  return hasBody(request) && (request.raw.complete as boolean | undefined) === false;
}

export const bodyLateMessage = 'The body of the request did not arrive in time. Send it at once, with all the bytes that Content-Length announces.';

export function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
