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

type SpooledCollection = Readonly<{ resource: Resource; mode: Mode; rows: SpoolFile; count: number }>;

/** A roster that was read to its end. */
export type SpooledRoster = Readonly<{
  collections: readonly SpooledCollection[];
  rejected: SpoolFile;
  marks: SpoolFile | undefined;
  ignored: readonly string[];
  words: readonly ForeignWord[];
  bytes: number;
  close(): Promise<void>;
}>;

export async function readRosterSource(
  source: Source,
  reading: Reading,
  { dataDir, live }: Readonly<{ dataDir: string; live: LiveRoster }>,
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
  try {
    const rejected = await open();
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
      else spooled.push({ resource, mode, rows, count });
    }
    const marks = source.marks && (await spoolMarks(source.marks(problems), reading, await open(), problems));
    return { collections: spooled, rejected, marks, ignored, words: words.list(), bytes: source.bytesRead(), close };
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
