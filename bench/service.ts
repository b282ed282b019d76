// In charge of a service in a process of its own, started as `npm start` does, and of the memory that it takes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../test/free-port.ts';

const root = join(import.meta.dirname, '..');

export type Service = {
  url: string;
  /** Megabytes at present, and the most that there were since the peak was last forgotten. */
  memory(): { now: number; most: number };
  forgetPeak(): void;
  stop(): Promise<void>;
};

export async function startService(settings: Record<string, string>): Promise<Service> {
  const port = await freePort();
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  const service = spawn('sh', ['-c', scripts.start], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error', PORT: String(port), ...settings },
  });
  const ended = once(service, 'exit');
  let said = '';
  for await (const piece of service.stdout) {
    said += String(piece);
    if (said.includes('schoolbell ready')) break;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    memory: () => ({ now: read(service.pid, 'VmRSS'), most: read(service.pid, 'VmHWM') }),
    forgetPeak: () => writeFileSync(`/proc/${service.pid}/clear_refs`, '5'),
    async stop() {
      service.kill('SIGINT');
      await ended;
    },
  };
}

function read(pid: number | undefined, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
}
