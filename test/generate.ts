// In charge of `npm run generate`: writes down what follows from the code, the schema from the migrations and the
// descriptions of the API from the routes. The tests compare all with what is committed.
import type { FastifyInstance } from 'fastify';
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createSeal } from '../src/access/seal.ts';
import { createApp, createPools } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { connect, type Db } from '../src/db/connect.ts';
import { migrate } from '../src/db/migrate.ts';
import { pathOf, surfaces } from '../src/reference/surfaces.ts';
import { openTestCluster } from './cluster.ts';
import { describeSchema } from './describe-schema.ts';

export const root = join(import.meta.dirname, '..');

/** A database with nothing in it, for as long as the work takes. */
export async function withEmptyDatabase<T>(work: (url: string, db: Db) => Promise<T>): Promise<T> {
  const cluster = await openTestCluster();
  const admin = connect(cluster.url, { max: 1, name: 'test admin' });
  const name = `test_${randomBytes(6).toString('hex')}`;
  try {
    await admin.unsafe(`create database ${name} template template0`);
    const url = cluster.url.replace(/\/[^/]*$/, `/${name}`);
    const db = connect(url, { max: 4, name: 'test' });
    try {
      return await work(url, db);
    } finally {
      await db.end({ timeout: 5 });
      await admin.unsafe(`drop database ${name} with (force)`);
    }
  } finally {
    await admin.end({ timeout: 5 });
    await cluster.close();
  }
}

/** Where the committed documents say that the service is: a name that is reserved for examples. */
export const describedUrl = 'https://schoolbell.example';

/** Every generated file, from its path to its content. */
export function renderGenerated(): Promise<Record<string, string>> {
  return withEmptyDatabase(async (url, db) => {
    await migrate(db);
    const documents = await withApp(url, db, async (app) => {
      const texts = surfaces.map(async ({ name }) => [pathOf(name).slice(1), (await app.inject(pathOf(name))).body] as const);
      return Object.fromEntries(await Promise.all(texts));
    });
    return { 'schema.sql': await describeSchema(db), ...documents };
  });
}

/** An app that listens nowhere; `before` sees it while nothing is registered yet. */
export async function withApp<T>(url: string, db: Db, work: (app: FastifyInstance) => Promise<T>, before?: (app: FastifyInstance) => void): Promise<T> {
  const secretKey = randomBytes(32).toString('hex');
  const app = createApp({
    config: readConfig({ DATABASE_URL: url, SECRET_KEY: secretKey, LOG_LEVEL: 'silent', PUBLIC_URL: describedUrl }),
    pools: createPools(() => db),
    seal: createSeal([secretKey]),
  });
  before?.(app);
  try {
    await app.ready();
    return await work(app);
  } finally {
    await app.close();
  }
}

async function writeGenerated(): Promise<void> {
  for (const [file, content] of Object.entries(await renderGenerated())) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), content);
    console.log(`wrote ${file}`);
  }
}

// Not awaited: a module that awaits is waited for by all that import it, and tests of one file would then register with another's.
if (import.meta.main) void writeGenerated();
