// In charge of opening the database that the settings name, embedded or external, ready for use: usable and migrated.
import type { Config } from '../config.ts';
import { connect, requireUsableServer, type Db } from './connect.ts';
import { openEmbedded, type EmbeddedDatabase } from './embedded.ts';
import { migrate } from './migrate.ts';

export type OpenDatabase = {
  db: Db;
  /** Another pool on the same database. */
  pool(options: { max: number; name: string }): Db;
  embedded: EmbeddedDatabase | undefined;
  close(): Promise<void>;
};

export async function openDatabase(config: Config, options: { max: number; name: string }): Promise<OpenDatabase> {
  const embedded = config.databaseUrl ? undefined : await openEmbedded(config.dataDir);
  const url = config.databaseUrl ?? embedded?.url ?? '';
  const pools: Db[] = [];
  const pool = (more: { max: number; name: string }) => {
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
