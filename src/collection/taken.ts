// In charge of knowing what the last merge took, so that files which are as they were then need not be read again: what would come of them
// is there, as long as the roster has not moved and the same version of the product asks.
import type { Db, Tx } from '../db/connect.ts';
import type { CollectionName, Resource } from '../roster/resource.ts';
import { version as product } from '../version.ts';
import type { ForeignWord } from './foreign-words.ts';
import type { Reading } from './reading.ts';
import type { FileDigests, FilePieces, Mode, Source, SourceCollection } from './source.ts';

type Counted = Readonly<{ count: number; marked: number }>;

export type Taken = Readonly<{
  by: string;
  /** The one that was merged, and the version that the roster had then. */
  reading: number;
  version: number;
  files: FileDigests;
  /** Of those that can be known in part. */
  pieces: Readonly<Record<string, FilePieces>>;
  /** marked: how many of the rows say that their record is gone. */
  collections: readonly (Counted & Readonly<{ collection: CollectionName; mode: Mode }>)[];
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

/** Of what was taken, the files that are as they were. */
export type Same = Readonly<{ taken: Taken; files: ReadonlySet<string> }>;

/** One that cannot be looked through says so when it is read. */
export async function findSame({ files }: Source, taken: Taken): Promise<Same | undefined> {
  const names = Object.keys(taken.files);
  if (files?.names.length !== names.length || !files.names.every((name) => taken.files[name] !== undefined)) return undefined;
  const same = new Set<string>();
  for (const name of names) if ((await files.look(name).catch(() => undefined)) === taken.files[name]) same.add(name);
  // Words are counted over all rows.
  return taken.words.length > 0 && same.size < names.length ? undefined : { taken, files: same };
}

/** Of a collection of which nothing needs to be read, the rows. */
export function findSameRows({ taken, files }: Same, { resource, from }: SourceCollection): Counted | undefined {
  if (!from?.every((name) => files.has(name) || taken.files[name] === undefined)) return undefined;
  return taken.collections.find(({ collection }) => collection === resource.collection) ?? { count: 0, marked: 0 };
}

/** By which a part of a collection may be known, where nothing else that decides about it has changed. */
export function findPieces({ taken, files }: Same, { resource, from }: SourceCollection): Taken['pieces'] | undefined {
  const others = from?.filter((name) => name !== resource.file);
  return others?.every((name) => files.has(name) || taken.files[name] === undefined) ? taken.pieces : undefined;
}

/** A roster that was read, whether or not all of it was. */
type ReadRoster = Readonly<{
  collections: readonly Readonly<{ resource: Resource; mode: Mode; count: number; known: number; marked: number }>[];
  rejected: Readonly<{ size: number }>;
  ignored: readonly string[];
  words: readonly ForeignWord[];
  relies: Same | undefined;
}>;

/** Of a source that was merged as a whole; nothing where the next one cannot be held against it. */
export function takenOf({ files }: Source, { collections, rejected, ignored, words, relies }: ReadRoster, version: number): Described | undefined {
  if (!files || rejected.size > 0) return undefined;
  const [digests, pieces] = [new Map(Object.entries(files.read())), new Map(Object.entries(files.pieces()))];
  for (const name of relies?.files ?? []) {
    const [digest, before] = [relies?.taken.files[name], relies?.taken.pieces[name]];
    if (digests.has(name) || digest === undefined) continue;
    digests.set(name, digest);
    if (before) pieces.set(name, before);
  }
  if (!files.names.every((name) => digests.has(name))) return undefined;
  const counted = collections.map(({ resource, mode, count, known, marked }) => ({ collection: resource.collection, mode, count: count + known, marked }));
  return { version, files: Object.fromEntries(digests), pieces: Object.fromEntries(pieces), collections: counted, ignored, words };
}
