// In charge of the time of day as a value: statements that change rows of a school cannot ask for it themselves where the school lies on
// another node, and all have to go by one clock.
import type { Sql } from './connect.ts';

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
