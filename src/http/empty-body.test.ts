// Calls without a body whose headers name a content type: taken wherever a body is optional; where one is needed, the
// error says what is missing.
import assert from 'node:assert/strict';
import { request as call } from 'node:http';
import { suite, test } from 'node:test';
import { managementToken } from '../../test/onboarding.ts';
import { rootA, rootB, useService } from '../../test/service.ts';

const estab = 'S1';
const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
await service.addSchool(estab);
const client = await service.addClient('app', [estab]);
const basic = (user: string, secret: string) => `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
const ofSchool = basic(`app|${estab}`, client.schoolSecrets[estab] ?? '');
const manager = `Idaas ${await managementToken(service.url, 'app', client.managementSecret)}`;
const granted = await fetch(`${service.url}/api/oauth/GetToken?estab=${estab}&relyingParty=app`, {
  method: 'POST',
  body: new URLSearchParams({ password: client.schoolSecrets[estab] ?? '' }),
});
const school = `Idaas ${((await granted.json()) as { token: string }).token}`;

type Answer = { status: number; text: string };
const framings = { 'a length of 0': { 'content-length': '0' }, chunks: { 'transfer-encoding': 'chunked' }, nothing: {} } as const;

/** Nothing is added to the headers that are given. */
function ask(method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = call(`${service.url}${path}`, { method, headers }, (response) => {
      let text = '';
      response.on('data', (data) => (text += String(data)));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function register(): Promise<string> {
  const body = JSON.stringify({ url: 'http://127.0.0.1:4001/hook', DatabaseName: 'SchoolData' });
  const response = await client.s(estab, 'Webhook', { method: 'POST', body });
  return ((await response.json()) as { Webhook: { Id: string }[] }).Webhook[0]?.Id ?? '';
}

async function sendTest(id: string): Promise<string> {
  return ((await (await client.s(estab, `Webhook/${id}/Test`, { method: 'POST' })).json()) as { DeliveryId: string }).DeliveryId;
}

const optional: [what: string, method: string, path: (id: string) => string | Promise<string>, authorization: string, status: number][] = [
  ['a registration is removed', 'DELETE', (id) => `/api/v1/Webhook/${id}`, school, 200],
  ['a registration is tested', 'POST', (id) => `/api/v1/Webhook/${id}/Test`, school, 202],
  ['a delivery is sent again', 'POST', async (id) => `/api/v1/Deliveries/${await sendTest(id)}/Replay`, school, 202],
  ['a token of variant A', 'POST', () => `${rootA}/token`, basic(client.clientId, client.clientSecret), 200],
  ['a token of variant B', 'POST', () => `${rootB}/auth/token?grant_type=client_credentials`, ofSchool, 200],
  ['an identity operation with all in the query', 'POST', () => '/api/v1/Identity/ResetPassword?username=nobody', ofSchool, 404],
  ['another one', 'POST', () => `/api/v1/Identity/CreateLogin?OrgId=${estab}&PresenceId=p-1`, school, 404],
  ['a code', 'POST', () => '/api/v1/Identity/GenerateQRCode?text=x', manager, 200],
  ['an invitation is withdrawn', 'DELETE', () => `/api/Manage/SchoolRegister/${estab}`, manager, 404],
];
for (const [what, method, path, authorization, status] of optional) {
  suite(what, () => {
    for (const [framing, headers] of Object.entries(framings)) {
      test(`as JSON with ${framing}`, async () => {
        const answer = await ask(method, await path(await register()), { authorization, 'content-type': 'application/json', ...headers });
        assert.equal(answer.status, status, answer.text);
      });
    }
    for (const type of ['application/json; charset=utf-8', 'text/plain; charset=utf-8', 'application/x-www-form-urlencoded', 'application/octet-stream'])
      test(`as ${type}`, async () => {
        const answer = await ask(method, await path(await register()), { authorization, 'content-type': type, 'content-length': '0' });
        assert.equal(answer.status, status, answer.text);
      });
  });
}

const needed: [method: string, path: string, authorization: string, missing: RegExp][] = [
  ['POST', '/api/v1/Webhook', school, /url and DatabaseName/],
  ['POST', `/api/v1/School/${estab}/Attendance`, school, /Marks/],
  ['POST', '/api/Manage/SchoolRegister', manager, /Schools/],
  ['POST', '/api/v1/Identity/CreateUser', school, /orgId is missing/],
  ['POST', '/api/oauth/GetToken', '', /relyingParty/],
];
for (const [method, path, authorization, missing] of needed) {
  test(`${path} says what its body must hold`, async () => {
    for (const headers of Object.values(framings)) {
      const answer = await ask(method, path, { ...(authorization ? { authorization } : {}), 'content-type': 'application/json', ...headers });
      assert.equal(answer.status, 400, answer.text);
      assert.match((JSON.parse(answer.text) as { ExceptionMessage: string }).ExceptionMessage, missing);
    }
  });
}

test('a body that is no JSON is still refused, and so is one of another type', async () => {
  const post = (type: string, body: string) =>
    fetch(`${service.url}/api/v1/Webhook`, { method: 'POST', headers: { authorization: school, 'content-type': type }, body });
  assert.equal((await post('application/json', '{')).status, 400);
  assert.equal((await post('application/json', '{"__proto__":{"x":1}}')).status, 400);
  assert.equal((await post('text/csv', 'a,b')).status, 415);
});
