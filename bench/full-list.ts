// In charge of the figures of a whole list: records and megabytes a second, and how much memory it takes.
import { get, type Bench } from './bench.ts';

export async function benchFullList(bench: Bench, total: number): Promise<void> {
  await (await get(bench, '/ims/oneroster/v1p1/enrollments?limit=1000')).text();
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
  const started = performance.now();
  const response = await get(bench, '/ims/oneroster/v1p1/enrollments');
  let bytes = 0;
  for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
  const seconds = (performance.now() - started) / 1000;
  clearInterval(timer);
  const growth = (peak - before) / 1024 ** 2;
  bench.add('whole list', `${Math.round(total / seconds)} records a second, ${(bytes / 1024 ** 2 / seconds).toFixed(0)} MB a second (${seconds.toFixed(1)} s)`);
  bench.add('whole list: growth of memory, reader in the same process', `${growth.toFixed(0)} MB`, '< 150 MB', growth < 150);
}
