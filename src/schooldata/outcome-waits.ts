// In charge of requests that wait for an outcome. The work is done by a worker, which may be another process: however
// many wait, one connection listens for all of them, and each looks by itself now and then, since a word can be lost.
import type { Db } from '../db/connect.ts';
import { findOutcome, outcomeChannel, type WritebackOutcome } from './outcome.ts';

export type AwaitedOutcome = { estab: string; rp: string; trackingId: string };
export type OutcomeWaits = {
  /** Undefined when there is none after 30 s, or nobody waits for it any more. */
  wait(which: AwaitedOutcome, gone: AbortSignal): Promise<WritebackOutcome | undefined>;
  /** Whoever waits is answered with what there is. */
  end(): Promise<void>;
};

const longestWaitMs = 30_000;
export const lookEveryMs = 2_000;

export function createOutcomeWaits(db: Db, everyMs = lookEveryMs): OutcomeWaits {
  const waiting = new Map<string, Set<() => void>>();
  const ending = new AbortController();
  let listening: ReturnType<Db['listen']> | undefined;

  function listen(): ReturnType<Db['listen']> {
    return db.listen(outcomeChannel, (trackingId) => {
      for (const tell of waiting.get(trackingId) ?? []) tell();
    });
  }

  /** Calls whenever the outcome may be there, until it is told to stop. */
  function watch(trackingId: string, tell: () => void, over: AbortSignal): () => void {
    const told = (waiting.get(trackingId) ?? new Set()).add(tell);
    waiting.set(trackingId, told);
    const looking = setInterval(tell, everyMs);
    over.addEventListener('abort', tell);
    return () => {
      clearInterval(looking);
      over.removeEventListener('abort', tell);
      told.delete(tell);
      if (told.size === 0) waiting.delete(trackingId);
    };
  }

  return {
    async wait({ estab, rp, trackingId }, gone) {
      const over = AbortSignal.any([gone, ending.signal, AbortSignal.timeout(longestWaitMs)]);
      let told = Promise.withResolvers<void>();
      const stop = watch(trackingId, () => told.resolve(), over);
      try {
        if (!over.aborted) await (listening ??= listen());
        while (!over.aborted) {
          // What is said while one looks counts for the next look.
          told = Promise.withResolvers<void>();
          const [ended] = await db`select from writeback where estab = ${estab} and tracking_id = ${trackingId} and status <> 'Pending'`;
          if (ended) return await findOutcome(db, estab, rp, trackingId);
          if (!over.aborted) await told.promise;
        }
        return undefined;
      } finally {
        stop();
      }
    },
    async end() {
      ending.abort();
      await (await listening)?.unlisten();
    },
  };
}
