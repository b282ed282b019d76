// In charge of staging a large collection while it is read. Reading keeps this process busy and copying the database, so that one after the
// other takes as long again. It is only for what is read from files, which takes seconds: the transaction is open meanwhile.
import type { Db, Tx } from '../db/connect.ts';
import { LostClaim } from './lost-claim.ts';
import { NoTurn, type TakeMergeTurn } from './merge-turns.ts';
import type { SpooledRoster, Spooling } from './read-source.ts';
import { stageSpooling } from './stage.ts';

/** A file that has come to a halt for so long, on a disk that is elsewhere say, is staged when it was read. */
const longestPauseMs = 20_000;

/** Merges what was read, in one transaction. already: what was staged in it meanwhile. */
type Merge<T> = (tx: Tx, spooled: SpooledRoster, already: Spooling | undefined) => Promise<T>;

export async function mergeWhenRead<T>(
  db: Db,
  takeTurn: TakeMergeTurn,
  many: Spooling | undefined,
  reading: Promise<SpooledRoster>,
  merge: Merge<T>,
): Promise<T> {
  let isMerging = false;
  try {
    if (many && isFree(db))
      return await takeTurn(() =>
        db.begin(async (tx) => {
          await stageSpooling(tx, many, longestPauseMs);
          const spooled = await reading;
          // What came after it may have taken so long that the transaction was ended.
          await tx`select`;
          isMerging = true;
          return merge(tx, spooled, many);
        }),
      );
  } catch (error) {
    // Only a transaction that was ended while the source was read is repeated.
    if (isMerging || error instanceof NoTurn || error instanceof LostClaim) throw error;
  }
  // All of it is in the spool, whatever became of that transaction.
  const spooled = await reading;
  return takeTurn(() => db.begin((tx) => merge(tx, spooled, undefined)));
}

/** A connection is held while it is read: not where others would have to wait for one. */
function isFree({ load, policy }: Db): boolean {
  const { inUse, waiting } = load();
  return waiting === 0 && inUse < policy.max / 2;
}
