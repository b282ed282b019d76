// In charge of the figures of memory: the service in a process of its own, started as `npm start` does, with a roster that is there
// already. What is counted is what the system counts (VmRSS), of that process alone; PostgreSQL's are others.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { benchSecretKey, loadTimes, runChild, type Bench } from './bench.ts';
import { list } from './roster.ts';
import { startService } from './service.ts';

/** Until what the start took is given back. */
const quietSeconds = 12;
/** Of one record each, so that so many fit into the time that there is. */
const requests = 300_000;
const lists = 10;

export async function benchMemory(bench: Bench, total: number): Promise<void> {
  const settings = {
    // Tokens of the one service are good for the other.
    PUBLIC_URL: bench.url,
    DATABASE_URL: bench.databaseUrl,
    SECRET_KEY: benchSecretKey,
    DATA_DIR: join(bench.folder, 'memory'),
  };
  // The first start of a clone also turns TypeScript into JavaScript, which is kept for all others.
  await (await startService(settings)).stop();
  const service = await startService(settings);
  try {
    await pause(quietSeconds * 1000);
    const idle = service.memory();
    bench.judge('memory of the service, idle', idle.now, describe(idle), { bar: 140, goal: 100, atMost: true });
    const rate = await loadTimes({ url: service.url, token: bench.token }, `${list}?limit=1&offset=__below:${total}__`, requests);
    await runChild('read-lists.ts', [service.url + list, bench.token, String(lists)]);
    const after = service.memory();
    const name = `memory of the service after ${requests} requests and ${lists} whole lists`;
    bench.judge(name, after.now, `${describe(after)}; ${Math.round(rate)} requests a second`, { bar: 260, goal: 180, atMost: true });
  } finally {
    await service.stop();
  }
}

const describe = ({ now, most }: { now: number; most: number }) => `${Math.round(now)} MB (at most ${Math.round(most)})`;
