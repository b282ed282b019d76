// In charge of what the sandbox does to callers that are applications of the demo: tokens that end within seconds, and answers that are
// refused although nothing is wrong. Made only where there is a demo; nobody else's requests wait for it.
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { FindTokenSeconds, Tokens } from './tokens.ts';

/** Throws what the sandbox wants this application to be answered. */
export type RequireAnswer = (rp: string) => Promise<void>;

/** Whether an application is one of the demo is said when it is added and never changes: only one that is removed and added again is another. */
const rememberedMs = 10_000;
const mostRemembered = 10_000;
/** What a refusal says where there is no limit. */
const usualLimit = 1200;

export function createIsDemo(db: Db, now: () => number = Date.now): (rp: string) => Promise<boolean> {
  const known = new Map<string, { demo: boolean; until: number }>();
  return async (rp) => {
    const remembered = known.get(rp);
    if (remembered && remembered.until > now()) return remembered.demo;
    const [row] = await db<{ demo: boolean }[]>`select demo from application where rp = ${rp}`;
    if (known.size >= mostRemembered) known.clear();
    known.set(rp, { demo: row?.demo === true, until: now() + rememberedMs });
    return row?.demo === true;
  };
}

export function createFindTokenSeconds(db: Db, isDemo: (rp: string) => Promise<boolean>): FindTokenSeconds {
  return async (rp) => {
    if (!(await isDemo(rp))) return undefined;
    const [fault] = await db<{ seconds: number }[]>`select seconds from sandbox_fault where rp = ${rp} and kind = 'tokens' and until > now()`;
    return fault?.seconds;
  };
}

type Refused = { mode: string; seconds: number };

/** perMinute: what the refusal says of the limit, as the real one does. Counted in the database, so that three are three in all processes. */
export function createRequireAnswer(db: Db, isDemo: (rp: string) => Promise<boolean>, perMinute: number): RequireAnswer {
  return async (rp) => {
    if (!(await isDemo(rp))) return;
    const [refused] = await db<Refused[]>`
      update sandbox_fault set remaining = remaining - 1
      where rp = ${rp} and kind = 'answers' and until > now() and (remaining is null or remaining > 0)
      returning mode, seconds`;
    if (refused) throw describe(refused, perMinute);
  };
}

function describe({ mode, seconds }: Refused, perMinute: number): SchoolbellError {
  const retry = { 'retry-after': String(seconds) };
  if (mode === '503') return new SchoolbellError('unavailable', 'The sandbox was told to answer 503. Try again in a moment.', { headers: retry });
  const standing = { 'ratelimit-limit': String(perMinute || usualLimit), 'ratelimit-remaining': '0', 'ratelimit-reset': String(seconds) };
  return new SchoolbellError('too_many_requests', 'The sandbox was told to answer 429. Wait and try again.', { headers: { ...retry, ...standing } });
}

/** Tokens that are refused as the sandbox says; whoever steers it takes those that are not. */
export function refuseAtTimes(tokens: Tokens, requireAnswer: RequireAnswer): Tokens {
  return {
    issue: tokens.issue,
    async verify(token, kind) {
      const claims = await tokens.verify(token, kind);
      await requireAnswer(claims.rp);
      return claims;
    },
  };
}
