// In charge of whose turn it is to change a roster.
import type { Tx } from '../db/connect.ts';

/** Only one merge at a time per establishment; the lock is held until the transaction ends. */
export async function lockRoster(tx: Tx, estab: string): Promise<number> {
  const [row] = await tx<{ version: number }[]>`select version from roster where estab = ${estab} for no key update`;
  if (!row) throw new Error(`there is no roster for ${estab}`);
  return row.version;
}
