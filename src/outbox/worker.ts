// In charge of doing the work of the outbox: claims when woken or when the poll comes round, hands each piece to the
// handler of its kind, and settles in batches. It knows no feature; any number of workers may run.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { claimWork, reclaimExpired, renewLeases, type ClaimedWork } from './claim.ts';
import { outboxChannel } from './enqueue.ts';
import { ownFault, settleWork, type Outcome } from './settle.ts';

export type Handler = { run(work: ClaimedWork): Promise<Outcome>; longestSeconds: number };
export type Handlers = Readonly<Record<string, Handler>>;
type Log = { warn(details: object, message: string): void; error(details: object, message: string): void };

export type WorkerOptions = { db: Db; handlers: Handlers; log: Log; leaseSeconds?: number; pollMs?: number };
export type Worker = { stop(): Promise<void> };

const defaultLeaseSeconds = 60;
const defaultPollMs = 1000;
const atOnce = 192;
const claimedAtOnce = 64;
const settledAtOnce = 64;
const ownFaultDelaySeconds = 5;
const settleAgainMs = 500;
const longestStatementMs = 10_000;

export async function startWorker({ db, handlers, log, leaseSeconds = defaultLeaseSeconds, pollMs = defaultPollMs }: WorkerOptions): Promise<Worker> {
  const longest = Math.max(...Object.values(handlers).map((handler) => handler.longestSeconds));
  // A lease that ends while its call still runs would let another worker make the same call.
  if (leaseSeconds < 2 * longest + 5) throw new Error(`a lease of ${leaseSeconds} s is too short for work that takes up to ${longest} s; it needs ${2 * longest + 5} s`);
  const claim = randomUUID();
  const running = new Set<Promise<void>>();
  const held = new Set<ClaimedWork>();
  const finished: { work: ClaimedWork; outcome: Outcome }[] = [];
  const stopping = new AbortController();
  let woken = false;
  let wake: () => void = () => (woken = true);
  let settling: Promise<void> = Promise.resolve();

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await within(longestStatementMs, reclaimExpired(db));
        // Only when there is room for a whole batch: a claim for one row costs as much as one for all.
        while (!stopping.signal.aborted && running.size <= atOnce - claimedAtOnce) {
          const claimed = await within(longestStatementMs, claimWork(db, claim, leaseSeconds, claimedAtOnce));
          for (const work of claimed) start(work);
          if (claimed.length === 0) break;
        }
      } catch (error) {
        log.error({ err: error }, 'the outbox cannot be read; it will be tried again');
      }
      await sleep();
    }
  }

  /** Until the poll comes round or somebody wakes; a call that came while nobody slept counts. */
  async function sleep(): Promise<void> {
    if (!woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        wake = () => {
          woken = true;
          clearTimeout(timer);
          resolve();
        };
      });
    }
    woken = false;
    wake = () => (woken = true);
  }

  function start(work: ClaimedWork): void {
    const handler = handlers[work.kind];
    const done = (handler ? handler.run(work) : Promise.reject(new Error(`there is no handler for ${work.kind}`)))
      .catch((error: unknown): Outcome => {
        log.error({ err: error, id: work.id }, 'work failed unexpectedly');
        return { success: false, state: 'waiting', delaySeconds: ownFaultDelaySeconds, errorClass: ownFault, detail: { message: (error as Error).message } };
      })
      .then((outcome) => settle(work, outcome))
      .finally(() => {
        running.delete(done);
        wake();
      });
    running.add(done);
    held.add(work);
  }

  /** What finishes while a statement is under way is settled together by the next. */
  function settle(work: ClaimedWork, outcome: Outcome): Promise<void> {
    finished.push({ work, outcome });
    settling = settleNext(settling);
    return settling;
  }

  async function settleNext(before: Promise<void>): Promise<void> {
    await before;
    const batch = finished.splice(0, settledAtOnce);
    if (batch.length === 0) return;
    // Until it is written or the worker ends; then the lease ends, and the call is repeated under the same id.
    while (!(await trySettle(batch)) && !stopping.signal.aborted) await pause(settleAgainMs);
    for (const { work } of batch) held.delete(work);
  }

  async function trySettle(batch: readonly { work: ClaimedWork; outcome: Outcome }[]): Promise<boolean> {
    try {
      await within(longestStatementMs, settleWork(db, claim, batch));
      return true;
    } catch (error) {
      log.error({ err: error, count: batch.length }, 'outcomes could not be written; it will be tried again');
      return false;
    }
  }

  const listening = await db.listen(outboxChannel, () => wake()).catch((error: unknown) => {
    log.warn({ err: error }, 'cannot listen for work; polling still finds it');
    return undefined;
  });
  const renewal = setInterval(() => void renewLeases(db, claim, leaseSeconds, [...held]).catch((error: unknown) => log.error({ err: error }, 'leases could not be renewed')), (leaseSeconds * 1000) / 3);
  const looping = loop();
  return {
    async stop() {
      stopping.abort();
      wake();
      await looping;
      await Promise.all(running);
      clearInterval(renewal);
      if (listening) await within(1000, listening.unlisten()).catch(() => {});
    },
  };
}

/** A connection that is cut off at the wrong moment can leave its answer open for ever; the worker goes on without it. */
async function within<T>(milliseconds: number, promise: Promise<T>): Promise<T> {
  const late = new AbortController();
  const tooLate = pause(milliseconds, undefined, { signal: late.signal }).then(() => {
    throw new Error(`the database did not answer within ${milliseconds / 1000} s`);
  });
  tooLate.catch(() => {});
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    late.abort();
  }
}
