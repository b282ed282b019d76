// Records the progress of a fetch in the row of the component database (SchoolData or Attendance) that is being fetched.
import type { Db } from '../db/connect.ts';
import type { DatabaseName } from './connector.ts';
import type { OnImportProgress } from './import-progress.ts';

const progressEveryMs = 500;

/** Records the progress on a connection of its own, so that it is visible before the merge commits. */
export function createProgress(db: Db, estab: string, database: DatabaseName): OnImportProgress {
  let last = -progressEveryMs;
  const write = async (progress: number) =>
    db`update component_database set progress = ${progress} where estab = ${estab} and name = ${database} and refreshing_since is not null`;
  return ({ share }) => {
    if (share === undefined || performance.now() - last < progressEveryMs) return;
    last = performance.now();
    void write(Math.min(1, share)).catch(() => {});
  };
}
