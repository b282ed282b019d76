// In charge of the service of a drill as an operator runs it: an API and a worker, each a process with a folder of its own, which
// nobody starts again.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';

export type ServiceProcess = {
  role: 'api' | 'worker';
  url: string;
  dataDir: string;
  pid: number | undefined;
  runs(): boolean;
  output(): string;
  end(): Promise<void>;
};

const repository = join(import.meta.dirname, '../..');
const longestEndMs = 30_000;

export async function startService(role: ServiceProcess['role'], folder: string, settings: Record<string, string>): Promise<ServiceProcess> {
  const dataDir = join(folder, role);
  mkdirSync(dataDir, { mode: 0o711 });
  const port = await freePort();
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [join(repository, 'src/main.ts')], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH, HOME, ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}), ...settings, ROLE: role, DATA_DIR: dataDir, PORT: String(port) },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const runs = () => child.exitCode === null && child.signalCode === null;
  await until(`the ${role} is ready`, () => {
    if (!runs()) throw new Error(`the ${role} did not start: ${text}`);
    return text.includes('schoolbell ready ');
  }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  return { role, url: `http://127.0.0.1:${port}`, dataDir, pid: child.pid, runs, output: () => text, end: () => end(child, runs) };
}

async function end(child: ChildProcess, runs: () => boolean): Promise<void> {
  child.kill('SIGTERM');
  for (const longest = performance.now() + longestEndMs; runs() && performance.now() < longest; ) await pause(50);
  if (runs()) child.kill('SIGKILL');
}

/** What the log has of errors, by their words. */
export function countErrors({ output }: ServiceProcess): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of output().split('\n')) {
    if (!/^\{"level":[56]0/.test(line)) continue;
    const { msg = '', err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
    const words = `${msg}: ${err?.message ?? ''}`.replaceAll(/\d+/g, 'n');
    counts[words] = (counts[words] ?? 0) + 1;
  }
  return counts;
}

/** What the log says of a request. */
export function findErrorOf({ output }: ServiceProcess, requestId: string): string {
  const line = output().split('\n').find((one) => /^\{"level":[56]0/.test(one) && one.includes(requestId));
  return line === undefined ? 'nothing in the log' : ((JSON.parse(line) as { err?: { message?: string } }).err?.message ?? '');
}
