// The end of a fetch whose work belongs to another worker by now, or has become needless.
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
