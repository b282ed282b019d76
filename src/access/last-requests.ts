// In charge of when applications last asked for something, as far as their requests are kept one by one.
import type { Db } from '../db/connect.ts';

export async function findLastRequests(db: Db, rps: readonly string[]): Promise<(rp: string) => Date | undefined> {
  const rows = await db<{ rp: string; at: Date }[]>`
    select p.rp, l.at from unnest(${[...rps]}::text[]) as p (rp)
      cross join lateral (select at from request_line l where l.rp = p.rp order by l.number desc limit 1) l`;
  const byRp = new Map(rows.map(({ rp, at }) => [rp, at]));
  return (rp) => byRp.get(rp);
}
