// In charge of the embedded server as a program: its cluster is made once, it is started in a process group of its own,
// found where it runs, and stopped.
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { placeOfDataDir } from '../data-dir.ts';
import { EnvironmentFault, explainProgramFault } from '../environment-fault.ts';
import { handOver, type Place } from './embedded-place.ts';
import { hidePasswords, renderRoleSetup, requirePlainPasswords, roleNames, type RolePasswords } from './embedded-roles.ts';

/** Without a locale, macOS looks one up in a thread that PostgreSQL does not allow. */
const serverEnvironment = { LC_ALL: 'C' };
/** Lines of the server's log that a failed start shows. */
const shownLogLines = 5;
/** A fast shutdown writes a checkpoint; one that takes longer than this is cut short, and the next start recovers. */
const stopMs = { fast: 12_000, atOnce: 3_000 } as const;

export function makeCluster(place: Place, passwords: RolePasswords, dataDir: string): void {
  requirePlainPasswords(passwords);
  // A kill in the middle leaves only the half-made folder. Its initdb may still be at work, so each has a folder of its own.
  const half = `${place.cluster}.new-${process.pid}`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { mode: 0o700 });
  handOver(half, place.account, 0o700);
  const passwordFile = `${place.cluster}.initial-password`;
  writeFileSync(passwordFile, passwords.superuser, { mode: 0o600 });
  handOver(passwordFile, place.account, 0o600);
  const run = (program: string, args: readonly string[], input = '') => {
    const options = { ...identity(place), encoding: 'utf8', env: serverEnvironment, cwd: half, input } as const;
    const { status, error, stderr } = spawnSync(path.join(place.programs, 'bin', program), args, options);
    if (status !== 0) throw explainProgramFault(program, hidePasswords(error?.message ?? stderr.trim(), passwords), placeOfDataDir(dataDir));
  };
  try {
    run('initdb', ['-D', half, '-U', roleNames.superuser, '--auth=scram-sha-256', `--pwfile=${passwordFile}`, '--encoding=UTF8', '--locale=C']);
    // PostgreSQL's single-user mode: one statement per line, and no server that others could reach meanwhile.
    const setup = renderRoleSetup(passwords).map((statement) => `${statement}\n`).join('');
    run('postgres', ['--single', '-D', half, '-c', 'exit_on_error=on', 'template1'], setup);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(half, place.cluster);
}

type PidFile = { pid: number; port: number; status: string };

export function readPidFile(place: Place): PidFile | undefined {
  try {
    const lines = readFileSync(path.join(place.cluster, 'postmaster.pid'), 'utf8').split('\n');
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    // One that is being written has no port yet.
    return pid && port ? { pid, port, status: lines[7]?.trim() ?? '' } : undefined;
  } catch {
    return undefined;
  }
}

/** The port of a server that runs on this cluster; waits for one that is starting or stopping. */
export async function findRunning(place: Place, deadline: number): Promise<number | undefined> {
  for (;;) {
    const file = readPidFile(place);
    if (!file) return undefined;
    if (!isPostmaster(file.pid, place)) {
      // Left by a crash. PostgreSQL would refuse to start if another process has that number by now.
      rmSync(path.join(place.cluster, 'postmaster.pid'), { force: true });
      return undefined;
    }
    if (file.status === 'ready') return file.port;
    if (Date.now() > deadline) throw new EnvironmentFault(`the embedded PostgreSQL (process ${file.pid}) is neither up nor down; see ${place.log}`);
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

type StartOptions = { settings: Record<string, string>; deadline: number; wantedPort: number | undefined; dataDir: string };

/** Returns the port on which the server is ready. */
export async function startServer(place: Place, { settings, deadline, wantedPort, dataDir }: StartOptions): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    // The last port first: whoever was connected looks for the server there.
    const port = attempt === 1 && wantedPort !== undefined ? wantedPort : await freePort();
    const log = openSync(place.log, 'a', 0o600);
    const logStart = fstatSync(log).size;
    const args = ['-D', place.cluster, '-p', String(port), ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
    // Its own process group: a Ctrl-C in the terminal must not reach it before the service has finished with it.
    const server = spawn(path.join(place.programs, 'bin', 'postgres'), args, {
      ...identity(place),
      detached: true,
      stdio: ['ignore', log, log],
      env: serverEnvironment,
      cwd: place.cluster,
    });
    closeSync(log);
    const failures: string[] = [];
    server.once('error', (error) => failures.push(error.message));
    server.once('exit', () => failures.push(readLogFrom(place, logStart) || 'it ended at once'));
    server.unref();
    while (failures.length === 0 && Date.now() < deadline) {
      const file = readPidFile(place);
      if (file?.pid === server.pid && file?.status === 'ready') return port;
      await pause(50);
    }
    // Somebody else may have taken the port in between.
    if (attempt >= 3 || Date.now() >= deadline)
      throw explainProgramFault('the embedded PostgreSQL', `${failures[0] ?? 'it took too long to start'} (see ${place.log})`, placeOfDataDir(dataDir));
  }
}

/** Returns the last lines that the server wrote to its log after this position. */
function readLogFrom(place: Place, position: number): string {
  const lines = readFileSync(place.log).subarray(position).toString('utf8').trim().split('\n');
  return lines.slice(-shownLogLines).join('\n');
}

/** Ends the server that has this number, if it is still that one. */
export async function stopServer(place: Place, pid: number): Promise<void> {
  const runs = () => readPidFile(place)?.pid === pid && isPostmaster(pid, place);
  for (const [signal, longestMs] of [['SIGINT', stopMs.fast], ['SIGQUIT', stopMs.atOnce]] as const) {
    if (!runs()) return;
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    const deadline = Date.now() + longestMs;
    while (runs() && Date.now() < deadline) await pause(50);
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
