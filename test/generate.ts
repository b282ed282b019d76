// In charge of `npm run generate`: writes down what follows from the code, the schema from the migrations, the
// descriptions of the API from the routes, the client's types and what is kept from the tables. The tests compare all with what is committed.
// Examples in them are asked for once and kept; `npm run generate -- --examples` asks for all anew.
import type { FastifyInstance } from 'fastify';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createSeal, type Seal } from '../src/access/seal.ts';
import { createApp, createPools } from '../src/app.ts';
import { readConfig, type Config } from '../src/config.ts';
import { connect, type Db } from '../src/db/connect.ts';
import { migrate } from '../src/db/migrate.ts';
import { prepareDemo } from '../src/demo.ts';
import { renderRetention } from '../src/describe-retention.ts';
import { exampleUrl, examplesFile } from '../src/reference/examples.ts';
import { pathOf, surfaces } from '../src/reference/surfaces.ts';
import { renderRecordTypes, renderRowTypes } from './client-types.ts';
import { openTestCluster } from './cluster.ts';
import { collectExamples, listMissing, readKept } from './collect-examples.ts';
import { describeSchema } from './describe-schema.ts';
import { readDocuments } from './described.ts';

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

const keptPage = 'docs/what-is-kept.md';

/** The page as it is, with the table of the code. */
function renderKept(): string {
  return readFileSync(join(root, keptPage), 'utf8').replace(/^\| What \|.*\n(?:\|.*\n)*/m, () => `${renderRetention()}\n`);
}

/** Every generated file, from its path to its content. */
export function renderGenerated(): Promise<Record<string, string>> {
  return withEmptyDatabase(async (url, db) => {
    await migrate(db);
    const documents = await withApp(url, db, async ({ app }) => {
      const texts = surfaces.map(async ({ name }) => [pathOf(name).slice(1), (await app.inject(pathOf(name))).body] as const);
      return Object.fromEntries(await Promise.all(texts));
    });
    return {
      'schema.sql': await describeSchema(db),
      ...documents,
      'client/src/records.ts': renderRecordTypes(),
      'client/src/rows.ts': renderRowTypes(),
      [keptPage]: renderKept(),
    };
  });
}

type Parts = { app: FastifyInstance; config: Config; seal: Seal };

/** An app that listens nowhere; `before` sees it while nothing is registered yet. */
export async function withApp<T>(url: string, db: Db, work: (parts: Parts) => Promise<T>, before?: (app: FastifyInstance) => void): Promise<T> {
  const secretKey = randomBytes(32).toString('hex');
  const dataDir = mkdtempSync(join(tmpdir(), 'schoolbell-generate-'));
  // The descriptions have the sandbox, which is there with a demo alone.
  const config = readConfig({ DEMO: 'on', DATABASE_URL: url, SECRET_KEY: secretKey, LOG_LEVEL: 'silent', PUBLIC_URL: exampleUrl, DATA_DIR: dataDir });
  const seal = createSeal([secretKey]);
  const app = createApp({ config, pools: createPools(() => db), seal });
  before?.(app);
  try {
    await app.ready();
    return await work({ app, config, seal });
  } finally {
    await app.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Examples that are missing or no longer fit are asked for anew, with `all` every one. */
function renderExamples(all: boolean): Promise<Record<string, string>> {
  return withEmptyDatabase(async (url, db) => {
    await migrate(db);
    return withApp(url, db, async ({ app, config, seal }) => {
      const documents = await readDocuments(app);
      const known = readKept();
      if (!all && listMissing(documents, known).length === 0) return {};
      const collected = await collectExamples(documents, known, { app, db, demo: await prepareDemo(db, seal, config), all });
      return Object.fromEntries(surfaces.map(({ name }) => [examplesFile(name), `${JSON.stringify(collected[name], null, 2)}\n`]));
    });
  });
}

async function writeGenerated(): Promise<void> {
  write(Object.fromEntries(surfaces.map(({ name }) => examplesFile(name)).filter((file) => !existsSync(join(root, file))).map((file) => [file, '{}\n'])));
  write(await renderExamples(process.argv.includes('--examples')));
  write(await renderGenerated());
}

function write(files: Readonly<Record<string, string>>): void {
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), content);
    console.log(`wrote ${file}`);
  }
}

// Not awaited: a module that awaits is waited for by all that import it, and tests of one file would then register with another's.
if (import.meta.main) void writeGenerated();
