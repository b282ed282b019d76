// In charge of what is asked about requests that were kept: which there were, how many by the hour or day, and for how long.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';

/** number: its place, to go on from. path: without ids. ms: until the whole answer had left. records: null where they are not counted. */
export type RequestLine = {
  number: string;
  at: Date;
  rp: string;
  estab: string | null;
  method: string;
  path: string;
  status: number;
  ms: number;
  records: number | null;
  requestId: string;
};
/** refused: 4xx, with those whose caller left; failed: 5xx. */
export type RequestOutcome = 'fine' | 'refused' | 'failed';
/** at: when the hour or the day began, in UTC. ms: of an average request. */
export type RequestCount = { at: Date; requests: number; refused: number; failed: number; records: number; ms: number };
export type Unit = 'hour' | 'day';

/** Lines of each application that are kept, however busy it is. */
export const mostLines = 50_000;

/** What all asked for together is counted as of this one, which no application can be: to add up hundreds for each chart would take too long. */
export const everybody = '*';
const beyondAll = '9223372036854775807';

/** The latest first; before: the number of the last one that was seen. */
export async function listRequests(
  db: Db,
  { rp, before, most, status }: { rp: string; before?: string | undefined; most: number; status?: RequestOutcome | undefined },
): Promise<RequestLine[]> {
  return db<RequestLine[]>`
    select l.number::text as number, l.at, l.rp, l.estab, l.method, l.path, l.status, l.ms, l.records, l.request_id as "requestId" from request_line l
    where l.rp = ${rp} and l.number < ${before ?? beyondAll}::bigint ${status === undefined ? db`` : within(db, status)}
    order by l.number desc limit ${most}`;
}

function within(sql: Sql, status: RequestOutcome): Fragment {
  if (status === 'fine') return sql`and l.status < 400`;
  return status === 'refused' ? sql`and l.status >= 400 and l.status < 500` : sql`and l.status >= 400 and l.status >= 500`;
}

/** The earliest first; hours or days of which nothing was asked are left out. Without rp: of all, whoever was not certain to be anybody too. */
export async function readRequestHours(db: Db, { rp, since, by = 'hour' }: { rp?: string | undefined; since: Date; by?: Unit }): Promise<RequestCount[]> {
  return db<RequestCount[]>`
    select date_bin(${`1 ${by}`}::interval, hour, 'epoch') as at,
      sum(requests)::float8 as requests, sum(refused)::float8 as refused, sum(failed)::float8 as failed,
      sum(records)::float8 as records, sum(ms) / greatest(sum(requests), 1) as ms
    from request_hour where hour >= ${since}::timestamptz and rp = ${rp ?? everybody} group by 1 order by 1`;
}

export async function forgetRequestLines(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'request_line', db`at < now() - make_interval(days => ${days})`);
  const busy = await db<{ rp: string; last: string }[]>`
    select p.rp, l.number::text as last from (select rp from application union all select '') p
      cross join lateral (select number from request_line l where l.rp = p.rp order by number desc offset ${mostLines} limit 1) l`;
  for (const { rp, last } of busy) await deleteInBatches(db, 'request_line', db`rp = ${rp} and number <= ${last}::bigint`);
}

export async function forgetRequestHours(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'request_hour', db`hour < now() - make_interval(days => ${days})`);
}

/** Of an application that is removed. */
export async function removeRequests(sql: Sql, rp: string): Promise<void> {
  await sql`delete from request_line where rp = ${rp}`;
  await sql`delete from request_hour where rp = ${rp}`;
}
