// Stops a fetch if another worker has claimed its work, or if a newer upload has made the work unnecessary.
import type { Tx } from '../db/connect.ts';
import { holdsClaim, type ClaimedWork } from '../outbox/claim.ts';

export class LostClaim extends Error {
  constructor(message = 'another worker has taken this over') {
    super(message);
  }
}

export async function requireClaim(tx: Tx, work: ClaimedWork): Promise<void> {
  if (!(await holdsClaim(tx, work))) throw new LostClaim();
}
