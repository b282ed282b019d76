// The request limit: per credential and minute, in every dialect, off at 0, and shared by processes on one database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { managementToken } from '../../test/onboarding.ts';
import { createValidate, readDocuments } from '../../test/described.ts';
import { asking, testedDialects } from '../../test/dialects.ts';
import { useService } from '../../test/service.ts';
import { SchoolbellError } from '../errors.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';

const estab = '9990001';
const perMinute = 5;
let clock = Date.UTC(2026, 0, 15, 12, 0, 20);
const now = () => clock;
const limited = await useService({ RATE_LIMIT_PER_MINUTE: String(perMinute) }, { now });
const unlimited = await useService({ RATE_LIMIT_PER_MINUTE: '0' });
for (const service of [limited, unlimited]) await service.addSchool(estab, csvPackage({ orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }] }));

const nextMinute = () => {
  clock += 60_000;
};

test('beyond the limit every dialect answers 429 with Retry-After, each in its shape, until the minute is over', async () => {
  const documents = await readDocuments(limited.app);
  for (const dialect of testedDialects) {
    // One secret, one limit: that of a school is taken in two of them.
    const client = await limited.addClient(`app-${dialect.name}`, [estab]);
    const ask = () => dialect.read(client, estab, '/orgs');
    for (let count = 1; count <= perMinute; count += 1) assert.equal((await ask()).status, 200, `request ${count}`);
    for (let more = 1; more <= 2; more += 1) {
      const response = await ask();
      assert.equal(response.status, 429);
      assert.equal(response.headers.get('retry-after'), '40');
      assert.match(response.headers.get('content-type') ?? '', dialect.errorType);
      const text = await response.text();
      const { message, minor } = dialect.readError(text);
      assert.match(message, /5 requests.*wait/i);
      if (dialect.errorSchema) assert.deepEqual(createValidate(documents[dialect.surface])(dialect.errorSchema, JSON.parse(text)), []);
      assert.equal(minor, dialect.asksFreely ? 'server_busy' : undefined);
    }
  }
  nextMinute();
  const client = await limited.addClient('app', [estab]);
  for (const dialect of testedDialects) assert.equal((await dialect.read(client, estab, '/orgs')).status, 200);
});

test('one secret has one limit, in whichever dialect its tokens are used', async () => {
  nextMinute();
  const client = await limited.addClient('shared', [estab]);
  for (let count = 0; count < perMinute; count += 1) assert.equal((await client.b(estab, '/orgs')).status, 200);
  for (const dialect of asking) assert.equal((await dialect.read(client, estab, '/orgs')).status, 429, dialect.name);
  assert.equal((await client.v12(undefined, '/orgs')).status, 200, 'the secret of the application');
});

test('tokens of one credential share its limit, and credentials do not', async () => {
  nextMinute();
  const [one, other] = [await limited.addClient('one', [estab]), await limited.addClient('other', [estab])];
  for (let count = 0; count < perMinute; count += 1) await one.b(estab, '/orgs');
  const anotherToken = { authorization: `Bearer ${await one.tokenB(estab)}` };
  assert.equal((await one.b(estab, '/orgs', anotherToken)).status, 429);
  assert.equal((await one.a('/orgs')).status, 200, 'the credential of the other variant');
  assert.equal((await other.b(estab, '/orgs')).status, 200, 'another application');
});

test('Retry-After is never 0 and never beyond the minute', async () => {
  nextMinute();
  const client = await limited.addClient('timing', [estab]);
  for (let count = 0; count < perMinute; count += 1) await client.b(estab, '/orgs');
  const start = Math.floor(clock / 60_000) * 60_000;
  for (const [after, wait] of [[0, '60'], [1, '60'], [59_001, '1'], [59_999, '1']] as const) {
    clock = start + after;
    assert.equal((await client.b(estab, '/orgs')).headers.get('retry-after'), wait, `${after} ms into the minute`);
  }
  clock = start + 60_000;
  assert.equal((await client.b(estab, '/orgs')).status, 200);
});

test('0 switches the limit off', async () => {
  const client = await unlimited.addClient('app', [estab]);
  const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await client.b(estab, '/orgs')).status));
  assert.deepEqual([...new Set(statuses)], [200]);
});

const standingOf = ({ headers }: Response) => ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`));

test('every answer to a counted call says how many more there may be, in every API, whatever became of it', async () => {
  clock = Math.floor(clock / 60_000) * 60_000 + 20_000;
  const client = await limited.addClient('told', [estab]);
  const basic = { authorization: `Basic ${Buffer.from(`told|${estab}:${client.schoolSecrets[estab]}`).toString('base64')}` };
  const manager = { authorization: `Idaas ${await managementToken(limited.url, 'told', client.managementSecret)}` };
  const etag = (await client.a('/orgs')).headers.get('etag') ?? '';
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"Marks":[]}' };
  const calls: Record<string, readonly [status: number, call: () => Promise<Response>][]> = {
    'variant A': [
      [200, () => client.a('/orgs?limit=1')],
      [200, () => client.a('/orgs', { 'accept-encoding': 'gzip' })],
      [304, () => client.a('/orgs', { 'if-none-match': etag })],
      [404, () => client.a('/orgs/nobody')],
      [400, () => client.a('/orgs?filter=x')],
    ],
    'variant B': [
      [200, () => client.b(estab, '/orgs')],
      [200, () => client.b(estab, '/orgs?limit=2000')],
      [404, () => client.b(estab, '/users/nobody')],
    ],
    'school data': [
      [200, () => client.s(estab, 'Students')],
      [400, () => client.s(estab, 'Students?page=x')],
      [403, () => client.s(estab, 'School/other/Students')],
      [400, () => client.s(estab, `School/${estab}/Attendance`, json)],
      [404, () => client.s(estab, 'Writeback/none')],
    ],
    deliveries: [
      [200, () => client.s(estab, 'Deliveries')],
      [404, () => fetch(`${limited.url}/api/v1/Deliveries/none`, { headers: manager })],
    ],
    registrations: [[200, () => client.s(estab, 'Webhook')], [404, () => client.s(estab, 'Webhook/none', { method: 'DELETE' })]],
    identity: [
      [200, () => fetch(`${limited.url}/api/v1/Identity/GetUsers`, { headers: basic })],
      [200, () => client.s(estab, 'Identity/GetUsers')],
      [404, () => client.s(estab, 'Identity/ResetPassword?username=x', { method: 'POST' })],
      [200, () => fetch(`${limited.url}/api/v1/Identity/GenerateQRCode?text=x`, { headers: manager })],
    ],
    management: [[404, () => fetch(`${limited.url}/api/Manage/SchoolRegister/${estab}`, { method: 'DELETE', headers: manager })]],
  };
  for (const [api, all] of Object.entries(calls)) {
    for (const [status, call] of all) {
      nextMinute();
      const [first, second] = [await call(), await call()];
      assert.deepEqual([standingOf(first), standingOf(second)].map((one) => one.join()), [`${perMinute},4,40`, `${perMinute},3,40`], `${api}: ${first.status}`);
      assert.equal(first.status, status, api);
    }
  }
  nextMinute();
  for (let count = 0; count < perMinute; count += 1) await client.a('/orgs');
  const refused = await client.a('/orgs');
  assert.deepEqual([refused.status, refused.headers.get('retry-after'), ...standingOf(refused)], [429, '40', '5', '0', '40']);
});

test('where nothing is counted, nothing is said', async () => {
  const client = await unlimited.addClient('untold', [estab]);
  const stranger = { authorization: 'Bearer nobody' };
  for (const response of [
    await client.a('/orgs'),
    await client.s(estab, 'Students'),
    await fetch(`${limited.url}/healthz`),
    await fetch(`${limited.url}/api/v1/Students`, { headers: stranger }),
    await fetch(`${limited.url}/api/oauth/GetToken`, { method: 'POST' }),
  ])
    assert.deepEqual(standingOf(response), [null, null, null], response.url);
});

function tryCount(limit: RateLimit, credential: string): boolean {
  try {
    limit.count({}, credential);
    return true;
  } catch (error) {
    assert.ok(error instanceof SchoolbellError && error.code === 'too_many_requests');
    return false;
  }
}

test('two processes on one database share the count after they exchanged it', async ({ mock }) => {
  mock.timers.enable({ apis: ['setInterval'] }); // Exchanges happen where the test asks for them.
  const [first, second] = [createRateLimit(limited.db, 10, now), createRateLimit(limited.db, 10, now)];
  try {
    nextMinute();
    for (let count = 0; count < 6; count += 1) assert.ok(tryCount(first, 'shared'));
    for (let count = 0; count < 4; count += 1) assert.ok(tryCount(second, 'shared'));
    await first.exchange();
    assert.ok(tryCount(first, 'shared'), 'the four of the second are not known yet');
    await second.exchange();
    assert.ok(!tryCount(second, 'shared'), 'six and four are ten');
    assert.ok(tryCount(second, 'another'));
    await first.exchange();
    assert.ok(!tryCount(first, 'shared'), 'six, four and one are eleven');
    nextMinute();
    assert.ok(tryCount(first, 'shared'));
    assert.ok(tryCount(second, 'shared'));
    await Promise.all([first.exchange(), second.exchange()]);
    const rows = await limited.db`select count from request_count where credential = 'shared' order by minute`;
    assert.deepEqual(rows.map((row) => row.count as number), [11, 2]);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});

test('what was counted while an exchange was under way is exchanged by the next', async ({ mock }) => {
  mock.timers.enable({ apis: ['setInterval'] });
  const limit = createRateLimit(limited.db, 100, now);
  try {
    for (let count = 0; count < 3; count += 1) limit.count({}, 'busy');
    const exchange = limit.exchange();
    for (let count = 0; count < 4; count += 1) limit.count({}, 'busy');
    await exchange;
    await limit.exchange();
    const [row] = await limited.db`select count from request_count where credential = 'busy'`;
    assert.equal(row?.count, 7);
  } finally {
    await limit.close();
  }
});

test('what a process has counted when it ends counts for the one that takes its place', async ({ mock }) => {
  mock.timers.enable({ apis: ['setInterval'] });
  nextMinute();
  const ending = createRateLimit(limited.db, 10, now);
  for (let count = 0; count < 3; count += 1) ending.count({}, 'restarted');
  const exchange = ending.exchange();
  for (let count = 0; count < 6; count += 1) ending.count({}, 'restarted');
  await ending.close();
  await exchange;
  const next = createRateLimit(limited.db, 10, now);
  assert.ok(tryCount(next, 'restarted'));
  await next.exchange();
  assert.ok(!tryCount(next, 'restarted'), 'nine and one are ten');
  await next.close();
});
