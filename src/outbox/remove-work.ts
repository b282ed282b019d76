// In charge of work whose owner is removed for good: it goes, with its lanes unless others use them.
import type { Fragment, Tx } from '../db/connect.ts';

/** which: of the outbox, with the establishment. Gives how many went. */
export async function removeWork(tx: Tx, which: Fragment): Promise<number> {
  // The lanes come first, in one order, here as everywhere.
  await tx`select from lane where key in (select lane from outbox where ${which}) order by key for update`;
  const gone = await tx<{ lane: string }[]>`delete from outbox where ${which} returning lane`;
  const lanes = [...new Set(gone.map((row) => row.lane))];
  // One that somebody paused stays so, unless its owner goes as well.
  await tx`delete from lane where key = any(${lanes}) and paused_at is null and not exists (select from outbox o where o.lane = lane.key)`;
  // What stood in the way of others in a shared lane may just have gone.
  await tx`update lane set next_at = now() where key = any(${lanes}) and paused_at is null`;
  return gone.length;
}
