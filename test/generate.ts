// In charge of `npm run generate`: writes down what follows from the code, the schema from the migrations and the
// description of the API from the routes. The tests compare both with what is committed.
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createSeal } from '../src/access/seal.ts';
import { createApp, createPools } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { connect, type Db } from '../src/db/connect.ts';
import { migrate } from '../src/db/migrate.ts';
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

/** Every generated file, from its path to its content. */
export function renderGenerated(): Promise<Record<string, string>> {
  return withEmptyDatabase(async (url, db) => {
    await migrate(db);
    return { 'schema.sql': await describeSchema(db), 'openapi/schoolbell.json': await describeOpenApi(url, db) };
  });
}

async function describeOpenApi(url: string, db: Db): Promise<string> {
  const secretKey = randomBytes(32).toString('hex');
  const app = createApp({
    config: readConfig({ DATABASE_URL: url, SECRET_KEY: secretKey, LOG_LEVEL: 'silent' }),
    pools: createPools(() => db),
    seal: createSeal([secretKey]),
  });
  try {
    await app.ready();
    return `${JSON.stringify(sortKeys(app.swagger()), null, 2)}\n`;
  } finally {
    await app.close();
  }
}

/** The order in which routes and schemas happen to be registered says nothing. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, inner]) => [key, sortKeys(inner)]));
}

if (import.meta.main) {
  for (const [file, content] of Object.entries(await renderGenerated())) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), content);
    console.log(`wrote ${file}`);
  }
}
