// A record as a row of a CSV package. A row of 1.1 has the values of the API. A row of 1.2 has the stored values, because the API of 1.2
// fills required fields that are blank, and a package may leave them blank.
import type { Edition, Field, Resource, Status, UserId, Value } from '../roster/resource.ts';
import { moveUnpaired } from './paired-lists.ts';
import type { PersonPart } from './person-parts.ts';
import { valuesOfRow, type StoredRow } from './stored-row.ts';

/** `modified` is the instant of the row's version. */
export type ExportedRow = Readonly<{ row: StoredRow & { status: Status }; modified: string }>;

/** A whole collection of one version of the roster. */
export type ExportReading = {
  metadataKeys(resource: Resource, status?: Status): Promise<string[]>;
  /** As 1.1 shows them, in pieces of JSON separated by commas. */
  records(resource: Resource, status?: Status): AsyncIterable<string>;
  /** As they are stored. */
  rows(resource: Resource, status?: Status): AsyncIterable<readonly ExportedRow[]>;
  count(resource: Resource, status?: Status): Promise<number>;
  /** The columns of lists that some record cannot pair in a package of 1.2 (see `paired-lists`). */
  unpairedLists(resource: Resource, status?: Status): Promise<string[]>;
  /** Whether anybody has a profile. */
  hasProfiles(status?: Status): Promise<boolean>;
  /**
   * Ids that several people have: to a provider those of profiles are unique for the person alone, and a role may go to somebody while
   * whoever had it is left as they were.
   */
  sharedIds(part: PersonPart, status?: Status): Promise<ReadonlySet<string>>;
};

export type Ref = { sourcedId: string };
export type Shown = Record<string, unknown> & { sourcedId: string; status: Status };

export const readShown: Readonly<Record<Edition, (reading: ExportReading, resource: Resource, status?: Status) => AsyncGenerator<Shown[]>>> = {
  async *v1p1(reading, resource, status) {
    for await (const piece of reading.records(resource, status)) yield JSON.parse(`[${piece}]`) as Shown[];
  },
  async *v1p2(reading, resource, status) {
    for await (const rows of reading.rows(resource, status)) yield rows.map((row) => showStored(resource, row));
  },
};

function showStored(resource: Resource, { row, modified }: ExportedRow): Shown {
  const shown: Shown = { sourcedId: row.sourced_id, status: row.status, dateLastModified: modified, metadata: row.metadata ?? undefined };
  for (const [at, value] of valuesOfRow(resource, row).entries()) {
    const field = resource.fields[at];
    if (field && value !== undefined) shown[field.name] = showValue(field, value);
  }
  return moveUnpaired(resource, shown);
}

/** The metadata columns of a collection's file. */
export const listMetadataKeys: Readonly<Record<Edition, (reading: ExportReading, resource: Resource, status?: Status) => Promise<string[]>>> = {
  v1p1: (reading, resource, status) => reading.metadataKeys(resource, status),
  v1p2: async (reading, resource, status) => [
    ...new Set([...(await reading.metadataKeys(resource, status)), ...(await reading.unpairedLists(resource, status))]),
  ],
};

function showValue({ type, spelled = {} }: Field, value: Exclude<Value, undefined>): unknown {
  if (type === 'ref') return { sourcedId: value };
  if (type === 'refs') return (value as readonly string[]).map((sourcedId) => ({ sourcedId }));
  return typeof value === 'string' && Object.hasOwn(spelled, value) ? spelled[value] : value;
}

/** With `blank`, status and date stay empty, as bulk files require. */
export function cellOf(record: Shown, column: string, field: Field | undefined, blank: boolean): string {
  if (column === 'sourcedId') return record.sourcedId;
  if (column === 'status' || column === 'dateLastModified') return blank ? '' : String(record[column]);
  const value = field && record[field.name];
  if (value === undefined) return '';
  switch (field?.type) {
    case 'ref':
      return (value as Ref).sourcedId;
    case 'refs':
      return (value as Ref[]).map((one) => one.sourcedId).join(',');
    case 'userIds':
      return (value as UserId[]).map((one) => `{${one.type}:${one.identifier}}`).join(',');
    case 'list':
      return (value as string[]).join(',');
    default:
      return String(value);
  }
}

export function metadataOf(record: Shown, key: string): string {
  const metadata = (record.metadata ?? {}) as Record<string, string>;
  return Object.hasOwn(metadata, key) ? (metadata[key] ?? '') : '';
}
