// In charge of doing the work of the outbox: claims when woken or when the poll comes round, hands each piece to the
// handler of its kind, and settles in batches. It knows no feature; any number of workers may run.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { isDiskFull, isServerGone, isSlow } from '../db/unavailable.ts';
import { EnvironmentFault } from '../environment-fault.ts';
import { AnotherClaims, reclaimExpired, type ClaimedWork } from './claim.ts';
import { outboxChannel } from './enqueue.ts';
import { handBackInTime } from './hand-back.ts';
import { createLeases } from './leases.ts';
import { createDeathWatch } from './sessions.ts';
import { ownFault, settleWork, withoutDetail, type Finished, type Outcome, type Settled } from './settle.ts';
import { describeWork, tellFailure } from './tell-failure.ts';
import { backOffAfter, createTroubleLog } from '../db/trouble-log.ts';

/**
 * isHeld: whether no other worker can have taken the work over; a handler asks it right before each call that cannot be undone. isUncuttable: a
 * call that is under way when the worker ends goes on until the process does; so it is left to its lease.
 */
export type Handler = { run(work: ClaimedWork, isHeld?: () => boolean): Promise<Outcome>; longestSeconds: number; isUncuttable?: true };
export type Handlers = Readonly<Record<string, Handler>>;
type Log = { warn(details: object, message: string): void; error(details: object, message: string): void };

export type WorkerOptions = {
  db: Db;
  handlers: Handlers;
  log: Log;
  leaseSeconds?: number;
  pollMs?: number;
  /** How long the end waits for what is under way. */
  longestEndMs?: number;
  /** Ends what is still under way then, so that nothing of it happens after it is handed back. */
  cut?: () => Promise<unknown>;
  /** The clock of leases and of the death watch; tests pass their own. */
  elapsedMs?: () => number;
};
/** tries: how often it could not be written; busy: how often its lane was. */
type Unsettled = Finished & { tries: number; busy: number; settled: () => void };
export type Worker = { stop(): Promise<void> };

/** Work of a process that died without its sessions ending, or that stands still, is done by another worker after this long. */
const defaultLeaseSeconds = 30;
const defaultPollMs = 1000;
/** Sockets are cheap; what matters is that receivers that hang leave room for the others. */
const atOnce = 512;
/** From here on, lanes that have failed lately wait. */
const littleRoom = 256;
const claimedAtOnce = 64;
/** A claim for one row costs as much as one for many. */
const worthClaiming = 16;
const settledAtOnce = 128;
const unexpected = { level: 'error', words: 'work failed unexpectedly; it will be tried again', baseSeconds: 5, longestSeconds: 900 } as const;
/** Another server mostly takes over within seconds, and somebody may be waiting for the outcome. */
const goneUnderWork = { level: 'warn', words: 'the database went away under work; it will be tried again', baseSeconds: 0.5, longestSeconds: 30 } as const;
/** Overload passes by itself; to ask again at once would add to it. */
const slowUnderWork = { level: 'warn', words: 'the database was slow under work; it will be tried again', baseSeconds: 5, longestSeconds: 300 } as const;
const settleAgainMs = 500;
/** A lane is mostly busy for a moment: the wait doubles from the first to the second. */
const laneBusyMs = { first: 2, longest: 100 } as const;
/** After a time without the database, its workers say what they did before anybody takes them for dead. */
const graceMs = 10_000;
/** Time between two looks at the sessions of all workers, its own among them. */
const watchMs = 1000;
/** Longer than a claim or a settle usually takes. */
const soonMs = 50;
/** Another worker is claiming: asked again after the first, then after twice as long, up to the longest. */
const turnMs = { first: 2, longest: 200 } as const;
/** What is still under way then is handed back, and another worker does it under the same id. */
const defaultLongestEndMs = 10_000;

export async function startWorker({ db, handlers, log, cut, ...limits }: WorkerOptions): Promise<Worker> {
  const { leaseSeconds = defaultLeaseSeconds, pollMs = defaultPollMs, longestEndMs = defaultLongestEndMs } = limits;
  const { elapsedMs = () => performance.now() } = limits;
  const longest = Math.max(...Object.values(handlers).map((handler) => handler.longestSeconds));
  // A lease that ends while its call still runs would let another worker make the same call.
  if (leaseSeconds < longest + 5)
    throw new Error(`a lease of ${leaseSeconds} s is too short for work that takes up to ${longest} s; it needs ${longest + 5} s`);
  const running = new Set<Promise<void>>();
  const findDead = createDeathWatch(db, elapsedMs);
  const leases = createLeases(db, leaseSeconds, elapsedMs);
  const finished: Unsettled[] = [];
  const stopping = new AbortController();
  const givenUp = new AbortController();
  let woken = false;
  let wake: () => void = () => (woken = true);
  let settling: Promise<void> | undefined;
  let claiming: Promise<unknown> | undefined;
  let troubledAt = -graceMs;
  const troubles = createTroubleLog(log);
  let watching: Promise<unknown> | undefined;

  async function loop(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      let longestMs = pollMs;
      const failed = await attempt('the outbox cannot be read', async () => {
        let waits = 0;
        while (!stopping.signal.aborted && running.size <= atOnce - worthClaiming) {
          const most = Math.min(claimedAtOnce, atOnce - running.size);
          const claimed = await claim(most);
          if (!claimed) await pause(Math.min(turnMs.longest, turnMs.first * 2 ** waits) * (0.5 + Math.random()));
          waits = claimed ? 0 : waits + 1;
          if (!claimed || claimed.length === most) continue;
          // What there was is taken, unless there were too many lanes to look at: there is more when something is settled.
          if (claimed.length > 0) longestMs = Math.min(soonMs, pollMs);
          break;
        }
      });
      failures = failed ? failures + 1 : 0;
      if (failed) longestMs = backOffAfter(failed.error, failures, pollMs);
      await sleep(longestMs);
    }
  }

  /** Undefined while another worker claims. */
  async function claim(most: number): Promise<ClaimedWork[] | undefined> {
    await orSoon(settling);
    const claimed = leases.claim(most, running.size >= littleRoom).catch(onlyIfTaken);
    claiming = claimed;
    const works = await claimed.finally(() => (claiming = undefined));
    if (!stopping.signal.aborted) for (const work of works ?? []) start(work);
    else {
      for (const work of works ?? []) leases.delete(work);
      await giveBack(works ?? [], { begun: false });
    }
    return works;
  }

  /** Reports that this worker is alive, and releases the work of dead workers. It has its own timer, because a claim may hold up the main loop. */
  const watch = () => {
    watching ??= attempt('work of ended workers cannot be freed', async () => {
      await leases.refreshSession();
      const dead = await leases.whileSeen(findDead);
      if (performance.now() - troubledAt < graceMs) return;
      if ((await reclaimExpired(db, leases.list(), dead)) > 0) wake();
    }).finally(() => (watching = undefined));
    return watching;
  };

  async function attempt(trouble: string, work: () => Promise<unknown>): Promise<{ error: unknown } | undefined> {
    try {
      await work();
      troubles.worked(trouble);
      return undefined;
    } catch (error) {
      troubledAt = performance.now();
      troubles.failed(trouble, error);
      return { error };
    }
  }

  /** Until the poll comes round or somebody wakes; a call that came while nobody slept counts. */
  async function sleep(longestMs: number): Promise<void> {
    if (!woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, longestMs);
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
    const isHeld = () => !givenUp.signal.aborted && leases.isHeld(work);
    const done = (handler ? handler.run(work, isHeld) : Promise.reject(new Error(`there is no handler for ${work.kind}`)))
      .catch((error: unknown): Outcome => {
        const { level, words, baseSeconds, longestSeconds } = isServerGone(error) ? goneUnderWork : isSlow(error) ? slowUnderWork : unexpected;
        if (!givenUp.signal.aborted && (isDiskFull(error) || error instanceof EnvironmentFault)) troubles.failed('work failed', error, describeWork(work));
        else if (!givenUp.signal.aborted) log[level]({ err: error, ...describeWork(work) }, words);
        const delaySeconds = Math.min(longestSeconds, baseSeconds * 2 ** Math.min(work.forgiven, 10)) * (0.8 + 0.4 * Math.random());
        return { success: false, state: 'waiting', delaySeconds, errorClass: ownFault, detail: { message: (error as Error).message } };
      })
      .then((outcome) => settle(work, outcome))
      .finally(() => {
        running.delete(done);
        wake();
      });
    running.add(done);
  }

  /** What finishes while a statement is under way is settled together by the next. Resolves when it is written, or the worker ends. */
  function settle(work: ClaimedWork, outcome: Outcome): Promise<void> {
    // It was cut, which says nothing about whoever was called.
    if (givenUp.signal.aborted && !outcome.success) return Promise.resolve();
    return new Promise((resolve) => {
      finished.push({ work, outcome, tries: 0, busy: 0, settled: resolve });
      settleSoon();
    });
  }

  function settleSoon(): void {
    settling ??= settleNext().finally(() => {
      settling = undefined;
      if (finished.length > 0) settleSoon();
    });
  }

  /** What cannot be settled yet (its lane is busy, the database away) comes back later and keeps nobody waiting. */
  async function settleNext(): Promise<void> {
    await orSoon(claiming);
    const batch = finished.splice(0, settledAtOnce);
    const troubled = batch.filter(({ tries }) => tries > 0);
    for (const part of [batch.filter(({ tries }) => tries === 0), ...troubled.map((one) => [one])]) {
      if (part.length === 0) continue;
      let later: readonly Finished[] = [];
      let ended: Settled['ended'] = [];
      const failed = await attempt('outcomes could not be written', async () => {
        const settled = await leases.whileSeen(() => settleWork(db, part.map((one) => (one.tries > 1 ? withoutDetail(one) : one))));
        const busy = new Set(settled.later.map(({ work }) => work));
        later = part.filter(({ work }) => busy.has(work));
        ended = settled.ended;
      });
      for (const { key, why } of ended) {
        const work = part.find((one) => one.work.lane === key)?.work;
        log.warn({ ...(work ? describeWork(work) : { lane: key }), reason: why }, 'disabled: nothing more is sent there');
      }
      for (const one of part) {
        if (!failed && !later.includes(one)) {
          release(one);
          // That its lane has ended says it already.
          if (!ended.some(({ key }) => key === one.work.lane)) tellFailure(log, one);
        }
        else if (!failed) again({ ...one, busy: one.busy + 1 }, Math.min(laneBusyMs.longest, laneBusyMs.first * 2 ** one.busy));
        else again({ ...one, tries: one.tries + 1 }, backOffAfter(failed.error, one.tries + 1, settleAgainMs));
      }
    }
  }

  function release({ work, settled }: Unsettled): void {
    leases.delete(work);
    settled();
  }

  /** Until it is written or the worker has ended; then the call is repeated under the same id. */
  function again(one: Unsettled, afterMs: number): void {
    setTimeout(() => {
      if (givenUp.signal.aborted) return;
      finished.push(one);
      settleSoon();
    }, afterMs);
  }

  const giveBack = (works: readonly ClaimedWork[], how: { begun: boolean }) =>
    handBackInTime(db, works, how).catch((error: unknown) => log.error({ err: error }, 'work could not be handed back; its lease has to end'));

  const listening = await db.listen(outboxChannel, () => wake()).catch((error: unknown) => {
    log.warn({ err: error }, 'cannot listen for work; polling still finds it');
    return undefined;
  });
  const renewal = setInterval(
    () => void attempt('leases could not be renewed', leases.renew),
    (leaseSeconds * 1000) / 3,
  );
  const watches = setInterval(() => void watch(), watchMs);
  await watch();
  const looping = loop();
  return {
    async stop() {
      stopping.abort();
      wake();
      const ended = looping.then(() => Promise.all(running)).then(() => watching);
      await Promise.race([ended, pause(longestEndMs, undefined, { ref: false })]);
      givenUp.abort();
      clearInterval(watches);
      const held = leases.list();
      if (held.length > 0) {
        await cut?.();
        await giveBack(held.filter(({ kind }) => !handlers[kind]?.isUncuttable), { begun: true });
      }
      clearInterval(renewal);
      await listening?.unlisten();
    },
  };
}

/** A claim and a settle want the same lanes: each waits for the other, but not for one that is stuck. */
async function orSoon(other: Promise<unknown> | undefined): Promise<void> {
  if (!other) return;
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([other.catch(() => {}), new Promise((resolve) => (timer = setTimeout(resolve, soonMs)))]);
  clearTimeout(timer);
}

function onlyIfTaken(error: unknown): undefined {
  if (!(error instanceof AnotherClaims)) throw error;
}
