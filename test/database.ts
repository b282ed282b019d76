// In charge of a database for each test file: cloned from a migrated template, dropped at the end. With TEST_CITUS_URL it lies on several nodes.
import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import { connect, type Db } from '../src/db/connect.ts';
import { roleNames } from '../src/db/embedded-roles.ts';
import { migrate } from '../src/db/migrate.ts';
import { openTestCluster, type RoleUrls } from './cluster.ts';
import { citusUrl, forgetSpreadTemplates, useSpreadDatabase } from './spread-database.ts';

const template = 'schoolbell_template';
const halfTemplate = `${template}_half`;
const templateLock = 5_219_900;

/** `db` and `url` are the superuser's, for tests that change tables. The service works at `servingUrl`, or at `url` if that is missing. */
export type TestDatabase = { db: Db; url: string; servingUrl?: string };

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
    if (!known) await makeTemplate(admin, cluster.urlsOf(halfTemplate));
    await admin.unsafe(`create database ${name} template ${template} strategy file_copy owner ${roleNames.owner}`);
  } finally {
    await admin`select pg_advisory_unlock(${templateLock})`;
  }
  const { superuser: url, serving: servingUrl } = cluster.urlsOf(name);
  const db = connect(url, { max: 10, name: 'test' });
  after(async () => {
    await db.end({ timeout: 5 });
    await admin.unsafe(`drop database ${name} with (force)`);
    await admin.end({ timeout: 5 });
    await cluster.close();
  });
  return { db, url, servingUrl };
}

/** Migrates as the owner. The serving role may also use tables that tests make as the superuser. */
async function makeTemplate(admin: Db, urls: RoleUrls): Promise<void> {
  await admin.unsafe(`drop database if exists ${halfTemplate}`);
  await admin.unsafe(`create database ${halfTemplate} owner ${roleNames.owner}`);
  const owner = connect(urls.owner, { max: 1, name: 'test template' });
  await migrate(owner);
  await owner.end({ timeout: 5 });
  const superuser = connect(urls.superuser, { max: 1, name: 'test template' });
  await superuser.unsafe(`alter default privileges grant all on tables to ${roleNames.serving}`);
  await superuser.end({ timeout: 5 });
  await admin.unsafe(`alter database ${halfTemplate} rename to ${template}`);
}

/** The template of an earlier run may have an older schema. */
export async function forgetTemplate(): Promise<void> {
  if (citusUrl !== undefined) await forgetSpreadTemplates(citusUrl);
  const cluster = await openTestCluster();
  const admin = connect(cluster.url, { max: 1, name: 'test admin' });
  await admin`select pg_advisory_lock(${templateLock})`;
  await admin.unsafe(`drop database if exists ${template} with (force)`);
  await cheapenPasswords(admin, cluster.urlsOf('postgres'));
  await admin.end({ timeout: 5 });
  await cluster.close();
}

/** Makes logging in cheaper: thousands of connections derived their password in 4,096 rounds, a third of the time that they took. */
async function cheapenPasswords(admin: Db, urls: RoleUrls): Promise<void> {
  await admin`set scram_iterations = 1`;
  for (const url of [urls.superuser, urls.serving]) {
    const { username, password } = new URL(url);
    await admin.unsafe(`alter role ${username} password '${decodeURIComponent(password)}'`);
  }
}
