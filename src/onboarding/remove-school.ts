// In charge of removing a school for good, its files included.
import { requireEstablishment } from '../access/establishments.ts';
import type { Counts } from '../access/erasures.ts';
import { removeMarksFiles } from '../collection/connectors/csv/forget-marks-files.ts';
import { removeRoster } from '../collection/remove.ts';
import type { Db } from '../db/connect.ts';
import { sweepListsIn } from '../roster/sweep-lists.ts';

/** Gives what it was called, and how much of what went. */
export async function removeSchool(db: Db, dataDir: string, estab: string): Promise<{ estab: string; name: string; counts: Counts }> {
  const { name } = await requireEstablishment(db, estab);
  const counts = await removeRoster(db, estab);
  await removeMarksFiles(dataDir, estab);
  await sweepListsIn(db, dataDir);
  return { estab, name, counts };
}
