// In charge of the files of lists of one process: made ready as they are asked for, and looked through again and again for those that
// nobody is to have any more.
import type { Db } from '../db/connect.ts';
import { createListFolder, type FolderParts, type ListFolder } from '../roster/list-folder.ts';
import type { ListFiles } from './by-school.ts';
import { createListMaker } from './make-lists.ts';
import type { Reader } from './statements.ts';

const sweptEveryMs = 5 * 60_000;
/** A file of an earlier version that was not used for so long is of no use. */
const unusedMs = 2 * 24 * 3_600_000;

/** What becomes of them, for people. */
export const keptLists = {
  what: 'Lists as files that answers are sent from (`DATA_DIR/lists`), copies of what rosters are and were',
  howLong: 'while the version stands, an earlier one until it was not used for 2 days; what is used least goes when there are more than `LIST_CACHE_MB`',
  purged: 'all earlier versions of the school go within minutes, or at the next start',
  less: 'the operator, by `LIST_CACHE_MB`, or by deleting them',
} as const;

export function openListFiles(reader: Reader, parts: FolderParts): ListFiles & { close(): Promise<void> } {
  const { now = Date.now, tell } = parts;
  const folder = createListFolder(parts);
  const maker = createListMaker(reader, folder, now);
  let sweeping: Promise<void> | undefined;
  const sweep = () => {
    sweeping ??= sweepLists(reader.db, folder, now)
      .catch((error: unknown) => tell?.(error as Error, 'List files that nobody is to have any more could not be looked for.'))
      .finally(() => (sweeping = undefined));
  };
  sweep();
  const timer = setInterval(sweep, sweptEveryMs).unref();
  return {
    folder,
    maker,
    async close() {
      clearInterval(timer);
      await sweeping;
      await maker.close();
      await folder.close();
    },
  };
}

type Standing = { id: string; version: number; instant: Date | null; keptFrom: number; purging: boolean };

/** While people who left are still in the history of a roster, no file of an earlier version may outlive it: those are read from there. */
export async function sweepLists(db: Db, folder: ListFolder, now: () => number): Promise<void> {
  const rosters = await db<Standing[]>`
    select r.id, r.version, v.instant, r.kept_from as "keptFrom", r.purged_at is not null as purging
    from roster r left join roster_version v on v.estab = r.estab and v.version = r.version`;
  const byId = new Map(rosters.map((roster) => [roster.id, roster]));
  await folder.sweep(({ rosterId, version, instant }, usedAt) => {
    const roster = byId.get(rosterId);
    if (!roster || version > roster.version || version < roster.keptFrom) return false;
    if (version === roster.version) return instant === roster.instant?.getTime();
    return !roster.purging && now() - usedAt < unusedMs;
  });
}
