// In charge of which metrics there are: what the process knows of itself, and what is counted in the database, which is the
// same in every process. Without the database the first are still told.
import { setTimeout as pause } from 'node:timers/promises';
import { measureBackups } from './backup/measure-backups.ts';
import { measureSchools } from './collection/measure-schools.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import { measurePools, measureProcess, type LagMeter } from './http/measure-process.ts';
import { gauge, type Metric } from './http/metrics.ts';
import type { RequestMeter } from './http/request-meter.ts';
import { measureOutbox } from './outbox/measure.ts';

export type Measured = { db: Db; pools: readonly Db[]; requests: RequestMeter; lag: LagMeter; config: Pick<Config, 'role' | 'dataDir'> };

/** Whoever asks gives up after ten seconds as a rule, and then would see nothing at all. */
const longestMs = 6_000;
/** Where counting takes longer than that, the counts before are told; older ones would hide that something is wrong. */
const usableMs = 5 * 60_000;

export function createMeasure({ db, pools, requests, lag, config }: Measured): () => Promise<readonly Metric[]> {
  let counting: Promise<void> | undefined;
  let last: { at: number; metrics: Metric[] } | undefined;
  /** Several who ask at once get the same counts. */
  const count = () =>
    (counting ??= measureDatabase(db)
      .then((metrics) => void (last = { at: performance.now(), metrics }))
      .finally(() => (counting = undefined)));
  const ask = async () => db`select 1`;
  const inTime = (work: Promise<unknown>) => Promise.race([work.then(() => true, () => false), pause(longestMs, false, { ref: false })]);
  return async () => {
    // Much that waits takes long to count; a database that is busy with that is not one that is away.
    const [answers] = await Promise.all([inTime(ask()), inTime(count())]);
    const counted = answers && last && performance.now() - last.at < usableMs ? last.metrics : undefined;
    return [
      ...(await measureProcess({ ...config, lag: lag.lag })),
      ...measurePools(pools),
      ...requests.measure(),
      gauge('schoolbell_database_up', 'Whether the database answered just now; if not, what is counted in it is left out', answers ? 1 : 0),
      ...(counted ?? []),
    ];
  };
}

async function measureDatabase(db: Db): Promise<Metric[]> {
  const [size] = await db<{ bytes: number }[]>`select pg_database_size(current_database())::float8 as bytes`;
  return [
    gauge('schoolbell_database_size_bytes', 'Size of the database', size?.bytes ?? 0),
    ...(await measureSchools(db)),
    ...(await measureOutbox(db)),
    ...(await measureBackups(db)),
  ];
}
