// In charge of callers who are kept waiting on purpose: for a while, and so many at once in a process.
import { setTimeout as pause } from 'node:timers/promises';

/** slowMs: until one that answers slowly does. neverMs: until whoever waits for one that never does is given up. */
export type HoldLimits = Readonly<{ slowMs: number; neverMs: number; most: number }>;
/** Callers of ours wait 20 seconds. */
export const holdLimits: HoldLimits = { slowMs: 10_000, neverMs: 30_000, most: 20 };

/** Whether there was room: false at once where there is none. */
export type Hold = (ms: number, signal: AbortSignal) => Promise<boolean>;

export function createHold({ most }: Pick<HoldLimits, 'most'>): Hold {
  let held = 0;
  return async (ms, signal) => {
    if (held >= most) return false;
    held += 1;
    // Whoever goes away, or a service that ends, ends it.
    await pause(ms, undefined, { signal }).catch(() => {});
    held -= 1;
    return true;
  };
}
