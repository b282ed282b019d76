// In charge of a service in a process of its own, as it is started in production, and of the memory that it takes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../test/free-port.ts';

export type Service = {
  url: string;
  /** Megabytes at present, and the most that there ever were. */
  memory(): { now: number; most: number };
  stop(): Promise<void>;
};

export async function startService(settings: Record<string, string>): Promise<Service> {
  const port = await freePort();
  const service = spawn(process.execPath, [join(import.meta.dirname, '../src/main.ts')], {
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
    async stop() {
      service.kill('SIGTERM');
      await ended;
    },
  };
}

function read(pid: number | undefined, name: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
}
