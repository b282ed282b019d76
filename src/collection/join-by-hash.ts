// In charge of joins of rows that nobody has counted: row by row, each lookup would read all of them.
import type { Tx } from '../db/connect.ts';

export async function joinByHash(tx: Tx): Promise<void> {
  await tx`set local enable_nestloop = off`;
  // Plans that the connection keeps from smaller imports do not know of that.
  await tx`discard plans`;
}
