// In charge of the end of what collections leave for people to read, and of marks that were replaced.
import type { Db } from '../db/connect.ts';
import { deleteInBatches, deleteOfSchool } from '../db/delete-in-batches.ts';

/** Reports show values of the rows that were wrong; what became of a package is told as long. */
export async function forgetReports(db: Db, estab: string, days: number): Promise<void> {
  await deleteOfSchool(db, 'import_run', estab, db`finished_at < now() - make_interval(days => ${days})`);
  await deleteOfSchool(db, 'upload_receipt', estab, db`taken_at < now() - make_interval(days => ${days})`);
}

/** What is known of imports for whoever asks about all schools at once lies in one place, and so it goes. */
export async function forgetImportEnds(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'import_end', db`finished_at < now() - make_interval(days => ${days})`);
}

export async function forgetReplacedMarks(db: Db, estab: string, days: number): Promise<void> {
  await deleteOfSchool(db, 'attendance_history', estab, db`at < now() - make_interval(days => ${days})`);
}
