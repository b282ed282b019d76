// Stages a large collection while it is read. Reading keeps this process busy and copying the database, so that one after the other takes as
// long again. A connection is held meanwhile, so only files are staged in this way, never the answers of a provider, and only for a minute: if
// the disk takes longer, the connection is released, and everything is staged when it was read.
import type { Db, Tx } from '../db/connect.ts';
import { LostClaim } from './lost-claim.ts';
import { NoTurn, type TakeMergeTurn } from './merge-turns.ts';
import type { SpooledRoster, Spooling } from './read-source.ts';
import { unlessAborted } from './spool.ts';
import { stageSpooling } from './stage.ts';

/** A file that has come to a halt for so long, on a disk that is elsewhere say, is staged when it was read. */
const longestPauseMs = 20_000;
const longestAheadMs = 60_000;

/** Merges what was read, in one transaction. already: what was staged in it meanwhile. */
type Merge<T> = (tx: Tx, spooled: SpooledRoster, already: Spooling | undefined) => Promise<T>;

export async function mergeWhenRead<T>(
  db: Db,
  takeTurn: TakeMergeTurn,
  many: Spooling | undefined,
  reading: Promise<SpooledRoster>,
  merge: Merge<T>,
  longestMs = longestAheadMs,
): Promise<T> {
  let isMerging = false;
  try {
    if (many && isFree(db))
      return await takeTurn(() =>
        db.begin(async (tx) => {
          const late = AbortSignal.timeout(longestMs);
          await stageSpooling(tx, many, longestPauseMs, late);
          const spooled = await unlessAborted(late, reading);
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
