// In charge of taking leave of those who call, so that the end of a process fails no request: it says that it is no longer ready and goes on
// answering until whoever sends requests has noticed; then it listens no more, and connections end with the answers that are under way.
import type { FastifyInstance } from 'fastify';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { SchoolbellError } from '../errors.ts';

export type Leaving = {
  /** From the first word on. */
  isLeaving(): boolean;
  /** Goes on answering until nobody asks any more, at most for a while; not at all where nobody did. What asks for health is nobody. */
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
  /** How long the end waits for answers that are still being read. */
  longestEndMs: number;
}>;

export const leavingLimits: LeavingLimits = { quietMs: 3_000, longestDrainMs: 10_000, unusedMs: 30_000, longestEndMs: 10_000 };

type Known = { answers: Set<ServerResponse>; isUsed: boolean };

export function createLeaving({ quietMs, longestDrainMs, unusedMs, longestEndMs }: LeavingLimits = leavingLimits): Leaving {
  const connections = new Map<Socket, Known>();
  let askedAt = -Infinity;
  let leaving = false;
  let closing = false;

  function follow(app: FastifyInstance): void {
    app.server.on('connection', (socket) => {
      connections.set(socket, { answers: new Set(), isUsed: false });
      socket.once('close', () => connections.delete(socket));
    });
    // Before the answer can have begun.
    app.server.prependListener('request', ({ socket }, response) => {
      if (leaving) tellToClose(response);
      const known = connections.get(socket);
      known?.answers.add(response);
      response.once('close', () => {
        known?.answers.delete(response);
        if (closing && known?.answers.size === 0) socket.destroySoon();
      });
    });
    app.addHook('onRequest', async ({ raw: { socket }, routeOptions }) => {
      if (closing) throw new SchoolbellError('unavailable', 'The service is about to end. Try again in a moment.', { headers: { 'retry-after': '5' } });
      if (routeOptions.config.quiet) return;
      askedAt = performance.now();
      const known = connections.get(socket);
      if (known) known.isUsed = true;
    });
    app.addHook('preClose', async () => {
      closing = true;
      // One that has no request, or only half of one, does not hold up the end.
      for (const [socket, { answers }] of connections) if (answers.size === 0) socket.destroy();
      setTimeout(cutOff, longestEndMs).unref();
    });
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
      for (const { answers } of connections.values()) for (const answer of answers) tellToClose(answer);
      const begun = performance.now();
      if (begun - askedAt > unusedMs && ![...connections.values()].some(({ isUsed }) => isUsed)) return;
      for (;;) {
        const leftMs = Math.min(Math.max(begun, askedAt) + quietMs, begun + longestDrainMs) - performance.now();
        if (leftMs <= 0) return;
        await pause(leftMs);
      }
    },
  };
}

/** The connection ends behind this answer, which says so; one whose headers have left is kept, and ends when nobody asks any more. */
function tellToClose(answer: ServerResponse): void {
  answer.shouldKeepAlive = false;
}
