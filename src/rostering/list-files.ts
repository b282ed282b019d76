// In charge of the files of lists of one process: made ready as they are asked for, and looked through again and again for those that
// nobody is to have any more.
import type { Db } from '../db/connect.ts';
import type { Prefer } from '../db/replicas.ts';
import { createListFolder, type FolderParts } from '../roster/list-folder.ts';
import { sweepLists } from '../roster/sweep-lists.ts';
import type { ListFiles } from './by-school.ts';
import { createListMaker } from './make-lists.ts';
import type { Reader } from './statements.ts';

const sweptEveryMs = 5 * 60_000;

export function openListFiles(prefer: Prefer<Reader>, primary: Db, parts: FolderParts): ListFiles & { close(): Promise<void> } {
  const { now = Date.now, tell } = parts;
  const folder = createListFolder(parts);
  const maker = createListMaker(prefer, folder, now);
  let sweeping: Promise<void> | undefined;
  const sweep = () => {
    sweeping ??= sweepLists(primary, folder, now)
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
