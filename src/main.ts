// In charge of the process: settings, database, demo, API and worker, and a clean end on SIGTERM or SIGINT.
import { createSeal, readSecretKey } from './access/seal.ts';
import { createTokenKeys } from './access/token-keys.ts';
import { createApp, createPools } from './app.ts';
import { ConfigError, readConfig, type Config } from './config.ts';
import { openDatabase } from './db/open.ts';
import { prepareDemo, renderDemoLines } from './demo.ts';
import { listenForMetrics } from './http/metrics.ts';
import { measureOutbox } from './outbox/measure.ts';
import { createWorkPools, startWork } from './work.ts';

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
    if (config.role !== 'api') closing.push(await startWork({ pools: createWorkPools(database.pool, db), seal, config, log: app.log }));
    if (demo && config.role !== 'worker') console.log(renderDemoLines(config.publicUrl, demo).join('\n'));
    console.log(`schoolbell ready ${config.publicUrl}`);
    await ending;
  } finally {
    for (const close of closing.toReversed()) await close();
  }
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
