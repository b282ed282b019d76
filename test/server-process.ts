// In charge of one PostgreSQL server for tests that lose servers: started on a port that stays its own, killed with all its
// processes like a machine that dies, frozen, and asked beside the service's own pools.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import type { Place } from '../src/db/embedded-place.ts';
import { roleNames } from '../src/db/embedded-roles.ts';
import { until } from './until.ts';

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // What a killed process has written is in the system's memory: only a machine that dies would lose it.
  fsync: 'off',
  // One that starts to follow has nothing of the log.
  wal_keep_size: '512MB',
  wal_retrieve_retry_interval: '100ms',
  // In the folder, with which it goes: a killed server leaves it behind.
  dynamic_shared_memory_type: 'mmap',
};

const longestStopSeconds = 10;

export type Answer = Record<string, unknown>;

export class ServerProcess {
  readonly place: Place;
  readonly port: number;
  readonly #password: string;
  #postmaster: ChildProcess | undefined;

  constructor(place: Place, port: number, password: string) {
    this.place = place;
    this.port = port;
    this.#password = password;
  }

  url(database: string): string {
    return `postgres://${roleNames.superuser}:${this.#password}@127.0.0.1:${this.port}/${database}`;
  }

  /** follows: the server that it is a standby of. Resolves when it answers. */
  async start(follows?: ServerProcess): Promise<void> {
    const conninfo = follows && `host=127.0.0.1 port=${follows.port} user=${roleNames.superuser} password=${this.#password} application_name=standby`;
    const given = { ...settings, ...(conninfo ? { primary_conninfo: conninfo } : {}) };
    const args = ['-D', this.place.cluster, '-p', String(this.port), ...Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
    const log = openSync(this.place.log, 'a', 0o600);
    const { account } = this.place;
    const started = spawn(join(this.place.programs, 'bin', 'postgres'), args, {
      ...(account ? { uid: account.uid, gid: account.gid } : {}),
      stdio: ['ignore', log, log],
      env: { LC_ALL: 'C' },
      cwd: this.place.cluster,
    });
    closeSync(log);
    this.#postmaster = started;
    await until('the server answers', async () => {
      if (started.exitCode !== null) throw new Error(`the server ended at once: ${readFileSync(this.place.log, 'utf8').slice(-2000)}`);
      return this.ask('select 1').then(() => true, () => false);
    });
  }

  /** In a connection of its own. */
  async ask<T = Answer>(text: string, values: unknown[] = []): Promise<T[]> {
    return this.hold(async (client) => (await client.query(text, values)).rows as T[]);
  }

  async hold<T>(work: (client: pg.Client) => Promise<T>, database = 'postgres'): Promise<T> {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 10_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      return await work(client);
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** All at once, and nothing of it is left when this resolves. */
  async kill(): Promise<void> {
    const pids = this.freeze();
    const postmaster = this.#postmaster;
    for (const pid of pids) signal(pid, 'SIGKILL');
    if (postmaster && postmaster.exitCode === null && postmaster.signalCode === null) await once(postmaster, 'exit');
    this.#postmaster = undefined;
    await until('its processes have ended', () => !pids.some(lives));
    await until('nobody listens on its port', () => isRefused(this.port));
  }

  /** Without a checkpoint, but so that nothing of it stays in memory. */
  async stop(): Promise<void> {
    const postmaster = this.#postmaster;
    this.resume();
    postmaster?.kill('SIGQUIT');
    const over = () => postmaster === undefined || postmaster.exitCode !== null || postmaster.signalCode !== null;
    await until('it stops', over, undefined, longestStopSeconds).catch(() => {});
    await this.kill();
  }

  /** First the one that makes the others, so that none is made meanwhile. */
  freeze(): number[] {
    const postmaster = this.#postmaster?.pid;
    if (postmaster === undefined) return [];
    signal(postmaster, 'SIGSTOP');
    const pids = [postmaster, ...childrenOf(postmaster)];
    for (const pid of pids) signal(pid, 'SIGSTOP');
    return pids;
  }

  resume(): void {
    const postmaster = this.#postmaster?.pid;
    if (postmaster !== undefined) for (const pid of [...childrenOf(postmaster), postmaster]) signal(pid, 'SIGCONT');
  }
}

function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').split(' ').map(Number).filter((child) => child > 0) : [];
}

/** One that has ended may stand in the list until somebody asks how. */
function lives(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectSocket(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(false);
    }).once('error', () => resolve(true));
  });
}
