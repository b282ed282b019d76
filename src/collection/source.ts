// In charge of what a connector hands over: for each collection its mode and its checked rows, in batches.
import type { Resource, Value } from '../roster/resource.ts';
import type { MarkRow } from './mark.ts';
import type { Problems } from './problem.ts';

/** bulk: the whole collection, what is missing is gone. delta: the changes, row by row. */
export type Mode = 'bulk' | 'delta';

export type SourceRow = Readonly<{
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

/** What could be read of a row that was rejected, so that its record is left alone; `fault` is the number of its first problem. */
export type RejectedRow = Readonly<{ line: number; sourcedId: string | undefined; fault: number }>;

export type SourceBatch = { rows: SourceRow[]; rejected: RejectedRow[] };

export type SourceCollection = Readonly<{ resource: Resource; mode: Mode; read(problems: Problems): AsyncIterable<SourceBatch> }>;

export type Source = Readonly<{
  /** The provider's address, for whoever asks where a record came from; files have none. */
  provider?: string;
  collections: readonly SourceCollection[];
  /** Marks that came with it. */
  marks?: ((problems: Problems) => AsyncIterable<readonly MarkRow[]>) | undefined;
  /** Files that are there but not part of rostering. */
  ignored: readonly string[];
  /** For the progress bar: bytes, before and after reading. */
  totalBytes: number;
  bytesRead(): number;
  close(): Promise<void>;
}>;
