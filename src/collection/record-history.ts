// In charge of what became of one record: each of its states that is kept, from which version until which, and where it
// came from.
import type { Db } from '../db/connect.ts';
import type { Resource } from '../roster/resource.ts';
import { historyTable } from './history.ts';

/** From and until are versions; until is null for the state that stands. */
export type RecordState = Readonly<{
  from: number;
  fromAt: string | null;
  until: number | null;
  untilAt: string | null;
  status: string;
  /** As it is stored, with marks for the address and the instant. */
  stored: string;
  origin: Origin;
}>;

/** An import with the line of the file, or the page of the provider's list; neither, where another record or a file without it caused it. */
export type Origin = Readonly<{ import: string | null; file: string | null; line: number | null; provider: string | null; page: number | null }>;

type Row = Omit<RecordState, 'origin'> & { import: string | null; provider: string | null; place: number | null };

/** Newest first; nothing when there never was such a record, or it was purged. */
export async function readRecordHistory(db: Db, estab: string, resource: Resource, sourcedId: string): Promise<RecordState[]> {
  const rows = await db<Row[]>`
    select s.version as from, f.stamp as "fromAt", s.until_version as until, u.stamp as "untilAt", s.status, s.head || s.record || s.late || '}' as stored,
      f.import, r.provider, s.place
    from (
      select version, null::int as until_version, status, head, record, late, place from ${db(resource.table)}
      where estab = ${estab} and sourced_id = ${sourcedId}
      union all
      select version, until_version, status, head, record, late, place from ${db(historyTable(resource))}
      where estab = ${estab} and sourced_id = ${sourcedId} and purged_at is null) s
    left join roster_version f on f.estab = ${estab} and f.version = s.version
    left join roster_version u on u.estab = ${estab} and u.version = s.until_version
    left join import_run r on r.estab = ${estab} and r.id = f.import
    order by s.version desc`;
  return rows.map(({ import: id, provider, place, ...state }) => ({
    ...state,
    origin:
      provider === null
        ? { import: id, file: place === null ? null : resource.file, line: place, provider: null, page: null }
        : { import: id, file: null, line: null, provider, page: place },
  }));
}
