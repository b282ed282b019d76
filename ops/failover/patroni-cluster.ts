// In charge of a cluster as one would run it: three nodes under Patroni, one of which leads and one of which has every commit too, reached through
// haproxy or by their addresses; and of ending the one that leads.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { FailingCluster } from '../../test/failover/failing-cluster.ts';
import { startEtcd } from './etcd.ts';
import { startHaproxy, type Proxy } from './haproxy.ts';
import { PatroniNode, type Passwords } from './patroni-node.ts';
import type { Programs } from './programs.ts';
import type { Scratch } from './scratch.ts';

export const ways = ['haproxy', 'hosts'] as const;
export type Way = (typeof ways)[number];

const names = ['one', 'two', 'three'] as const;
const database = 'schoolbell';
/** A node that is copied again on a slow machine; what takes longer never comes. */
const longestMs = 180_000;
const lookAgainMs = 100;
const newPassword = () => randomBytes(18).toString('hex');

/** silent: the one that leads does not end but hangs, and its connections with it. `tell` is given a line about each thing that was done. */
export type ClusterOptions = Readonly<{ way: Way; silent: boolean; tell(line: string): void }>;

export async function openPatroniCluster(scratch: Scratch, programs: Programs, { way, silent, tell }: ClusterOptions): Promise<FailingCluster> {
  const passwords: Passwords = { postgres: newPassword(), replicator: newPassword(), schoolbell: newPassword() };
  const etcd = await startEtcd(scratch, programs);
  const nodes: PatroniNode[] = [];
  for (const name of names) nodes.push(await PatroniNode.create(scratch, programs, name, etcd, passwords));
  for (const node of nodes) await node.start();
  const proxy = way === 'haproxy' ? await startHaproxy(scratch, programs, nodes) : undefined;
  const ports = nodes.map(({ port }) => port);
  const addressOf = (servers: readonly number[]) =>
    `postgres://schoolbell:${passwords.schoolbell}@${servers.map((port) => `127.0.0.1:${port}`).join(',')}/${database}`;

  /** On the server behind a port, as the superuser. */
  async function ask<T extends pg.QueryResultRow>(port: number, statement: string): Promise<T[]> {
    const limits = { connectionTimeoutMillis: 2_000, query_timeout: 5_000 };
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', password: passwords.postgres, database: 'postgres', ...limits });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<T>(statement)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async function until<T>(what: string, find: () => Promise<T | undefined>): Promise<T> {
    let last: unknown;
    for (const end = Date.now() + longestMs; Date.now() < end; await pause(lookAgainMs)) {
      const found = await find().catch((error: unknown) => void (last = error));
      if (found !== undefined) return found;
    }
    throw new Error(`not within ${longestMs / 1000} s: ${what}\n${scratch.lastWords()}`, { cause: last });
  }

  async function findLeader(): Promise<PatroniNode | undefined> {
    for (const node of nodes) if (node.isUp && (await node.leads())) return node;
    return undefined;
  }

  /** PostgreSQL waits for a standby at each commit, and Patroni knows which may lead next: without either, a commit could be lost with its server. */
  async function isSafe(leader: PatroniNode): Promise<boolean> {
    const members = await leader.members();
    const areRunning = members.length === nodes.length && members.every(({ state }) => state === 'streaming' || state === 'running');
    if (!areRunning || !members.some(({ role }) => role === 'sync_standby')) return false;
    const standbys = await ask<{ sync_state: string }>(leader.port, "select sync_state from pg_stat_replication where state = 'streaming'");
    return standbys.length >= nodes.length - 1 && standbys.some(({ sync_state }) => sync_state === 'sync');
  }

  const waitUntilSafe = () =>
    until('every standby follows the one that leads, and one of them has each commit', async () => {
      const leader = await findLeader();
      return leader && (await isSafe(leader)) ? leader : undefined;
    });

  /** Behind its second port are those that only read. */
  const waitForReaders = (through: Proxy) =>
    until('haproxy leads readers to a standby', async () => {
      const [row] = await ask<{ standby: boolean }>(through.replicasPort, 'select pg_is_in_recovery() as standby');
      return row?.standby || undefined;
    });

  async function heal(): Promise<void> {
    const begun = performance.now();
    const back = nodes.filter((node) => !node.isUp);
    for (const node of back) await node.start();
    const leader = await waitUntilSafe();
    if (proxy) await waitForReaders(proxy);
    if (back.length > 0) tell(`${back.map(({ name }) => name).join(', ')} follows ${leader.name} again after ${seconds(begun)}`);
  }

  const begun = performance.now();
  const first = await waitUntilSafe();
  await ask(first.port, `create role schoolbell login password '${passwords.schoolbell}'`);
  await ask(first.port, `create database ${database} owner schoolbell`);
  await ask(first.port, 'create table taken (at timestamptz not null)');
  await heal();
  tell(`${nodes.length} nodes run and ${first.name} leads after ${seconds(begun)}`);

  return {
    databaseUrl: addressOf(proxy ? [proxy.primaryPort] : ports),
    databaseReadUrl: addressOf(proxy ? [proxy.replicasPort] : ports),
    async failOver({ ending }) {
      const leader = await waitUntilSafe();
      const begun = performance.now();
      ending();
      if (silent) leader.freeze();
      else await leader.kill();
      const next = await until('another server takes writes', async () => {
        const found = await findLeader();
        if (!found) return undefined;
        await ask(found.port, 'insert into taken values (now())');
        return found;
      });
      tell(`${leader.name} ${silent ? 'hangs' : 'was ended'}, and ${next.name} takes writes after ${seconds(begun)}`);
    },
    heal,
    close: () => scratch.clear(),
  };
}

const seconds = (begun: number) => `${((performance.now() - begun) / 1000).toFixed(1)} s`;
