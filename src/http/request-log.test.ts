// Every answer carries an id of its own, and the log has one line for it: who asked for what, and how it ended; never a
// query, a body, a credential or a link's secret.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { keepLog, type LogLine } from '../../test/log-lines.ts';
import { rootA, rootB, useService } from '../../test/service.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';

const log = keepLog();
const service = await useService({ LOG_LEVEL: 'debug' }, { logTo: log });
const { url, db } = service;
await service.addSchool('S1', smallPackage());
await service.addSchool('S2', smallPackage());
const client = await service.addClient('app', ['S1']);
const wide = await service.addClient('wide', ['S1', 'S2']);

const idRule = /^[0-9a-f]{20}$/;

/** The line of an answer, once it is there. */
async function lineOf(response: { headers: Headers }): Promise<LogLine> {
  const id = response.headers.get('x-request-id') ?? '';
  assert.match(id, idRule);
  await until('the line is written', async () => log.lines().some((line) => line.msg === 'request' && line.requestId === id));
  const lines = log.lines().filter((line) => line.msg === 'request' && line.requestId === id);
  assert.equal(lines.length, 1, 'one line a request');
  return lines[0] as LogLine;
}

/** What comes back for bytes that are written as they are. */
async function raw(bytes: string): Promise<string> {
  const socket: Socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}

test('each line has the application, the school, the route and how it ended', async () => {
  const listed = await lineOf(await client.b('S1', '/users?limit=2&filter=givenName%3D%27Secret%27'));
  assert.deepEqual(
    [listed.level, listed.method, listed.path, listed.route, listed.status, listed.rp, listed.estab],
    [30, 'GET', `${rootB}/users`, `${rootB}/users`, 200, 'app', 'S1'],
  );
  assert.equal(typeof listed.ms, 'number');
  const one = await lineOf(await client.a('/users/nobody'));
  assert.deepEqual([one.path, one.route, one.status, one.rp, one.estab], [`${rootA}/users/nobody`, `${rootA}/users/:sourcedId`, 404, 'app', 'S1']);
  const signIn = await lineOf(await fetch(`${url}/oidc/auth?client_id=unknown`));
  assert.deepEqual([signIn.path, signIn.status], ['/oidc/auth', 400], 'the path as it was asked for, whoever answers');
  const many = await lineOf(await wide.a('/orgs'));
  assert.deepEqual([many.rp, 'estab' in many], ['wide', false], 'of several schools none is named');
  const data = await lineOf(await client.s('S1', 'Students?select=Surname'));
  assert.deepEqual([data.path, data.rp, data.estab], ['/api/v1/Students', 'app', 'S1']);
  const token = await fetch(`${url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ relyingParty: 'app', password: client.managementSecret }),
  });
  const tokenLine = await lineOf(token);
  assert.deepEqual([tokenLine.rp, 'estab' in tokenLine], ['app', false]);
  const bearer = { authorization: `Bearer ${((await token.json()) as { token: string }).token}` };
  const managed = await lineOf(await fetch(`${url}/api/Manage/SchoolRegister/X`, { method: 'DELETE', headers: bearer }));
  assert.equal(managed.rp, 'app');
  const basic = { authorization: `Basic ${btoa(`app|S1:${client.schoolSecrets.S1}`)}` };
  const identity = await lineOf(await fetch(`${url}/api/v1/Identity/GetUsers`, { headers: basic }));
  assert.deepEqual([identity.rp, identity.estab, identity.status], ['app', 'S1', 200]);
});

test('whom a line is about is known although the request was refused, but not by a credential that is wrong', async () => {
  await db`update authorisation set state = 'Paused' where estab = 'S1' and rp = 'app'`;
  const paused = await lineOf(await client.s('S1', 'Students'));
  await db`update authorisation set state = 'Approved' where estab = 'S1' and rp = 'app'`;
  assert.deepEqual([paused.status, paused.rp, paused.estab, paused.refusedAs], [403, 'app', 'S1', 'forbidden']);
  const wrong = await lineOf(await fetch(`${url}/api/v1/Identity/GetUsers`, { headers: { authorization: `Basic ${btoa('app|S1:wrong')}` } }));
  assert.deepEqual([wrong.status, 'rp' in wrong], [401, false]);
});

test('every answer carries an id of its own, whatever it is', async () => {
  const etag = (await client.b('S1', '/users?limit=1')).headers.get('etag') ?? '';
  const ids = new Set<string>();
  const expect = async (status: number, response: Response) => {
    assert.equal(response.status, status);
    ids.add(String((await lineOf(response)).requestId));
    await response.text();
  };
  const page = { accept: 'text/html' };
  const answers: [number, () => Promise<Response>][] = [
    [200, () => client.b('S1', '/users')],
    [304, () => client.b('S1', '/users?limit=1', { 'if-none-match': etag })],
    [400, () => client.b('S1', '/users?limit=x')],
    [401, () => fetch(`${url}${rootB}/users`)],
    [404, () => fetch(`${url}/nothing`)],
    [404, () => fetch(`${url}/nothing`, { headers: page })],
    [400, () => fetch(`${url}/nothing/%E0%A4%A`)],
    [405, () => fetch(`${url}${rootB}/users`, { method: 'DELETE' })],
    [415, () => client.s('S1', 'Webhook', { method: 'POST', body: 'x', headers: { 'content-type': 'text/csv' } })],
    [200, () => fetch(`${url}/login`, { headers: page })],
    [303, () => fetch(`${url}/school/home`, { redirect: 'manual' })],
    [200, () => fetch(`${url}/oidc/.well-known/openid-configuration`)],
    [404, () => fetch(`${url}/oidc/nothing`)],
    [400, () => fetch(`${url}/oidc/auth?client_id=nobody`)],
    [200, () => fetch(`${url}/healthz`)],
    [200, () => fetch(`${url}/readyz`, { method: 'HEAD' })],
  ];
  for (const [status, ask] of answers) await expect(status, await ask());
  assert.equal(ids.size, answers.length);
});

test('so do answers to what is hardly HTTP', async () => {
  for (const [bytes, status] of [
    ['GET / HTTP/1.1\r\nbad header\r\n\r\n', '400 Bad Request'],
    [`GET / HTTP/1.1\r\nhost: x\r\nlong: ${'x'.repeat(20_000)}\r\n\r\n`, '431 Request Header Fields Too Large'],
    ['GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n', '400 Bad Request'],
    ['GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: a-miracle\r\nconnection: close\r\n\r\n', '200 OK'],
  ] as const) {
    const answer = await raw(bytes);
    assert.equal(answer.split('\r\n', 1)[0], `HTTP/1.1 ${status}`);
    const id = /^x-request-id: ([0-9a-f]{20})\r$/im.exec(answer)?.[1];
    assert.ok(id, answer);
    await until('it is in the log', async () => log.lines().some((line) => line.requestId === id));
  }
});

test('an id that comes in is logged if it looks like one, and never taken over', async () => {
  const told = await fetch(`${url}/healthz`, { headers: { 'x-request-id': 'their-id.1' } });
  const line = await lineOf(told);
  assert.equal(line.theirRequestId, 'their-id.1');
  const odd = await lineOf(await fetch(`${url}/healthz`, { headers: { 'x-request-id': 'name=Bob Smith' } }));
  assert.equal('theirRequestId' in odd, false);
});

test('health checks are lines for debugging', async () => {
  assert.equal((await lineOf(await fetch(`${url}/healthz`))).level, 20);
  assert.equal((await lineOf(await fetch(`${url}/readyz`))).level, 20);
});

test('an error that nobody expected is quoted by its id, on pages too, and its line has the cause', async () => {
  await db`alter table school_link rename to gone`;
  await db`alter table component_database rename to away`;
  try {
    const token = `S1~${'a'.repeat(43)}`;
    for (const response of [await fetch(`${url}/school/open/${token}`), await client.s('S1', 'Databases')]) {
      assert.equal(response.status, 500);
      const id = response.headers.get('x-request-id') ?? '';
      assert.ok((await response.text()).includes(id));
      await lineOf(response);
      const cause = log.lines().find((line) => line.requestId === id && line.level === 50);
      assert.match(JSON.stringify(cause?.err), /does not exist/);
    }
  } finally {
    await db`alter table gone rename to school_link`;
    await db`alter table away rename to component_database`;
  }
});

test('secrets of links, queries, bodies and credentials are in no line', async () => {
  const token = 'Tok3n'.repeat(9);
  for (const path of ['/school/open/', '/register/', '/oidc/interaction/', '/oidc/auth/', '/nowhere/', `${'/x'.repeat(5)}/`]) {
    const line = await lineOf(await fetch(`${url}${path}${token}?password=hunter2`, { redirect: 'manual', headers: { accept: 'text/html' } }));
    assert.equal(String(line.path).includes('Tok3n'), false, path);
  }
  const form = new URLSearchParams({ estab: 'S1', username: 'somebody', password: 'hunter2' });
  await lineOf(await fetch(`${url}/login`, { method: 'POST', body: form }));
  for (const secret of ['Tok3n', 'hunter2', 'givenName', 'Secret', client.managementSecret, client.schoolSecrets.S1 ?? '', await client.tokenB('S1')])
    assert.equal(log.text().includes(secret), false, secret);
});

/** Other databases of the cluster have a table of the same number. */
const here = db`relation = 'authorisation'::regclass and database = (select oid from pg_database where datname = current_database())`;

test('a caller who leaves before the answer is a line too', async () => {
  const token = await client.tokenB('S1');
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const isLeft = (line: LogLine) => line.path === `${rootB}/terms` && line.status === 499 && line.cutOff === true;
  await db.begin(async (tx) => {
    await tx`lock table authorisation`;
    socket.write(`GET ${rootB}/terms HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
    await until('it waits', async () => (await tx`select from pg_locks where not granted and ${here}`).length > 0);
    socket.destroy();
    await until('its line is there', () => log.lines().some(isLeft));
  });
});

test('a request that comes while the service ends, on a connection that it has, is answered, told to close and noted', async () => {
  const { app, url: ending } = await service.join();
  const token = await client.tokenB('S1');
  const socket = connect(Number(new URL(ending).port), '127.0.0.1');
  const answers = text(socket);
  const ask = (path: string) => socket.write(`GET ${rootB}${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\n\r\n`);
  let closing: Promise<void> | undefined;
  const isLast = (line: LogLine) => line.path === `${rootB}/orgs` && line.status === 200;
  await db.begin(async (tx) => {
    await tx`lock table authorisation`;
    ask('/terms');
    await until('it waits', async () => (await tx`select from pg_locks where not granted and ${here}`).length > 0);
    closing = app.close();
    await until('it no longer takes connections', async () => !app.server.listening);
    const heard = once(app.server, 'request');
    ask('/orgs');
    await heard;
  });
  const [first = '', second = ''] = (await answers).split('HTTP/1.1 ').slice(1);
  assert.deepEqual([first.slice(0, 3), second.slice(0, 3)], ['200', '200']);
  assert.match(second, /^x-request-id: [0-9a-f]{20}\r$/im);
  assert.match(second, /^connection: close\r$/im);
  await closing;
  assert.ok(log.lines().some(isLast));
});

test('of several failures that are told as one the log has each', () => {
  service.app.log.error({ err: new AggregateError([new Error('first', { cause: new Error('deeper') }), new Error('second')], '2 failed') }, 'gone through');
  const line = log.lines().find(({ msg }) => msg === 'gone through');
  for (const words of ['2 failed', 'first', 'deeper', 'second']) assert.ok(JSON.stringify(line?.err).includes(`"message":"${words}"`), words);
  const errors = Array.from({ length: 4_000 }, (_, at) => new Error(`school ${at}`));
  service.app.log.error({ err: new AggregateError(errors, 'many failed') }, 'of very many the first');
  const { err } = log.lines().find(({ msg }) => msg === 'of very many the first') as unknown as { err: { errors: unknown[]; errorsTotal: number } };
  assert.deepEqual([err.errors.length, err.errorsTotal], [10, 4_000]);
});

test('a request that the deadline answers has no part of its query in the log, although its handler goes on', async (context) => {
  const before = log.lines().length;
  const deadlines: (() => void)[] = [];
  const { setTimeout: start } = globalThis;
  context.mock.method(globalThis, 'setTimeout', (run: () => void, ms: number) => (ms === 14_500 ? deadlines.push(run) : start(run, ms)));
  const holding = await db.reserve();
  await holding`begin`;
  await holding`lock table application_secret in access exclusive mode`;
  const authorization = `Basic ${btoa(`app:${client.managementSecret}`)}`;
  const asking = fetch(`${url}/api/v1/Identity/GenerateQRCode?text=WIFI%3Apassword`, { headers: { authorization } });
  try {
    await until('the handler waits for the database', async () => (await lockWaits(db)).length > 0);
    for (const run of deadlines) run();
    assert.equal((await asking).status, 503);
  } finally {
    await holding`rollback`;
    holding.release();
  }
  await until('the handler has ended', async () => (await db`select from identity_audit where operation = 'GenerateQRCode' and outcome = 'done'`).length === 1);
  await new Promise(setImmediate);
  const lines = log.lines().slice(before);
  assert.equal(JSON.stringify(lines).includes('WIFI'), false);
  assert.deepEqual(lines.filter(({ level, msg }) => level >= 40 && msg !== 'the database does not answer'), []);
});
