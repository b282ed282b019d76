// In charge of opening the database that the settings name, embedded or external, ready for use: usable and migrated.
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
    await requireUsableServer(db);
    await migrate(db);
    return { db, pool, embedded, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}
