// In charge of when to try again: what a Retry-After says, and how long to pause without one.

const firstPauseMs = 250;
const longestPauseMs = 10_000;
/** @internal What a timer can hold; one of more goes off at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** @internal Seconds, or a date of HTTP; undefined where it says neither. */
export function parseRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** @internal Twice as long each time, and spread, so that many clients do not come back at one moment. */
export function backoffMs(tries: number, random: () => number = Math.random): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (tries - 1)) * (0.5 + random() / 2);
}

export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

/** @internal */
export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const leave = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave);
      resolve();
    }, Math.min(ms, longestTimerMs));
    signal?.addEventListener('abort', leave, { once: true });
  });
