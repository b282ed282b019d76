// In charge of knowing what the last merge took, so that files which are as they were then need not be read again: what would come of them
// is there, as long as the roster has not moved and the same version of the product asks.
import type { Db, Tx } from '../db/connect.ts';
import type { CollectionName, Resource } from '../roster/resource.ts';
import { version as product } from '../version.ts';
import type { ForeignWord } from './foreign-words.ts';
import type { Reading } from './reading.ts';
import type { FileDigests, Mode, Source } from './source.ts';

export type Taken = Readonly<{
  by: string;
  /** The one that was merged, and the version that the roster had then. */
  reading: number;
  version: number;
  files: FileDigests;
  collections: readonly Readonly<{ collection: CollectionName; mode: Mode; count: number }>[];
  ignored: readonly string[];
  words: readonly ForeignWord[];
}>;

type Described = Omit<Taken, 'by' | 'reading'>;

/** Something was taken to be as before that may not be: it has to be read as a whole. */
export class NotAsBefore extends Error {
  constructor() {
    super('what was left out as known may be otherwise by now');
  }
}

/** If there is any that still stands. */
export async function findTaken(db: Db, estab: string): Promise<Taken | undefined> {
  const [row] = await db<{ taken: Taken }[]>`
    select d.taken from reading d join roster r on r.estab = ${estab}
    where d.estab = ${estab} and (d.taken ->> 'reading')::int = d.roster_merged and (d.taken ->> 'version')::int = r.version
      and d.taken ->> 'by' = ${product}`;
  return row?.taken;
}

/** To be asked under the lock of the roster. */
export async function requireStanding(tx: Tx, estab: string, { reading, version }: Taken): Promise<void> {
  const [row] = await tx`
    select from reading d join roster r on r.estab = ${estab} where d.estab = ${estab} and d.roster_merged = ${reading} and r.version = ${version}`;
  if (!row) throw new NotAsBefore();
}

/** With each merge: what it took, or that nothing can be said of the next one. */
export async function noteTaken(tx: Tx, { estab, number }: Reading, taken: Described | undefined): Promise<void> {
  const noted = taken ? tx.json({ by: product, reading: number, ...taken }) : null;
  await tx`update reading set taken = ${noted} where estab = ${estab} and (taken is not null or ${noted !== null})`;
}

/** A roster that was read, whether or not all of it was. */
type ReadRoster = Readonly<{
  collections: readonly Readonly<{ resource: Resource; mode: Mode; count: number; known: number }>[];
  rejected: Readonly<{ size: number }>;
  ignored: readonly string[];
  words: readonly ForeignWord[];
  taken?: Taken;
}>;

/** Of a source that was merged as a whole; nothing where the next one cannot be held against it. */
export function takenOf({ files }: Source, { collections, rejected, ignored, words, taken }: ReadRoster, version: number): Described | undefined {
  const digests = taken?.files ?? files?.read();
  if (!digests || rejected.size > 0) return undefined;
  const counted = collections.map(({ resource, mode, count, known }) => ({ collection: resource.collection, mode, count: count + known }));
  return { version, files: digests, collections: counted, ignored, words };
}

/** Whether every file of it is as it was taken. One that cannot be read says so when it is. */
export async function isAsTaken({ files }: Source, taken: Taken): Promise<boolean> {
  const names = Object.keys(taken.files);
  if (files?.names.length !== names.length || !files.names.every((name) => taken.files[name] !== undefined)) return false;
  for (const name of names) if ((await files.look(name).catch(() => undefined)) !== taken.files[name]) return false;
  return true;
}
