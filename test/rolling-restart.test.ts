// Six processes replaced one after the other, under load: whoever asks through a balancer that never asks twice is always answered, whole,
// and what is to be done is done once, by whoever is there.
import assert from 'node:assert/strict';
import { get } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { enqueue } from '../src/outbox/enqueue.ts';
import { useBalancer } from './balancer.ts';
import { useReceiver } from './delivery.ts';
import { ended, home, longest, start, type Running } from './processes.ts';
import { rootA, rootB, testSecretKey, useService } from './service.ts';
import { smallPackage, user } from './small-school.ts';
import { until } from './until.ts';

const estab = 'S1';
const rp = 'app';
const users = 5_000;
/** Fairly: many times what a reader has to take. */
const listBytesPerSecond = 800_000;
/** A lease would take longer to end. */
const longestWorkSeconds = 15;

const service = await useService();
const { db } = service;
await service.addSchool(estab, smallPackage({ users: Array.from({ length: users }, (_, at) => user(`u${at}`, 'student')), classes: [], enrollments: [] }));
const client = await service.addClient(rp, [estab]);
const balancer = await useBalancer();
// Some answer at once, some take as long as calls may take without being cut.
const receiver = await useReceiver(async ({ url }) => {
  await pause(url.endsWith('slow') ? 2_500 : 20);
  return 200;
});

const env = {
  DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, PUBLIC_URL: service.url, OUTBOUND_ALLOW: '127.0.0.0/8', DEMO: 'off', LOG_LEVEL: 'warn',
  RATE_LIMIT_PER_MINUTE: '0',
};
const launch = (role: string, at: number) => start(join(home, role === 'api' ? 'api' : `worker${at}`), { env: { ...env, ROLE: role } });

// ---- The load ---------------------------------------------------------------------------------------------------------

const failed: string[] = [];
const counts: Record<string, number> = {};
const over = new AbortController();

/** Again and again until the end; what goes wrong is noted, and it goes on. */
async function again(what: string, everyMs: number, work: (time: number) => Promise<void>): Promise<void> {
  for (let time = 0; !over.signal.aborted; time += 1) {
    await work(time).then(() => (counts[what] = (counts[what] ?? 0) + 1), (error: unknown) => failed.push(`${what}: ${String(error)}`));
    await pause(everyMs);
  }
}

async function ask(path: string, init: RequestInit = {}): Promise<string> {
  const answer = await fetch(`${balancer.url}${path}`, init);
  const text = await answer.text();
  assert.ok(answer.ok, `${path}: ${answer.status} ${text.slice(0, 200)}`);
  return text;
}

/** As many bytes in a second as it wants; the connection tells whether it was cut. */
async function readList(token: string): Promise<void> {
  const path = `${balancer.url}${rootB}/users`;
  const pieces: Buffer[] = [];
  const begun = performance.now();
  let bytes = 0;
  const answer = await new Promise<AsyncIterable<Buffer>>((resolve, reject) =>
    get(path, { agent: false, headers: { authorization: `Bearer ${token}` } }, resolve).once('error', reject));
  for await (const piece of answer) {
    pieces.push(piece);
    bytes += piece.length;
    await pause(Math.max(0, begun + (bytes / listBytesPerSecond) * 1000 - performance.now()));
  }
  assert.equal((JSON.parse(Buffer.concat(pieces).toString()) as { users: unknown[] }).users.length, users);
}

async function load(token: string, schoolToken: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const json = { 'content-type': 'application/json', authorization: `Idaas ${schoolToken}` };
  const basic = { authorization: `Basic ${btoa(`${client.clientId}:${client.clientSecret}`)}` };
  const page = (time: number) => ask(`${rootB}/users?limit=20&offset=${(time * 20) % users}`, { headers });
  await Promise.all([
    ...[0, 1].map(() => again('pages', 80, async (time) => assert.match(await page(time), /"users":\[\{/))),
    again('tokens', 250, async () => assert.match(await ask(`${rootA}/token`, { method: 'POST', headers: basic }), /access_token/)),
    ...[0, 1].map(() => again('lists', 200, () => readList(token))),
    again('writes', 200, async () => {
      const body = JSON.stringify({ url: `${receiver.origin}/registered`, DatabaseName: 'SchoolData' });
      await ask('/api/v1/Webhook', { method: 'POST', headers: json, body });
    }),
    again('deliveries', 120, async (time) => {
      const url = `${receiver.origin}/${time % 25 === 0 ? 'slow' : `call/${time % 8}`}`;
      const lane = { key: url, host: null, width: 8, lasting: false };
      await db.begin((tx) => enqueue(tx, { estab, rp, kind: 'call', lane, payload: { event: 'example', method: 'GET', url }, body: null }));
    }),
  ]);
}

// ---- The restart ------------------------------------------------------------------------------------------------------

async function replace(old: Running, role: string, at: number): Promise<number> {
  const next = await launch(role, at);
  if (role === 'api') {
    balancer.add(next.url);
    await until('the balancer has seen it', () => balancer.isUsing(next.url));
  }
  const begun = performance.now();
  old.child.kill('SIGTERM');
  assert.equal(await ended(old), 0, old.output());
  const tookMs = performance.now() - begun;
  if (role === 'api') {
    assert.equal(balancer.isUsing(old.url), false);
    balancer.remove(old.url);
    await until('the next one is asked', () => balancer.passed(next.url) > 0);
  }
  return tookMs;
}

test('a rolling restart of three that answer and three that work fails no request, cuts no list and does nothing twice', longest, async (context) => {
  const roles = ['api', 'api', 'api', 'worker', 'worker', 'worker'];
  const first = await Promise.all(roles.map(launch));
  for (const { url } of first.slice(0, 3)) balancer.add(url);
  await until('the balancer has seen them', () => first.slice(0, 3).every(({ url }) => balancer.isUsing(url)));
  const [token, schoolToken] = [await client.tokenB(estab), await schoolTokenOf()];
  context.after(() => over.abort());
  const loading = load(token, schoolToken);
  const took: string[] = [];
  for (const [at, old] of first.entries()) took.push(`${roles[at]} ${((await replace(old, roles[at] ?? '', at + 3)) / 1000).toFixed(1)} s`);
  over.abort();
  await loading;
  await until('all is done', async () => (await db`select from outbox where state in ('waiting', 'running')`).length === 0);

  const [slowest] = await db<{ seconds: number }[]>`
    select max(extract(epoch from settled_at - created_at))::float8 as seconds from outbox where payload ->> 'event' = 'example'`;
  const summary = Object.entries(counts).map(([what, count]) => `${count} ${what}`).join(', ');
  context.diagnostic(`ended in ${took.join(', ')}; meanwhile ${summary}; the slowest work took ${slowest?.seconds.toFixed(1)} s`);
  assert.deepEqual([failed, balancer.failures], [[], []]);
  for (const what of ['pages', 'tokens', 'lists', 'writes', 'deliveries']) assert.ok((counts[what] ?? 0) > 3, `${what}: ${counts[what]}`);
  const calls = (await db<{ id: string }[]>`select id from outbox where payload ->> 'event' = 'example'`).map(({ id }) => id);
  const arrived = receiver.arrivals.filter(({ url }) => url !== '/registered').map(({ id }) => id);
  assert.deepEqual(arrived.toSorted(), calls.toSorted(), 'each arrived, and once');
  assert.ok(Number(slowest?.seconds) < longestWorkSeconds, `${slowest?.seconds} s: none waited for a lease to end`);
  assert.deepEqual((await db`select distinct error_class from outbox_attempt where not success`).map((row) => row.error_class as string), []);
});

async function schoolTokenOf(): Promise<string> {
  const body = JSON.stringify({ estab, relyingParty: rp, password: client.schoolSecrets[estab] });
  const answer = await fetch(`${service.url}/api/oauth/GetToken`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return ((await answer.json()) as { token: string }).token;
}
