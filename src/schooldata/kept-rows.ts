// In charge of the rows of whole endpoints as files: of those that follow from the roster, each version's are kept when they are read
// for the first time.
import { createHash } from 'node:crypto';
import { visiblePeople } from '../access/scopes.ts';
import { beginKeeping, toPiece } from '../roster/keep-list.ts';
import { readPieces } from '../roster/list-file.ts';
import { listName, type ListFolder } from '../roster/list-folder.ts';
import { version as product } from '../version.ts';
import type { SchoolStanding } from './standing.ts';

/** Raised when the same rows become other bytes. */
const format = 1;

/** What shapes the rows beside the roster. */
export type Shaping = Readonly<{ endpoint: string; scopes: readonly string[] }>;

/** How the file of these rows is called at the version that stands; none where there is no version yet. */
export function nameRowsFile({ rosterId, version, instant }: SchoolStanding, { endpoint, scopes }: Shaping): string | undefined {
  const shaping = JSON.stringify([format, product, endpoint, visiblePeople(scopes)]);
  const view = createHash('sha256').update(shaping).digest('base64url').slice(0, 22);
  return instant ? listName({ rosterId, version, instant: instant.getTime(), view, compressed: undefined }) : undefined;
}

/** Some of the rows, separated by commas; told: how many went out. */
export type KeptRows = Readonly<{ total: number; pieces(tell: (records: number) => unknown): AsyncGenerator<Buffer>; release(): void }>;

export async function openKeptRows(folder: ListFolder, file: string, page: { number: number; size: number | undefined }): Promise<KeptRows | undefined> {
  const held = await folder.hold(file);
  if (!held) return undefined;
  const total = held.file.end.count;
  const size = page.size ?? total;
  const from = Math.min(total, (page.number - 1) * size);
  return {
    total,
    release: held.release,
    async *pieces(tell) {
      let read = 0;
      try {
        for await (const { bytes, count } of readPieces(held.file, from, Math.min(total, from + size))) {
          read += count;
          yield bytes;
        }
      } catch (error) {
        await folder.discard(file, error as Error);
        throw error;
      } finally {
        held.release();
        tell(read);
      }
    },
  };
}

/** Passes all rows on, and keeps them if they are as many as there are. */
export async function* keepRows(folder: ListFolder, file: string, total: number, batches: AsyncIterable<readonly object[]>): AsyncGenerator<readonly object[]> {
  const keeping = await beginKeeping(folder, { file, count: total });
  try {
    for await (const batch of batches) {
      await keeping?.add(toPiece(batch.map((row) => JSON.stringify(row))));
      yield batch;
    }
    await keeping?.keep();
  } finally {
    await keeping?.drop();
  }
}
