// In charge of opening the database that the settings name, embedded or external, ready for use: usable and migrated. A
// start makes what is not there; whoever only uses a database is told which one was looked for, and nothing is made.
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { placeOfDataDir, prepareDataDir, requireUsableDataDir } from '../data-dir.ts';
import { explainFileFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';
import { requireUsableServer } from './check-server.ts';
import { connect, Servers, type Db } from './connect.ts';
import { openEmbedded, type EmbeddedDatabase } from './embedded.ts';
import { findCluster } from './embedded-place.ts';
import { migrate, type MigrateOptions } from './migrate.ts';
import { policies, type PoolPolicy } from './policies.ts';
import { OneReplica, originOf, Replicas } from './servers.ts';
import { isUnavailable } from './unavailable.ts';

export type OpenPool = (policy: PoolPolicy) => Db;
/** spread: over all replicas. one: for several statements that belong together. */
export type OpenReplica = Readonly<Record<'spread' | 'one', OpenPool>>;

export type OpenDatabase = {
  /** Opens a pool for the service's own role; it is closed with the database. */
  pool: OpenPool;
  /** The same for the role that owns the tables. With DATABASE_URL there is one role for both. */
  owner: OpenPool;
  /** A pool on its replicas, if it has any; closed with it, too. */
  replica: OpenReplica | undefined;
  /** All that were opened so far. */
  pools: readonly Db[];
  embedded: EmbeddedDatabase | undefined;
  close(): Promise<void>;
};

/** How long the end waits for statements under way. */
const longestEndSeconds = 3;

/** existing: one that a start has made. asIs: whichever version it is of, and so it stays. before: comes before another version migrates. */
type OpenOptions = Pick<MigrateOptions, 'before'> & { existing?: boolean; asIs?: boolean };

/** tell: hears, in words, what it has to wait for. */
export async function openDatabase(config: Config, tell: (words: string) => void = () => {}, options: OpenOptions = {}): Promise<OpenDatabase> {
  const { existing = false } = options;
  if (!config.databaseUrls) requireUsableDataDir(config.dataDir);
  if (existing && !config.databaseUrls && !findCluster(config.dataDir)) throw notThere(config, 'there is no database');
  const embedded = config.databaseUrls ? undefined : await openInDataDir(config);
  const external = () => config.databaseUrls ?? [];
  const servers = new Servers(embedded?.whereAs('serving') ?? external);
  const ownerServers = embedded ? new Servers(embedded.whereAs('owner')) : servers;
  const pools: Db[] = [];
  const openOn = (where: Servers): OpenPool => (policy) => {
    const made = connect(where, policy);
    pools.push(made);
    return made;
  };
  const close = async () => {
    await Promise.all(pools.map((one) => one.end({ timeout: longestEndSeconds })));
    await embedded?.close();
  };
  try {
    const setup = connect(ownerServers, policies.setup);
    const origin = await prepare(setup, config, tell, options).finally(() => setup.end({ timeout: 1 }));
    return { pool: openOn(servers), owner: openOn(ownerServers), replica: openReplicas(config.databaseReadUrls, origin, openOn), pools, embedded, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

function openReplicas(urls: readonly string[] | undefined, origin: string | undefined, openOn: (where: Servers) => OpenPool): OpenReplica | undefined {
  if (!urls || origin === undefined) return undefined;
  return { spread: openOn(new Replicas(() => urls, origin)), one: openOn(new OneReplica(() => urls, origin)) };
}

async function openInDataDir({ dataDir }: Config, overrides: Record<string, string> = {}): Promise<EmbeddedDatabase> {
  return openEmbedded(dataDir, overrides).catch((error: unknown) => {
    throw explainFileFault(error, placeOfDataDir(dataDir));
  });
}

/** Opens a database without tables for `restore`, as the role that will own them. Creates the embedded one if it does not exist. */
export async function openBare(config: Config, overrides: Record<string, string> = {}): Promise<{ db: Db; close(): Promise<void> }> {
  if (!config.databaseUrls) prepareDataDir(config.dataDir);
  const embedded = config.databaseUrls ? undefined : await openInDataDir(config, overrides);
  const db = connect(embedded?.whereAs('owner') ?? (() => config.databaseUrls ?? []), policies.backups);
  const close = async () => {
    await db.end({ timeout: longestEndSeconds });
    await embedded?.close();
  };
  try {
    await (embedded ? untilBack(() => requireUsableServer(db)) : requireUsableServer(db).catch((error: unknown) => explain(error, config)));
    return { db, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Gives what tells this database from others. */
async function prepare(db: Db, config: Config, tell: (words: string) => void, { existing, asIs, before }: OpenOptions): Promise<string | undefined> {
  const usable = () => requireUsableServer(db);
  await (config.databaseUrls ? usable().catch((error: unknown) => explain(error, existing ? config : undefined)) : untilBack(usable));
  if (existing && !(await hasSchema(db))) throw notThere(config, 'no start of Schoolbell has made anything');
  if (asIs) return undefined;
  await migrate(db, { tell, ...(before ? { before } : {}) });
  const [row] = await db.unsafe<{ origin: string }[]>(`select ${originOf} as origin`);
  return row?.origin;
}

async function hasSchema(db: Db): Promise<boolean> {
  const [row] = await db<{ made: boolean }[]>`select to_regclass('migration') is not null as made`;
  return row?.made === true;
}

function notThere(config: Config, what: string): SchoolbellError {
  const advice = 'Only a start makes a database: npx schoolbell start, or name the one that the service has by DATA_DIR or DATABASE_URL';
  return new SchoolbellError('not_found', `${what} in ${describePlace(config)}. ${advice}`);
}

function explain(error: unknown, existing: Config | undefined): never {
  if (!existing) throw error;
  throw new SchoolbellError('unavailable', `cannot use the database of ${describePlace(existing)}: ${(error as Error).message}`, { cause: error });
}

/** As the operator gave it, without the password. */
export function describePlace({ databaseUrls, dataDir }: Pick<Config, 'databaseUrls' | 'dataDir'>): string {
  if (!databaseUrls) return placeOfDataDir(dataDir);
  const shown = databaseUrls.map((text) => {
    const url = new URL(text);
    url.password = '';
    url.searchParams.delete('password');
    return url.href;
  });
  return `DATABASE_URL ${shown.join(' or ')}`;
}

const longestAbsenceMs = 15_000;

/** The last to leave may have stopped the embedded server just as it was joined; it is brought back at once. */
async function untilBack(ask: () => Promise<void>): Promise<void> {
  const deadline = Date.now() + longestAbsenceMs;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > deadline) throw error;
      await pause(200);
    }
  }
}
