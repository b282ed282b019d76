// In charge of what a connector hands over: for each collection its mode and its checked rows, in batches.
import type { CollectionName, Item, Resource, Status, Value } from '../roster/resource.ts';
import type { MarkRow } from './mark.ts';
import type { PersonPart } from './person-parts.ts';
import type { Problems } from './problem.ts';
import type { SpoolFile } from './spool.ts';

/** bulk: the whole collection, what is missing is gone. delta: the changes, row by row. */
export type Mode = 'bulk' | 'delta';

/**
 * uncounted: a whole list of a provider that announces no total. Its rows are merged as a delta, because the list may have been cut short, and
 * records that are absent from it stay. An empty list counts as bulk.
 */
export type ListMode = Mode | 'uncounted';

export type SourceRow = Readonly<{
  /** Of the collection's file; `place` says which others there are, and how they are told. */
  line: number;
  /** Of a provider: the page that it stood on. */
  page?: number;
  sourcedId: string;
  status: 'active' | 'tobedeleted';
  /** In the order of the resource's fields. */
  values: readonly Value[];
  /** JSON text of the metadata object. */
  metadata: string | undefined;
  /** Fields that the source left out, and that have something in their place. */
  lacks?: readonly string[];
}>;

/**
 * What could be read of a row that was rejected, so that its record is left alone; `fault` is the number of its first problem, 0 where it has
 * none. ofNobody: it stands in a file beside that of the collection, and neither that file nor the roster has such a record.
 */
export type RejectedRow = Readonly<{ line: number; sourcedId: string | undefined; fault: number; parts?: readonly RejectedPart[]; ofNobody?: boolean }>;

/** A row of a file beside that of the collection, which gives somebody what the roster may have at another. */
export type RejectedPart = Readonly<{ file: string; id: string }>;

/** Of a row that is as it was the last time, all that has to be known. */
export type KnownRow = Readonly<{ sourcedId: string; active: boolean }>;

export type SourceBatch = { rows: SourceRow[]; rejected: RejectedRow[]; known?: readonly KnownRow[] };

/** Of a file that can be known in part: what names its columns, and the digests of its pieces, one after another. */
export type FilePieces = Readonly<{ header: string; digests: string }>;

/** values: in the order of the fields of a user. metadata: as its source wrote it. */
export type LivePerson = Readonly<{ status: Status; values: readonly Value[]; metadata: string | undefined; lacks: readonly string[] | undefined }>;

/** The roster as it stands; each is asked for some at a time. */
export type LiveRoster = Readonly<{
  people(ids: readonly string[]): Promise<ReadonlyMap<string, LivePerson>>;
  /** Of those who have any. */
  profiles(ids: readonly string[]): Promise<ReadonlyMap<string, readonly Item[]>>;
  /** Of those who are there, in their order. What follows from this alone is not read again if the roster moves. */
  lists(ids: readonly string[]): Promise<ReadonlyMap<string, Readonly<{ roles: readonly Item[]; profiles: readonly Item[] }>>>;
  /** Who else has one of these roles or profiles, each of which a package gives to a person. */
  holders(part: PersonPart, given: readonly Readonly<{ id: string; person: string }>[]): Promise<readonly Readonly<{ id: string; holder: string }>[]>;
  orgTypes(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}>;

/** What a source may use that hands over records out of several files, or only what changed of them. */
export type Around = Readonly<{
  live: LiveRoster;
  openSpool(): Promise<SpoolFile>;
  /** Of the files as they were the last time, by their names: rows of pieces that are the same are handed over as known. */
  pieces?: Readonly<Record<string, FilePieces>> | undefined;
}>;

export type SourceCollection = Readonly<{
  resource: Resource;
  mode: ListMode;
  /** Files that decide what its rows are, its own among them. */
  from?: readonly string[];
  /** Where its rows stand, if not in the collection's own file. */
  files?: readonly string[];
  read(problems: Problems, around: Around): AsyncIterable<SourceBatch>;
}>;

/** Of each file its digest, by its name. */
export type FileDigests = Readonly<Record<string, string>>;

/** The files that decide, together, what comes of a source. */
export type SourceFiles = Readonly<{
  names: readonly string[];
  /** Of a file as it is now. */
  look(name: string): Promise<string>;
  /** Of what was read to its end. */
  read(): FileDigests;
  /** Of those that were read in pieces. */
  pieces(): Readonly<Record<string, FilePieces>>;
}>;

export type Source = Readonly<{
  /** The provider's address, for whoever asks where a record came from; files have none. */
  provider?: string;
  collections: readonly SourceCollection[];
  /** Where there are any that can be told from others by what is in them. Marks are not among them. */
  files?: SourceFiles;
  /** Marks that came with it. */
  marks?: ((problems: Problems) => AsyncIterable<readonly MarkRow[]>) | undefined;
  /** Files that are there but not part of rostering. */
  ignored: readonly string[];
  /** Collections of which the source cannot show which records left. */
  leaversUnreported?: readonly CollectionName[];
  /** For the progress bar: bytes, before and after reading. */
  totalBytes: number;
  bytesRead(): number;
  close(): Promise<void>;
}>;
