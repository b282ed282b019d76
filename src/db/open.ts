// In charge of opening the database that the settings name, embedded or external, ready for use: usable and migrated.
import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { requireUsableServer } from './check-server.ts';
import { connect, type Db, type Where } from './connect.ts';
import { openEmbedded, type EmbeddedDatabase } from './embedded.ts';
import { migrate } from './migrate.ts';
import { policies, type PoolPolicy } from './policies.ts';
import { isUnavailable } from './unavailable.ts';

export type OpenPool = (policy: PoolPolicy) => Db;

export type OpenDatabase = {
  /** A pool on this database; it is closed with it. */
  pool: OpenPool;
  /** All that were opened so far. */
  pools: readonly Db[];
  embedded: EmbeddedDatabase | undefined;
  close(): Promise<void>;
};

/** How long the end waits for statements under way. */
const longestEndSeconds = 3;

/** tell: hears, in words, what it has to wait for. */
export async function openDatabase(config: Config, tell: (words: string) => void = () => {}): Promise<OpenDatabase> {
  const embedded = config.databaseUrls ? undefined : await openEmbedded(config.dataDir);
  const where: Where = embedded?.where ?? (() => config.databaseUrls ?? []);
  const pools: Db[] = [];
  const pool = (policy: PoolPolicy) => {
    const made = connect(where, policy);
    pools.push(made);
    return made;
  };
  const close = async () => {
    await Promise.all(pools.map((one) => one.end({ timeout: longestEndSeconds })));
    await embedded?.close();
  };
  try {
    await prepare(connect(where, policies.setup), embedded !== undefined, tell);
    return { pool, pools, embedded, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

async function prepare(db: Db, embedded: boolean, tell: (words: string) => void): Promise<void> {
  try {
    await (embedded ? untilBack(() => requireUsableServer(db)) : requireUsableServer(db));
    await migrate(db, { tell });
  } finally {
    await db.end({ timeout: 1 });
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
      if (!isUnavailable(error) || Date.now() > deadline) throw error;
      await pause(200);
    }
  }
}
