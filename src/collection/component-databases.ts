// The component databases of a school (its roster and its attendance, which are fetched separately): their status, and requests for a new fetch.
// Every change of a status is announced with PostgreSQL's NOTIFY.
import type { Db, Sql } from '../db/connect.ts';
import { enqueueOnce, type Lane } from '../outbox/enqueue.ts';
import type { CollectionName } from '../roster/resource.ts';
import { countMarks } from './attendance.ts';
import { databaseNames, type DatabaseName } from './connector.ts';
import { fixedMessages } from './fixed-messages.ts';
import { describeUnreported } from './unreported-leavers.ts';

export const databaseStatuses = ['OK', 'Updating', 'Expired', 'NoData', 'Error', 'Timeout', 'Paused', 'NotInstalled'] as const;
export type DatabaseStatus = (typeof databaseStatuses)[number];

export type ComponentDatabase = {
  name: DatabaseName;
  status: DatabaseStatus;
  updatedAt: Date | null;
  changedAt: Date | null;
  expiresAt: Date | null;
  /** When it is collected again by itself. */
  refreshAt: Date | null;
  rowCount: number;
  message: string | null;
  /** Collections whose leavers the source does not report; `message` ends with them. */
  leaversUnreported: readonly CollectionName[] | null;
  progress: number | null;
  /** A collection is waiting or under way. */
  refreshing: boolean;
};

export const minutesToLive: Readonly<Record<DatabaseName, number>> = { SchoolData: 1440, Attendance: 30 };
/** The next night is at most this far away, with the hour over which schools are spread and one of summer time. */
const longestRefreshHours = 26;
export const statusChannel = 'schoolbell_status';
export const collectKind = 'collect';
/** No host has this name; it keeps the collections that go on at once within the limit of a host. */
const collectHost = ':collection';

type Row = Omit<ComponentDatabase, 'status'> & {
  stored: 'NoData' | 'OK' | 'Error' | 'Timeout' | 'Paused';
  expired: boolean;
};

/** Each of the names asked for, in their order; one that the school's connector does not offer is not installed. */
export async function readDatabases(sql: Sql, estab: string, names: readonly DatabaseName[] = databaseNames): Promise<ComponentDatabase[]> {
  const rows = await sql<Row[]>`
    select name, status as stored, updated_at as "updatedAt", changed_at as "changedAt", expires_at as "expiresAt", refresh_at as "refreshAt",
      row_count as "rowCount", message, progress,
      refreshing_since is not null as refreshing, coalesce(expires_at <= now(), false) as expired,
      case when name = 'SchoolData' then (select s.state -> 'leaversUnreported' from connector_setting s where s.estab = ${estab}) end as "leaversUnreported"
    from component_database where estab = ${estab}`;
  return names.map((name) => {
    const row = rows.find((one) => one.name === name);
    if (!row)
      return {
        name,
        status: 'NotInstalled',
        updatedAt: null,
        changedAt: null,
        expiresAt: null,
        refreshAt: null,
        rowCount: 0,
        message: fixedMessages.notConnected,
        leaversUnreported: null,
        progress: null,
        refreshing: false,
      };
    const { stored: _, expired: __, ...shown } = row;
    const status = statusOf(row);
    return { ...shown, status, message: joinMessage(messageOf(status, row.message), row.leaversUnreported) };
  });
}

/** Returns the message of a database: that of its last fetch, followed by what its source does not report. */
export function joinMessage(fetched: string | null, leaversUnreported: readonly CollectionName[] | null): string | null {
  return [fetched, leaversUnreported && describeUnreported(leaversUnreported)].filter((one) => one !== null).join('; ') || null;
}

/** What was said of the collection before is not said of the one that is under way. */
function messageOf(status: DatabaseStatus, message: string | null): string | null {
  if (status === 'Updating') return null;
  return status === 'NoData' ? (message ?? fixedMessages.nothingYet) : message;
}

/** What is being refreshed is Updating, but Expired as long as there is an older state to serve. */
function statusOf({ stored, refreshing, expired, updatedAt }: Pick<Row, 'stored' | 'refreshing' | 'expired' | 'updatedAt'>): DatabaseStatus {
  if (refreshing) return stored === 'OK' && expired && updatedAt ? 'Expired' : 'Updating';
  return stored === 'OK' && expired ? 'Expired' : stored;
}

/** Databases that a connector offers; those that are there already stay as they are. Of a source that the school has left there may be marks. */
export async function installDatabases(sql: Sql, estab: string, names: readonly DatabaseName[]): Promise<void> {
  const known = await sql<{ name: DatabaseName }[]>`select name from component_database where estab = ${estab}`;
  for (const missing of names.filter((name) => !known.some((one) => one.name === name)))
    await sql`
      insert into component_database (estab, name, row_count) values (${estab}, ${missing}, ${missing === 'Attendance' ? await countMarks(sql, estab) : 0})
      on conflict do nothing`;
}

/**
 * The school gets its data from elsewhere now: what that does not offer is forgotten, and what was being collected from
 * where it came from is not merged. again: the new source can be asked again, so that its data grows old; uploads: what
 * was uploaded is still wanted. Databases are locked before lanes, and lanes before work, as everywhere.
 */
export async function leaveSource(
  sql: Sql,
  estab: string,
  offers: readonly DatabaseName[],
  { again, uploads }: { again: boolean; uploads: boolean },
): Promise<void> {
  await sql`select from component_database where estab = ${estab} order by name for update`;
  await sql`delete from component_database where estab = ${estab} and name <> all(${[...offers]}::text[])`;
  await sql`select from lane where key = any(${databaseNames.map((name) => laneOf(estab, name).key)}) order by key for update`;
  await sql`
    update outbox set state = 'cancelled', settled_at = now(), claim = null, lease_until = null
    where estab = ${estab} and kind = ${collectKind} and state in ('waiting', 'running') and not (${uploads}::boolean and payload ? 'upload')`;
  await sql`
    update component_database d set refreshing_since = null, progress = null, refresh_at = null, message = null,
      status = case when updated_at is null then 'NoData' else 'OK' end, expires_at = case when ${again}::boolean then expires_at end
    where d.estab = ${estab} and not exists (select from outbox o where o.estab = ${estab} and o.kind = ${collectKind}
      and o.state in ('waiting', 'running') and o.payload ->> 'database' = d.name)`;
  await notifyStatus(sql, estab);
}

function laneOf(estab: string, name: DatabaseName): Lane {
  return { key: `collect ${estab} ${name}`, host: collectHost, width: 1, lasting: false };
}

export const topicOf = (name: DatabaseName) => `collect ${name}`;

/** Whether a collection could be asked for: where there is no source, or packages are uploaded, there is nobody to ask. */
export async function isAskable(sql: Sql, estab: string, name: DatabaseName): Promise<boolean> {
  const found = await sql`
    select from component_database d join establishment e on e.estab = ${estab} left join connector_setting s on s.estab = ${estab}
    where d.estab = ${estab} and d.name = ${name} and (e.connector <> 'csv' or s.settings ? 'folder')`;
  return found.length > 0;
}

/**
 * Asks for a collection; one that is under way or waiting already is enough, unless a person approves a large loss, or the source is not
 * what it was when that began (`again`). Where packages
 * are uploaded there is nobody to ask. `whileIn`: only where the status is still one of these once the database is locked; a collection
 * may have ended since it was read.
 */
export async function requestCollection(
  sql: Sql,
  estab: string,
  name: DatabaseName,
  how: {
    force?: boolean;
    full?: boolean;
    rosterFirst?: boolean;
    upload?: string;
    approved?: string;
    partial?: boolean;
    again?: boolean;
    whileIn?: readonly DatabaseStatus[];
  } = {},
): Promise<void> {
  const [row] = await sql<(Pick<Row, 'stored' | 'expired' | 'updatedAt' | 'refreshing'> & { at: string; uploaded: boolean })[]>`
    select status as stored, updated_at as "updatedAt", refreshing_since is not null as refreshing, coalesce(expires_at <= now(), false) as expired,
      clock_timestamp()::text as at,
      exists (select from establishment e left join connector_setting s on s.estab = e.estab
      where e.estab = ${estab} and e.connector = 'csv' and not coalesce(s.settings ? 'folder', false)) as uploaded
    from component_database where estab = ${estab} and name = ${name} for update`;
  if (!row || (how.upload === undefined && (row.uploaded || (row.refreshing && !how.force && !how.again && how.approved === undefined)))) return;
  if (how.whileIn && !how.whileIn.includes(statusOf(row))) return;
  await sql`update component_database set refreshing_since = ${row.at}, progress = null where estab = ${estab} and name = ${name}`;
  await enqueueOnce(
    sql,
    {
      estab,
      rp: null,
      kind: collectKind,
      lane: laneOf(estab, name),
      payload: {
        database: name,
        force: how.force ?? false,
        full: how.full ?? false,
        ...(how.rosterFirst ? { rosterFirst: true } : {}),
        ...(how.partial ? { partial: true } : {}),
        ...(how.upload === undefined ? {} : { upload: how.upload }),
        ...(how.approved === undefined ? {} : { approved: how.approved }),
      },
      body: null,
    },
    topicOf(name),
  );
  await notifyStatus(sql, estab);
}

/** A person wants everything again, or one database; gives what was asked for: nothing where packages are uploaded. */
export async function collectAgain(db: Db, estab: string, only?: DatabaseName): Promise<DatabaseName[]> {
  return db.begin(async (tx) => {
    const [source] = await tx`
      select from establishment e left join connector_setting s on s.estab = e.estab
      where e.estab = ${estab} and e.connector is not null and (e.connector <> 'csv' or s.settings ? 'folder')`;
    const installed = (await readDatabases(tx, estab)).filter(({ status, name }) => status !== 'NotInstalled' && (only === undefined || name === only));
    if (!source) return [];
    for (const { name } of installed) await requestCollection(tx, estab, name, { full: true });
    return installed.map(({ name }) => name);
  });
}

export async function notifyStatus(sql: Sql, estab: string): Promise<void> {
  await sql`select pg_notify(${statusChannel}, ${estab})`;
}

/**
 * Requests fetches whose time has come, or is further away than the schedule allows because the clock was set back after it was planned.
 * Returns how many were requested.
 */
export async function requestDue(sql: Sql): Promise<number> {
  const due = await sql<{ estab: string; name: DatabaseName }[]>`
    select estab, name from component_database where refreshing_since is null and (refresh_at <= now()
      or refresh_at > now() + make_interval(hours => ${longestRefreshHours})
      or (refresh_at is not null and status = 'OK' and updated_at > now() + interval '1 minute'))
    order by estab, name desc for update skip locked`;
  await sql`update component_database d set refresh_at = null
    from unnest(${due.map((one) => one.estab)}::text[], ${due.map((one) => one.name)}::text[]) as due (estab, name) where d.estab = due.estab
      and d.name = due.name`;
  for (const { estab, name } of due) await requestCollection(sql, estab, name, { full: true });
  return due.length;
}
