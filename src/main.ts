// In charge of the process: settings, database, demo, API and worker, and a clean end on SIGTERM or SIGINT.
import { setTimeout as pause } from 'node:timers/promises';
import { createHashPool } from './access/hash-pool.ts';
import { createSeal, readOrMakeSecretKeys } from './access/seal.ts';
import { createTokenKeys } from './access/token-keys.ts';
import { createApp, createHealthApp, createPools, createReplicaPools, type Pools, type ReplicaPools } from './app.ts';
import { createBackupBeforeUpgrade } from './backup/before-upgrade.ts';
import { backupCore } from './backup/core.ts';
import { sweepSpool } from './collection/spool.ts';
import { ConfigError, readConfig, type Config } from './config.ts';
import { prepareDataDir } from './data-dir.ts';
import { findConnectionShortage } from './db/check-server.ts';
import type { Db } from './db/connect.ts';
import { findReadableCluster } from './db/embedded-version.ts';
import { openDatabase, type OpenPool, type OpenReplica } from './db/open.ts';
import { connectionsOf, policies } from './db/policies.ts';
import { NotTheServer } from './db/servers.ts';
import { forgetThisProcess, noteProcess, noteProcessEveryMs } from './db/service-versions.ts';
import { prepareDemo, renderDemoLines, type DemoCredentials } from './demo.ts';
import { endOnSignal } from './end-on-signal.ts';
import { giveBackWhenQuiet } from './give-back.ts';
import { createLeaving } from './http/leaving.ts';
import { createLogStream } from './http/log-lines.ts';
import { startLagMeter } from './http/measure-process.ts';
import { listenForMetrics } from './http/metrics.ts';
import { createRequestMeter } from './http/request-meter.ts';
import { createMeasure } from './measure.ts';
import { findAdminPassword, keepAdmin, type AdminPassword } from './operators/admin.ts';
import { createDemoEntryToken, renderDemoEntryLine } from './operators/demo-entry.ts';
import { createWorkPools, startWork } from './work.ts';

const longestFarewellMs = 1_000;
const countConnectionsEveryMs = 10 * 60_000;

async function main(config: Config): Promise<void> {
  const tell = (words: string) => console.error(`schoolbell: ${words}`);
  const hasDataDir = prepareFolder(config, tell);
  const seal = createSeal(readOrMakeSecretKeys(config));
  const { signal, ended } = endOnSignal();
  // What was opened is closed in the opposite order, however far the start came.
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const before = createBackupBeforeUpgrade({ config, seal: () => seal, core: backupCore, tell, signal });
    const database = await openDatabase(config, tell, { before });
    closing.push(database.close);
    if (hasDataDir) await sweepSpool(config.dataDir);
    const db = database.pool(policies.chores);
    // Fails here, with a clear message, when no key of SECRET_KEY opens what is stored in this database.
    await createTokenKeys(db, seal).signingKey();
    await noteProcess(db, config.role);
    const noting = setInterval(() => void noteProcess(db, config.role).catch(() => {}), noteProcessEveryMs).unref();
    closing.push(async () => {
      clearInterval(noting);
      // Where the database does not answer, it is found out soon enough.
      await Promise.race([forgetThisProcess(db).catch(() => {}), pause(longestFarewellMs, undefined, { ref: false })]);
    });
    const demo = config.demo ? await loadDemo(database.pool(policies.commands)) : undefined;
    const admin = config.role === 'worker' ? undefined : await prepareAdmin(config, db);
    const demoEntry = config.role === 'worker' ? undefined : createDemoEntryToken(config);
    const leaving = createLeaving();
    const watched = { logTo: createLogStream(process.stdout), meter: createRequestMeter(), leaving };
    const pools = config.role === 'worker' ? undefined : { pools: await openPools(database.pool), replicas: await openReplicas(database.replica, tell) };
    const app = pools ? createApp({ config, ...pools, seal, demo, demoEntry, ...watched }) : createHealthApp(config, database.pool(policies.probes), watched);
    const closingApp: (() => Promise<unknown>)[] = [() => app.close()];
    closing.push(() => Promise.all(closingApp.map((close) => close().catch(complain))));
    const embedded = database.embedded?.place;
    if (embedded) app.log.info({ cluster: embedded.cluster, log: embedded.log, account: embedded.account?.name }, 'embedded PostgreSQL');
    await app.listen({ host: config.host, port: config.port }).catch((error: NodeJS.ErrnoException) => explainListen(error, config));
    if (config.metricsPort !== undefined) {
      const lag = startLagMeter();
      const measure = createMeasure({ db, pools: database.pools, requests: watched.meter, lag, config });
      const metrics = await listenForMetrics(config.host, config.metricsPort, measure);
      closing.push(async () => {
        lag.stop();
        metrics.close();
      });
    }
    const stopWork = config.role === 'api' ? undefined : await startWork({ pools: createWorkPools(database.pool), seal, config, log: app.log });
    if (stopWork) closingApp.push(stopWork);
    const stopGivingBack = giveBackWhenQuiet();
    closing.push(async () => stopGivingBack());
    const counting = setInterval(() => void warnOfShortage(), countConnectionsEveryMs).unref();
    closing.push(async () => clearInterval(counting));
    await warnOfShortage();
    if (demo && config.role !== 'worker') console.log(renderDemoLines(config.publicUrl, demo).join('\n'));
    if (demoEntry !== undefined) console.log(renderDemoEntryLine(config, demoEntry));
    if (admin?.file !== undefined) console.log(renderAdminLine(config, admin));
    console.log(`schoolbell ready ${config.publicUrl}`);
    const word = await ended;
    // Nothing more is begun, while those who call are still answered. Who sits at a terminal sends no requests elsewhere.
    const stopped = stopWork?.().catch(() => {});
    if (word === 'SIGTERM') await Promise.all([leaving.drain(), config.role === 'worker' ? stopped : undefined]);

    async function loadDemo(patient: Db): Promise<DemoCredentials> {
      return prepareDemo(patient, seal, config).finally(() => patient.end());
    }

    async function warnOfShortage(): Promise<void> {
      const shortage = await findConnectionShortage(db, connectionsOf(config.role)).catch(() => undefined);
      if (shortage !== undefined) app.log.warn(shortage);
    }
  } finally {
    // One that cannot be closed must not keep the others open, PostgreSQL least of all.
    for (const close of closing.toReversed()) await close().catch(complain);
  }
}

const complain = (error: unknown) => console.error(`schoolbell: ${(error as Error).message}`);

function explainListen(error: NodeJS.ErrnoException, { host, port }: Config): never {
  if (error.code !== 'EADDRINUSE') throw error;
  throw new Error(`${host}:${port} is taken by another process: is the service running already? PORT chooses another`, { cause: error });
}

/** Returns whether DATA_DIR can be used. With DATABASE_URL the database is elsewhere, and a fault of DATA_DIR is a warning. */
function prepareFolder({ databaseUrls, dataDir }: Config, tell: (words: string) => void): boolean {
  try {
    prepareDataDir(dataDir);
  } catch (error) {
    if (!databaseUrls) throw error;
    tell(`warning: ${(error as Error).message}. Until then this process imports nothing, writes no files with marks, and reads lists from the database`);
    return false;
  }
  // Throws before the start creates files in a folder whose database it cannot read.
  if (!databaseUrls) findReadableCluster(dataDir);
  return true;
}

/** With a connection each, so that the first requests need not wait for one. */
async function openPools(open: OpenPool): Promise<Pools> {
  const pools = createPools(open);
  await Promise.all(Object.values(pools).map((pool) => pool`select 1`));
  return pools;
}

/** The service goes on without them, but not with those of another database. */
async function openReplicas(open: OpenReplica | undefined, tell: (words: string) => void): Promise<ReplicaPools | undefined> {
  if (!open) return undefined;
  const pools = createReplicaPools(open);
  await pools.reads`select 1`.catch((error: unknown) => {
    if (!(error instanceof Error) || error.cause instanceof NotTheServer) throw error;
    tell(`DATABASE_READ_URL: ${error.message}. Everything is read from the primary until a replica answers`);
  });
  return pools;
}

/** Who may come to the console first. */
async function prepareAdmin(config: Config, db: Db): Promise<AdminPassword | undefined> {
  const admin = findAdminPassword(config);
  if (!admin) return undefined;
  const hashing = createHashPool({ threads: 1 });
  await keepAdmin(db, hashing.known, admin).finally(() => hashing.close());
  return admin;
}

/** Shown by the start that made it, and never again. */
function renderAdminLine({ publicUrl }: Config, { password, file, made }: AdminPassword): string {
  return `The console: ${publicUrl}/console, name admin, ${made ? `password ${password} (shown this once; kept in ${file})` : `password in ${file}`}\n`;
}

try {
  await main(readConfig());
} catch (error) {
  const lines = error instanceof ConfigError ? error.problems : [(error as Error).message];
  for (const line of lines) console.error(`schoolbell: ${line}`);
  process.exitCode = 1;
}
// Everything is closed; a connection that the driver is still trying to open must not keep the process.
process.exit();
