// In charge of claiming work in tests as a worker does: whoever finds another claiming asks again.
import type { Db } from '../src/db/connect.ts';
import { AnotherClaims, claimWork, type ClaimedWork } from '../src/outbox/claim.ts';

export async function claimInTurn(db: Db, leaseSeconds: number, most: number): Promise<ClaimedWork[]> {
  for (;;) {
    try {
      return await claimWork(db, leaseSeconds, most);
    } catch (error) {
      if (!(error instanceof AnotherClaims)) throw error;
    }
  }
}
