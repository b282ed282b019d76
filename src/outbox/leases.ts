// The work that a worker has claimed, and whether the worker may still begin a call for it.
//
// Other workers free claimed work when its lease is over, or earlier if they have seen for some seconds that this process has no database session
// left. A worker therefore begins a call only while the lease runs and while one of its statements, sent a moment ago, has been answered.
import type { Db } from '../db/connect.ts';
import { claimWork, renewLeases, type ClaimedWork } from './claim.ts';
import { findOwnSession, unseenMs, type WorkerSession } from './sessions.ts';
import { ownFault, type Outcome } from './settle.ts';

export type Leases = {
  claim(most: number, healthyOnly: boolean): Promise<ClaimedWork[]>;
  renew(): Promise<void>;
  /** Records that this worker is alive, and by which session. Work that was claimed under an earlier session belongs to the new one, too. */
  refreshSession(): Promise<void>;
  /** Whether no other worker can have freed this work yet. */
  isHeld(work: ClaimedWork): boolean;
  list(): ClaimedWork[];
  delete(work: ClaimedWork): void;
};

/** `elapsedMs`: a clock that nobody sets and that goes on while the process stands still. */
export function createLeases(db: Db, leaseSeconds: number, elapsedMs: () => number): Leases {
  const ends = new Map<ClaimedWork, number>();
  let session: WorkerSession | undefined;
  let seenAt = -Infinity;

  /** An answer proves that the process had a session when it sent the statement, not when it read the answer: it may have stood still between. */
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

/** The outcome of work whose call was not begun, because another worker may have freed the work. */
export const notHeld: Outcome = {
  success: false,
  state: 'waiting',
  delaySeconds: 0,
  errorClass: ownFault,
  detail: { message: 'the worker stood still, or was without the database, for so long that another may make this call' },
};
