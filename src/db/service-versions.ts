// In charge of which versions of the service a database has had, and of which version each process is that uses it. An older
// schema than the one that knows this is read as well: nothing is known of it then.
import { hostname } from 'node:os';
import type { Role } from '../config.ts';
import { version } from '../version.ts';
import type { Db, Sql } from './connect.ts';
import { listProcesses, type ConnectedProcess } from './list-processes.ts';
import { processTag } from './pool.ts';

export type KnownVersion = Readonly<{ version: string; firstStarted: Date; by: string }>;
/** version: null of one that is older than this record. */
export type VersionedProcess = ConnectedProcess & Readonly<{ version: string | null; host: string | null }>;

const isKept = async (sql: Sql) => (await sql<{ kept: boolean }[]>`select to_regclass('service_version') is not null as kept`)[0]?.kept === true;

/** Whether this version has been started on this database before. */
export async function knowsVersion(sql: Sql): Promise<boolean> {
  return (await isKept(sql)) && (await sql`select from service_version where version = ${version}`).length > 0;
}

export async function noteVersion(sql: Sql): Promise<void> {
  if (await isKept(sql)) await sql`insert into service_version (version, by) values (${version}, ${hostname()}) on conflict do nothing`;
}

/** Latest first. */
export async function listVersions(sql: Sql): Promise<KnownVersion[]> {
  if (!(await isKept(sql))) return [];
  return sql<KnownVersion[]>`select version, first_started as "firstStarted", by from service_version order by first_started desc`;
}

export async function noteProcess(sql: Sql, role: Role): Promise<void> {
  await sql`
    insert into service_process (tag, version, role, host) values (${processTag}, ${version}, ${role}, ${hostname()})
    on conflict (tag) do update set version = excluded.version, role = excluded.role, host = excluded.host`;
}

/** Those that serve or work; commands come and go. */
export async function listVersionedProcesses(db: Db): Promise<VersionedProcess[]> {
  const serving = (await listProcesses(db)).filter(({ does }) => does.includes('API') || does.includes('work'));
  const noted = (await isKept(db))
    ? await db<{ tag: string; version: string; host: string }[]>`
        select tag, version, host from service_process where tag = any(${serving.map(({ tag }) => tag)}::text[])`
    : [];
  return serving.map((one) => {
    const known = noted.find(({ tag }) => tag === one.tag);
    return { ...one, version: known?.version ?? null, host: known?.host ?? null };
  });
}

/** Of processes that have ended. */
export async function forgetProcesses(db: Db, days: number): Promise<unknown> {
  return db`
    delete from service_process where started_at < now() - make_interval(days => ${days})
      and not exists (select from pg_stat_activity where split_part(application_name, ' ', 3) = tag)`;
}
