// Joins whose cost does not depend on the planner's estimates. Until statistics include a school that has just been loaded, the planner expects
// one row of it, joins row by row, and takes quadratic time.
import type { Tx } from './connect.ts';

/** Avoids nested loops until the transaction ends. */
export async function joinByHash(tx: Tx): Promise<void> {
  await tx`set local enable_nestloop = off`;
  // Plans that the connection cached before were made with nested loops.
  await tx`discard plans`;
}

/** Avoids nested loops in the statements of `work`, which must not run anywhere else: a plan cached there would be used here, too. */
export async function withHashJoins<T>(tx: Tx, work: () => Promise<T>): Promise<T> {
  const [before] = await tx<{ nestedLoops: 'on' | 'off' }[]>`select current_setting('enable_nestloop') as "nestedLoops"`;
  await tx`set local enable_nestloop = off`;
  const result = await work();
  if (before?.nestedLoops === 'on') await tx`set local enable_nestloop = on`;
  return result;
}
