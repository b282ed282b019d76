// In charge of the list files that nobody is to have any more: of schools and versions that are gone, of versions that somebody was purged
// from, and earlier ones that are not used.
import { join } from 'node:path';
import type { Db } from '../db/connect.ts';
import { createListFolder, type ListFolder } from './list-folder.ts';

/** A file of an earlier version that was not used for so long is of no use. */
const unusedMs = 2 * 24 * 3_600_000;

export const listsFolder = (dataDir: string): string => join(dataDir, 'lists');

/** What becomes of them, for people. */
export const keptLists = {
  what: 'Lists as files that answers are sent from (`DATA_DIR/lists`), copies of what rosters are and were',
  howLong:
    'while the version stands, an earlier one until it was not used for 2 days; ' +
    'what was used least, and not within 5 minutes, goes when there are more than `LIST_CACHE_MB`',
  purged: 'all earlier versions of the school go within minutes, or at the next start',
  less: 'the operator, by `LIST_CACHE_MB`, or by deleting them',
} as const;

type Standing = { id: string; version: number; instant: Date | null; keptFrom: number; purging: boolean };

/** While people who left are still in the history of a roster, no file of an earlier version may outlive it: those are read from there. */
export async function sweepLists(db: Db, folder: ListFolder, now: () => number): Promise<void> {
  const rosters = await db<Standing[]>`
    select roster_id as id, version, instant, kept_from as "keptFrom", purged_at is not null as purging from roster_standing`;
  const byId = new Map(rosters.map((roster) => [roster.id, roster]));
  await folder.sweep(({ rosterId, version, instant }, usedAt) => {
    const roster = byId.get(rosterId);
    if (!roster || version > roster.version || version < roster.keptFrom) return false;
    if (version === roster.version) return instant === roster.instant?.getTime();
    return !roster.purging && now() - usedAt < unusedMs;
  });
}

/** Of a process that reads none itself. */
export async function sweepListsIn(db: Db, dataDir: string): Promise<void> {
  await sweepLists(db, createListFolder({ folder: listsFolder(dataDir), maxBytes: Infinity }), Date.now);
}
