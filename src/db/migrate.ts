// In charge of the schema's version: applies the migrations in order, forward only, one process at a time, while others
// serve. None of them waits for a lock for so long that requests behind it would fail.
import { setTimeout as pause } from 'node:timers/promises';
import { EnvironmentFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';
import type { Connection, Db, Fragment, Sql } from './connect.ts';
import { placeNew, requirePlaced } from './distribute.ts';
import { knowsNotes, refuseUnderWay } from './distribution.ts';
import { findIndexName, migrationsFolder, readMigrations, requireReleased, withoutConcurrently, type AppliedMigration, type Migration } from './migrations.ts';
import { policies } from './policies.ts';
import { knowsVersion, noteVersion } from './service-versions.ts';
import { splitStatements } from './statement-kinds.ts';
import { isServerError, sqlStates } from './unavailable.ts';

const advisoryLock = 5_219_001;
/** Half a megabyte. */
const fillers = 256;
/** Readers queue behind whoever waits for a table: half of what the least patient of them waits. */
const lockMs = Math.min(...Object.values(policies).map((policy) => policy.lockMs)) / 2;
/** Until the next try, and twice as long after each. */
const pauseMs = { first: 100, longest: 15_000 } as const;

/** pending: names of migrations that are not applied yet; there may be none. */
export type Upgrade = Readonly<{ db: Db; pending: readonly string[] }>;

export type MigrateOptions = {
  folder?: string;
  /** What comes before anything is changed in a database that another version has used: in one process, while the others wait. */
  before?: (upgrade: Upgrade) => Promise<void>;
  /** Hears, in words, that it has to wait. */
  tell?: (words: string) => void;
};

const known = readMigrations();
const newestMigration = known.at(-1)?.version ?? 0;

/** Gives how many were applied. Not to a database of which half lies elsewhere. */
export async function migrate(db: Db, { folder = migrationsFolder, tell = () => {}, before = async () => {} }: MigrateOptions = {}): Promise<number> {
  const migrations = readMigrations(folder);
  const connection = await db.reserve();
  let spread = false;
  try {
    await takeTurn(connection, db.policy.lockMs, tell);
    // Not before: whoever spreads the database has the turn, and may be killed while this one waits.
    await refuseUnderWay(connection);
    await makeMigrationTable(connection);
    await requireUsable(connection, migrations);
    const applied = new Set((await connection<{ version: number }[]>`select version from migration`).map(({ version }) => version));
    const pending = migrations.filter(({ version }) => !applied.has(version));
    if (applied.size > 0 && (pending.length > 0 || !(await knowsVersion(connection)))) await before({ db, pending: pending.map(({ name }) => name) });
    spread = await knowsNotes(connection);
    const wait = (what: string, work: () => Promise<void>) => untilNotLocked(connection, what, db.policy.lockMs, tell, work);
    // Else what was changed over several connections of a node could not be changed again in the same transaction.
    if (spread) await connection`set citus.multi_shard_modify_mode = 'sequential'`;
    // What one that was cut off had made.
    const place = () => (spread ? wait('of what is new', () => inTransaction(connection, () => placeNew(connection))) : undefined);
    await place();
    for (const migration of pending) {
      await wait(migration.name, () => (migration.outside ? runOutside : runInside)(connection, spread ? onePerText(migration) : migration));
      await place();
    }
    if (spread) await requirePlaced(connection);
    await noteVersion(connection);
    return pending.length;
  } finally {
    if (spread) await connection`reset citus.multi_shard_modify_mode`.catch(() => {});
    await leaveTurn(connection);
    connection.release();
  }
}

async function makeMigrationTable(sql: Sql): Promise<void> {
  await sql`create table if not exists migration (
    version int primary key, name text not null, checksum text not null, applied_at timestamptz not null default now(), breaks_before int)`;
}

/** For a database that nobody else uses: all of them in the transaction of the caller, who writes down which those are. */
export async function makeSchema(tx: Sql, migrations: readonly Migration[]): Promise<void> {
  await makeMigrationTable(tx);
  for (const { statements } of migrations) for (const statement of statements) await tx.unsafe(withoutConcurrently(statement));
}

/** The same for those that are new to what is in it; they are written down. */
export async function migrateInside(tx: Sql, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations) {
    await makeSchema(tx, [migration]);
    await record(tx, migration);
  }
}

export async function leaveTurn(connection: Connection): Promise<void> {
  await connection`select pg_advisory_unlock(${advisoryLock})`.catch(() => {});
}

/**
 * Asked for again and again, not waited for: a statement that waits has a snapshot, for the end of which an index that is
 * made concurrently waits in turn.
 */
export async function takeTurn(connection: Connection, longestMs: number, tell: (words: string) => void): Promise<void> {
  const end = performance.now() + longestMs;
  for (let wait: number = pauseMs.first; ; wait = Math.min(2 * wait, 1_000)) {
    const [turn] = await connection<{ mine: boolean }[]>`select pg_try_advisory_lock(${advisoryLock}) as mine`;
    if (turn?.mine) return;
    const holder = await describeSession(
      connection,
      connection`pid in (select pid from pg_locks where locktype = 'advisory' and granted and classid = 0 and objid = ${advisoryLock} and objsubid = 1)`,
    );
    if (performance.now() + wait > end) throw new EnvironmentFault(`the database has been migrated by another process for ${longestMs / 1000} s: ${holder}`);
    if (wait === pauseMs.first) tell(`another process migrates the database: ${holder}`);
    await pause(wait);
  }
}

/** In words, the first of the sessions on this database of which this holds. */
async function describeSession(connection: Connection, which: Fragment): Promise<string> {
  const [session] = await connection<{ pid: number; name: string; host: string; seconds: number; query: string }[]>`
    select pid, application_name as name, coalesce(host(client_addr), 'this machine') as host,
      extract(epoch from now() - coalesce(xact_start, query_start))::int as seconds, left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), 120) as query
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${which} order by coalesce(xact_start, query_start) limit 1`;
  if (!session) return 'nobody is to be seen any more';
  const { pid, name, host, seconds, query } = session;
  return `"${name}" from ${host}, for ${seconds} s with "${query}" (to end it: select pg_terminate_backend(${pid}))`;
}

/**
 * Refuses a database that this version cannot use. One that a newer version has migrated is usable as long as its migrations only added
 * something, so that an older process may be started again beside newer ones.
 */
export async function requireUsable(sql: Sql, migrations: readonly Migration[] = known): Promise<void> {
  // An unreleased version may have made the table without breaks_before.
  const applied = await sql<(AppliedMigration & { before: number | null })[]>`
    select version, name, checksum, to_jsonb(m) -> 'breaks_before' as before from migration m order by version`;
  requireReleased('database', applied, migrations);
  const newest = migrations.at(-1)?.version ?? 0;
  const breaking = applied.findLast(({ version, before }) => version > newest && (before ?? 0) > newest);
  if (!breaking) return;
  throw new SchoolbellError(
    'conflict',
    `the database is at migration ${breaking.version}, with which only versions of Schoolbell that have migration ${breaking.before} work; ` +
      `this one has ${newest}: install a newer one`,
  );
}

async function untilNotLocked(
  connection: Connection,
  name: string,
  longestMs: number,
  tell: (words: string) => void,
  work: () => Promise<void>,
): Promise<void> {
  const end = performance.now() + longestMs;
  for (let wait: number = pauseMs.first; ; wait = Math.min(2 * wait, pauseMs.longest)) {
    try {
      return await work();
    } catch (error) {
      if (!isServerError(error) || ![sqlStates.lockNotAvailable, sqlStates.deadlock].some((state) => state === error.code)) throw error;
      const words = `migration ${name} waits for others; the oldest transaction: ${await describeSession(connection, connection`xact_start is not null`)}`;
      if (performance.now() + wait > end) throw new EnvironmentFault(`${words}. It was tried for ${longestMs / 1000} s`, { cause: error });
      tell(words);
      await pause(wait);
    }
  }
}

/** Citus hands a text on to the nodes as it came, and they take but one statement at a time. */
export function onePerText(migration: Migration): Migration {
  return { ...migration, statements: migration.statements.flatMap(splitStatements) };
}

async function runInside(connection: Connection, migration: Migration): Promise<void> {
  await inTransaction(connection, async () => {
    for (const statement of migration.statements) await connection.unsafe(statement);
    await record(connection, migration);
  });
}

/** Whoever waits here has others wait behind it, and so does not wait for long. */
async function inTransaction(connection: Connection, work: () => Promise<unknown>): Promise<void> {
  await connection`begin`;
  try {
    await connection`select set_config('lock_timeout', ${String(lockMs)}, true)`;
    await work();
    await connection`commit`;
  } catch (error) {
    await connection`rollback`;
    throw error;
  }
}

/**
 * What is made concurrently keeps nobody waiting, so that it may wait for long readers to end. A kill in the midst of it leaves
 * what was done; the next start does the rest, since each statement can be repeated.
 */
async function runOutside(connection: Connection, migration: Migration): Promise<void> {
  for (const statement of migration.statements) {
    const index = findIndexName(statement);
    if (index === undefined) {
      await inTransaction(connection, () => connection.unsafe(statement));
      continue;
    }
    await dropHalfMade(connection, index);
    await connection.unsafe(statement);
  }
  await record(connection, migration);
}

/** An index that was interrupted is there, costs every write, and helps nobody. */
async function dropHalfMade(connection: Connection, index: string): Promise<void> {
  const [half] = await connection`select from pg_index where indexrelid = to_regclass(${index}) and not indisvalid`;
  if (half) await connection`drop index concurrently if exists ${connection(index)}`;
}

async function record(connection: Sql, { version, name, checksum, breaksBefore }: Migration): Promise<void> {
  await connection`insert into migration (version, name, checksum, breaks_before) values (${version}, ${name}, ${checksum}, ${breaksBefore})`;
}

/** Whether the database answers, has every migration that this code knows, and none that would break it. */
export async function isMigrated(sql: Sql): Promise<boolean> {
  const own = known.map(({ version, checksum }) => `${version} ${checksum}`);
  const [row] = await sql<{ complete: boolean; broken: boolean }[]>`
    select count(*) filter (where version || ' ' || checksum = any(${own}::text[])) = ${own.length} as complete,
      coalesce(bool_or(version > ${newestMigration} and breaks_before > ${newestMigration}), false) as broken
    from migration`;
  return row !== undefined && row.complete && !row.broken;
}

/** Writes, and takes it back: fails when the server only reads or has no room for what is written. */
export async function provesWritable(db: Db): Promise<void> {
  await db.begin(async (tx) => {
    // What does not fit in memory goes to disk, and leaves nothing behind.
    await tx`set local work_mem = '64kB'`;
    await tx`with filler as materialized (select repeat(md5(n::text), 64) as text from generate_series(1, ${fillers}) n) select max(length(text)) from filler`;
    await tx`update migration set applied_at = applied_at where version = ${newestMigration}`;
  });
}
