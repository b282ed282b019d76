// In charge of what became of one record: each of its states that is kept, from which version until which, and where it
// came from.
import type { Db } from '../db/connect.ts';
import { kindColumns, type Edition, type Resource } from '../roster/resource.ts';
import { historyTable } from './history.ts';
import { placeOf } from './place.ts';

/** From and until are versions; until is null for the state that stands. */
export type RecordState = Readonly<{
  from: number;
  fromAt: string | null;
  until: number | null;
  untilAt: string | null;
  status: string;
  kind: string;
  /** All that it is of. */
  kinds: readonly string[];
  /** As it is stored, with marks for the address and the instant; in each edition. */
  stored: Readonly<Record<Edition, string>>;
  origin: Origin;
}>;

/** An import with the line of the file, or the page of the provider's list; neither, where another record or a file without it caused it. */
export type Origin = Readonly<{ import: string | null; file: string | null; line: number | null; provider: string | null; page: number | null }>;

/** In words. */
export function describeOrigin({ file, line, provider, page }: Origin): string {
  const place = provider === null ? (line === null ? 'by the change of another record or by being absent' : `${file}, line ${line}`) : provider;
  return `${place}${page === null ? '' : `, page ${page}`}`;
}

type Row = Omit<RecordState, 'origin'> & { import: string | null; provider: string | null; place: number | null };

/** before: only states that began before this version. most: so many of them. */
export type HistoryAsked = Readonly<{ before?: number | undefined; most?: number | undefined }>;

/** Newest first; nothing when there never was such a record, or it was purged. */
export async function readRecordHistory(
  db: Db,
  estab: string,
  resource: Resource,
  sourcedId: string,
  { before, most }: HistoryAsked = {},
): Promise<RecordState[]> {
  const kinds = kindColumns(resource).includes('kinds') ? db`coalesce(kinds, array[kind])` : db`array[kind]`;
  const rows = await db<Row[]>`
    select s.version as from, f.stamp as "fromAt", s.until_version as until, u.stamp as "untilAt", s.status, s.kind, s.kinds,
      jsonb_build_object('v1p1', s.head || s.record || s.late || '}', 'v1p2',
        s.head || case when s.shared is null then s.record else left(s.record, s.shared) end || coalesce(s.v1p2, '') || s.late || '}') as stored,
      f.import, r.provider, s.place
    from (
      select version, null::int as until_version, status, kind, ${kinds} as kinds, head, record, shared, v1p2, late, place from ${db(resource.table)}
      where estab = ${estab} and sourced_id = ${sourcedId}
      union all
      select version, until_version, status, kind, ${kinds} as kinds, head, record, shared, v1p2, late, place from ${db(historyTable(resource))}
      where estab = ${estab} and sourced_id = ${sourcedId} and purged_at is null) s
    left join roster_version f on f.estab = ${estab} and f.version = s.version
    left join roster_version u on u.estab = ${estab} and u.version = s.until_version
    left join import_run r on r.estab = ${estab} and r.id = f.import
    ${before === undefined ? db`` : db`where s.version < ${before}`} order by s.version desc limit ${most ?? null}`;
  return rows.map(({ import: id, provider, place, ...state }) => ({
    ...state,
    origin:
      provider === null
        ? { import: id, ...(place === null ? { file: null, line: null } : placeOf(place, resource.file)), provider: null, page: null }
        : { import: id, file: null, line: null, provider, page: place },
  }));
}

/** The version in which it was first seen; undefined: before what is kept of the history. */
export async function findFirstSeen(db: Db, estab: string, resource: Resource, sourcedId: string): Promise<{ version: number; at: string } | undefined> {
  const [row] = await db<{ version: number; at: string }[]>`
    select v.version, v.stamp as at from roster_version v join roster r on r.estab = ${estab}
    where v.estab = ${estab} and v.version > r.kept_from and v.version = (select min(version) from (
      select version from ${db(resource.table)} where estab = ${estab} and sourced_id = ${sourcedId}
      union all select version from ${db(historyTable(resource))} where estab = ${estab} and sourced_id = ${sourcedId} and purged_at is null) s)`;
  return row;
}

/** Whether somebody with this id was here and has left for good: for an hour that can still be told. */
export async function wasPurged(db: Db, estab: string, resource: Resource, sourcedId: string): Promise<boolean> {
  const [row] = await db`
    select from ${db(historyTable(resource))} where estab = ${estab} and sourced_id = ${sourcedId} and purged_at is not null limit 1`;
  return row !== undefined;
}

export type FieldChange = Readonly<{ field: string; before: unknown; after: unknown }>;

/** Field by field; that it is of another version is no change. Undefined: there was nothing before. */
export function compareRecords(older: Readonly<Record<string, unknown>> | undefined, newer: Readonly<Record<string, unknown>>): FieldChange[] {
  const fields = new Set([...Object.keys(newer), ...Object.keys(older ?? {})]);
  fields.delete('dateLastModified');
  return [...fields]
    .map((field) => ({ field, before: older?.[field], after: newer[field] }))
    .filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
}
