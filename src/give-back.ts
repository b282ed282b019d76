// In charge of giving memory back: what was used once at once, the rest when it is quiet. V8 keeps what a start, a collection or a busy
// hour took: 64 MB of young generation alone, and garbage until it needs the room. Its own reducer waits for a process that allocates
// next to nothing, which a worker that looks for work never is.
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = {
  (how: { type: 'major'; execution: 'async'; flavor: 'last-resort' }): Promise<void>;
  (how: { type: 'minor'; execution: 'sync' }): void;
};

/**
 * In percent. V8 would let the heap grow to four times what is needed; or, where it is collected often, by next to nothing, and look through
 * all of it for every few buffers that pass.
 */
const growth = 75;
setFlagsFromString(`--heap-growing-percent=${growth}`);

const mebibyte = 1024 ** 2;
const lookEveryMs = 5_000;
/** Of the time since the last look. What is given back costs a pause of 0.1 to 0.2 s, in which nobody should be waiting. */
const quietShare = 0.05;
const worthBytes = 16 * mebibyte;
/** Of buffers that were used once. */
const mostPassing = 8 * mebibyte;

/** before: what there was after the last time, at first that of a process which has loaded nothing. */
export const isWorthIt = (seen: { busyShare: number; bytes: number; before: number }): boolean =>
  seen.busyShare < quietShare && seen.bytes >= seen.before + worthBytes;

/** Gives what stops it. */
export function giveBackWhenQuiet(): () => void {
  let before = 0;
  let since: EventLoopUtilization = performance.eventLoopUtilization();

  async function look(): Promise<void> {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, since);
    since = now;
    if (!isWorthIt({ busyShare: utilization, bytes: process.memoryUsage.rss(), before })) return;
    // Until it is done, nothing is worth it.
    before = Infinity;
    await giveBack();
    before = process.memoryUsage.rss();
  }

  const timer = setInterval(() => void look(), lookEveryMs).unref();
  return () => clearInterval(timer);
}

let collect: Collect | undefined;

/** Collects whatever can be, as V8 does before it would run out of memory: pages that are left empty go back to the system. */
export async function giveBack(): Promise<void> {
  collect ??= findCollect();
  await collect({ type: 'major', execution: 'async', flavor: 'last-resort' });
}

let passing = 0;

/**
 * Told of buffers that are used once and forgotten: they lie outside of V8's heap, which collects them only when 64 MB of them are there. Early
 * on, while the next can still be laid where the last ones were, it is less work too: memory that is fetched anew is cleared by the system first.
 */
export function notePassing(bytes: number): void {
  passing += bytes;
  if (passing < mostPassing) return;
  passing = 0;
  collect ??= findCollect();
  collect({ type: 'minor', execution: 'sync' });
}

/** The function is put into contexts that are made while the flag is set, and is nowhere else. */
function findCollect(): Collect {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as Collect;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
