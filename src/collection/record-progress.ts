// Records the progress of a fetch in the state of its database.
import type { Db } from '../db/connect.ts';
import { recordProgress } from './component-databases.ts';
import type { DatabaseName } from './connector.ts';
import type { OnImportProgress } from './import-progress.ts';

const progressEveryMs = 500;

/** Records the progress on a connection of its own, so that it is visible before the merge commits. */
export function createProgress(db: Db, estab: string, database: DatabaseName): OnImportProgress {
  let last = -progressEveryMs;
  return ({ share }) => {
    if (share === undefined || performance.now() - last < progressEveryMs) return;
    last = performance.now();
    void recordProgress(db, estab, database, Math.min(1, share)).catch(() => {});
  };
}
