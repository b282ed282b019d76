// In charge of the figures of memory: the service in a process of its own, started as `npm start` does, with a roster that is there
// already. What is counted is what the system counts (VmRSS), of that process alone; PostgreSQL's are others.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { benchSecretKey, load, type Bench } from './bench.ts';

const root = join(import.meta.dirname, '..');
const port = 18_082;
const path = '/ims/oneroster/v1p1/enrollments';
/** Until what the start took is given back. */
const quietSeconds = 12;
const requestSeconds = 15;
const lists = 10;
/** None is begun later. */
const listSeconds = 15;
const bars = { idle: 140, after: 260 };

export async function benchMemory(bench: Bench): Promise<void> {
  // The first start of a clone also turns TypeScript into JavaScript, which is kept for all others.
  await stop(await start(bench));
  const service = await start(bench);
  try {
    await pause(quietSeconds * 1000);
    const idle = readMemory(service);
    bench.add('memory of the service, idle', `${idle.now} MB (at most ${idle.most})`, `<= ${bars.idle} MB`, idle.now <= bars.idle);
    const url = `http://127.0.0.1:${port}`;
    const requests = requestSeconds * (await load({ url, token: bench.token }, `${path}?limit=100&offset=__n__`, requestSeconds));
    const read = await readLists(url, bench.token);
    const after = readMemory(service);
    const name = `memory of the service after ${Math.round(requests)} pages and ${read} whole lists`;
    bench.add(name, `${after.now} MB (at most ${after.most})`, `<= ${bars.after} MB`, after.now <= bars.after);
  } finally {
    await stop(service);
  }
}

async function start(bench: Bench): Promise<ChildProcess> {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  const service = spawn('sh', ['-c', scripts.start], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PATH: `${join(root, 'node_modules/.bin')}:${process.env.PATH}`,
      PORT: String(port),
      // Tokens of the one service are good for the other.
      PUBLIC_URL: bench.url,
      DATABASE_URL: bench.databaseUrl,
      SECRET_KEY: benchSecretKey,
      DATA_DIR: join(bench.folder, 'memory'),
      RATE_LIMIT_PER_MINUTE: '0',
      LOG_LEVEL: 'error',
    },
  });
  let said = '';
  for await (const piece of service.stdout.iterator({ destroyOnReturn: false })) {
    said += String(piece);
    if (said.includes('schoolbell ready')) {
      service.stdout.resume();
      return service;
    }
  }
  throw new Error(`the service did not start: ${said}`);
}

async function stop(service: ChildProcess): Promise<void> {
  const ended = once(service, 'exit');
  service.kill('SIGTERM');
  await ended;
}

/** Megabytes at present, and the most that there ever were. */
function readMemory({ pid }: ChildProcess): { now: number; most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) => Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024);
  return { now: of('VmRSS'), most: of('VmHWM') };
}

/** By a process of its own, one after another; gives how many there was time for. */
async function readLists(url: string, token: string): Promise<number> {
  const args = [join(import.meta.dirname, 'read-lists.ts'), url + path, token, String(lists), String(listSeconds)];
  const reader = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  for await (const piece of reader.stdout) said += String(piece);
  return Number(said);
}
