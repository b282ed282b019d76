// In charge of the first phase of a collection: the source is read to its end, each row checked and rendered, into the
// spool. Nothing of the database is held meanwhile, however slow the source is.
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { createRowEncoder, encodeMark, encodeRejected } from './encode-row.ts';
import { createWordCount, type ForeignWord } from './foreign-words.ts';
import type { OnImportProgress } from './import-progress.ts';
import { keepOrder } from './keep-order.ts';
import type { MarkRow } from './mark.ts';
import type { Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import type { LiveRoster, Mode, Source } from './source.ts';
import { openSpoolFile, type SpoolFile } from './spool.ts';
import { isAsTaken, type Taken } from './taken.ts';

/** count: of the records that were spooled. known: of those that were not, since they are as they were. */
type SpooledCollection = Readonly<{ resource: Resource; mode: Mode; rows: SpoolFile | undefined; count: number; known: number }>;

/** A roster that was read to its end. */
export type SpooledRoster = Readonly<{
  collections: readonly SpooledCollection[];
  rejected: SpoolFile;
  marks: SpoolFile | undefined;
  ignored: readonly string[];
  words: readonly ForeignWord[];
  bytes: number;
  /** What it relies on, where not all of it was read. */
  taken?: Taken;
  close(): Promise<void>;
}>;

export async function readRosterSource(
  source: Source,
  reading: Reading,
  { dataDir, live, taken }: Readonly<{ dataDir: string; live: LiveRoster; taken: Taken | undefined }>,
  problems: Problems,
  onProgress: OnImportProgress = () => {},
): Promise<SpooledRoster> {
  const files: SpoolFile[] = [];
  const open = async () => {
    const file = await openSpoolFile(dataDir);
    files.push(file);
    return file;
  };
  const close = async () => {
    for (const file of files) await file.close();
  };
  const spoolMarksOf = async ({ marks }: Source) => marks && spoolMarks(marks(problems), reading, await open(), problems);
  try {
    const rejected = await open();
    if (taken && (await isAsTaken(source, taken))) {
      const known = taken.collections.map(({ collection, mode, count }) => ({ resource: collections[collection], mode, rows: undefined, count: 0, known: count }));
      const { ignored, words } = taken;
      return { collections: known, rejected, marks: await spoolMarksOf(source), ignored, words, bytes: source.bytesRead(), taken, close };
    }
    const [spooled, ignored]: [SpooledCollection[], string[]] = [[], [...source.ignored]];
    const words = createWordCount(source.provider === undefined);
    let records = 0;
    for (const { resource, mode, files: names = [resource.file], read } of source.collections) {
      const rows = await open();
      const encode = createRowEncoder(resource, reading);
      let [seen, count] = [0, 0];
      for await (const batch of read(problems, { live, openSpool: open })) {
        // Who is passed over without a fault says nothing of the others either.
        seen += batch.rows.length + batch.rejected.filter(({ fault }) => fault > 0 || mode === 'delta').length;
        words.note(resource, batch.rows);
        let text = '';
        for (const row of resource === collections.users ? await keepOrder(batch.rows, live) : batch.rows) text += encode(row);
        await rows.write(text);
        await problems.flush();
        await rejected.write(batch.rejected.map((row) => encodeRejected(resource, reading, row)).join(''));
        records += batch.rows.length;
        count += batch.rows.length;
        onProgress({ step: 'reading', records, ...(source.totalBytes === 0 ? {} : { share: source.bytesRead() / source.totalBytes }) });
      }
      // A file without rows says nothing; taken as "nobody is left" it would remove everything.
      if (seen === 0) ignored.push(...names.map((name) => `${name} (no rows)`));
      else spooled.push({ resource, mode, rows, count, known: 0 });
    }
    return { collections: spooled, rejected, marks: await spoolMarksOf(source), ignored, words: words.list(), bytes: source.bytesRead(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

export async function spoolMarks(batches: AsyncIterable<readonly MarkRow[]>, reading: Reading, file: SpoolFile, problems: Problems): Promise<SpoolFile> {
  for await (const batch of batches) {
    await problems.flush();
    await file.write(batch.map((row) => encodeMark(reading, row)).join(''));
  }
  await problems.flush();
  return file;
}
