// In charge of finding deliveries: for the application that they are of, at one school or at all, and for the operator.
import type { Fragment, Sql } from '../db/connect.ts';
import type { Timings } from '../http/outbound.ts';

export const deliveryStates = ['waiting', 'running', 'done', 'failed', 'superseded', 'cancelled'] as const;
export type DeliveryState = (typeof deliveryStates)[number];

/** Whose deliveries: an application's at one school, or at all. The operator sees those of everybody. */
export type Reader = { rp: string; estab: string | undefined };
export type Anybody = { rp: undefined; estab: undefined };
export type DeliveryQuestion = { states: readonly DeliveryState[]; since: Date | undefined; until: Date | undefined; page: number; pageSize: number };

export type Delivery = {
  estab: string;
  id: string;
  rp: string;
  lane: string;
  event: string | null;
  webhookId: string | null;
  databaseName: string | null;
  method: string | null;
  url: string | null;
  sealed: boolean;
  state: DeliveryState;
  attempts: number;
  createdAt: Date;
  /** Not while its target is paused. */
  dueAt: Date;
  settledAt: Date | null;
  target: 'ok' | 'failing' | 'paused' | 'disabled';
  targetWhy: string | null;
  failingSince: Date | null;
  /** The operator stopped the target. */
  pausedAt: Date | null;
  /** Of the last attempt. */
  status: number | null;
  errorClass: string | null;
  message: string | null;
};

/** What a delivery sends, for the operator. A form may hold what a person typed, and what is sealed a secret: neither is read. */
export type Sent = { contentType: string | null; bytes: number | null; body: Buffer | null };

export type Attempt = {
  number: number;
  at: Date;
  success: boolean;
  status: number | null;
  errorClass: string | null;
  message: string | null;
  address: string | null;
  milliseconds: number | null;
  headers: Record<string, string> | null;
  response: Buffer | null;
  /** What was called and with which headers; where the time went; when it was to be tried again. */
  request: { method?: string; url?: string; headers?: Record<string, string> } | null;
  timings: Partial<Timings> | null;
  nextAt: Date | null;
};

export const mostAttempts = 100;

/** One by one by their keys: a plan that is kept would expect more than a page and read everything. */
export async function listDeliveries(db: Sql, reader: Reader, question: DeliveryQuestion): Promise<Delivery[]> {
  const { page, pageSize } = question;
  return db<Delivery[]>`
    with page as materialized (
      select c.estab, c.id, c.created from (${newest(db, reader, question, page * pageSize)}) c
      order by c.created desc, c.id desc limit ${pageSize} offset ${(page - 1) * pageSize}
    )
    select shown.* from page cross join lateral (
      select ${columns(db)} from outbox o ${beside(db, reader)} where ${ofSchool(db, reader)} and o.estab = page.estab and o.id = page.id limit 1) shown
    order by page.created desc, page.id desc`;
}

/** Counted no further than that. */
export async function countDeliveries(db: Sql, reader: Reader, question: DeliveryQuestion, most: number): Promise<number> {
  const [row] = await db<{ count: number }[]>`select least(count(*), ${most})::int as count from (${newest(db, reader, question, most)}) counted`;
  return row?.count ?? 0;
}

/** Each state by its own stretch of the index, so that neither the few that failed nor the newest of all cost what there is. */
function newest(sql: Sql, reader: Reader, { states, since, until }: DeliveryQuestion, most: number): Fragment {
  const created = sql`(o.created_at at time zone 'UTC')`;
  return sql`
    select c.* from unnest(${[...states]}::text[]) as wanted (state) cross join lateral (
      select o.estab, o.id, ${created} as created from outbox o
      where ${own(sql, reader)} and o.state = wanted.state
        ${since ? sql`and ${created} >= ${since} at time zone 'UTC'` : sql``} ${until ? sql`and ${created} < ${until} at time zone 'UTC'` : sql``}
      order by ${created} desc, o.id desc limit ${most}) c`;
}

export async function findDelivery(db: Sql, reader: Reader | Anybody, id: string): Promise<(Delivery & Sent & { log: Attempt[] }) | undefined> {
  const [delivery] = await db<(Delivery & Sent)[]>`
    select ${columns(db)}, o.payload ->> 'contentType' as "contentType", octet_length(o.body) as bytes,
      case when o.payload ->> 'contentType' = 'application/json' then o.body end as body
    from outbox o ${beside(db, reader)} where ${own(db, reader)} and o.id = ${id}`;
  return delivery && { ...delivery, log: await listAttempts(db, delivery) };
}

type Owned = { estab: string; rp: string };

/** Whose it is: of which school and application. */
export async function findOwnerOfDelivery(db: Sql, id: string, reader: Reader | Anybody = { rp: undefined, estab: undefined }): Promise<Owned | undefined> {
  const one = await findDelivery(db, reader, id);
  return one && { estab: one.estab, rp: one.rp };
}

/** The latest, in their order. */
async function listAttempts(db: Sql, { estab, id }: Pick<Delivery, 'estab' | 'id'>): Promise<Attempt[]> {
  const log = await db<Attempt[]>`
    select * from (
      select a.number, a.at, a.success, (a.detail ->> 'status')::int as status, a.error_class as "errorClass", a.detail ->> 'message' as message,
        a.detail ->> 'address' as address, (a.detail -> 'timings' ->> 'total')::float8 as milliseconds, a.detail -> 'responseHeaders' as headers, a.response,
        a.detail -> 'request' as request, a.detail -> 'timings' as timings, a.next_at as "nextAt"
      from outbox_attempt a where a.estab = ${estab} and a.id = ${id} order by a.number desc limit ${mostAttempts}) latest
    order by number`;
  return [...log];
}

const ofSchool = (sql: Sql, { estab }: Reader | Anybody): Fragment => (estab === undefined ? sql`true` : sql`o.estab = ${estab}`);
const own = (sql: Sql, reader: Reader | Anybody): Fragment =>
  sql`${ofSchool(sql, reader)} ${reader.rp === undefined ? sql`` : sql`and o.rp = ${reader.rp}`} and o.kind = 'call'`;

export const columns = (sql: Sql) => sql`
  o.estab, o.id, o.rp, o.lane, o.payload ->> 'event' as event, case when o.lane like 'webhook %' then substr(o.lane, 9) end as "webhookId",
  w.database_name as "databaseName", o.payload ->> 'method' as method, o.payload ->> 'url' as url,
  coalesce((o.payload ->> 'sealed')::boolean, false) as sealed, o.state, o.attempts, o.created_at as "createdAt",
  greatest(o.due_at, l.open_until) as "dueAt", o.settled_at as "settledAt", l.disabled_why as "targetWhy", l.failing_since as "failingSince",
  l.paused_at as "pausedAt",
  case when l.disabled_at is not null then 'disabled' when l.paused_at is not null or l.open_until > now() then 'paused'
    when l.failing_since is not null then 'failing'
    else 'ok' end as target,
  a.status, a.error_class as "errorClass", a.message`;

export const beside = (sql: Sql, { estab }: Reader | Anybody) => sql`
  join lane l on l.key = o.lane
  left join webhook w on ${estab === undefined ? sql`true` : sql`w.estab = ${estab}`} and w.estab = o.estab and w.rp = o.rp
    and 'webhook ' || w.id = o.lane
  left join lateral (
    select (a.detail ->> 'status')::int as status, a.error_class, a.detail ->> 'message' as message from outbox_attempt a
    where ${estab === undefined ? sql`true` : sql`a.estab = ${estab}`} and a.estab = o.estab and a.id = o.id order by a.number desc limit 1) a on true`;
