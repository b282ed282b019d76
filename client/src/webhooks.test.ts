// Covers receiving: events of the service itself, each understood by type; and for every kind of server what is accepted, refused,
// repeated and too long, with signatures made by the service's own code.
import assert from 'node:assert/strict';
import Fastify from 'fastify';
import { once } from 'node:events';
import { createServer, request as httpRequest, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { setConnector } from '../../src/collection/connector-settings.ts';
import { renderSignature } from '../../src/notifications/sign.ts';
import { useDelivering } from '../../test/delivery.ts';
import { smallPackage, user } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { createClient } from './index.ts';
import { expressHandler, fastifyPlugin, fetchHandler, nodeHandler, verify, type HandlerOptions, type WebhookEvent } from './webhooks.ts';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('every event of the service arrives with its type', async () => {
  const { service, run } = await useDelivering({ worker: false });
  await service.work();
  const events: WebhookEvent[] = [];
  let secret = '';
  const url = await serve((request, response) => void nodeHandler({ secret, on: (event) => void events.push(event) })(request, response));
  const scopes = 'School,Student,Attendance,WritebackAttendance,Staff:optional';
  const added = await run('application add', { rp: 'app', name: 'App', 'callback-url': `${url}/events?of=app`, scopes });
  secret = (added.data as { signingSecret: string }).signingSecret;
  await service.addSchool('E1', smallPackage());
  await run('authorise', { rp: 'app', estab: 'E1', scopes });
  const find = async <T extends WebhookEvent['type']>(type: T, which: (event: WebhookEvent) => boolean = () => true) => {
    const found = () => events.find((event): event is Extract<WebhookEvent, { type: T }> => event.type === type && which(event));
    await until(`${type} arrives`, () => found() !== undefined, () => events);
    return found() as Extract<WebhookEvent, { type: T }>;
  };
  const approved = await find('authentication');
  assert.deepEqual(
    [approved.schoolId, approved.schoolName, approved.schoolEmail, approved.partnerId, approved.params, approved.status, approved.scopes.toSorted()],
    ['E1', 'School E1', 'office@E1.example', 'app', { of: 'app' }, undefined, ['Attendance', 'School', 'Staff', 'Student', 'WritebackAttendance']],
  );
  const school = createClient({ url: service.url, rp: 'app' }).school({ estab: approved.schoolId, secret: approved.schoolSecret ?? '' });

  await school.webhooks.register({ url: `${url}/changed?estab=E1`, database: 'SchoolData' });
  await service.load('E1', smallPackage({ users: [user('p7', 'student')] }), { approve: true, partial: true });
  const changed = await find('database');
  assert.deepEqual([changed.params, changed.estab, changed.database], [{ estab: 'E1' }, undefined, undefined]);
  const { webhook } = await school.webhooks.register({ url: `${url}/changed`, database: 'SchoolData', method: 'POST' });
  await school.webhooks.test(webhook.Id);
  const tried = await find('test');
  assert.deepEqual([tried.estab, tried.database], ['E1', 'SchoolData']);

  const asked = await school.ready('Students', {}, {
    callbacks: { take: () => false, expect: () => ({ url: `${url}/ready?mine=1`, arrived: find('availability').then(({ status }) => status), forget() {} }) },
  });
  assert.deepEqual([asked.AllOK, asked.Estab], [true, 'E1']);

  await setConnector(service.db, service.seal, 'E1', { kind: 'csv', folder: undefined });
  await assert.rejects(
    school.writeMarks([{ StudentId: 'nobody', Date: '2026-09-02', Session: 'AM', Mark: '/' }], { callback: `${url}/written` }),
    { name: 'InvalidMarks' },
  );
  const { outcome, params } = await find('writeback');
  assert.deepEqual([outcome.Status, outcome.Total, params.completed, params.trackingid], ['Rejected', 1, 'False', outcome.TrackingId]);
});

const secret = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;
const other = `whsec_${Buffer.from('another secret of 32 bytes, right').toString('base64')}`;
const now = Date.parse('2026-11-16T12:00:00Z');

type Sent = { method?: string; path?: string; body?: string; headers?: Record<string, string> };
type Answered = { status: number; text: string };
type Send = (sent: Sent) => Promise<Answered>;

let ids = 0;
function sign(body = '', given: { id?: string; at?: number; secrets?: string[] } = {}): Record<string, string> {
  const { id = `msg_${(ids += 1)}`, at = now, secrets = [secret] } = given;
  const seconds = Math.floor(at / 1000);
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': renderSignature(id, seconds, Buffer.from(body), secrets) };
}

/** Over HTTP, without waiting until all is sent: who refuses a long body answers before. */
const overHttp = (url: string): Send => ({ method = 'POST', path = '/events', body, headers = {} }) =>
  new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { method, headers }, (response) =>
      void buffer(response).then((text) => resolve({ status: response.statusCode ?? 0, text: String(text) }), reject));
    request.on('error', reject);
    request.end(body);
  });

async function fastifyServer(options: HandlerOptions): Promise<string> {
  const app = Fastify();
  // What the application has besides goes on as it was.
  app.post('/own', (request) => request.body);
  app.register(fastifyPlugin({ path: '/events', ...options }));
  after(() => app.close());
  return app.listen({ host: '127.0.0.1', port: 0 });
}

const servers: Record<string, (options: HandlerOptions) => Promise<Send>> = {
  'node:http': async (options) => overHttp(await serve((request, response) => void nodeHandler(options)(request, response))),
  'Express with raw bodies': async (options) =>
    overHttp(await serve(async (request, response) => {
      const body = await buffer(request);
      await expressHandler(options)(Object.assign(request, body.length > 0 ? { body } : {}), response);
    })),
  Fastify: async (options) => overHttp(await fastifyServer(options)),
  fetch: async (options) => async ({ method = 'POST', path = '/events', body, headers = {} }) => {
    const request = new Request(`https://app.example${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    const answer = await fetchHandler(options)(request);
    return { status: answer.status, text: await answer.text() };
  },
};
const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

for (const [name, open] of Object.entries(servers)) {
  test(`${name}: what is signed is handed over, and answered when it is done`, async () => {
    const events: WebhookEvent[] = [];
    const send = await open({ secret: [other, secret], now: () => now, on: async (event) => void events.push(event) });
    const bodies = {
      authentication: 'schoolSecret=sb_school_x&schoolId=1&schoolName=B%C3%A4r&scopes=School,Student&templateScopes=&installcomplete=true',
      availability: JSON.stringify({ DBStatus: [], AllOK: true }),
      writeback: JSON.stringify({ TrackingId: 't', Status: 'Completed', Marks: [] }),
      database: JSON.stringify({ Estab: '1', DatabaseName: 'SchoolData' }),
      unknown: JSON.stringify({ something: 'new' }),
    };
    for (const [type, body] of Object.entries(bodies)) {
      const answer = await send({ path: '/events?a=b%20c', body, headers: { ...sign(body), ...(type === 'authentication' ? form : json) } });
      assert.deepEqual([answer.status, events.at(-1)?.type, events.at(-1)?.params], [200, type, { a: 'b c' }], answer.text);
    }
    assert.deepEqual((await send({ method: 'GET', path: '/events?estab=7', headers: sign() })).status, 200);
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.params], ['database', { estab: '7' }]);
    await send({ method: 'GET', headers: { ...sign(), 'schoolbell-test': 'true' } });
    assert.equal(events.at(-1)?.type, 'test');
    const [first] = events;
    assert.ok(first?.type === 'authentication');
    assert.deepEqual([first.schoolName, first.scopes, first.templateScopes, first.installComplete], ['Bär', ['School', 'Student'], [], true]);
  });

  test(`${name}: what is not signed, too old or too long is refused, and not handed over`, async () => {
    const handed: string[] = [];
    const send = await open({ secret, now: () => now, maxBytes: 1000, on: ({ id }) => void handed.push(id) });
    const body = JSON.stringify({ Estab: '1', DatabaseName: 'SchoolData' });
    const statusOf = async (headers: Record<string, string>, text = body) => (await send({ body: text, headers: { ...json, ...headers } })).status;
    assert.equal(await statusOf(sign(body, { secrets: [other] })), 401);
    assert.equal(await statusOf(sign(`${body} `)), 401);
    assert.equal(await statusOf(sign(body, { at: now - 301_000 })), 401);
    assert.equal(await statusOf(sign(body, { at: now + 301_000 })), 401);
    assert.equal(await statusOf({ ...sign(body), 'webhook-id': 'msg_other' }), 401);
    assert.equal(await statusOf({ ...sign(body), 'webhook-signature': 'v1,no-base64! v2,AAAA' }), 401);
    assert.equal(await statusOf({ ...sign(body), 'webhook-timestamp': 'now' }), 400);
    assert.equal(await statusOf({}), 400);
    const long = JSON.stringify({ text: 'x'.repeat(5_000) });
    assert.equal(await statusOf(sign(long), long), 413);
    assert.ok([404, 405].includes((await send({ method: 'PUT', body, headers: { ...json, ...sign(body) } })).status));
    assert.deepEqual(handed, []);
    assert.equal(await statusOf(sign(body, { at: now - 299_000, secrets: [other, secret] })), 200);
  });

  test(`${name}: what fails is answered with 500, told, and comes again; what was seen is not handed over twice`, async () => {
    const done = new Set<string>();
    const told: unknown[] = [];
    let calls = 0;
    const send = await open({
      secret,
      now: () => now,
      seen: (id) => done.has(id),
      onError: (error) => void told.push(error),
      async on({ id }) {
        calls += 1;
        if (calls === 1) throw new Error('no database, secret inside');
        done.add(id);
      },
    });
    const headers = { ...json, ...sign('{}', { id: 'msg_again' }) };
    const failed = await send({ body: '{}', headers });
    assert.deepEqual([failed.status, failed.text], [500, 'The receiver failed.']);
    assert.match(String(told[0]), /no database/);
    assert.deepEqual([(await send({ body: '{}', headers })).status, (await send({ body: '{}', headers })).status, calls], [200, 200, 2]);
  });
}

test('Fastify: other routes keep their parsers', async () => {
  const url = await fastifyServer({ secret, on: () => {} });
  const answer = await fetch(`${url}/own`, { method: 'POST', headers: json, body: '{"a":1}' });
  assert.deepEqual(await answer.json(), { a: 1 });
});

test('Express and fetch: a body that was parsed before is an error that says what to do', async () => {
  const errors: unknown[] = [];
  const options: HandlerOptions = { secret, on: () => {}, onError: (error) => void errors.push(error) };
  const url = await serve(async (request, response) => {
    const text = String(await buffer(request));
    await expressHandler(options)(Object.assign(request, { body: JSON.parse(text) as unknown }), response);
  });
  assert.equal((await overHttp(url)({ body: '{}', headers: { ...json, ...sign('{}') } })).status, 500);
  const request = new Request('https://app.example/', { method: 'POST', body: '{}', headers: { ...json, ...sign('{}') } });
  await request.text();
  assert.equal((await fetchHandler(options)(request)).status, 500);
  assert.equal(errors.length, 2);
  for (const error of errors) assert.match(String(error), /parsed before its signature could be checked. Mount the handler before express.json/);
});

test('a call that was answered meanwhile is not answered twice', async () => {
  let handled: Promise<void> | undefined;
  const url = await serve((request, response) => {
    handled = nodeHandler({ secret, now: () => now, on: () => void response.writeHead(503).end('too late') })(request, response);
  });
  assert.equal((await overHttp(url)({ method: 'GET', headers: sign() })).status, 503);
  await handled;
});

test('a secret that is none is the receiver’s fault, and said to it alone', async () => {
  for (const none of ['whsec_', '', []]) {
    const told: unknown[] = [];
    const handler = fetchHandler({ secret: none, on: () => {}, now: () => now, onError: (error) => void told.push(error) });
    const answer = await handler(new Request('https://app.example/', { method: 'POST', body: '{}', headers: sign('{}') }));
    assert.equal(answer.status, 500);
    assert.match(String(told[0]), /signing secret is empty/);
  }
});

test('verify gives the id, of headers of either kind, for any body', async () => {
  for (const body of ['', 'a=b', '{"ä":"ö"}']) {
    const headers = sign(body, { id: 'msg_x' });
    assert.equal(await verify(headers, body, secret, { now: () => now }), 'msg_x');
    assert.equal(await verify(new Headers(headers), new TextEncoder().encode(body), [other, secret], { now: () => now }), 'msg_x');
    await assert.rejects(verify(headers, `${body}.`, secret, { now: () => now }), { code: 'invalid_signature', status: 401 });
  }
  await assert.rejects(verify(sign(''), undefined, secret, { now: () => now, toleranceSeconds: NaN }), { code: 'invalid_signature' });
  const late = sign('', { at: now - 1000_000 });
  assert.ok(await verify(late, undefined, secret, { now: () => now, toleranceSeconds: 1000 }));
});
