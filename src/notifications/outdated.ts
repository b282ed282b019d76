// In charge of whether what says how an application stands at a school is still the last word: what comes late would be taken
// for how it stands now.
import type { Db } from '../db/connect.ts';

/** justSaid 'holds': two that follow at once are both told, unless the earlier one was tried already. */
export async function isOutdated(db: Db, { estab, id }: { estab: string; id: string }, { justSaid }: { justSaid: 'holds' | 'counts' }): Promise<boolean> {
  const late = justSaid === 'counts' ? db`` : db`and (o.attempts > 0 or o.created_at < now() - interval '10 seconds')`;
  const [newer] = await db`
    select from outbox o join outbox n on n.estab = o.estab and n.rp = o.rp and n.seq > o.seq and n.payload ->> 'event' = o.payload ->> 'event'
    where o.estab = ${estab} and n.estab = ${estab} and o.id = ${id} ${late} limit 1`;
  return newer !== undefined;
}
