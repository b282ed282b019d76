// Database events from end to end: registered through HTTP, caused by real imports, delivered by a real worker to a
// real receiver. When one is made and when none, what stops it, what arrives, and how deliveries are seen and repeated.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, beforeEach, test } from 'node:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { verifyWebhook } from '../../client/verify-webhook.js';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { clearDeliveries } from '../../test/delivery.ts';
import { until as untilHolds } from '../../test/until.ts';
import { useService } from '../../test/service.ts';
import { rotateApplicationSecret } from '../access/applications.ts';
import { authorise, changeState, type AuthorisationState } from '../access/authorisations.ts';
import { deliveryCommands } from '../commands/deliveries.ts';
import { readConfig } from '../config.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { startWorker } from '../outbox/worker.ts';
import { createDelivery } from './deliver.ts';

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db, seal } = service;
const allowed = parseAllowList(['127.0.0.0/8']);
const outbound = createOutbound(allowed);
const call = createDelivery(db, seal, outbound, '1.2.3', { answersFrom: allowed });
const start = () => startWorker({ db, handlers: { call }, log: { warn() {}, error() {} }, pollMs: 20 });
let worker = await start();

// ---- The receiver -------------------------------------------------------------------------------------------------
type Arrival = { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer; id: string };
let arrivals: Arrival[] = [];
let answer: (arrival: Arrival) => number | Promise<number> = () => 200;
const receiver = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const arrival = {
    method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks),
    id: String(request.headers['webhook-id']),
  };
  arrivals.push(arrival);
  response.writeHead(await answer(arrival)).end('thank you');
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

after(async () => {
  await worker.stop();
  await outbound.close();
  receiver.closeAllConnections();
  receiver.close();
});

// ---- Schools ------------------------------------------------------------------------------------------------------
type School = { estab: string; rp: string; signingSecret: string; id: string; api(method: string, path?: string, body?: object): Promise<Response> };
let school: School;
let schools = 0;
let changes = 0;
const person = (sourcedId: string, givenName: string) => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'o1', role: 'student', username: sourcedId, givenName, familyName: 'Lee',
});
const live = (row: Record<string, string>) => ({ ...row, status: 'active', dateLastModified: '2026-09-01T08:00:00.000Z' });
const pupils: Rows = Array.from({ length: 60 }, (_, at) => person(`p${at}`, 'Ann'));
const everything = () => csvPackage({ orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }], users: pupils });

beforeEach(async () => {
  await clearDeliveries(db);
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab, everything());
  const client = await service.addClient(`app${schools}`, [estab], 'School:optional,Identity');
  const json = { 'content-type': 'application/json' };
  const granted = await fetch(`${service.url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ estab, relyingParty: client.rp, password: client.schoolSecrets[estab] }),
  });
  const headers = { authorization: `Idaas ${((await granted.json()) as { token: string }).token}` };
  const api: School['api'] = (method, path = '', body) =>
    fetch(`${service.url}/api/v1/Webhook${path}`, { method, ...(body ? { headers: { ...headers, ...json }, body: JSON.stringify(body) } : { headers }) });
  school = { estab, rp: client.rp, signingSecret: client.signingSecret, api, id: '' };
  school.id = await register();
  arrivals = [];
  answer = () => 200;
});

async function register(path = '/hook', more: object = {}): Promise<string> {
  const response = await school.api('POST', '', { url: `${origin}${path}`, DatabaseName: 'SchoolData', ...more });
  assert.ok(response.status < 300, await response.clone().text());
  return ((await response.json()) as { Webhook: { Id: string }[] }).Webhook[0]?.Id ?? '';
}

async function change(): Promise<void> {
  const report = await service.load(school.estab, csvPackage({ users: [live(person('p0', `Name ${(changes += 1)}`))] }, { mode: 'delta' }));
  assert.equal(report.outcome, 'done');
}

const setState = (to: AuthorisationState) => changeState(db, { rp: school.rp, estab: school.estab, from: ['Approved', 'Paused'], to });
const rows = async () => [
  ...(await db<{ id: string; state: string; attempts: number }[]>`select id, state, attempts from outbox where estab = ${school.estab} order by created_at`),
];

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await untilHolds(what, holds, async () => [await rows(), `${arrivals.length} arrived`]);
}

/** Whatever waits and was tried at most so often is due now. */
async function hurry(tried = 1_000): Promise<void> {
  await db`update outbox set due_at = now() where estab = ${school.estab} and state = 'waiting' and attempts <= ${tried}`;
  await db`update lane set next_at = now() where next_at is not null`;
}

/** Until nothing is due or under way any more. What was tried already keeps its delay: the first attempt may be over by now. */
async function settled(): Promise<void> {
  await hurry(0);
  await until(
    'settled',
    async () => (await db`select from outbox where estab = ${school.estab} and (state = 'running' or (state = 'waiting' and due_at <= now()))`).length === 0,
  );
}

/** The same, after another attempt of whatever waits. */
async function retried(): Promise<void> {
  await hurry();
  await settled();
}

/** What is announced meanwhile waits until the end, however long that takes: nothing is claimed. */
async function unclaimed(work: () => Promise<unknown>): Promise<void> {
  const holder = await db.reserve();
  try {
    await holder`select pg_advisory_lock(5219005)`;
    await work();
  } finally {
    await holder`select pg_advisory_unlock(5219005)`;
    holder.release();
  }
}

/** An event's first call, which has arrived and waits for its answer. */
async function callUnderWay(): Promise<{ end(status?: number): Promise<void> }> {
  const released = Promise.withResolvers<number>();
  answer = () => {
    answer = () => 200;
    return released.promise;
  };
  await change();
  await hurry();
  await until('it has arrived', () => arrivals.length === 1);
  return {
    async end(status = 500) {
      released.resolve(status);
      await until('it is settled', async () => (await rows()).every(({ state }) => state !== 'running'));
      await settled();
    },
  };
}

const run = async (name: string, options: Record<string, string | boolean> = {}, ...positionals: string[]): Promise<unknown> =>
  JSON.parse(
    JSON.stringify((await deliveryCommands.find((one) => one.name === name)?.run({ db, seal, config: readConfig({}) }, { options, positionals }))?.data),
  );

// ---- When ---------------------------------------------------------------------------------------------------------
test('a burst of changes makes one call, 2 s after the last', async () => {
  const clock = async () => (await db<{ now: Date }[]>`select clock_timestamp() as now`)[0]?.now.getTime() ?? 0;
  // Nobody works meanwhile, so that it is a burst on a slow machine too.
  await worker.stop();
  try {
    for (let time = 0; time < 20; time += 1) await change();
    // The longest wait counts from the first, which may be long ago by now.
    await db`update outbox set created_at = clock_timestamp()`;
    const before = await clock();
    await change();
    const after = await clock();
    const [due, ...more] = (await db<{ due: Date }[]>`select due_at as due from outbox where estab = ${school.estab}`).map((row) => row.due.getTime());
    assert.ok(more.length === 0 && Number(due) >= before + 2000 && Number(due) <= after + 2001, `due at ${due}, changed between ${before} and ${after}`);
    assert.equal(arrivals.length, 0);
  } finally {
    worker = await start();
  }
  await until('the call', () => arrivals.length > 0);
  await settled();
  assert.deepEqual([arrivals.length, (await rows()).map(({ state }) => state)], [1, ['done']]);
});

for (const status of [200, 500]) {
  test(`changes during a call that ends with ${status} make exactly one more, under a new id`, async () => {
    const call = await callUnderWay();
    await unclaimed(async () => {
      for (let time = 0; time < 3; time += 1) await change();
    });
    await call.end(status);
    await settled();
    assert.deepEqual([arrivals.length, new Set(arrivals.map(({ id }) => id)).size], [2, 2]);
    assert.deepEqual((await rows()).map(({ state }) => state), [status === 200 ? 'done' : 'superseded', 'done']);
  });
}

test('a call that hangs until the next event has arrived is not repeated when it fails', async () => {
  const call = await callUnderWay();
  await change();
  await hurry();
  await until('the second', () => arrivals.length === 2);
  await call.end(503);
  assert.equal(arrivals.length, 2);
});

test('a change while a retry waits supersedes it', async () => {
  answer = () => 500;
  await change();
  await settled();
  answer = () => 200;
  await unclaimed(change);
  await settled();
  assert.deepEqual((await rows()).map(({ state, attempts }) => [state, attempts]), [['superseded', 1], ['done', 1]]);
  assert.equal(new Set(arrivals.map(({ id }) => id)).size, 2);
});

test('nothing changed, held and refused imports make no event', async () => {
  assert.equal((await service.load(school.estab, everything())).outcome, 'unchanged');
  assert.equal((await service.load(school.estab, csvPackage({ users: pupils.slice(0, 20) }))).outcome, 'held');
  assert.equal((await service.load(school.estab, csvPackage({ users: [{ sourcedId: 'broken' }] }, { mode: 'delta' }))).outcome, 'refused');
  assert.deepEqual(await rows(), []);
  assert.equal((await service.load(school.estab, csvPackage({ users: pupils.slice(0, 20) }), { approve: true })).outcome, 'done');
  assert.equal((await rows()).length, 1);
});

// ---- What stops it ------------------------------------------------------------------------------------------------
for (const state of ['Paused', 'Revoked'] as const) {
  test(`${state}: what waits is cancelled at delivery, and changes make nothing`, async () => {
    await unclaimed(async () => {
      await change();
      await setState(state);
    });
    await settled();
    await change();
    assert.deepEqual([(await rows()).map(({ state }) => state), arrivals.length], [['cancelled'], 0]);
  });
}

test('narrowed scopes that open nothing of the database stop events, those that wait and replays of missing ones too', async () => {
  await unclaimed(async () => {
    await change();
    await authorise(db, { rp: school.rp, estab: school.estab, scopes: 'Identity' });
  });
  await change();
  await settled();
  assert.deepEqual([arrivals.length, await run('replay', { missing: true })], [0, { announced: 0 }]);
});

for (const [what, act] of [['unregistering', () => school.api('DELETE', `/${school.id}`)], ['replacing the URL', () => register('/new')]] as const) {
  test(`${what} stops what waits for the URL, and what a failing call under way would retry there`, async () => {
    const call = await callUnderWay();
    await unclaimed(async () => {
      await change();
      await act();
    });
    await call.end();
    await change();
    await settled();
    assert.equal(arrivals.filter(({ url }) => url === '/hook').length, 1);
  });
}

test('registering again replaces the URL: what is still to be told goes to the new one, once, and nothing to the old', async () => {
  await unclaimed(async () => {
    await change();
    await register('/new');
  });
  await settled();
  assert.deepEqual(arrivals.map(({ url }) => url), ['/new']);
});

// ---- What arrives -------------------------------------------------------------------------------------------------
test('the URL goes out byte for byte, registered by POST or GET', async () => {
  const paths = [
    `/h?q='x'&d="y"|z&bad=%zz&plus=a+b&sp=%20&empty=&=none&r=1&r=2&flag&&e=%C3%A9&;{}^\`<>[]`,
    '/h?', '/h?a=1&', '/a/../b/./c//d;v=1?x', '/h??a=b?c',
    `/h?u=http://x/?y=1&e=${'%2F'.repeat(500)}`,
    '?only=query',
    '',
  ];
  for (const [at, path] of paths.entries()) {
    if (at % 2 === 0) await register(path);
    else assert.equal((await school.api('GET', `?url=${encodeURIComponent(`${origin}${path}`)}&DatabaseName=SchoolData`)).status, 200);
    assert.equal((await school.api('POST', `/${school.id}/Test`)).status, 202);
    await settled();
  }
  assert.deepEqual(arrivals.map(({ url }) => url), paths.map((path) => (path.startsWith('/') ? path : `/${path}`)));
});

test('a GET is empty, a POST a small JSON body; both are signed over what arrives, and say who calls', async () => {
  for (const method of ['GET', 'POST']) {
    await register('/hook', { Method: method });
    await change();
    await settled();
    const got = arrivals.at(-1);
    assert.ok(got?.method === method);
    assert.deepEqual(
      method === 'GET' ? got.body.length : JSON.parse(got.body.toString()),
      method === 'GET' ? 0 : { Estab: school.estab, DatabaseName: 'SchoolData' },
    );
    assert.equal(got.headers['content-type'], method === 'GET' ? undefined : 'application/json');
    assert.equal(got.headers['user-agent'], 'Schoolbell/1.2.3');
    assert.equal(verifyWebhook(got.headers, got.body, school.signingSecret), got.id);
    if (method === 'POST') new StandardWebhook(school.signingSecret).verify(got.body, got.headers as Record<string, string>);
    assert.throws(() => verifyWebhook(got.headers, Buffer.concat([got.body, Buffer.from(' ')]), school.signingSecret));
  }
});

test('retries carry the same id and bytes, each its own valid signature; a rotated secret signs beside the old one for a day', async () => {
  await register('/hook', { Method: 'POST' });
  answer = () => 500;
  await change();
  await settled();
  const next = await rotateApplicationSecret(db, seal, school.rp, 'signing');
  await retried();
  await db`update application_secret set valid_until = now() where rp = ${school.rp} and valid_until is not null`;
  answer = () => 200;
  await retried();
  assert.equal(arrivals.length, 3);
  assert.deepEqual(new Set(arrivals.map(({ id, body }) => `${id} ${body.toString()}`)).size, 1);
  for (const [secret, from, to] of [[school.signingSecret, 0, 2], [next, 1, 3]] as const) {
    for (const [at, { headers, body, id }] of arrivals.entries()) {
      if (at >= from && at < to) assert.equal(verifyWebhook(headers, body, secret), id);
      else assert.throws(() => verifyWebhook(headers, body, secret), /no signature matches/);
    }
  }
});

// ---- Seen and repeated --------------------------------------------------------------------------------------------
test('deliveries shows attempts, states and reasons, and no secret', async () => {
  answer = () => 503;
  await change();
  await settled();
  type Shown = { id: string; attempts: number; log: { errorClass: string; status: number; response: string; address: string; at: string; nextAt: string }[] };
  const shown = (await run('deliveries', { estab: school.estab, rp: school.rp, state: 'waiting' })) as Shown[];
  assert.deepEqual(
    shown.map(({ id, attempts, log }) => [id, attempts, log[0]?.errorClass, log[0]?.status, log[0]?.response, log[0]?.address]),
    [[arrivals[0]?.id, 1, 'status_503', 503, 'thank you', '127.0.0.1']],
  );
  assert.ok(Date.parse(shown[0]?.log[0]?.nextAt ?? '') > Date.parse(shown[0]?.log[0]?.at ?? ''));
  assert.doesNotMatch(JSON.stringify(await run('deliveries')), /whsec_|sb_[a-z]+_|Idaas|Bearer/);
  assert.equal(((await run('deliveries', { estab: school.estab, state: 'done' })) as unknown[]).length, 0);
  await assert.rejects(run('deliveries', { state: 'lost' }), /must be one of/);
});

test('replay sends one again, or all that failed since a time, under the same id with a fresh schedule', async () => {
  await change();
  await settled();
  const id = arrivals[0]?.id ?? '';
  assert.deepEqual(await run('replay', {}, id), { replayed: [id] });
  await settled();
  await db`update outbox set state = 'failed', settled_at = now() - interval '1 hour', attempts = 12, forgiven = 0 where id = ${id}`;
  answer = () => 500;
  assert.deepEqual(await run('replay', { 'failed-since': new Date(Date.now() - 60_000).toISOString() }), { replayed: [], left: [] });
  assert.deepEqual(await run('replay', { 'failed-since': new Date(Date.now() - 2 * 3_600_000).toISOString() }), { replayed: [id], left: [] });
  await settled();
  assert.deepEqual([arrivals.map((one) => one.id), await rows()], [[id, id, id], [{ id, state: 'waiting', attempts: 13 }]]);
  await assert.rejects(run('replay', {}, 'msg_unknown'), /no delivery msg_unknown/);
});

test('replay --missing tells of the present state whoever was not told of it, once', async () => {
  await change();
  await settled();
  await setState('Paused');
  await change();
  await setState('Approved');
  assert.equal((await rows()).length, 1);
  assert.deepEqual([await run('replay', { missing: true }), await run('replay', { missing: true })], [{ announced: 1 }, { announced: 0 }]);
  await settled();
  assert.deepEqual([arrivals.length, await run('replay', { missing: true })], [2, { announced: 0 }]);
});
