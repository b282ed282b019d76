// The embedded PostgreSQL: creates the cluster once, starts it or joins the one that runs already, and stops it when the
// last user leaves. Every user (service, worker, command) holds a shared advisory lock while it
// works; whoever gets the exclusive lock on leaving was the last, and stops the server. A killed process loses its
// lock with its connection, so what a `kill -9` left running is simply joined by the next start.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { EnvironmentFault } from '../environment-fault.ts';
import { socketOf } from './client.ts';
import { findPlace, type Place } from './embedded-place.ts';
import { databaseName, readOrCreatePasswords, roleNames, type DatabaseRole } from './embedded-roles.ts';
import { findReadableCluster } from './embedded-version.ts';
import { findRunning, makeCluster, readPidFile, startServer, stopServer } from './embedded-server.ts';
import type { Where } from './servers.ts';
import { withStartLock } from './start-lock.ts';

export type EmbeddedDatabase = {
  /** Returns the address at which a role reaches the server now: it may have come back on another port. */
  whereAs: (role: DatabaseRole) => Where;
  place: Place;
  close(): Promise<void>;
};

const usersLock = 5_219_002;
const startTimeoutMs = 60_000;
/** To be given the lock, or to find out who is left: a server that does not answer is left alone. */
const longestAnswerMs = 5_000;

const settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Two processes with all their pools, and commands beside them.
  max_connections: '200',
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
  const existing = findReadableCluster(dataDir);
  const passwords = readOrCreatePasswords(dataDir, existing);
  const place = findPlace(dataDir);
  const startOptions = (deadline: number) => ({ settings: { ...settings, ...overrides }, deadline, wantedPort: readLastPort(dataDir), dataDir });
  const left = new AbortController();
  let rejoining: Promise<void> | undefined;
  let seat = await join();

  async function join(): Promise<pg.Client> {
    const deadline = Date.now() + startTimeoutMs;
    for (;;) {
      if (left.signal.aborted) throw new Error('the embedded PostgreSQL was left');
      const port = await withStartLock(dataDir, deadline, async () => {
        if (!existsSync(path.join(place.cluster, 'PG_VERSION'))) makeCluster(place, passwords, dataDir);
        return (await findRunning(place, deadline)) ?? (await startServer(place, startOptions(deadline)));
      });
      writeFileSync(path.join(dataDir, lastPortFile), String(port));
      const taken = await takeSeat(passwords.serving, port, () => void (rejoining = rejoin()));
      if (taken) return taken;
      // It was shutting down, or died, between being found and being joined.
      if (Date.now() > deadline) throw new EnvironmentFault(`the embedded PostgreSQL did not accept connections; see ${place.log}`);
      await pause(200);
    }
  }

  /** Whatever ended the server, its users bring it back. */
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
    whereAs: (role) => () => {
      const port = readPidFile(place)?.port ?? readLastPort(dataDir) ?? 1;
      return [`postgres://${roleNames[role]}:${passwords[role]}@127.0.0.1:${port}/${databaseName}`];
    },
    place,
    async close() {
      left.abort();
      // Somebody who is bringing it back has to have it, or not, before it can be left.
      await rejoining;
      await leave(seat, place);
    },
  };
}

const lastPortFile = 'postgres.port';

function readLastPort(dataDir: string): number | undefined {
  try {
    return Number(readFileSync(path.join(dataDir, lastPortFile), 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/** A connection that holds the users' lock, or undefined when the server is on its way down. */
async function takeSeat(password: string, port: number, onLost: () => void): Promise<pg.Client | undefined> {
  const seat = new pg.Client({
    host: '127.0.0.1',
    port,
    user: roleNames.serving,
    password,
    database: 'postgres',
    connectionTimeoutMillis: longestAnswerMs,
    application_name: 'schoolbell seat',
  });
  seat.on('error', () => {});
  try {
    await seat.connect();
    await answer(seat, 'select pg_advisory_lock_shared($1)', [usersLock]);
    seat.once('end', onLost);
    return seat;
  } catch (error) {
    socketOf(seat).destroy();
    // Without a code: the connection ended before there was an answer.
    const { code } = error as { code?: string };
    if (code === undefined || ['57P01', '57P03', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(code)) return undefined;
    throw new EnvironmentFault(`cannot join the embedded PostgreSQL on port ${port}: ${(error as Error).message}`, { cause: error });
  }
}

/** A server that does not answer in time is one that is not there. */
async function answer(seat: pg.Client, text: string, values: unknown[]): Promise<pg.QueryResult> {
  const late = setTimeout(() => socketOf(seat).destroy(), longestAnswerMs);
  return seat.query(text, values).finally(() => clearTimeout(late));
}

async function leave(seat: pg.Client, place: Place): Promise<void> {
  const pid = readPidFile(place)?.pid;
  const last = await answer(seat, 'select pg_advisory_unlock_shared($1), pg_try_advisory_lock($1) as alone', [usersLock]).catch(() => undefined);
  // The seat is given up last: with it goes the lock, and somebody might join a server that is on its way down.
  if (last?.rows[0]?.alone && pid !== undefined) await stopServer(place, pid);
  socketOf(seat).destroy();
}
