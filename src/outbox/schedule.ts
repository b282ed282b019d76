// In charge of when a failed piece of work is tried again: twelve attempts over three days, spread by a fifth so that
// what failed together does not return together.

const minute = 60;
const hour = 60 * minute;
/** Seconds after the first, second, … failed attempt. */
export const retryDelays = [5, 30, 2 * minute, 10 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour] as const;
const spread = 0.2;
const longestWait = 24 * hour;

/** Seconds until the next attempt after `attempts` have failed, or undefined when there is none. */
export function findRetryDelay(attempts: number, askedFor: number | undefined, random: () => number = Math.random): number | undefined {
  const delay = retryDelays[attempts - 1];
  if (delay === undefined) return undefined;
  const spreadDelay = delay * (1 - spread + 2 * spread * random());
  return askedFor === undefined ? spreadDelay : Math.max(spreadDelay, Math.min(askedFor, longestWait));
}

/** Seconds that a Retry-After header asks for: a number or a date; undefined when it says nothing usable. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text), longestWait);
  const date = /[A-Za-z]{3}, \d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) || date <= now ? undefined : Math.min((date - now) / 1000, longestWait);
}
