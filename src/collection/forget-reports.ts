// In charge of the end of what collections leave for people to read, and of marks that were replaced.
import type { Db } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';

/** Reports show values of the rows that were wrong; what became of a package is told as long. */
export async function forgetReports(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'import_run', db`finished_at < now() - make_interval(days => ${days})`);
  await deleteInBatches(db, 'upload_receipt', db`taken_at < now() - make_interval(days => ${days})`);
}

export async function forgetReplacedMarks(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'attendance_history', db`at < now() - make_interval(days => ${days})`);
}
