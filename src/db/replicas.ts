// In charge of reading from replicas where there are any: what a replica cannot answer, or not yet, the primary does.
import { setTimeout as pause } from 'node:timers/promises';
import { againIfLost, type Db } from './connect.ts';
import { isOfReplicas } from './policies.ts';
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
const tellEveryMs = 60_000;

type Tell = (error: unknown, words: string) => void;

/** How the replicas are, for all who read there. */
export class ReplicaHealth {
  readonly #now: () => number;
  readonly #tell: Tell;
  #restsUntil = -Infinity;
  #impatientUntil = -Infinity;
  #toldAt = -Infinity;

  constructor(tell: Tell = () => {}, now: () => number = () => performance.now()) {
    this.#tell = tell;
    this.#now = now;
  }

  get mayBeAsked(): boolean {
    return this.#now() >= this.#restsUntil;
  }

  get waitsMs(): readonly number[] {
    return this.#now() < this.#impatientUntil ? [] : waitsMs;
  }

  noteAway(error: unknown): void {
    this.#restsUntil = this.#now() + restMs;
    this.#warn(error, 'a replica does not answer: the primary is read instead');
  }

  noteBehind(error: unknown): void {
    this.#impatientUntil = this.#now() + impatientMs;
    this.#warn(error, 'a replica is behind: what it does not have yet is read from the primary');
  }

  #warn(error: unknown, words: string): void {
    if (this.#now() - this.#toldAt < tellEveryMs) return;
    this.#toldAt = this.#now();
    this.#tell(error, words);
  }
}

/** isOfReplica: whether the primary may answer otherwise, beside what databases refuse themselves. */
export function createPrefer<T extends object>(
  primary: T,
  replica: T | undefined,
  { health = new ReplicaHealth(), isOfReplica = () => false }: { health?: ReplicaHealth; isOfReplica?: (error: unknown) => boolean } = {},
): Prefer<T> {
  const home = { ...primary, isReplica: false };
  const atHome: Prefer<T> = (work) => againIfLost(() => work(home));
  if (!replica) return atHome;
  const away = { ...replica, isReplica: true };

  return async (work) => {
    for (const waitMs of [...health.waitsMs, undefined]) {
      if (!health.mayBeAsked) break;
      try {
        return await work(away);
      } catch (error) {
        if (!(error instanceof Behind) && !isOfReplica(error) && !isOfDatabase(error)) throw error;
        if (isAway(error)) health.noteAway(error);
        if (!(error instanceof Behind)) break;
        if (waitMs === undefined) health.noteBehind(error);
        else await pause(waitMs);
      }
    }
    return atHome(work);
  };
}

/** A statement that takes too long does so on the primary, too; all others get another chance, also those that a replica cancels to catch up. */
function isOfDatabase(error: unknown): boolean {
  if (isServerError(error)) return error.code !== sqlStates.queryCanceled;
  return error instanceof DatabaseUnavailable || (error instanceof Error && error.cause instanceof DatabaseUnavailable);
}

/** What is done on a replica asks the primary, too. */
function isAway(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.why !== 'busy' && isOfReplicas(error.pool);
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
