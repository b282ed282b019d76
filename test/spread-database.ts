// In charge of databases for tests that lie on the nodes of a real Citus cluster, where TEST_CITUS_URL names its coordinator: a template is
// migrated and distributed once, and cloned on every node for each test file.
import { createHash, randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { connect, type Db } from '../src/db/connect.ts';
import { planDistribution, runDistribution } from '../src/db/distribute.ts';
import { listNodes } from '../src/db/distribution.ts';
import { migrate } from '../src/db/migrate.ts';

export const citusUrl = process.env.TEST_CITUS_URL;

const root = join(import.meta.dirname, '..');
const lock = 5_219_901;
/** With the name of a database: held by its process, and with that gone. */
const inUse = 5_219;
/** More than one for each node, and no more than that: each table is as many, on each of a few hundred databases. */
const shards = 4;

/** The coordinator first. */
export type TestNode = { url: string; host: string; port: number; admin: Db };

/** A template of another schema, or of other placements, has another name. */
const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8);
const prefix = `spread_${digest(root)}`;
/** Of no other checkout. */
const clonePrefix = `test_${digest(root)}`;
const template = () => `${prefix}_${digest(globSync(['migrations/*.sql', 'src/db/*.ts'], { cwd: root }).toSorted().map(readSource).join('\n'))}`;
const readSource = (file: string) => readFileSync(join(root, file), 'utf8');

export async function openNodes(url: string): Promise<{ nodes: TestNode[]; coordinator: TestNode; close(): Promise<void> }> {
  const admin = connect(url, { max: 1, name: 'test admin' });
  const nodes = (await listNodes(admin)).map(({ name: host, port, group }) => {
    const there = new URL(url);
    if (group !== 0) [there.hostname, there.port] = [host, String(port)];
    return { url: there.href, host, port, admin: group === 0 ? admin : connect(there.href, { max: 1, name: 'test admin' }) };
  });
  const [coordinator] = nodes;
  if (!coordinator || nodes.length < 2)
    throw new Error(`TEST_CITUS_URL: Citus knows no other nodes there; add them with citus_set_coordinator_host and citus_add_node`);
  const close = async () => {
    for (const node of nodes) await node.admin.end({ timeout: 5 });
  };
  return { nodes, coordinator, close };
}

export const urlOf = (node: TestNode | undefined, name: string) => (node?.url ?? '').replace(/\/[^/]*$/, `/${name}`);

/** Of the coordinator last, by which it is known to be there. */
const onEach = async (nodes: readonly TestNode[], work: (node: TestNode) => Promise<unknown>) => {
  for (const node of nodes.toReversed()) await work(node);
};
/** On a busy machine those who are connected may take longer to end than the server waits for it. */
const dropTries = 4;
export const dropOnEach = (nodes: readonly TestNode[], name: string) =>
  onEach(nodes, async ({ admin }) => {
    for (let left = dropTries - 1; ; left -= 1) {
      try {
        return await admin.unsafe(`drop database if exists ${name} with (force)`);
      } catch (error) {
        if (left === 0) throw error;
      }
    }
  });

/** With Citus and its nodes, and nothing else. */
export async function makeOnEach(nodes: readonly TestNode[], name: string): Promise<void> {
  await onEach(nodes, async (node) => {
    await node.admin.unsafe(`create database ${name} template template0`);
    await within(node, name, (db) => db`create extension citus`);
  });
  const [coordinator, ...workers] = nodes;
  await within(coordinator, name, async (db) => {
    await db`select citus_set_coordinator_host(${coordinator?.host ?? ''}, ${coordinator?.port ?? 0}::int)`;
    for (const { host, port } of workers) await db`select citus_add_node(${host}, ${port}::int)`;
  });
}

async function within(node: TestNode | undefined, name: string, work: (db: Db) => Promise<unknown>): Promise<void> {
  const db = connect(urlOf(node, name), { max: 1, name: 'test template' });
  await work(db).finally(() => db.end({ timeout: 5 }));
}

async function makeTemplate(nodes: readonly TestNode[], name: string): Promise<void> {
  const half = `${name}_half`;
  await dropOnEach(nodes, half);
  await makeOnEach(nodes, half);
  await within(nodes[0], half, async (db) => {
    await migrate(db);
    const connection = await db.reserve();
    await runDistribution(connection, await planDistribution(connection, 'out'), shards).finally(() => connection.release());
  });
  await onEach(nodes, async ({ admin }) => {
    // Citus itself stays connected, and what is in use cannot be cloned.
    await admin.unsafe(`alter database ${half} allow_connections false`);
    await admin`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${half}`;
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.unsafe(`alter database ${half} rename to ${name}`);
  });
}

/** Known as in use as long as this process is there: between its tests nobody may be connected to the database itself. */
export async function takeName({ url }: TestNode): Promise<{ name: string; leave(): Promise<void> }> {
  const name = `${clonePrefix}_${randomBytes(6).toString('hex')}`;
  const holder = connect(url, { max: 1, name: 'test holder' });
  const connection = await holder.reserve();
  await connection`select pg_advisory_lock(${inUse}::int, hashtext(${name}))`;
  return { name, leave: () => (connection.release(), holder.end({ timeout: 5 })) };
}

/** A fresh, migrated database on all nodes; it goes when the tests of the file have run. */
export async function useSpreadDatabase(url: string): Promise<{ db: Db; url: string }> {
  const { nodes, coordinator, close } = await openNodes(url);
  const { name, leave } = await takeName(coordinator);
  const from = template();
  await coordinator.admin`select pg_advisory_lock(${lock})`;
  try {
    const [known] = await coordinator.admin`select from pg_database where datname = ${from}`;
    if (!known) await makeTemplate(nodes, from);
    await onEach(nodes, ({ admin }) => admin.unsafe(`create database ${name} template ${from} strategy file_copy`));
  } finally {
    await coordinator.admin`select pg_advisory_unlock(${lock})`;
  }
  const db = connect(urlOf(coordinator, name), { max: 10, name: 'test' });
  after(async () => {
    await db.end({ timeout: 5 });
    try {
      await dropOnEach(nodes, name);
    } finally {
      // Or the process would stay for these connections.
      await leave();
      await close();
    }
  });
  return { db, url: urlOf(coordinator, name) };
}

/** Templates of earlier schemas, and databases of runs that were killed, which may be left on any node. */
export async function forgetSpreadTemplates(url: string): Promise<void> {
  const { nodes, coordinator, close } = await openNodes(url);
  // One that another run is just making is not left over.
  await coordinator.admin`select pg_advisory_lock(${lock})`;
  const left = new Set<string>();
  for (const { admin } of nodes) {
    const known = await admin<{ name: string }[]>`
      select datname as name from pg_database where starts_with(datname, ${prefix}) and datname <> ${template()} or starts_with(datname, ${clonePrefix})`;
    for (const { name } of known) left.add(name);
  }
  for (const name of left) if (!(await isInUse(coordinator, name))) await dropOnEach(nodes, name);
  await coordinator.admin`select pg_advisory_unlock(${lock})`;
  await close();
}

async function isInUse({ admin }: TestNode, name: string): Promise<boolean> {
  const [row] = await admin<{ held: boolean }[]>`
    select exists (select from pg_locks where locktype = 'advisory' and granted and classid = ${inUse} and objid = hashtext(${name})::bit(32)::bigint
      and objsubid = 2) as held`;
  return row?.held !== false;
}
