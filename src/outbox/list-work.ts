// In charge of finding durable work for those who look after the service: by kind and state, newest first, and one with all its
// attempts. Calls are not among it: of those there may be a million, and they have lists of their own.
import type { Fragment, Sql } from '../db/connect.ts';

export const workStates = ['waiting', 'running', 'failed', 'done', 'superseded', 'cancelled'] as const;
export type WorkState = (typeof workStates)[number];
/** Those that somebody may have to look at; what is done is never counted, however much there is. */
export const openStates = ['waiting', 'running', 'failed'] as const satisfies readonly WorkState[];

/** Of a row: where the next page begins. */
export type WorkKey = Readonly<{ micros: string; id: string }>;

export type Work = Readonly<{
  estab: string;
  id: string;
  rp: string | null;
  kind: string;
  lane: string;
  state: WorkState;
  payload: Readonly<Record<string, unknown>>;
  hasBody: boolean;
  attempts: number;
  created: Date;
  due: Date;
  settled: Date | null;
  /** While it is under way: since when, in which process, and whether that has ended without a word. */
  since: Date | null;
  by: string | null;
  lost: boolean;
  /** Of the last attempt that failed. */
  errorClass: string | null;
  error: string | null;
  /** All that its handler said of that attempt. */
  said: Readonly<Record<string, unknown>> | null;
  key: WorkKey;
}>;

export type WorkAttempt = Readonly<{
  number: number;
  at: Date;
  success: boolean;
  errorClass: string | null;
  detail: Readonly<Record<string, unknown>>;
  next: Date | null;
}>;

export type WorkQuestion = Readonly<{
  kinds: readonly string[];
  states: readonly WorkState[];
  estab?: string | undefined;
  before?: WorkKey | undefined;
  most: number;
}>;

const mostAttempts = 100;

/** The kinds that there are rows of, however many: one step of the index for each. */
export async function listWorkKinds(db: Sql): Promise<string[]> {
  const rows = await db<{ kind: string }[]>`
    with recursive found as (
      (select kind from outbox where kind <> 'call' order by kind limit 1)
      union all
      select (select o.kind from outbox o where o.kind <> 'call' and o.kind > found.kind order by o.kind limit 1) from found where found.kind is not null
    )
    select kind from found where kind is not null`;
  return rows.map(({ kind }) => kind);
}

/** Of what is open, counted no further than `most`. */
export async function countOpenWork(db: Sql, kinds: readonly string[], most: number): Promise<{ kind: string; state: WorkState; count: number }[]> {
  return db<{ kind: string; state: WorkState; count: number }[]>`
    select k.kind, s.state, (select count(*)::int from (
      select from outbox o where o.kind <> 'call' and o.kind = k.kind and o.state = s.state limit ${most}) counted) as count
    from unnest(${[...kinds]}::text[]) as k (kind) cross join unnest(${[...openStates]}::text[]) as s (state)`;
}

export async function listWork(db: Sql, question: WorkQuestion): Promise<Work[]> {
  return db<Work[]>`
    with page as materialized (
      select c.estab, c.id, c.created_at from (${question.estab === undefined ? newest(db, question) : newestOf(db, question, question.estab)}) c
      order by c.created_at desc, c.id desc limit ${question.most}
    )
    select ${columns(db)} from page join outbox o on o.estab = page.estab and o.id = page.id ${lastFailure(db)} order by page.created_at desc, page.id desc`;
}

export async function findWork(db: Sql, id: string): Promise<Work | undefined> {
  const [work] = await db<Work[]>`select ${columns(db)} from outbox o ${lastFailure(db)} where o.id = ${id} and o.kind <> 'call'`;
  return work;
}

/** The latest first. */
export async function listWorkAttempts(db: Sql, { estab, id }: Pick<Work, 'estab' | 'id'>): Promise<WorkAttempt[]> {
  return db<WorkAttempt[]>`
    select number, at, success, error_class as "errorClass", detail, next_at as next from outbox_attempt where estab = ${estab} and id = ${id}
    order by number desc limit ${mostAttempts}`;
}

/** Each kind and state by its own stretch of the index, so that the few that failed cost no more than the newest of all. */
function newest(sql: Sql, { kinds, states, before, most }: WorkQuestion): Fragment {
  return sql`
    select c.* from unnest(${[...kinds]}::text[]) as k (kind) cross join unnest(${[...states]}::text[]) as s (state) cross join lateral (
      select o.estab, o.id, o.created_at from outbox o where o.kind <> 'call' and o.kind = k.kind and o.state = s.state ${older(sql, before)}
      order by o.created_at desc, o.id desc limit ${most}) c`;
}

function newestOf(sql: Sql, { kinds, states, before, most }: WorkQuestion, estab: string): Fragment {
  return sql`
    select o.estab, o.id, o.created_at from outbox o
    where o.kind <> 'call' and o.estab = ${estab} and o.kind = any(${[...kinds]}::text[]) and o.state = any(${[...states]}::text[]) ${older(sql, before)}
    order by o.created_at desc, o.id desc limit ${most}`;
}

function older(sql: Sql, before: WorkKey | undefined): Fragment {
  return before ? sql`and (o.created_at, o.id) < (timestamptz 'epoch' + ${before.micros}::bigint * interval '1 microsecond', ${before.id})` : sql``;
}

const columns = (sql: Sql) => sql`
  o.estab, o.id, o.rp, o.kind, o.lane, o.state, o.payload, o.body is not null as "hasBody", o.attempts, o.created_at as created, o.due_at as due,
  o.settled_at as settled, case when o.state = 'running' then o.claimed_at end as since, case when o.state = 'running' then o.claimed_by end as by,
  o.state = 'running' and o.lease_until < now() as lost, failure."errorClass", failure.error, failure.said,
  jsonb_build_object('micros', (extract(epoch from o.created_at) * 1000000)::bigint::text, 'id', o.id) as key`;

const lastFailure = (sql: Sql) => sql`
  left join lateral (
    select a.error_class as "errorClass", a.detail ->> 'message' as error, a.detail as said from outbox_attempt a
    where a.estab = o.estab and a.id = o.id and not a.success order by a.number desc limit 1) failure on true`;

/** As it stands in an address. */
export const renderWorkKey = ({ micros, id }: WorkKey) => `${micros}.${id}`;

/** What is no key begins at the first page. */
export function parseWorkKey(text: string): WorkKey | undefined {
  const [, micros, id] = /^(\d{1,16})\.([\w-]{1,255})$/.exec(text) ?? [];
  return micros !== undefined && id !== undefined ? { micros, id } : undefined;
}
