// In charge of the embedded PostgreSQL: makes the cluster once, starts it or joins the one that runs already, and
// stops it when the last user leaves. Every user (service, worker, command) holds a shared advisory lock while it
// works; whoever gets the exclusive lock on leaving was the last, and stops the server. A killed process loses its
// lock with its connection, so what a `kill -9` left running is simply joined by the next start.
import { randomBytes } from 'node:crypto';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Sql } from 'postgres';
import { findPlace, handOver, type Place } from './embedded-place.ts';
import { postgres } from './postgres.ts';
import { readOrMakeSecret } from '../secret-file.ts';

export type EmbeddedDatabase = { url: string; place: Place; close(): Promise<void> };

const user = 'schoolbell';
const database = 'schoolbell';
const usersLock = 5_219_002;
/** Without a locale, macOS looks one up in a thread that PostgreSQL does not allow. */
const serverEnvironment = { LC_ALL: 'C' };
const startTimeoutMs = 60_000;
const stopTimeoutMs = 60_000;

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '256MB',
  work_mem: '32MB',
  maintenance_work_mem: '128MB',
  max_wal_size: '2GB',
  wal_compression: 'on',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
};

export async function openEmbedded(dataDir: string, overrides: Record<string, string> = {}): Promise<EmbeddedDatabase> {
  const place = findPlace(dataDir);
  const password = readOrMakePassword(dataDir);
  let port: number | undefined;
  const left = new AbortController();
  let seat = await join();

  async function join(): Promise<Sql> {
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      const found = await withStartLock(dataDir, deadline, async () => {
        if (!existsSync(path.join(place.cluster, 'PG_VERSION'))) makeCluster(place, password);
        return (await findRunning(place, deadline)) ?? (await start(place, { ...settings, ...overrides }, deadline, port ?? readLastPort(dataDir)));
      });
      port ??= found;
      writeFileSync(path.join(dataDir, lastPortFile), String(found));
      const taken = await takeSeat(password, found, () => void rejoin());
      if (taken) return taken;
      // It was shutting down, or died, between being found and being joined.
      if (Date.now() > deadline) throw new Error(`the embedded PostgreSQL did not accept connections; see ${place.log}`);
      await pause(200);
    }
  }

  /** Whatever ended the server, its users bring it back, on the port that their connections know. */
  async function rejoin(): Promise<void> {
    while (!left.signal.aborted) {
      try {
        seat = await join();
        return;
      } catch {
        await pause(1000);
      }
    }
  }

  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/${database}`,
    place,
    close: () => {
      left.abort();
      return leave(seat, place);
    },
  };
}

function readOrMakePassword(dataDir: string): string {
  return readOrMakeSecret(path.join(dataDir, 'postgres.password'), () => randomBytes(24).toString('hex'));
}

const lastPortFile = 'postgres.port';

function readLastPort(dataDir: string): number | undefined {
  try {
    return Number(readFileSync(path.join(dataDir, lastPortFile), 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

function makeCluster(place: Place, password: string): void {
  // A kill in the middle leaves only the half-made folder. Its initdb may still be at work, so each has a folder of its own.
  const half = `${place.cluster}.new-${process.pid}`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { mode: 0o700 });
  handOver(half, place.account, 0o700);
  const passwordFile = `${place.cluster}.initial-password`;
  writeFileSync(passwordFile, password, { mode: 0o600 });
  handOver(passwordFile, place.account, 0o600);
  try {
    const args = ['-D', half, '-U', user, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8', '--locale=C'];
    const made = spawnSync(path.join(place.programs, 'bin', 'initdb'), args, { ...identity(place), encoding: 'utf8', env: serverEnvironment, cwd: half });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.error?.message ?? made.stderr.trim()}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(half, place.cluster);
}

type PidFile = { pid: number; port: number; status: string };

function readPidFile(place: Place): PidFile | undefined {
  try {
    const lines = readFileSync(path.join(place.cluster, 'postmaster.pid'), 'utf8').split('\n');
    return { pid: Number(lines[0]), port: Number(lines[3]), status: lines[7]?.trim() ?? '' };
  } catch {
    return undefined;
  }
}

/** The port of a server that runs on this cluster; waits for one that is starting or stopping. */
async function findRunning(place: Place, deadline: number): Promise<number | undefined> {
  for (;;) {
    const file = readPidFile(place);
    if (!file) return undefined;
    if (!isPostmaster(file.pid, place)) {
      // Left by a crash. PostgreSQL would refuse to start if another process has that number by now.
      rmSync(path.join(place.cluster, 'postmaster.pid'), { force: true });
      return undefined;
    }
    if (file.status === 'ready') return file.port;
    if (Date.now() > deadline) throw new Error(`the embedded PostgreSQL (process ${file.pid}) is neither up nor down; see ${place.log}`);
    await pause(100);
  }
}

function isPostmaster(pid: number, place: Place): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(place.cluster);
  } catch {
    return false;
  }
}

async function start(place: Place, all: Record<string, string>, deadline: number, wanted: number | undefined): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    // The last port first: whoever was connected looks for the server there.
    const port = attempt === 1 && wanted !== undefined ? wanted : await freePort();
    const log = openSync(place.log, 'a', 0o600);
    const args = ['-D', place.cluster, '-p', String(port), ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
    // Its own process group: a Ctrl-C in the terminal must not reach it before the service has finished with it.
    const server = spawn(path.join(place.programs, 'bin', 'postgres'), args, { ...identity(place), detached: true, stdio: ['ignore', log, log], env: serverEnvironment, cwd: place.cluster });
    closeSync(log);
    const failures: string[] = [];
    server.once('error', (error) => failures.push(error.message));
    server.once('exit', () => failures.push('it ended at once'));
    server.unref();
    while (failures.length === 0 && Date.now() < deadline) {
      const file = readPidFile(place);
      if (file?.pid === server.pid && file?.status === 'ready') return port;
      await pause(50);
    }
    // Somebody else may have taken the port in between.
    if (attempt >= 3 || Date.now() >= deadline) throw new Error(`the embedded PostgreSQL did not start: ${failures[0] ?? 'it took too long'}; see ${place.log}`);
  }
}

/** A connection that holds the users' lock, or undefined when the server is on its way down. */
async function takeSeat(password: string, port: number, onLost: () => void): Promise<Sql | undefined> {
  let seated = false;
  const lost = () => {
    if (seated) onLost();
    seated = false;
  };
  const admin = postgres({ host: '127.0.0.1', port, user, password, database: 'postgres', max: 1, idle_timeout: 0, max_lifetime: null, onnotice: () => {}, onclose: lost });
  try {
    await admin`select pg_advisory_lock_shared(${usersLock})`;
    const [known] = await admin`select from pg_database where datname = ${database}`;
    if (!known) await admin.unsafe(`create database ${database}`).catch(ignoreDuplicate);
    seated = true;
    return admin;
  } catch (error) {
    await admin.end({ timeout: 1 });
    if (['57P01', '57P03', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes((error as { code?: string }).code ?? '')) return undefined;
    throw new Error(`cannot join the embedded PostgreSQL on port ${port}: ${(error as Error).message}`, { cause: error });
  }
}

function ignoreDuplicate(error: { code?: string }): void {
  if (error.code !== '42P04' && error.code !== '23505') throw error;
}

async function leave(seat: Sql, place: Place): Promise<void> {
  const pid = readPidFile(place)?.pid;
  const [last] = await seat`select pg_advisory_unlock_shared(${usersLock}), pg_try_advisory_lock(${usersLock}) as alone`.catch(() => []);
  if (!last?.alone || pid === undefined) {
    await seat.end({ timeout: 1 });
    return;
  }
  process.kill(pid, 'SIGINT');
  const deadline = Date.now() + stopTimeoutMs;
  while (readPidFile(place)?.pid === pid && isPostmaster(pid, place) && Date.now() < deadline) await pause(50);
  // The seat is given up last: with it goes the lock, and somebody might join a server that is on its way down.
  await seat.end({ timeout: 1 }).catch(() => {});
}

/** One process at a time makes or starts the cluster. The lock names its holder, so a dead one's is taken over. */
async function withStartLock<T>(dataDir: string, deadline: number, work: () => Promise<T>): Promise<T> {
  const file = path.join(dataDir, 'postgres.start-lock');
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (isAbandoned(file)) takeAway(file);
    else if (Date.now() > deadline) throw new Error(`another process has been starting the embedded PostgreSQL for too long; if none is, remove ${file}`);
    else await pause(100);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/** One at a time and after another look, or the second would remove the lock that the first has just taken. */
function takeAway(file: string): void {
  const turn = `${file}.turn`;
  try {
    mkdirSync(turn);
  } catch {
    const since = statSync(turn, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > 5_000) rmSync(turn, { recursive: true, force: true });
    return;
  }
  if (isAbandoned(file)) rmSync(file, { force: true });
  rmSync(turn, { recursive: true, force: true });
}

function isAbandoned(file: string): boolean {
  try {
    const holder = Number(readFileSync(file, 'utf8'));
    const ageMs = Date.now() - statSync(file).mtimeMs;
    if (holder === process.pid || ageMs > 2 * startTimeoutMs) return true;
    if (!holder) return ageMs > 2_000;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function identity(place: Place): { uid?: number; gid?: number } {
  return place.account ? { uid: place.account.uid, gid: place.account.gid } : {};
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
