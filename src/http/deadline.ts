// In charge of an end to every request: whoever has no answer in time is told so, and one that does not arrive in time is cut
// off. What has begun to leave may take as long as its reader does.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mayChange, noAnswerInTime } from './error-shape.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** For a route that waits for somebody else than the database: how long its answer may take. */
    longestMs?: number;
  }
}

/** From its arrival to the beginning of its answer. The database is given up earlier, at each step. */
const longestAnswerMs = 14_500;
/** From the first byte of a request to its last, unless its route takes longer. */
const longestRequestMs = 30_000;
/** For a route that also waits for something else: what its statements may take besides. */
export const longestStatementsMs = longestAnswerMs;

export function answerInTime(app: FastifyInstance): void {
  const timers = new WeakMap<FastifyRequest, NodeJS.Timeout>();
  app.addHook('onRequest', (request, reply, done) => {
    const { longestMs = longestAnswerMs } = request.routeOptions.config;
    if (hasBody(request)) {
      const arriving = setTimeout(() => request.raw.complete || cutOff(request), Math.max(longestMs, longestRequestMs)).unref();
      request.raw.once('close', () => clearTimeout(arriving));
    }
    const timer = setTimeout(() => void reply.send(noAnswerInTime(undefined, mayChange(request.method))), longestMs);
    timers.set(request, timer);
    reply.raw.once('close', () => clearTimeout(timer));
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    clearTimeout(timers.get(request));
    done(null, payload);
  });
}

/** Nobody waits for the answer any more: it has gone out, if only that it took too long, or whoever asked has left. */
export class NobodyWaits extends Error {}
const nobodyWaits = new NobodyWaits('nobody waits for the answer any more');

/** For what is done in many steps: looked at before each of them. */
export function whileAwaited(reply: FastifyReply): AbortSignal {
  const end = new AbortController();
  // One that is there already: making it with its stack takes longer than all the rest.
  reply.raw.once('close', () => end.abort(nobodyWaits));
  return end.signal;
}

/** A request that was injected is there from the beginning, never says so, and has no connection. */
function cutOff({ raw: { socket } }: FastifyRequest): void {
  if ('destroy' in socket) socket.destroy();
}

export function hasBody({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
