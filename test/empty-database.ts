// In charge of databases without tables for tests; they go with the tests of the file.
import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { connect, type Db } from '../src/db/connect.ts';
import { openTestCluster } from './cluster.ts';

export async function useEmptyDatabases() {
  const cluster = await openTestCluster();
  const [admin, made] = [connect(cluster.url, { max: 1, name: 'test admin' }), [] as string[]];
  const opened: Db[] = [];
  after(async () => {
    for (const db of opened) await db.end({ timeout: 5 });
    for (const name of made) await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.end({ timeout: 5 });
    await cluster.close();
  });
  return {
    async make(): Promise<string> {
      const name = `empty_${randomBytes(6).toString('hex')}`;
      await admin.unsafe(`create database ${name} template template0`);
      made.push(name);
      return cluster.url.replace(/\/[^/]*$/, `/${name}`);
    },
    open(url: string): Db {
      const db = connect(url, { max: 10, name: 'test look' });
      opened.push(db);
      return db;
    },
    /** Without staying connected. */
    async look<T>(url: string, work: (db: Db) => Promise<T>): Promise<T> {
      const db = connect(url, { max: 1, name: 'test look' });
      return work(db).finally(() => db.end({ timeout: 5 }));
    },
  };
}

export async function countTables(db: Db): Promise<number> {
  const [row] = await db<{ count: number }[]>`select count(*)::int as count from pg_tables where schemaname = current_schema()`;
  return row?.count ?? 0;
}
