// Logs failures that repeat while the database is away or a disk is full: the first with its error, afterwards a count, so that the log stays
// readable and does not fill the disk itself. A series of failures ends when the same part of the work succeeds, or after five minutes without one.
// On a disk that is nearly full successes and failures alternate, so that only the five minutes end a series of a full disk.
import { EnvironmentFault } from '../environment-fault.ts';
import { isDiskFull, isUnavailable } from './unavailable.ts';

type Log = { warn(details: object, message: string): void; error(details: object, message: string): void };

export type TroubleLog = {
  /** `what` says which part of the work failed. An error that is neither of an unavailable database nor of the environment is logged each time. */
  failed(what: string, error: unknown, details?: object, message?: string): void;
  /** Ends the series of this part, except those of a full disk, and logs how many failures were not logged. */
  worked(what: string): void;
};

/** How often the count is logged while the failures go on. */
const countEveryMs = 60_000;
const quietMs = 300_000;
const backOffMs = { base: 500, longest: 30_000 } as const;

/** A series of failures of one part of the work with one error code. `failures` is the number since `loggedAt` that were not logged. */
type Trouble = { what: string; isDiskFull: boolean; loggedAt: number; failures: number; quiet: NodeJS.Timeout };

export function createTroubleLog(log: Log, now: () => number = () => performance.now()): TroubleLog {
  const troubles = new Map<string, Trouble>();
  function end(series: string, words: string): void {
    const known = troubles.get(series);
    if (!known) return;
    clearTimeout(known.quiet);
    troubles.delete(series);
    log.warn({ failures: known.failures }, `${known.what}: ${words}`);
  }
  const endWhenQuiet = (series: string) => setTimeout(() => end(series, `no failure in the last ${quietMs / 60_000} minutes`), quietMs).unref();
  return {
    failed(what, error, details = {}, message = `${what}; it will be tried again`) {
      if (!isUnavailable(error) && !isDiskFull(error) && !(error instanceof EnvironmentFault)) return log.error({ err: error, ...details }, message);
      const series = `${what} ${(error as { code: string }).code}`;
      const known = troubles.get(series);
      if (!known) {
        troubles.set(series, { what, isDiskFull: isDiskFull(error), loggedAt: now(), failures: 0, quiet: endWhenQuiet(series) });
        return log.error({ err: error, ...details }, message);
      }
      clearTimeout(known.quiet);
      known.quiet = endWhenQuiet(series);
      known.failures += 1;
      if (now() - known.loggedAt < countEveryMs) return;
      log.error({ reason: (error as Error).message, failures: known.failures, ...details }, message);
      [known.loggedAt, known.failures] = [now(), 0];
    },
    worked(what) {
      for (const [series, trouble] of troubles) if (trouble.what === what && !trouble.isDiskFull) end(series, 'this works again');
    },
  };
}

/** How long to wait after so many failures in a row: on a full disk ever longer, because room comes only when a person makes some. */
export function backOffAfter(error: unknown, failures: number, usualMs: number): number {
  if (!isDiskFull(error)) return usualMs;
  return Math.max(usualMs, Math.min(backOffMs.longest, backOffMs.base * 2 ** Math.min(failures - 1, 10)));
}
