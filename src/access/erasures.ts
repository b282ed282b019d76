// In charge of the record of erasures: what went, how much of it and when, but not whose it was.
import type { Sql } from '../db/connect.ts';

/** How many of what, in words. */
export type Counts = Readonly<Record<string, number>>;

/** In the transaction that erases. */
export async function recordErasure(sql: Sql, what: 'school' | 'application', counts: Counts): Promise<void> {
  await sql`insert into erasure (what, counts) values (${what}, ${sql.json(counts)})`;
}
