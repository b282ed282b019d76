// In charge of the process: settings, database, demo, API and worker, and a clean end on SIGTERM or SIGINT.
import type { FastifyBaseLogger } from 'fastify';
import { createSeal, readSecretKey, type Seal } from './access/seal.ts';
import { createTokenKeys } from './access/token-keys.ts';
import { createApp, createPools, workerPool } from './app.ts';
import { ConfigError, readConfig, type Config } from './config.ts';
import type { Db } from './db/connect.ts';
import { openDatabase } from './db/open.ts';
import { prepareDemo, renderDemoLines } from './demo.ts';
import { startHousekeeping } from './housekeeping.ts';
import { parseAllowList } from './http/address-guard.ts';
import { listenForMetrics } from './http/metrics.ts';
import { createOutbound } from './http/outbound.ts';
import { callKind } from './notifications/webhooks.ts';
import { createDelivery } from './notifications/deliver.ts';
import { measureOutbox } from './outbox/measure.ts';
import { startWorker } from './outbox/worker.ts';
import { version } from './version.ts';

async function main(config: Config): Promise<void> {
  const seal = createSeal(readSecretKey(config));
  const ending = endOnSignal();
  // What was opened is closed in the opposite order, however far the start came.
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const database = await openDatabase(config, { max: 4, name: config.role });
    closing.push(database.close);
    const { db } = database;
    // Fails here, with a clear message, when SECRET_KEY is not the one that this database was started with.
    await createTokenKeys(db, seal).signingKey();
    const demo = config.demo ? await prepareDemo(db, seal, config) : undefined;
    const app = createApp({ config, pools: createPools(database.pool), seal });
    closing.push(() => app.close());
    if (database.embedded) app.log.info({ cluster: database.embedded.place.cluster, log: database.embedded.place.log, account: database.embedded.place.account?.name }, 'embedded PostgreSQL');
    if (config.role !== 'worker') await app.listen({ host: config.host, port: config.port });
    if (config.metricsPort !== undefined) {
      const metrics = await listenForMetrics(config.host, config.metricsPort, () => measureOutbox(db));
      closing.push(async () => metrics.close());
    }
    if (config.role !== 'api') closing.push(await startWork(db, database.pool(workerPool), seal, config, app.log));
    if (demo && config.role !== 'worker') console.log(renderDemoLines(config.publicUrl, demo).join('\n'));
    console.log(`schoolbell ready ${config.publicUrl}`);
    await ending;
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function startWork(db: Db, work: Db, seal: Seal, config: Config, log: FastifyBaseLogger): Promise<() => Promise<void>> {
  const outbound = createOutbound(parseAllowList(config.outboundAllow));
  const worker = await startWorker({ db: work, handlers: { [callKind]: createDelivery(work, seal, outbound, version) }, log });
  const housekeeping = startHousekeeping(db, config, log);
  return async () => {
    await housekeeping.stop();
    await worker.stop();
    await outbound.close();
  };
}

/** The first signal ends the process cleanly; a second one at once. */
function endOnSignal(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        signals += 1;
        if (signals > 1) process.exit(1);
        resolve();
      });
    }
  });
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
