// Tracks the work that a worker has claimed, and decides whether the worker may still start an outgoing call for it.
//
// Other workers release claimed work when its lease has expired, or sooner, if this process has had no database session for some seconds.
// A worker therefore starts a call only if its lease is still running and the database has answered a statement that it sent moments ago.
import type { Db } from '../db/connect.ts';
import { claimWork, renewLeases, type ClaimedWork } from './claim.ts';
import { findOwnSession, unseenMs, type WorkerSession } from './sessions.ts';
import { ownFault, type Outcome } from './settle.ts';

export type Leases = {
  claim(most: number, healthyOnly: boolean): Promise<ClaimedWork[]>;
  renew(): Promise<void>;
  /** Runs a statement. Its answer proves that this process has a session, as the answers of the other methods do. */
  whileSeen<T>(ask: () => Promise<T>): Promise<T>;
  /** Records that this worker is alive, and by which session. Work that was claimed under an earlier session belongs to the new one, too. */
  refreshSession(): Promise<void>;
  /** Whether this worker still holds the work: no other worker can have released it yet. */
  isHeld(work: ClaimedWork): boolean;
  list(): ClaimedWork[];
  delete(work: ClaimedWork): void;
};

/** `elapsedMs`: a monotonic clock. Changes of the system time do not affect it, and it keeps running while the process is suspended. */
export function createLeases(db: Db, leaseSeconds: number, elapsedMs: () => number): Leases {
  const ends = new Map<ClaimedWork, number>();
  let session: WorkerSession | undefined;
  let seenAt = -Infinity;

  /** An answer proves that the process had a session when it sent the statement, not when it read the answer: it may have been suspended in between. */
  async function whileSeen<T>(ask: (sentAt: number) => Promise<T>): Promise<T> {
    const sentAt = elapsedMs();
    const answer = await ask(sentAt);
    seenAt = Math.max(seenAt, sentAt);
    return answer;
  }

  const renew = () => whileSeen(async (sentAt) => {
    const renewed = await renewLeases(db, leaseSeconds, [...ends.keys()], session);
    for (const work of ends.keys()) if (renewed.has(work.id)) ends.set(work, sentAt + leaseSeconds * 1000);
  });

  return {
    claim: (most, healthyOnly) => whileSeen(async (sentAt) => {
      const works = await claimWork(db, leaseSeconds, most, healthyOnly, session);
      for (const work of works) ends.set(work, sentAt + leaseSeconds * 1000);
      return works;
    }),
    renew,
    whileSeen,
    async refreshSession() {
      const before = session?.startedAt;
      session = await whileSeen(() => findOwnSession(db));
      if (session?.startedAt !== before) await renew();
    },
    isHeld(work) {
      const at = elapsedMs();
      return at < (ends.get(work) ?? -Infinity) && at - seenAt < unseenMs;
    },
    list: () => [...ends.keys()],
    delete: (work) => void ends.delete(work),
  };
}

/** The outcome of work whose call was not begun, because another worker may have released the work. The delay spares a slow database. */
export const notHeld: Outcome = {
  success: false,
  state: 'waiting',
  delaySeconds: 2,
  errorClass: ownFault,
  detail: { message: 'the worker stood still, or was without the database, for so long that another may make this call' },
};
