// In charge of putting right what is noted of a roster for all who ask about it: whoever reads another version there than the records are of
// answers nothing, until the roster's next version.
import type { Db } from '../db/connect.ts';
import { isNotedOtherwise, noteStanding } from '../roster/standing.ts';
import { lockRoster } from './lock-roster.ts';

/** Whose turn it is is waited for only where something differs. */
export async function correctStanding(db: Db, estab: string): Promise<void> {
  if (!(await isNotedOtherwise(db, estab))) return;
  await db.begin(async (tx) => {
    await lockRoster(tx, estab);
    await noteStanding(tx, estab);
  });
}
