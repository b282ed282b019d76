// In charge of when applications last read data of a school, as its ledger has it. It only reads.
import type { Sql } from '../db/connect.ts';

/** By application: the day, or null where it has read nothing that is still known. */
export async function readLastReads(sql: Sql, estab: string, rps: readonly string[]): Promise<(rp: string) => Date | null> {
  if (rps.length === 0) return () => null;
  const rows = await sql<{ rp: string; at: Date | null }[]>`
    select known.rp, (select max(d.day)::timestamptz from disclosure d where d.estab = ${estab} and d.rp = known.rp) as at
    from unnest(${[...rps]}::text[]) as known (rp)`;
  const byRp = new Map(rows.map(({ rp, at }) => [rp, at]));
  return (rp) => byRp.get(rp) ?? null;
}
