// In charge of the record of erasures: what went, how much of it and when, but not whose it was.
import type { Db, Sql } from '../db/connect.ts';

/** How many of what, in words. */
export type Counts = Readonly<Record<string, number>>;
export type Erasure = { at: Date; what: string; counts: Counts };

/** In the transaction that erases. */
export async function recordErasure(sql: Sql, what: 'school' | 'application', counts: Counts): Promise<void> {
  await sql`insert into erasure (what, counts) values (${what}, ${sql.json(counts)})`;
}

/** The newest first. */
export async function listErasures(db: Db, since: Date, most: number): Promise<Erasure[]> {
  return db<Erasure[]>`select at, what, counts from erasure where at >= ${since} order by at desc, number desc limit ${most}`;
}
