// In charge of staging a large collection while it is read. Reading keeps this process busy and copying the database, so that one after the
// other takes as long again. It is only for what is read from files, which takes seconds: the transaction is open meanwhile.
import type { Db, Tx } from '../db/connect.ts';
import type { SpooledRoster, Spooling } from './read-source.ts';
import { stageSpooling } from './stage.ts';

/** Merges what was read, in one transaction. already: what was staged in it meanwhile. */
type Merge<T> = (tx: Tx, spooled: SpooledRoster, already: Spooling | undefined) => Promise<T>;

export async function mergeWhenRead<T>(db: Db, many: Spooling | undefined, reading: Promise<SpooledRoster>, merge: Merge<T>): Promise<T> {
  let isMerging = false;
  try {
    if (many)
      return await db.begin(async (tx) => {
        const [, staged] = await Promise.allSettled([reading, stageSpooling(tx, many)]);
        if (staged.status === 'rejected') throw staged.reason;
        const spooled = await reading;
        isMerging = true;
        return merge(tx, spooled, many);
      });
  } catch (error) {
    if (isMerging) throw error;
  }
  // All of it is in the spool, whatever became of that transaction.
  const spooled = await reading;
  return db.begin((tx) => merge(tx, spooled, undefined));
}
