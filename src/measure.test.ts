// What a process tells Prometheus: requests by the pattern of their route, what its pools do, what it is; also while the
// database is away.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { readExposition, valueOf } from '../test/exposition.ts';
import { rootB, useService } from '../test/service.ts';
import { smallPackage } from '../test/small-school.ts';
import { until } from '../test/until.ts';
import { connect } from './db/connect.ts';
import { startLagMeter } from './http/measure-process.ts';
import { listenForMetrics, renderMetric } from './http/metrics.ts';
import { createRequestMeter } from './http/request-meter.ts';
import { createMeasure } from './measure.ts';
import { version } from './version.ts';

const meter = createRequestMeter();
const service = await useService({}, { meter });
await service.addSchool('S1', smallPackage());
const client = await service.addClient('app', ['S1']);
const lag = startLagMeter();
const small = connect(service.databaseUrl, { name: 'small', max: 1, connectionMs: 60_000 });
const hasty = connect(service.databaseUrl, { name: 'hasty', max: 1, connectionMs: 2_000 });
const away = connect('postgres://nobody@127.0.0.1:9/nothing', { name: 'away', max: 1, connectionMs: 300 });
const config = { role: 'all', dataDir: service.dataDir } as const;
const parts = { requests: meter, lag, config };
const server = await listenForMetrics('127.0.0.1', 0, createMeasure({ ...parts, db: service.db, pools: [service.db, small, hasty, away] }));
const blind = await listenForMetrics('127.0.0.1', 0, createMeasure({ ...parts, db: away, pools: [away] }));
after(async () => {
  lag.stop();
  for (const one of [server, blind]) one.close();
  await Promise.all([small.end(), hasty.end(), away.end()]);
});
const read = async (from = server) => {
  const response = await fetch(`http://127.0.0.1:${(from.address() as AddressInfo).port}/metrics`, { headers: { connection: 'close' } });
  assert.equal(response.status, 200);
  return readExposition(await response.text());
};

test('requests are counted by the pattern of their route, whatever the path', async () => {
  for (const id of ['one', 'two', 'three']) await client.b('S1', `/users/${id}`);
  await client.b('S1', '/users?limit=1');
  for (const path of ['/some', '/thing', '/%E0%A4%A']) await fetch(`${service.url}${path}`);
  await until('all are over', async () => valueOf(await read(), 'schoolbell_http_requests_in_progress') === 0);
  const got = await read();
  const count = (route: string, status: string, method = 'GET') => valueOf(got, 'schoolbell_http_requests_total', { route, status, method });
  assert.deepEqual([count(`${rootB}/users/:sourcedId`, '404'), count(`${rootB}/users`, '200'), count('none', '404'), count('none', '400')], [3, 1, 2, 1]);
  assert.equal(valueOf(got, 'schoolbell_http_request_duration_seconds_count', { route: `${rootB}/users/:sourcedId`, method: 'GET' }), 3);
  const refused = (code: string) => valueOf(got, 'schoolbell_http_refusals_total', { code });
  assert.deepEqual([refused('not_found'), refused('invalid_request'), refused('unexpected'), refused('unavailable')], [5, 1, 0, 0]);
  assert.ok(![...got.values()].some(({ series }) => series.some(({ labels }) => JSON.stringify(labels).includes('three'))));
});

test('who waits for a connection, and for how long', async () => {
  const held = await small.reserve();
  const waiting = small`select 1`.then(() => 'answered');
  await until('one waits', async () => valueOf(await read(), 'schoolbell_database_pool_waiting', { pool: 'small' }) === 1);
  const busy = await read();
  const of = (name: string) => valueOf(busy, `schoolbell_database_pool_${name}`, { pool: 'small' });
  assert.deepEqual([of('connections_max'), of('connections_in_use'), of('connections_open')], [1, 1, 1]);
  held.release();
  assert.equal(await waiting, 'answered');
  const later = await read();
  assert.equal(valueOf(later, 'schoolbell_database_pool_wait_seconds_count', { pool: 'small' }), 2);
  assert.equal(valueOf(later, 'schoolbell_database_pool_connections_in_use', { pool: 'small' }), 0);
  assert.equal(valueOf(later, 'schoolbell_database_pool_refused_total', { pool: 'small', reason: 'busy' }), 0);
});

test('who is refused a connection has waited too', async () => {
  // Its first connection may take longer than it waits, on a busy machine.
  await until('it is connected', () => hasty`select 1`.then(() => true, () => false));
  const count = async (name: string, labels: Record<string, string> = {}) =>
    valueOf(await read(), `schoolbell_database_pool_${name}`, { pool: 'hasty', ...labels }) ?? 0;
  const counts = async () => Promise.all([count('refused_total', { reason: 'busy' }), count('wait_seconds_count'), count('wait_seconds_sum')]);
  const [refused, waits, seconds] = await counts();
  const held = await hasty.reserve();
  await assert.rejects(async () => hasty`select 1`, /were in use/);
  held.release();
  const [refusedThen, waitsThen, secondsThen] = await counts();
  assert.deepEqual([refusedThen - refused, waitsThen - waits], [1, 2]);
  assert.ok(secondsThen - seconds >= 1.99, `${secondsThen - seconds} s`);
});

test('what runs here, since when, and on what', async () => {
  await until('a timer came', () => lag.lag.counts.some((count) => count > 0));
  const got = await read();
  assert.equal(valueOf(got, 'schoolbell_build_info', { version, role: 'all' }), 1);
  assert.ok(Math.abs((valueOf(got, 'process_start_time_seconds') ?? 0) - (Date.now() / 1000 - process.uptime())) < 5);
  assert.ok((valueOf(got, 'schoolbell_event_loop_lag_seconds_count') ?? 0) > 0);
  const sizes = ['process_resident_memory_bytes', 'schoolbell_disk_free_bytes', 'schoolbell_disk_size_bytes', 'schoolbell_database_size_bytes'];
  for (const name of [...sizes, 'process_cpu_seconds_total']) assert.ok((valueOf(got, name) ?? 0) > 0, name);
  assert.equal(valueOf(got, 'schoolbell_database_up'), 1);
  assert.equal(valueOf(got, 'schoolbell_schools', { database: 'SchoolData' }), 1);
  assert.equal(valueOf(got, 'schoolbell_import_duration_seconds_count', { outcome: 'done' }), 1);
});

test('without the database the process still tells of itself', async () => {
  const got = await read(blind);
  assert.equal(valueOf(got, 'schoolbell_database_up'), 0);
  assert.equal(valueOf(got, 'schoolbell_build_info'), 1);
  assert.ok((valueOf(got, 'schoolbell_database_pool_refused_total', { pool: 'away', reason: 'away' }) ?? 0) > 0);
  assert.equal(got.has('schoolbell_schools'), false);
});

test('a database that takes long to count is not away, and what was counted before is told meanwhile', { timeout: 60_000 }, async () => {
  const measure = createMeasure({ ...parts, db: service.db, pools: [] });
  const readAgain = async () => {
    const got = readExposition((await measure()).map(renderMetric).join(''));
    return [valueOf(got, 'schoolbell_database_up'), valueOf(got, 'schoolbell_schools', { database: 'SchoolData' })];
  };
  assert.deepEqual(await readAgain(), [1, 1]);
  const holder = await small.reserve();
  await holder`begin`;
  await holder`lock table component_database in access exclusive mode`;
  const told = await readAgain();
  await holder`rollback`;
  holder.release();
  assert.deepEqual(told, [1, 1]);
});
