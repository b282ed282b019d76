// Copies a large collection into its staging table while it is still being read. Reading uses this process and copying uses the database, so one
// after the other would take about twice as long. A database connection is held for as long, so this is done only for files, never for the answers
// of a provider, and for at most a minute. If the disk is slower, the connection is released, and everything is staged after reading has finished.
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
