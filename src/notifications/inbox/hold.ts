// In charge of callers who are kept waiting on purpose: for a while, and so many at once in a process, of one inbox a few.
import { setTimeout as pause } from 'node:timers/promises';

/** slowMs: until one that answers slowly does. neverMs: until whoever waits for one that never does is given up. mostOfOne: of one inbox. */
export type HoldLimits = Readonly<{ slowMs: number; neverMs: number; most: number; mostOfOne: number }>;
export const holdLimits: HoldLimits = { slowMs: 10_000, neverMs: 30_000, most: 20, mostOfOne: 4 };
/** Where the service calls itself: half as many as the worker calls at one host, since to it all inboxes are at one. */
export const ownHoldLimits: HoldLimits = { ...holdLimits, most: 8 };

/** Whether there was room: false at once where there is none. */
export type Hold = (inbox: string, ms: number, signal: AbortSignal) => Promise<boolean>;

/** An inbox that never answers leaves room for those of others. */
export function createHold({ most, mostOfOne }: Pick<HoldLimits, 'most' | 'mostOfOne'>): Hold {
  const held: string[] = [];
  return async (inbox, ms, signal) => {
    if (held.length >= most || held.filter((one) => one === inbox).length >= mostOfOne) return false;
    held.push(inbox);
    // Whoever goes away, or a service that ends, ends it.
    await pause(ms, undefined, { signal }).catch(() => {});
    held.splice(held.indexOf(inbox), 1);
    return true;
  };
}
