// In charge of taking leave of those who call, so that the end of a process fails no request: it says that it is no longer ready and goes on
// answering until whoever sends requests has noticed; then it listens no more, and connections end with the answers that are under way.
import type { FastifyInstance } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export type Leaving = {
  /** From the first word on. */
  isLeaving(): boolean;
  /** Goes on answering until nobody asks any more, at most for a while; not at all where nobody did, nor looked whether it is ready. */
  drain(): Promise<void>;
  /** Once for the server that it is about. */
  follow(app: FastifyInstance): void;
};

export type LeavingLimits = Readonly<{
  /** Nobody has asked for so long: whoever sends requests has noticed. */
  quietMs: number;
  longestDrainMs: number;
  /** Nobody has asked for so long before: nobody is using it. */
  unusedMs: number;
  /** For requests on connections that were taken in the last moment. */
  graceMs: number;
  /** How long the end waits for answers that are still being read; and at most until then, from the first word on. */
  longestEndMs: number;
  longestMs: number;
}>;

export const leavingLimits: LeavingLimits = {
  quietMs: 3_000, longestDrainMs: 10_000, unusedMs: 30_000, graceMs: 500, longestEndMs: 10_000, longestMs: 17_000,
};

type Known = { answers: Set<ServerResponse>; isUsed: boolean };

export function createLeaving({ quietMs, longestDrainMs, unusedMs, graceMs, longestEndMs, longestMs }: LeavingLimits = leavingLimits): Leaving {
  const connections = new Map<Socket, Known>();
  let askedAt = -Infinity;
  /** When somebody wanted to know whether it is ready: they send requests, or are about to. */
  let probedAt = -Infinity;
  let leftAt = Infinity;
  let leaving = false;
  let closing = false;

  function follow(app: FastifyInstance): void {
    app.server.on('connection', (socket) => {
      connections.set(socket, { answers: new Set(), isUsed: false });
      socket.once('close', () => connections.delete(socket));
    });
    // Before the answer can have begun.
    app.server.prependListener('request', ({ socket }, response) => {
      const known = connections.get(socket);
      if (leaving) tellToClose(response, known?.answers);
      known?.answers.add(response);
      response.once('close', () => {
        known?.answers.delete(response);
        if (closing && known?.answers.size === 0) socket.destroySoon();
      });
    });
    app.addHook('onRequest', async ({ raw: { socket }, routeOptions }) => {
      if (routeOptions.url === '/readyz') probedAt = performance.now();
      if (routeOptions.config.quiet) return;
      askedAt = performance.now();
      const known = connections.get(socket);
      if (known) known.isUsed = true;
    });
    app.addHook('preClose', async () => {
      // Only this: whoever closes a server of HTTP also ends connections whose first request is just arriving.
      NetServer.prototype.close.call(app.server);
      if (leaving && connections.size > 0) await pause(graceMs);
      closing = true;
      cutUnused();
      setTimeout(cutOff, Math.max(0, Math.min(longestEndMs, leftAt + longestMs - performance.now()))).unref();
    });
  }

  /** A connection that has no request, or only half of one, does not hold up the end. */
  function cutUnused(): void {
    for (const [socket, { answers }] of connections) if (answers.size === 0) socket.destroy();
  }

  /** By a reset, so that nobody takes what they got for the whole. */
  function cutOff(): void {
    for (const socket of connections.keys()) socket.resetAndDestroy();
  }

  return {
    isLeaving: () => leaving,
    follow,
    async drain() {
      leaving = true;
      const begun = performance.now();
      leftAt = begun;
      for (const { answers } of connections.values()) for (const answer of answers) tellToClose(answer, answers);
      if (begun - Math.max(askedAt, probedAt) > unusedMs && ![...connections.values()].some(({ isUsed }) => isUsed)) return;
      for (;;) {
        const leftMs = Math.min(Math.max(begun, askedAt) + quietMs, begun + longestDrainMs) - performance.now();
        if (leftMs <= 0) return;
        await pause(leftMs);
      }
    },
  };
}

/** The connection ends behind this answer, which says so; one whose headers have left is kept, and ends when nobody asks any more. */
function tellToClose(answer: ServerResponse, others: ReadonlySet<ServerResponse> = new Set()): void {
  answer.shouldKeepAlive = false;
  // Where somebody did not wait for an answer before asking again, it is the last that says so.
  for (const other of others) if (other !== answer && !other.headersSent) other.shouldKeepAlive = true;
}
