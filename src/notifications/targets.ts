// In charge of targets: where calls go to, and how each is doing. One that nothing was sent to yet has no lane, and is one
// all the same.
import type { Fragment, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { findTargetId, findTargetKey, type TargetKind } from './target-id.ts';

export const targetStates = ['failing', 'paused', 'disabled'] as const;
export type TargetState = (typeof targetStates)[number];

export type Target = {
  key: string;
  id: string;
  kind: TargetKind;
  rp: string;
  application: string;
  /** Of a registration. */
  estab: string | null;
  school: string | null;
  databaseName: string | null;
  method: 'GET' | 'POST' | null;
  /** When the registration or the application was added. */
  since: Date;
  /** Of one-off URLs, which may name people, the origin alone. */
  url: string;
  failures: number;
  failingSince: Date | null;
  /** Until then it is left alone, because it has failed again and again. */
  openUntil: Date | null;
  disabledAt: Date | null;
  disabledWhy: string | null;
  pausedAt: Date | null;
  pausedBy: string | null;
  /** Counted no further than `mostWaiting`. */
  waiting: number;
  /** When the first of what waits is due; null while nothing is sent there. */
  nextAt: Date | null;
};

export type TargetsAsked = {
  state?: TargetState | undefined;
  rp?: string | undefined;
  /** Of a school are its registrations; the others serve all schools. */
  estab?: string | undefined;
  /** Of one-off URLs alone. */
  kind?: 'one-off' | undefined;
  /** The id of the last one that was seen. */
  after?: string | undefined;
  most: number;
};

type Narrowed = Pick<TargetsAsked, 'estab' | 'most'> & { rp?: string | null | undefined };

export const mostWaiting = 100;

/** In the order of their keys: callback URLs, one-off URLs, registrations. */
export async function listTargets(db: Sql, asked: TargetsAsked): Promise<Target[]> {
  const after = findTargetKey(asked.after ?? '') ?? '';
  const among = asked.state === undefined ? allKeys(db, asked, after) : keysIn(db, asked.state, asked, after);
  const keys = await db<{ key: string }[]>`
    select k.key from (${asked.kind === 'one-off' ? oneOffKeys(db, asked, after) : among}) k order by k.key limit ${asked.most}`;
  return describeTargets(db, keys.map(({ key }) => key));
}

/** What is not said narrows nothing, and the statement stays the same. */
function allKeys(sql: Sql, { rp = null, estab, most }: Narrowed, after: string): Fragment {
  const behind = after.startsWith('webhook ') ? after.slice('webhook '.length) : lowestId;
  const registrations = sql`
    (select ('webhook ' || w.id) collate "C" as key from webhook w where ${ofWebhook(sql, rp, estab)} and w.id > ${behind}::uuid order by w.id limit ${most})`;
  if (estab !== undefined) return registrations;
  return sql`
    (select ('callback ' || p.rp) collate "C" as key from application p where ('callback ' || p.rp) collate "C" > ${after} and p.rp = coalesce(${rp}, p.rp)
      order by p.rp limit ${most})
    union all
    (${oneOffKeys(sql, { rp, most }, after)})
    union all ${registrations}`;
}

function oneOffKeys(sql: Sql, { rp = null, most }: Narrowed, after: string): Fragment {
  return sql`
    select l.key from lane l where l.key > ${after} and l.key >= 'one-off ' and l.key < 'one-off!' and ${ofOneOff(sql, rp)} order by l.key limit ${most}`;
}

/** Of lane l. One that is given up and paused is both. */
export const isIn: Readonly<Record<TargetState, (sql: Sql) => Fragment>> = {
  failing: (sql) => sql`l.failing_since is not null and l.disabled_at is null and l.paused_at is null`,
  paused: (sql) => sql`l.paused_at is not null`,
  disabled: (sql) => sql`l.disabled_at is not null`,
};

/** In one word, the worst first. */
export function stateOf({ disabledAt, pausedAt, failingSince, openUntil }: Target): TargetState | 'held back' | 'ok' {
  if (disabledAt) return 'disabled';
  if (pausedAt) return 'paused';
  if (openUntil) return 'held back';
  return failingSince ? 'failing' : 'ok';
}

/** By the index of those in trouble, which only one that something was sent to, or that was paused, can be in. */
function keysIn(sql: Sql, state: TargetState, { rp = null, estab, most }: Narrowed, after: string): Fragment {
  const shared = sql`(starts_with(l.key, 'callback ') and l.key = coalesce('callback ' || ${rp}, l.key)) or ${ofOneOff(sql, rp)} or`;
  return sql`
    select l.key from lane l where ${isIn[state](sql)} and l.key > ${after} and (${estab === undefined ? shared : sql``}
      exists (select from webhook w where ${ofWebhook(sql, rp, estab)} and w.id = ${idOf(sql, sql`l.key`)}))
    order by l.key limit ${most}`;
}

const lowestId = '00000000-0000-0000-0000-000000000000';
const ofOneOff = (sql: Sql, rp: string | null): Fragment => sql`starts_with(l.key, 'one-off ' || coalesce(${rp} || ' ', ''))`;
const ofWebhook = (sql: Sql, rp: string | null, estab: string | undefined): Fragment =>
  sql`${estab === undefined ? sql`` : sql`w.estab = ${estab} and`} w.rp = coalesce(${rp}, w.rp)`;

const idOf = (sql: Sql, key: Fragment): Fragment => sql`case when starts_with(${key}, 'webhook ') then substr(${key}, 9)::uuid end`;

/** rp: whose it must be; nothing: anybody's. */
export type TargetOwner = { rp?: string };

export async function findTarget(db: Sql, id: string, owner: TargetOwner = {}): Promise<Target | undefined> {
  const key = findTargetKey(id);
  return key === undefined ? undefined : (await describeTargets(db, [key], owner))[0];
}

export async function requireTarget(db: Sql, id: string, owner: TargetOwner = {}): Promise<Target> {
  const target = await findTarget(db, id, owner);
  if (!target)
    throw new SchoolbellError('not_found', `There is no target ${id.slice(0, 100)}: the id of a registration, callback:<rp>, or one-off:<rp>:<origin>.`);
  return target;
}

/** Whose it is: of which school and application. */
export async function findOwnerOfTarget(db: Sql, id: string, owner: TargetOwner = {}): Promise<{ estab: string | undefined; rp: string }> {
  const { estab, rp } = await requireTarget(db, id, owner);
  return { estab: estab ?? undefined, rp };
}

type Row = Omit<Target, 'id' | 'kind' | 'url'> & { registered: string | null; callback: string; laned: boolean };

/** Those that are there, in the order of the keys. */
export async function describeTargets(db: Sql, keys: readonly string[], { rp }: TargetOwner = {}): Promise<Target[]> {
  const rows = await db<Row[]>`
    select k.key, p.rp, p.name as application, w.estab, e.name as school, w.database_name as "databaseName", w.method, w.url as registered,
      p.callback_url as callback, coalesce(w.created_at, p.created_at) as since, l.key is not null as laned,
      coalesce(l.failures, 0) as failures, l.failing_since as "failingSince",
      case when l.open_until > now() then l.open_until end as "openUntil", l.disabled_at as "disabledAt", l.disabled_why as "disabledWhy",
      l.paused_at as "pausedAt", l.paused_by as "pausedBy", least(waiting.count, ${mostWaiting}) as waiting,
      case when l.disabled_at is null and l.paused_at is null then greatest(waiting.first, l.open_until) end as "nextAt"
    from unnest(${[...keys]}::text[]) with ordinality as k (key, place)
    left join lane l on l.key = k.key
    left join webhook w on w.id = ${idOf(db, db`k.key`)}
    join application p on p.rp = coalesce(w.rp, split_part(k.key, ' ', 2)) ${rp === undefined ? db`` : db`and p.rp = ${rp}`}
    left join establishment e on e.estab = w.estab
    cross join lateral (
      select count(*)::int as count, min(o.due_at) as first from (
        select o.due_at from outbox o where o.lane = k.key and o.state = 'waiting' order by o.due_at limit ${mostWaiting}) o) waiting
    order by k.place`;
  return rows.flatMap(({ registered, callback, laned, ...row }) => {
    const named = findTargetId(row.key);
    // A one-off URL is known by what is sent there, and by nothing else.
    if (!named || (named.kind === 'one-off' && !laned)) return [];
    return [{ ...row, ...named, url: { registration: registered, callback, 'one-off': row.key.split(' ')[2] }[named.kind] ?? '' }];
  });
}
