// In charge of what a process knows of itself: its version and age, memory, how late its timers come, what its database
// pools do, and the room on its disk.
import type { Db } from '../db/connect.ts';
import { readDiskRoom } from '../disk-room.ts';
import { Histogram } from '../histogram.ts';
import { version } from '../version.ts';
import { gauge, type Metric } from './metrics.ts';

export type LagMeter = { lag: Histogram; stop(): void };

const lagBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;
const lagEveryMs = 250;
const startedAt = Math.round(Date.now() / 1000 - process.uptime());

/** How much later a timer comes than it was set for is how long everything else has waited too. */
export function startLagMeter(): LagMeter {
  const lag = new Histogram(lagBounds);
  let expected = performance.now() + lagEveryMs;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.observe(Math.max(0, now - expected) / 1000);
    expected = now + lagEveryMs;
  }, lagEveryMs).unref();
  return { lag, stop: () => clearInterval(timer) };
}

export async function measureProcess({ role, dataDir, lag }: { role: string; dataDir: string; lag: Histogram }): Promise<Metric[]> {
  const { user, system } = process.cpuUsage();
  return [
    {
      name: 'schoolbell_build_info',
      help: 'Always 1; what runs here stands in the labels',
      type: 'gauge',
      values: [{ labels: { version, node: process.versions.node, role }, value: 1 }],
    },
    gauge('process_start_time_seconds', 'When the process started, in seconds since 1970', startedAt),
    gauge('process_resident_memory_bytes', 'Memory of the process', process.memoryUsage.rss()),
    { name: 'process_cpu_seconds_total', help: 'Processor time of the process', type: 'counter', values: [{ labels: {}, value: (user + system) / 1e6 }] },
    {
      name: 'schoolbell_event_loop_lag_seconds',
      help: 'How late timers come: how long everything in this process waits for its turn',
      type: 'histogram',
      values: [{ labels: {}, value: lag }],
    },
    ...(await measureDisk(dataDir)),
  ];
}

/** Of DATA_DIR, where the embedded database lives as a rule, and where what is being read is put down. */
async function measureDisk(dataDir: string): Promise<Metric[]> {
  const disk = await readDiskRoom(dataDir);
  if (!disk) return [];
  return [
    gauge('schoolbell_disk_size_bytes', 'Size of the disk under DATA_DIR', disk.size),
    gauge('schoolbell_disk_free_bytes', 'Room on the disk under DATA_DIR', disk.free),
  ];
}

/** Several pools of one name are one. */
export function measurePools(pools: readonly Db[]): Metric[] {
  const named = [...Map.groupBy(pools, ({ policy }) => policy.name)].map(([pool, all]) => ({ pool, all, loads: all.map((one) => one.load()) }));
  const each = (name: string, help: string, value: (one: (typeof named)[number]) => number): Metric => ({
    name,
    help,
    type: 'gauge',
    values: named.map((one) => ({ labels: { pool: one.pool }, value: value(one) })),
  });
  const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
  return [
    each('schoolbell_database_pool_connections_max', 'Connections that the pool may open', ({ all }) => sum(all.map(({ policy }) => policy.max))),
    each('schoolbell_database_pool_connections_open', 'Connections that are open', ({ loads }) => sum(loads.map(({ open }) => open))),
    each('schoolbell_database_pool_connections_in_use', 'Connections that somebody uses now', ({ loads }) => sum(loads.map(({ inUse }) => inUse))),
    each('schoolbell_database_pool_waiting', 'How many wait for a connection now', ({ loads }) => sum(loads.map(({ waiting }) => waiting))),
    {
      name: 'schoolbell_database_pool_wait_seconds',
      help: 'How long those who asked for a connection waited for it, or until they were refused',
      type: 'histogram',
      values: named.flatMap(({ pool, loads: [first, ...more] }) =>
        first ? [{ labels: { pool }, value: more.reduce((all, { waits }) => all.include(waits), new Histogram(first.waits.bounds).include(first.waits)) }] : [],
      ),
    },
    {
      name: 'schoolbell_database_pool_refused_total',
      help: 'How many got no connection in time: all were in use (busy), or the database could not be reached (away)',
      type: 'counter',
      values: named.flatMap(({ pool, loads }) =>
        (['busy', 'away'] as const).map((reason) => ({ labels: { pool, reason }, value: sum(loads.map(({ refused }) => refused[reason])) })),
      ),
    },
  ];
}
