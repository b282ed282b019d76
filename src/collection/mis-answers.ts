// In charge of who waits for a school's MIS: the lane of what is written to it, and their waking when it answers again.
import type { Sql } from '../db/connect.ts';
import type { Lane } from '../outbox/enqueue.ts';
import { wakeWork } from '../outbox/wake.ts';

/** What work waits for that found the MIS away. */
export const forMis = 'mis';
/** Of one school. An MIS is no machine for many at once, and every writer here costs the others a connection. */
const writesAtOnce = 4;

export function misLane(estab: string): Lane {
  return { key: `writeback ${estab}`, host: null, width: writesAtOnce, lasting: false };
}

/** The MIS has answered: whatever waits for that is tried now. Where nothing is to be written, nothing is locked. */
export async function tellMisAnswers(sql: Sql, estab: string): Promise<void> {
  const lane = misLane(estab).key;
  const [open] = await sql`
    select from outbox where estab = ${estab} and lane = ${lane} and (state = 'running' or (state = 'waiting' and waits_for = ${forMis})) limit 1`;
  if (open) await wakeWork(sql, { estab, lane }, [forMis]);
}
