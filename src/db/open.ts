// In charge of opening the database that the settings name, embedded or external, ready for use: usable and migrated.
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { connect, requireUsableServer, type Db, type PoolOptions } from './connect.ts';
import { openEmbedded, type EmbeddedDatabase } from './embedded.ts';
import { migrate } from './migrate.ts';

export type OpenDatabase = {
  db: Db;
  /** Another pool on the same database. */
  pool(options: PoolOptions): Db;
  embedded: EmbeddedDatabase | undefined;
  close(): Promise<void>;
};

export async function openDatabase(config: Config, options: PoolOptions): Promise<OpenDatabase> {
  const embedded = config.databaseUrl ? undefined : await openEmbedded(config.dataDir);
  const url = config.databaseUrl ?? embedded?.url ?? '';
  const pools: Db[] = [];
  const pool = (more: PoolOptions) => {
    const made = connect(url, more);
    pools.push(made);
    return made;
  };
  const close = async () => {
    await Promise.all(pools.map((one) => one.end({ timeout: 5 })));
    await embedded?.close();
  };
  try {
    const db = pool(options);
    await (embedded ? untilBack(() => requireUsableServer(db)) : requireUsableServer(db));
    await migrate(db);
    return { db, pool, embedded, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
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
      if ((error as { code?: string }).code === undefined || Date.now() > deadline) throw error;
      await pause(200);
    }
  }
}
