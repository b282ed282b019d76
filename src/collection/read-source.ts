// In charge of the first phase of a collection: the source is read to its end, each row checked and rendered, into the
// spool. Of the database nothing is held for it, however slow the source is.
import { allResources, collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { createRowEncoder, encodeMark, encodeRejected } from './encode-row.ts';
import { createWordCount, type ForeignWord } from './foreign-words.ts';
import type { OnImportProgress } from './import-progress.ts';
import { IdSet, mostIds } from './id-set.ts';
import { keepOrder } from './keep-order.ts';
import type { MarkRow } from './mark.ts';
import type { Problems } from './problem.ts';
import type { Reading } from './reading.ts';
import type { ListMode, LiveRoster, Mode, Source } from './source.ts';
import { openSpoolFile, type SpoolFile } from './spool.ts';
import { findPieces, findSame, findSameRows, NotAsBefore, type Same, type Taken } from './taken.ts';

/**
 * count: of the records that were spooled. known: of those that were not, since they are as they were. marked: of both, as gone. partly: where
 * there are both, the ids of both, and how many of those that are known are active.
 */
export type SpooledCollection = Readonly<{
  resource: Resource;
  mode: Mode;
  /** The source sent the whole list, and it has no rows. */
  empty: boolean;
  rows: SpoolFile | undefined;
  count: number;
  known: number;
  marked: number;
  /** No id is there twice, for certain. */
  unique: boolean;
  partly?: Readonly<{ ids: IdSet; active: number }> | undefined;
}>;

/** A roster that was read to its end. */
export type SpooledRoster = Readonly<{
  collections: readonly SpooledCollection[];
  rejected: SpoolFile;
  marks: SpoolFile | undefined;
  ignored: readonly string[];
  words: readonly ForeignWord[];
  /** Of the rows that were spooled. */
  bytes: number;
  /** Where not all of it was read. */
  relies: Same | undefined;
  close(): Promise<void>;
}>;

/** A collection whose rows are still being spooled. */
export type Spooling = Readonly<{ resource: Resource; rows: SpoolFile }>;

/** About twenty thousand rows. */
const bytesOfMany = 8 * 1024 ** 2;

const withoutRows = (name: string) => `${name} (no rows)`;

/** How a list is merged, whose rows alone do not say whether it is whole. */
const modeOf = (mode: ListMode, empty: boolean): Mode => (mode === 'uncounted' ? (empty ? 'bulk' : 'delta') : mode);

/** Of more than can be remembered nobody knows. */
const isNew = (ids: IdSet, { sourcedId }: Readonly<{ sourcedId: string }>) => ids.size < mostIds && ids.add(sourcedId);

/**
 * onMany: told of a collection that has many rows, once it is clear that from now on nothing takes long and nothing is asked of the roster: what
 * is read are files, and people were among them before.
 */
export async function readRosterSource(
  source: Source,
  reading: Reading,
  { dataDir, live, taken, onMany }: Readonly<{ dataDir: string; live: LiveRoster; taken: Taken | undefined; onMany: (many: Spooling) => void }>,
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
    const before = taken && (await findSame(source, taken));
    const [spooled, ignored]: [SpooledCollection[], string[]] = [[], [...source.ignored]];
    const words = createWordCount(source.provider === undefined);
    // Changes without rows change nothing. A file is named for that; of a provider it is the usual case.
    const add = (one: SpooledCollection, names: readonly string[]) => {
      if (!one.empty || one.mode === 'bulk') spooled.push(one);
      else if (source.provider === undefined) ignored.push(...names.map(withoutRows));
    };
    let records = 0;
    let toldOf: SpoolFile | undefined;
    for (const collection of source.collections) {
      const { resource, mode, files: names = [resource.file], read } = collection;
      const same = before && findSameRows(before, collection);
      if (same) {
        const rest = { rows: undefined, count: 0, known: same.count, marked: same.marked, unique: true };
        add({ resource, mode: modeOf(mode, same.count === 0), empty: same.count === 0, ...rest }, names);
        continue;
      }
      const rows = await open();
      const pieces = before && findPieces(before, collection);
      const ids = new IdSet();
      let [known, active, marked, unique] = [0, 0, 0, true];
      const encode = createRowEncoder(resource, reading);
      const isLater = source.files !== undefined && allResources.indexOf(resource) > allResources.indexOf(collections.users);
      let [seen, count] = [0, 0];
      for await (const batch of read(problems, { live, openSpool: open, pieces })) {
        // Who is passed over without a fault says nothing of the others either.
        seen += batch.rows.length + batch.rejected.filter(({ fault }) => fault > 0 || mode !== 'bulk').length;
        for (const one of batch.known ?? []) {
          known += 1;
          if (one.active) active += 1;
          unique &&= isNew(ids, one);
        }
        for (const row of batch.rows) {
          unique &&= isNew(ids, row);
          if (row.status !== 'active') marked += 1;
        }
        words.note(resource, batch.rows);
        let text = '';
        for (const row of resource === collections.users ? await keepOrder(batch.rows, live) : batch.rows) text += encode(row);
        await rows.write(text);
        if (isLater && toldOf === undefined && rows.size > bytesOfMany) {
          toldOf = rows;
          onMany({ resource, rows });
        }
        await problems.flush();
        await rejected.write(batch.rejected.map((row) => encodeRejected(resource, reading, row)).join(''));
        records += batch.rows.length;
        count += batch.rows.length;
        onProgress({ step: 'reading', records, ...(source.totalBytes === 0 ? {} : { share: source.bytesRead() / source.totalBytes }) });
      }
      rows.end();
      // A row whose id was there before is for those who see both.
      if (known > 0 && !unique) throw new NotAsBefore();
      const empty = seen + known === 0;
      const partly = known > 0 ? { ids, active } : undefined;
      add({ resource, mode: modeOf(mode, empty), empty, rows, count, known, marked: marked + known - active, unique, partly }, names);
    }
    const relies = spooled.some(({ known }) => known > 0) ? before : undefined;
    // Whatever is wrong is told of everything together.
    if (relies && (problems.total > 0 || rejected.size > 0)) throw new NotAsBefore();
    const marks = source.marks && (await spoolMarks(source.marks(problems), reading, await open(), problems));
    const bytes = spooled.reduce((sum, { rows }) => sum + (rows?.size ?? 0), 0);
    return { collections: spooled, rejected, marks, ignored, words: [...(relies?.taken.words ?? []), ...words.list()], bytes, relies, close };
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
