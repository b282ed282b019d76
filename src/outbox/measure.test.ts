// /metrics on a port of its own: what is counted about the outbox, as Prometheus reads it, and nothing else.
import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { listenForMetrics } from '../http/metrics.ts';
import { measureOutbox } from './measure.ts';
import { replayOne, requireReplayable } from './replay.ts';

const { db } = await useDatabase();
let broken = false;
const server = await listenForMetrics('127.0.0.1', 0, () => (broken ? Promise.reject(new Error('secret detail')) : measureOutbox(db)));
after(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

let begun = 0;
beforeEach(async () => {
  [broken, begun] = [false, performance.now()];
  await db`truncate outbox, outbox_attempt, outbox_tally, lane`;
  await db`
    insert into lane (key, width, lasting, open_until, disabled_at) values
      ('closed', 4, true, null, null), ('open', 4, true, now() + interval '1 minute', null),
        ('half', 4, true, now() - interval '1 second', null), ('ended', 4, true, null, now()), ('paused', 4, true, null, null)`;
  await db`update lane set paused_at = now() where key = 'paused'`;
});

const put = (id: string, lane: string, state: string, event: string | null, secondsAgo: number, settled: string | null = null) => db`
  insert into outbox (estab, id, kind, lane, payload, state, due_at, created_at, settled_at)
  values ('S1', ${id}, 'call', ${lane}, ${db.json(event === null ? {} : { event })}, ${state}, now() - make_interval(secs => ${secondsAgo}),
    now() - make_interval(secs => ${secondsAgo}), now() - ${settled}::interval)`;

async function read(): Promise<Map<string, number>> {
  const response = await fetch(`${origin}/metrics`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const text = await response.text();
  assert.ok(text.endsWith('\n'));
  const lines = text.trimEnd().split('\n');
  for (const line of lines)
    assert.match(line, /^(# HELP [a-z_]+ .+|# TYPE [a-z_]+ (gauge|counter)|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?\d+(\.\d+)?(e[+-]?\d+)?)$/);
  return new Map(
    lines.filter((line) => !line.startsWith('#')).map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}
/** Ages have grown since the test began, on a slow machine by more. */
function near(actual: number | undefined, expected: number): void {
  const most = expected + 1 + (performance.now() - begun) / 1000;
  assert.ok(actual !== undefined && actual >= expected - 0.1 && actual < most, `${actual} is not about ${expected}`);
}

test('rows and the oldest of them, by event and state; those settled more than a day ago are left out', async () => {
  await put('1', 'closed', 'waiting', 'database', 100);
  await put('2', 'closed', 'waiting', 'database', 50);
  await put('3', 'closed', 'running', 'authentication', 10);
  await put('4', 'closed', 'done', 'database', 10, '1 hour');
  await put('5', 'closed', 'done', 'database', 10, '25 hours');
  await put('6', 'closed', 'waiting', null, 5);
  await put('7', 'paused', 'waiting', 'database', 90_000);
  const got = await read();
  const rows = [...got].filter(([name]) => name.startsWith('schoolbell_outbox_rows')).toSorted();
  assert.deepEqual(rows, [
    ['schoolbell_outbox_rows{kind="authentication",state="running"}', 1],
    ['schoolbell_outbox_rows{kind="call",state="waiting"}', 1],
    ['schoolbell_outbox_rows{kind="database",state="done"}', 1],
    ['schoolbell_outbox_rows{kind="database",state="paused"}', 1],
    ['schoolbell_outbox_rows{kind="database",state="waiting"}', 2],
  ]);
  assert.equal(got.get('schoolbell_outbox_failing_rows{kind="database"}'), 0);
  await db`update outbox set attempts = 2, forgiven = case id when '1' then 1 when '7' then 0 else 2 end where id in ('1', '2', '3', '7')`;
  assert.equal((await read()).get('schoolbell_outbox_failing_rows{kind="database"}'), 1, 'what was our own fault, or waits for a pause to end, does not count');
  near(got.get('schoolbell_outbox_oldest_seconds{kind="database",state="waiting"}'), 100);
  near(got.get('schoolbell_outbox_oldest_seconds{kind="authentication",state="running"}'), 10);
  assert.equal(got.has('schoolbell_outbox_oldest_seconds{kind="database",state="done"}'), false);
});

test('the lag is that of the longest due row that could be sent: not behind an open breaker, a pause, a disabled lane, or due later', async () => {
  assert.equal((await read()).get('schoolbell_outbox_lag_seconds'), 0);
  await put('open', 'open', 'waiting', 'database', 5000);
  await put('ended', 'ended', 'waiting', 'database', 6000);
  await put('paused', 'paused', 'waiting', 'database', 7000);
  await put('later', 'closed', 'waiting', 'database', -100);
  assert.equal((await read()).get('schoolbell_outbox_lag_seconds'), 0);
  await put('half', 'half', 'waiting', 'database', 7);
  near((await read()).get('schoolbell_outbox_lag_seconds'), 7);
  await put('due', 'closed', 'waiting', 'database', 30);
  near((await read()).get('schoolbell_outbox_lag_seconds'), 30);
});

test('attempts of the last day by event and class; breakers by state', async () => {
  await put('1', 'closed', 'waiting', 'database', 1);
  await put('2', 'closed', 'done', 'test', 1, '1 minute');
  await db`
    insert into outbox_attempt (estab, id, number, success, error_class, detail, at) values
      ('S1', '1', 1, false, 'timeout', '{}', now()), ('S1', '1', 2, false, 'timeout', '{}', now()),
        ('S1', '1', 3, false, 'status_500', '{}', now()),
          ('S1', '1', 4, false, 'timeout', '{}', now() - interval '2 days'), ('S1', '2', 1, true, null, '{}', now())`;
  const got = await read();
  const of = (prefix: string) =>
    [...got]
      .filter(([name]) => name.startsWith(prefix))
      .toSorted()
      .map(([name, value]) => `${name.slice(prefix.length)} ${value}`);
  assert.deepEqual(of('schoolbell_outbox_attempts_day'), [
    '{kind="database",class="status_500"} 1',
    '{kind="database",class="timeout"} 2',
    '{kind="test",class="success"} 1',
  ]);
  const lanes = ['{state="closed"} 1', '{state="disabled"} 1', '{state="half_open"} 1', '{state="open"} 1', '{state="paused"} 1'];
  assert.deepEqual(of('schoolbell_lanes'), lanes);
});

test('what was settled long enough ago is counted once, and again only when some of it is replayed', async () => {
  const rows = async () => {
    const got = await read();
    return ['done', 'failed', 'waiting'].map((state) => got.get(`schoolbell_outbox_rows{kind="database",state="${state}"}`));
  };
  for (const id of ['1', '2']) await put(id, 'closed', 'failed', 'database', 10, '3 hours');
  await put('3', 'closed', 'done', 'database', 10, '3 hours');
  await put('4', 'closed', 'done', 'database', 10, '0 seconds');
  await db`insert into outbox_attempt (estab, id, number, success, detail, at) values ('S1', '3', 1, true, '{}', now() - interval '3 hours')`;
  assert.deepEqual(await rows(), [2, 2, undefined]);
  // Seen by whoever would count them again.
  await db`update outbox set payload = '{"event": "other"}' where id = '3'`;
  assert.deepEqual(await rows(), [2, 2, undefined]);
  await db`update outbox set payload = '{"event": "database"}' where id = '3'`;
  await replayOne(db, await requireReplayable(db, 'call', '1'));
  assert.deepEqual(await rows(), [2, 1, 1]);
  assert.equal((await read()).get('schoolbell_outbox_attempts_day{kind="database",class="success"}'), 1);
  await db`update outbox_tally set since = since - interval '1 day'`;
  await db`delete from outbox where id in ('2', '3')`;
  assert.deepEqual(await rows(), [1, undefined, 1], 'a day later it is no more');
  const [oldest] = await db`select min(since) > now() - interval '25 hours' as fresh from outbox_tally`;
  assert.equal(oldest?.fresh, true);
});

test('anything else is 404; what cannot be measured is 500 without its reason', async () => {
  for (const [method, path] of [
    ['GET', '/'],
    ['GET', '/metrics/x'],
    ['POST', '/metrics'],
    ['GET', '/api/v1/Webhook'],
    ['HEAD', '/metrics'],
  ] as const)
    assert.equal((await fetch(`${origin}${path}`, { method })).status, 404, `${method} ${path}`);
  assert.equal((await fetch(`${origin}/metrics?x=1`)).status, 200);
  broken = true;
  const response = await fetch(`${origin}/metrics`);
  assert.deepEqual([response.status, /secret/.test(await response.text())], [500, false]);
});
