// In charge of what a connector is: the link between an establishment and its MIS. It hands over a database as a
// stream, writes marks, and says what went wrong in words that a school understands.
import type { MarkRow } from './mark.ts';
import type { Problems } from './problem.ts';
import type { Source } from './source.ts';

export const databaseNames = ['SchoolData', 'Attendance'] as const;
export type DatabaseName = (typeof databaseNames)[number];

export type MarksToWrite = Readonly<{
  trackingId: string;
  /** Write what can be written; otherwise all or nothing. */
  partial: boolean;
  /** `line` is the index in the request. */
  marks: readonly MarkRow[];
}>;

/** A mark that the MIS would not take. Without partial, one rejection means that nothing was written. */
export type Rejection = Readonly<{ index: number; code: string; message: string }>;

/** What a roster reading leaves for the next one, kept in the transaction that merges it. */
export type RosterReading = Source & { readonly state?: () => Record<string, unknown> };

/** How an import came. */
export type ImportKind = 'upload' | 'command' | 'folder' | 'provider' | 'demo';

export type Connector = Readonly<{
  kind: Exclude<ImportKind, 'command'>;
  offers: readonly DatabaseName[];
  /** full: everything again, so that what vanished without a word is noticed; otherwise changes will do. */
  openRoster(how: { full: boolean }): Promise<RosterReading>;
  readMarks?(problems: Problems): AsyncIterable<readonly MarkRow[]>;
  /** Of when the marks are that readMarks gives, if not of now: what was written here later is newer. */
  marksAsOf?: () => Promise<Date | undefined>;
  /** The same trackingId twice must write once. Undefined: this connector cannot write. */
  writeMarks?: (marks: MarksToWrite) => Promise<readonly Rejection[]>;
}>;

/** The MIS could not be read or written. `later`: trying again may help. */
export class MisError extends Error {
  readonly status: 'Error' | 'Timeout';
  readonly later: boolean;

  constructor(status: 'Error' | 'Timeout', message: string, more: { later?: boolean; cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.name = 'MisError';
    this.status = status;
    this.later = more.later ?? true;
  }
}

/** Not a failure: data that is uploaded is as it was. */
export class NothingToCollect extends MisError {}
