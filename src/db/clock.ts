// In charge of the time of day as a value: statements that change rows of a school cannot ask for it themselves where the school lies on
// another node, and all have to go by one clock.
import type { Fragment, Sql } from './connect.ts';

/** By the clock of the server that statements arrive at, whatever the transaction's is; to the millisecond. */
export async function readClock(sql: Sql): Promise<Date> {
  const [clock] = await sql<{ at: Date }[]>`select clock_timestamp() as at`;
  if (!clock) throw new Error('the database does not tell the time');
  return clock.at;
}

/** That time, or the millisecond after the last one, where the clock has not come so far. */
export function laterThan(last: Date | null | undefined, at: Date): Date {
  return last && last >= at ? new Date(last.getTime() + 1) : at;
}

/** As text: a Date holds milliseconds, and what is compared with it may be younger by less. */
export async function readMoment(sql: Sql): Promise<string> {
  const [row] = await sql<{ at: string }[]>`select clock_timestamp()::text as at`;
  if (!row) throw new Error('the database does not say what time it is');
  return row.at;
}

/**
 * Seconds by which `now()` of one transaction may be later than that of another. An earlier one that waited for a row sees an instant that the later
 * one set, and must not take it for one from before a step of the clock.
 */
const transactionsApart = 60;

/**
 * Condition that is true while an instant lies in the future, for at most `longestSeconds`. An instant that lies further ahead was set before the
 * clock was set back, and no wait is to last longer than it was meant to.
 */
export const isAhead = (sql: Sql, instant: Fragment, longestSeconds: number): Fragment =>
  sql`(${instant} is not null and ${instant} > now() and ${instant} <= now() + make_interval(secs => ${longestSeconds + transactionsApart}))`;

/**
 * Condition that is true for an instant within the last `seconds`. An instant that lies further ahead was set before the clock was set back, and
 * must not count until that time comes again.
 */
export const isRecent = (sql: Sql, instant: Fragment, seconds: number): Fragment =>
  sql`(${instant} > now() - make_interval(secs => ${seconds}) and ${instant} < now() + make_interval(secs => ${transactionsApart}))`;
