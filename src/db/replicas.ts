// In charge of reading from replicas where there are any: what a replica cannot answer, or not yet, the primary does.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from './connect.ts';
import { DatabaseUnavailable, isServerError, sqlStates } from './unavailable.ts';

/** Of replicas, which may be behind, or of the primary. */
export type Place<T> = T & Readonly<{ isReplica: boolean }>;

/** Does the work on a replica if it can be done there, else on the primary; so it must not have sent anything when it fails. */
export type Prefer<T> = <R>(work: (place: Place<T>) => Promise<R>) => Promise<R>;

/** The replica does not have yet what is asked of it. */
export class Behind extends Error {
  constructor() {
    super('this server does not have the version that is asked for yet');
  }
}

/** A replica is mostly behind for a moment: how long it is waited for, each time longer. */
const waitsMs = [10, 30, 80] as const;
/** While one is behind for longer, nobody waits. */
const impatientMs = 1_000;
/** One that did not answer is not asked again for so long. */
const restMs = 5_000;

/** isOfReplica: whether the primary may answer otherwise, beside what databases refuse themselves. */
export function createPrefer<T extends object>(
  primary: T,
  replica: T | undefined,
  { isOfReplica = () => false, now = () => performance.now() }: { isOfReplica?: (error: unknown) => boolean; now?: () => number } = {},
): Prefer<T> {
  const home = { ...primary, isReplica: false };
  if (!replica) return (work) => work(home);
  const away = { ...replica, isReplica: true };
  let restsUntil = -Infinity;
  let impatientUntil = -Infinity;

  return async (work) => {
    for (const waitMs of [...(now() < impatientUntil ? [] : waitsMs), undefined]) {
      if (now() < restsUntil) break;
      try {
        return await work(away);
      } catch (error) {
        if (!(error instanceof Behind) && !isOfReplica(error) && !isOfDatabase(error)) throw error;
        if (isAway(error)) restsUntil = now() + restMs;
        if (!(error instanceof Behind)) break;
        if (waitMs === undefined) impatientUntil = now() + impatientMs;
        else await pause(waitMs);
      }
    }
    return work(home);
  };
}

/** A statement that takes too long does so on the primary, too; all others get another chance, also those that a replica cancels to catch up. */
function isOfDatabase(error: unknown): boolean {
  if (isServerError(error)) return error.code !== sqlStates.queryCanceled;
  return error instanceof DatabaseUnavailable || (error instanceof Error && error.cause instanceof DatabaseUnavailable);
}

function isAway(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.why !== 'busy';
}

/** How far the primary has come: whatever was confirmed to anybody is before this. */
export async function findEnd(primary: Db): Promise<string> {
  const [row] = await primary<{ end: string }[]>`select pg_current_wal_flush_lsn()::text as end`;
  return row?.end ?? '';
}

/** Throws where the replica has not come so far. */
export async function requireReached(replica: Db, end: string): Promise<void> {
  const [row] = await replica<{ reached: boolean }[]>`
    select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() >= ${end}::pg_lsn else true end as reached`;
  if (!row?.reached) throw new Behind();
}
