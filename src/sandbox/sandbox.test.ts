// Covers what the sandbox does to applications of the demo, through HTTP and with a real receiver: answers, tokens and events; that the
// others feel nothing of it, and that without a demo nothing of it is there or in force.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { useDatabaseClock } from '../../test/database-clock.ts';
import { useReceiver } from '../../test/delivery.ts';
import { rootA, rootB, testSecretKey, useService, type Client } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import type { Sql } from '../db/connect.ts';
import { announceChange } from '../notifications/announce.ts';
import { forgetFaults } from './faults.ts';

const clock = { now: Date.parse('2026-11-17T10:00:00Z') };
const { database, clock: databaseClock } = await useDatabaseClock();
const service = await useService({ DEMO: 'on', OUTBOUND_ALLOW: '127.0.0.0/8' }, { now: () => clock.now, database });
const { db, url, databaseUrl, dataDir } = service;
const estab = 'D1';
await service.addSchool(estab, smallPackage());
const demo = await service.addClient('rehearsal.demo', [estab]);
const other = await service.addClient('other.example', [estab]);
await db`update application set demo = true where rp = ${demo.rp}`;
const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir, DEMO: 'on' };
const { json, assertFails } = useCommands(settings);
const receiver = await useReceiver();

await service.work();
const hook = async (client: Client, DatabaseName: string, path: string) => {
  const response = await client.s(estab, 'Webhook', { method: 'POST', body: JSON.stringify({ url: `${receiver.origin}${path}`, DatabaseName }) });
  assert.ok(response.status < 300, await response.text());
};
await hook(demo, 'SchoolData', '/demo');
await hook(demo, 'Attendance', '/marks');
await hook(other, 'SchoolData', '/other');

type Json = Record<string, unknown>;
async function tokenOf({ rp, managementSecret }: Pick<Client, 'rp' | 'managementSecret'>, at = url): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${at}/api/oauth/GetToken`, { method: 'POST', headers, body: JSON.stringify({ relyingParty: rp, password: managementSecret }) });
  return ((await response.json()) as { token: string }).token;
}
const management = await tokenOf(demo);
async function ask(path: string, body?: Json, { token = management, at = url } = {}): Promise<{ status: number; body: Json; text: string; headers: Headers }> {
  const headers = { authorization: `Idaas ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) };
  const response = await fetch(`${at}/api/sandbox${path}`, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as Json, text, headers: response.headers };
}
async function set(path: string, body: Json = {}): Promise<Json> {
  const { status, body: answer, text } = await ask(path, body);
  assert.equal(status, 200, text);
  return answer.Sandbox as Json;
}

beforeEach(async () => {
  await set('/reset');
  receiver.arrivals.length = 0;
  receiver.answer = () => 200;
});

test('the next requests of an application are answered 429 or 503, each API in its own shape, and those of another as ever', async () => {
  const state = await set('/answers', { Status: '429', Count: 3, RetryAfter: 7 });
  assert.deepEqual({ ...(state.Answers as Json), Until: '' }, { Status: '429', Remaining: 3, RetryAfter: 7, Until: '' });
  const answers = [await demo.a('/orgs'), await demo.b(estab, '/orgs'), await demo.s(estab, 'Webhook')];
  for (const answer of answers) {
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '7']);
    const standing = ['limit', 'remaining', 'reset'].map((name) => answer.headers.get(`ratelimit-${name}`));
    assert.deepEqual(standing, ['1200', '0', '7']);
  }
  const [a, b, s] = await Promise.all(answers.map((answer) => answer.text()));
  assert.equal(a, 'The sandbox was told to answer 429. Wait and try again.');
  assert.match(b ?? '', /"statusInfoSet":.*"imsx_codeMinor":"server_busy"/);
  assert.equal((JSON.parse(s ?? '') as { ExceptionType: string }).ExceptionType, 'too_many_requests');
  assert.equal((await demo.a('/orgs')).status, 200, 'three were asked for');
  assert.equal((await set('/answers', { status: 503 })).Application, demo.rp);
  assert.deepEqual([(await demo.b(estab, '/orgs')).status, (await demo.a('/orgs')).status, (await demo.s(estab, 'Webhook')).status], [503, 400, 503]);
  assert.deepEqual([(await other.a('/orgs')).status, (await other.s(estab, 'Webhook')).status], [200, 200]);
  // By the secret itself as well.
  const headers = { authorization: `Basic ${Buffer.from(`${demo.rp}|${estab}:${demo.schoolSecrets[estab]}`).toString('base64')}` };
  assert.equal((await fetch(`${url}/api/v1/Identity/GetUsers`, { headers })).status, 503);
  await set('/answers', { Status: 'normal' });
  assert.equal((await demo.b(estab, '/orgs')).status, 200);
});

test('what is set holds in every process, and ends by itself', async () => {
  const second = await service.join();
  const token = await demo.tokenB(estab);
  const orgs = () => fetch(`${second.url}${rootB}/orgs`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await orgs()).status, 200);
  await set('/answers', { Status: '503', Count: 2, Minutes: 5 });
  assert.deepEqual([(await orgs()).status, (await demo.b(estab, '/orgs')).status, (await orgs()).status], [503, 503, 200]);
  await set('/answers', { Status: '503', Minutes: 5 });
  await db`update sandbox_fault set until = now() - interval '1 second'`;
  assert.equal((await orgs()).status, 200);
  assert.equal(((await ask('')).body.Sandbox as Json).Answers, null);
  await forgetFaults(db, 0);
  assert.deepEqual([...(await db`select from sandbox_fault`)], []);
});

test('tokens of every kind live as long as was said, and are refused then', async () => {
  const at = Math.floor(Date.now() / 1000) * 1000;
  await databaseClock.stopAt(new Date(at));
  await set('/tokens', { Seconds: 5 });
  const basic = (user: string, secret = '') => ({ authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` });
  const a = await fetch(`${url}${rootA}/token`, { method: 'POST', headers: basic(demo.clientId, demo.clientSecret) });
  const b = await fetch(`${url}${rootB}/auth/token`, { method: 'POST', headers: basic(`${demo.rp}|${estab}`, demo.schoolSecrets[estab]) });
  const [tokenA, tokenB] = (await Promise.all([a.json(), b.json()])) as { access_token: string; expires_in: number }[];
  assert.deepEqual([tokenA?.expires_in, tokenB?.expires_in], [5, 5]);
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ relyingParty: demo.rp, estab, password: demo.schoolSecrets[estab] });
  const school = (await (await fetch(`${url}/api/oauth/GetToken`, { method: 'POST', headers, body })).json()) as { token: string; expires: string };
  assert.equal(Date.parse(school.expires), at + 5000);
  const short = await tokenOf(demo);
  const statuses = async () => [
    (await fetch(`${url}${rootA}/orgs`, { headers: { authorization: `Bearer ${tokenA?.access_token}` } })).status,
    (await fetch(`${url}${rootB}/orgs`, { headers: { authorization: `Bearer ${tokenB?.access_token}` } })).status,
    (await fetch(`${url}/api/v1/Webhook`, { headers: { authorization: `Idaas ${school.token}` } })).status,
    (await ask('', undefined, { token: short })).status,
  ];
  assert.deepEqual(await statuses(), [200, 200, 200, 200]);
  await databaseClock.stopAt(new Date(at + 5000));
  assert.deepEqual(await statuses(), [400, 401, 401, 401]);
  assert.equal((await ask('')).status, 200, 'one from before lives on');
  await databaseClock.setAhead(0);
  await other.tokenA();
  await set('/tokens', { Seconds: 0 });
  assert.equal(((await ask('')).body.Sandbox as Json).Tokens, null);
});

/** Without the two seconds that a burst is waited for. */
async function change(...names: string[]): Promise<void> {
  for (const name of names) {
    await db.begin(async (tx) => {
      await announceChange(tx, estab, name);
      await hurry(tx, 1);
    });
  }
}
/** What waits is due now; lessThan: of what was tried less often. */
async function hurry(sql: Sql = db, lessThan = 100): Promise<void> {
  const due = await sql<{ lane: string }[]>`
    update outbox set due_at = clock_timestamp() where estab = ${estab} and kind = 'call' and state = 'waiting' and attempts < ${lessThan} returning lane`;
  await sql`update lane set next_at = clock_timestamp() where key = any(${due.map(({ lane }) => lane)})`;
}
const arrived = (path: string) => receiver.arrivals.filter((arrival) => arrival.url === path);
const deliveries = async (rp = demo.rp) => [
  ...(await db<{ id: string; state: string; classes: string[] }[]>`
    select o.id, o.state, array(select coalesce(a.error_class, 'fine') from outbox_attempt a where a.estab = o.estab and a.id = o.id order by number) as classes
    from outbox o where o.rp = ${rp} and o.kind = 'call' order by o.seq desc`),
];
const settled = () => until('all is settled', async () => (await db`select from outbox where kind = 'call' and state in ('waiting', 'running')`).length === 0);

test('events are made twice under one id, and those of another application once', async () => {
  await set('/events', { Mode: 'duplicated' });
  await change('SchoolData');
  await settled();
  assert.deepEqual([arrived('/demo').length, arrived('/other').length], [2, 1]);
  assert.equal(new Set(arrived('/demo').map(({ id }) => id)).size, 1);
  const [last] = await deliveries();
  assert.deepEqual([last?.state, last?.classes], ['done', ['fine', 'fine']]);
});

test('a call that was made is not made again because the sandbox cannot be asked after it', async () => {
  receiver.answer = async ({ url: path }) => {
    if (path === '/demo') await db`alter table sandbox_fault rename to sandbox_fault_away`;
    return 200;
  };
  try {
    await change('SchoolData');
    await settled();
  } finally {
    await db`alter table if exists sandbox_fault_away rename to sandbox_fault`;
  }
  const [last] = await deliveries();
  assert.deepEqual([arrived('/demo').length, last?.state, last?.classes], [1, 'done', ['fine']]);
});

test('a test that is made twice has arrived, and did not fail', async () => {
  await set('/events', { Mode: 'duplicated' });
  const [webhook] = ((await (await demo.s(estab, 'Webhook')).json()) as { Webhook: { Id: string }[] }).Webhook;
  assert.equal((await demo.s(estab, `Webhook/${webhook?.Id}/Test`, { method: 'POST' })).status, 202);
  await settled();
  assert.equal(receiver.arrivals.length, 2);
  const [last] = await deliveries();
  assert.deepEqual([last?.state, last?.classes], ['done', ['fine', 'fine']]);
});

test('events come late, and a second try is not put off again', async () => {
  assert.deepEqual({ ...((await set('/events', { Mode: 'delayed', Seconds: 900 })).Events as Json), Until: '' }, { Mode: 'delayed', Seconds: 900, Until: '' });
  await change('SchoolData');
  await until('it is put off', async () => (await deliveries())[0]?.classes.length === 1);
  await until('the other has it', async () => arrived('/other').length === 1);
  const [waiting] = await db<{ due: number }[]>`
    select extract(epoch from due_at - now())::float8 as due from outbox where rp = ${demo.rp} and kind = 'call' and state = 'waiting'`;
  assert.ok(waiting && waiting.due > 880 && waiting.due <= 900, String(waiting?.due));
  assert.equal(arrived('/demo').length, 0);
  await hurry();
  await settled();
  assert.deepEqual([arrived('/demo').length, (await deliveries())[0]?.classes], [1, ['delayed', 'fine']]);
});

test('an event is late by when it was due, however long it waited for its turn', async () => {
  await set('/events', { Mode: 'delayed', Seconds: 900 });
  const wait = (seconds: number) => db.begin(async (tx) => {
    await announceChange(tx, estab, 'SchoolData');
    const due = await tx<{ lane: string }[]>`
      update outbox set due_at = clock_timestamp() - make_interval(secs => ${seconds}) where rp = ${demo.rp} and kind = 'call' and state = 'waiting'
      returning lane`;
    await tx`update lane set next_at = clock_timestamp() where key = any(${due.map(({ lane }) => lane)})`;
  });
  await wait(400);
  await until('it is put off', async () => (await deliveries())[0]?.classes.length === 1);
  const [waiting] = await db<{ due: number }[]>`
    select extract(epoch from due_at - now())::float8 as due from outbox where rp = ${demo.rp} and kind = 'call' and state = 'waiting'`;
  assert.ok(waiting && waiting.due > 480 && waiting.due <= 500, String(waiting?.due));
  await hurry();
  await settled();
  await wait(900);
  await settled();
  assert.deepEqual([arrived('/demo').length, (await deliveries())[0]?.classes], [2, ['fine']]);
});

test('of two events the second is made first, and one that nothing follows goes out by itself', async () => {
  await set('/events', { Mode: 'out-of-order' });
  await change('SchoolData');
  await until('the first waits', async () => (await deliveries())[0]?.classes.length === 1);
  assert.deepEqual([arrived('/demo').length, arrived('/marks').length], [0, 0]);
  await change('Attendance');
  await settled();
  assert.deepEqual(receiver.arrivals.map(({ url: path }) => path).filter((path) => path !== '/other'), ['/marks', '/demo']);
  await change('SchoolData');
  await until('the next waits', async () => (await deliveries())[0]?.classes.length === 1);
  await hurry();
  await settled();
  assert.deepEqual((await deliveries())[0]?.classes, ['out_of_order', 'fine']);
});

test('an event that never comes is seen as withheld, and is sent when it is missed or replayed', async () => {
  await set('/events', { Mode: 'never' });
  await change('SchoolData');
  await until('it is withheld', async () => (await deliveries())[0]?.state === 'cancelled');
  await until('the other has it', async () => arrived('/other').length === 1);
  const [withheld] = await deliveries();
  assert.deepEqual([arrived('/demo').length, withheld?.classes], [0, ['withheld']]);
  const seen = (await (await demo.s(estab, `Deliveries/${withheld?.id}`)).json()) as { Deliveries: { State: string; Attempts: { Error: string }[] }[] };
  assert.match(JSON.stringify(seen), /the sandbox withheld this call: it was never sent/);
  await json(`replay ${withheld?.id}`);
  await settled();
  assert.deepEqual(arrived('/demo').map(({ id }) => id), [withheld?.id]);
  assert.deepEqual(await json('replay --missing'), { announced: 0 }, 'it was told by that');
  await change('SchoolData');
  await until('the next is withheld', async () => (await deliveries())[0]?.state === 'cancelled' && (await deliveries())[0]?.id !== withheld?.id);
  await set('/events', { Mode: 'normal' });
  assert.deepEqual(await json('replay --missing'), { announced: 1 });
  await hurry();
  await settled();
  assert.equal(arrived('/demo').length, 2);
});

test('only an application of the demo may steer, with its management token, and what is wrong is said', async () => {
  const strange = await ask('/answers', { Status: '503' }, { token: await tokenOf(other) });
  assert.deepEqual([strange.status, strange.body.ExceptionType], [403, 'forbidden']);
  assert.equal((await ask('', undefined, { token: 'none' })).status, 401);
  for (const [path, body, words] of [
    ['/events', {}, /Mode is missing: must be one of normal, duplicated/],
    ['/events', { Mode: 'backwards' }, /Mode "backwards": must be one of/],
    ['/tokens', { Seconds: -1 }, /Seconds "-1": must be a whole number from 0 to 3600/],
    ['/answers', { Status: '500' }, /Status "500"/],
    ['/answers', [] as unknown as Json, /must be a JSON object/],
    ['/mis', { Mode: 'offline', Estab: '1234567' }, /"Estab": there is no such field; there are Mode, Minutes/],
    ['/reset', { Estab: '1234567' }, /"Estab": there is no such field; this takes none/],
  ] as const) {
    const { status, body: answer } = await ask(path, body);
    assert.equal(status, 400);
    assert.match(String(answer.ExceptionMessage), words);
  }
  const away = await ask('/mis', { Mode: 'offline' });
  assert.deepEqual([away.status, away.body.ExceptionType], [409, 'conflict'], 'this school is no demo school');
  await assertFails(/other.example is no application of the demo/, 'sandbox answers 503 --rp other.example');
});

test('commands do the same', async () => {
  const given = await json('sandbox answers 503 --count 1 --rp rehearsal.demo');
  assert.deepEqual(given, (await ask('')).body.Sandbox);
  assert.equal((await demo.b(estab, '/orgs')).status, 503);
  await json('sandbox tokens --seconds 9 --minutes 2 --rp rehearsal.demo');
  assert.equal((await json<{ Tokens: Json }>('sandbox show --rp rehearsal.demo')).Tokens.Seconds, 9);
  assert.equal((await json('sandbox reset --rp rehearsal.demo')).Tokens, null);
});

test('without a demo nothing of it is there, and nothing in force', async () => {
  await set('/answers', { Status: '503' });
  await set('/tokens', { Seconds: 1 });
  const plain = await service.join({ DEMO: 'off' });
  const missing = await fetch(`${plain.url}/api/no-such-thing`, { method: 'POST' });
  for (const [path, body] of [['', undefined], ['/answers', { Status: '503' }], ['/reset', {}]] as const) {
    const { status, text } = await ask(path, body, { at: plain.url });
    const strange = (await missing.clone().text()).replace(/"[^"]*no-such-thing[^"]*"/, '');
    assert.deepEqual([status, text.replace(/"[^"]*sandbox[^"]*"/, '')], [missing.status, strange]);
  }
  assert.doesNotMatch(await (await fetch(`${plain.url}/openapi/management.json`)).text(), /sandbox/);
  await databaseClock.stopAt(new Date());
  const token = await demo.tokenB(estab);
  assert.equal((await fetch(`${plain.url}${rootB}/orgs`, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  await databaseClock.setAhead(0);
  await set('/events', { Mode: 'never' });
  await service.rest();
  await service.work({ DEMO: 'off' });
  await change('SchoolData');
  await settled();
  assert.deepEqual([arrived('/demo').length, arrived('/other').length], [1, 1]);
  const off = useCommands({ ...settings, DEMO: 'off' });
  for (const line of ['sandbox show', 'sandbox answers 503', 'sandbox reset', 'sandbox application --name x'])
    await off.assertFails(/there is no sandbox/, line);
});
