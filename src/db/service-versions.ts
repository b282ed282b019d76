// Records the versions of the service that a database has had, and the version of each process that uses it.
import { hostname } from 'node:os';
import type { Role } from '../config.ts';
import { version } from '../version.ts';
import type { Db, Sql } from './connect.ts';
import { listProcesses, pidOf, type ConnectedProcess } from './list-processes.ts';
import { readMigrations } from './migrations.ts';
import { processTag } from './pool.ts';

export type KnownVersion = Readonly<{ version: string; firstStarted: Date; by: string }>;
/** `migration` is the newest one that the version knows. All three are null for a process that has not reported. */
export type VersionedProcess = ConnectedProcess & Readonly<{ version: string | null; host: string | null; migration: number | null }>;

export const noteProcessEveryMs = 60_000;
/** One that has not said so for this long has ended. */
const aliveSeconds = 180;

const newestMigration = readMigrations().at(-1)?.version ?? 0;

/** Whether this version has been started on this database before. */
export async function knowsVersion(sql: Sql): Promise<boolean> {
  return (await sql`select from service_version where version = ${version}`).length > 0;
}

export async function noteVersion(sql: Sql): Promise<void> {
  await sql`insert into service_version (version, by) values (${version}, ${hostname()}) on conflict do nothing`;
}

/** Latest first. */
export async function listVersions(sql: Sql): Promise<KnownVersion[]> {
  return sql<KnownVersion[]>`select version, first_started as "firstStarted", by from service_version order by first_started desc`;
}

/** Again and again, since one that serves nobody at the moment has no connection by which it could be seen. */
export async function noteProcess(sql: Sql, role: Role): Promise<void> {
  await sql`
    insert into service_process (tag, version, role, host, migration) values (${processTag}, ${version}, ${role}, ${hostname()}, ${newestMigration})
    on conflict (tag) do update
      set version = excluded.version, role = excluded.role, host = excluded.host, migration = excluded.migration, seen_at = now()`;
}

export async function forgetThisProcess(sql: Sql): Promise<void> {
  await sql`delete from service_process where tag = ${processTag}`;
}

const does: Readonly<Record<Role, ConnectedProcess['does']>> = { api: ['API'], worker: ['work'], all: ['API', 'work'] };

type Noted = { tag: string; version: string; role: Role; host: string; migration: number; started: Date; alive: boolean };

/** Lists processes that serve or work, with their connections: none for a process that is idle, or that was killed less than three minutes ago. */
export async function listVersionedProcesses(db: Db): Promise<VersionedProcess[]> {
  const connected = await listProcesses(db);
  const noted = await listNoted(db);
  const serving = connected.filter((one) => one.does.includes('API') || one.does.includes('work') || noted.some(({ tag }) => tag === one.tag));
  const idle = noted.filter(({ tag, alive }) => alive && !serving.some((one) => one.tag === tag));
  return [
    ...serving.map((one) => {
      const known = noted.find(({ tag }) => tag === one.tag);
      if (!known) return { ...one, version: null, host: null, migration: null };
      const { role, started: since, version: of, host, migration } = known;
      return { ...one, does: does[role], since, version: of, host, migration };
    }),
    ...idle.map(({ tag, version: of, role, host, migration, started }): VersionedProcess => ({
      tag, pid: pidOf(tag), address: undefined, since: started, connections: 0, does: does[role], isThis: tag === processTag, version: of, host, migration,
    })),
  ];
}

async function listNoted(db: Db): Promise<readonly Noted[]> {
  return db<Noted[]>`
    select tag, version, role, host, migration, started_at as started,
      seen_at > now() - make_interval(secs => ${aliveSeconds}) as alive
    from service_process order by started_at`;
}

/** Of processes that have ended. */
export async function forgetProcesses(db: Db, days: number): Promise<unknown> {
  return db`
    delete from service_process where seen_at < now() - make_interval(days => ${days})
      and not exists (select from pg_stat_activity where split_part(application_name, ' ', 3) = tag)`;
}
