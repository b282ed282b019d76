// In charge of a database for each test file: cloned from a migrated template, dropped at the end. With TEST_CITUS_URL it lies on several nodes.
import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { connect, type Db } from '../src/db/connect.ts';
import { migrate } from '../src/db/migrate.ts';
import { openTestCluster } from './cluster.ts';
import { citusUrl, forgetSpreadTemplates, useSpreadDatabase } from './spread-database.ts';

const template = 'schoolbell_template';
const templateLock = 5_219_900;

export type TestDatabase = { db: Db; url: string };

/** A fresh, migrated database; it goes when the tests of the file have run. */
export const useDatabase = (): Promise<TestDatabase> => (citusUrl === undefined ? usePlainDatabase() : useSpreadDatabase(citusUrl));

/** On one node, also where the others lie on several: for what is not to be had there, such as backups beside other work. */
export async function usePlainDatabase(): Promise<TestDatabase> {
  const cluster = await openTestCluster();
  const admin = connect(cluster.url, { max: 1, name: 'test admin' });
  const name = `test_${randomBytes(6).toString('hex')}`;
  await admin`select pg_advisory_lock(${templateLock})`;
  try {
    const [known] = await admin`select from pg_database where datname = ${template}`;
    if (!known) await makeTemplate(admin, cluster.url);
    await admin.unsafe(`create database ${name} template ${template} strategy file_copy`);
  } finally {
    await admin`select pg_advisory_unlock(${templateLock})`;
  }
  const url = cluster.url.replace(/\/[^/]*$/, `/${name}`);
  const db = connect(url, { max: 10, name: 'test' });
  after(async () => {
    await db.end({ timeout: 5 });
    await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end({ timeout: 5 });
    await cluster.close();
  });
  return { db, url };
}

async function makeTemplate(admin: Db, url: string): Promise<void> {
  const half = `${template}_half`;
  await admin.unsafe(`drop database if exists ${half}`);
  await admin.unsafe(`create database ${half}`);
  const db = connect(url.replace(/\/[^/]*$/, `/${half}`), { max: 1, name: 'test template' });
  await migrate(db);
  await db.end({ timeout: 5 });
  await admin.unsafe(`alter database ${half} rename to ${template}`);
}

/** The template of an earlier run may have an older schema. */
export async function forgetTemplate(): Promise<void> {
  if (citusUrl !== undefined) await forgetSpreadTemplates(citusUrl);
  const cluster = await openTestCluster();
  const admin = connect(cluster.url, { max: 1, name: 'test admin' });
  await admin`select pg_advisory_lock(${templateLock})`;
  await admin.unsafe(`drop database if exists ${template} with (force)`);
  await cheapenPassword(admin, cluster.url);
  await admin.end({ timeout: 5 });
  await cluster.close();
}

/** Thousands of connections are made; each derived its password in 4,096 rounds, a third of what it took. */
async function cheapenPassword(admin: Db, url: string): Promise<void> {
  await admin`set scram_iterations = 1`;
  await admin.unsafe(`alter role schoolbell password '${decodeURIComponent(new URL(url).password)}'`);
}
