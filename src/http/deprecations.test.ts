// What is deprecated says so: in every answer, errors included, beside the links that an answer has of its own, in the documents and
// in the log. What is not says nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keepLog } from '../../test/log-lines.ts';
import { rootB, useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { deprecations, type Deprecation } from './deprecations.ts';

const table: readonly Deprecation[] = [
  { path: `${rootB}/users`, since: '2026-09-01', sunset: '2028-08-01', instead: 'Use students and teachers.' },
  { path: '/api/v1/Webhook', method: 'GET', since: '2027-01-15', instead: 'Use POST.' },
  { path: '/oidc', since: '2027-01-15', instead: 'Use another.' },
];
const log = keepLog();
const service = await useService({ LOG_LEVEL: 'info' }, { logTo: log, deprecations: table });
const { url } = service;
await service.addSchool('1000001', smallPackage());
const client = await service.addClient('old.example', ['1000001']);
const link = `<${url}/docs/changes>; rel="deprecation"; type="text/html"`;

const read = (response: Response) => [response.headers.get('deprecation'), response.headers.get('sunset')];
const sunset = 'Tue, 01 Aug 2028 00:00:00 GMT';
const since = `@${Date.UTC(2026, 8, 1) / 1000}`;

test('a list says since when, until when, and where to read, beside its own links', async () => {
  const response = await client.b('1000001', '/users?limit=1');
  assert.equal(response.status, 200);
  assert.deepEqual(read(response), [since, sunset]);
  assert.match(response.headers.get('link') ?? '', /rel="next"/);
  assert.ok(response.headers.get('link')?.endsWith(`, ${link}`), response.headers.get('link') ?? '');
});

test('what is below it says so too, also when it is not found, refused or only headers are asked for', async () => {
  const missing = await client.b('1000001', '/users/nobody');
  assert.deepEqual([missing.status, ...read(missing), missing.headers.get('link')], [404, since, sunset, link]);
  const refused = await fetch(`${url}${rootB}/USERS/`);
  assert.deepEqual([refused.status, ...read(refused), refused.headers.get('link')], [401, since, sunset, link]);
  const head = await fetch(`${url}${rootB}/users`, { method: 'HEAD' });
  assert.deepEqual([...read(head), head.headers.get('link')], [since, sunset, link]);
});

test('of a verb alone; without a day on which it ends there is no Sunset', async () => {
  const get = await client.s('1000001', 'Webhook');
  assert.deepEqual([get.status, ...read(get), get.headers.get('link')], [200, `@${Date.UTC(2027, 0, 15) / 1000}`, null, link]);
  const head = await fetch(`${url}/api/v1/Webhook`, { method: 'HEAD' });
  assert.deepEqual(read(head), read(get), 'headers alone are a GET too');
  const post = await client.s('1000001', 'Webhook', { method: 'POST', body: '{}' });
  assert.deepEqual([post.status, ...read(post), post.headers.get('link')], [400, null, null, null]);
});

test('what answers past the framework says so as well', async () => {
  const response = await fetch(`${url}/oidc/.well-known/openid-configuration`);
  assert.deepEqual([response.status, ...read(response), response.headers.get('link')], [200, `@${Date.UTC(2027, 0, 15) / 1000}`, null, link]);
});

test('what is not deprecated says nothing, and today nothing is', async () => {
  for (const path of ['/students?limit=1', '/classes?limit=1', '/usersx']) {
    const response = await client.b('1000001', path);
    assert.deepEqual(read(response), [null, null], path);
    assert.doesNotMatch(response.headers.get('link') ?? '', /deprecation/, path);
  }
  assert.deepEqual(deprecations, []);
});

test('the documents call it deprecated, and nothing else', async () => {
  type Paths = Record<string, Record<string, { deprecated?: boolean }>>;
  const { paths } = (await (await fetch(`${url}/openapi/variant-b.json`)).json()) as { paths: Paths };
  const marked = Object.entries(paths).flatMap(([path, item]) => Object.values(item).flatMap(({ deprecated }) => (deprecated ? [path] : [])));
  assert.deepEqual(marked, ['/users', '/users/{sourcedId}', '/users/{userSourcedId}/classes'].map((path) => `${rootB}${path}`));
});

test('who still calls stands in the log', async () => {
  await client.b('1000001', '/users?limit=1');
  await client.b('1000001', '/students?limit=1');
  const lines = () => log.lines().filter(({ msg, rp }) => msg === 'request' && rp === 'old.example');
  await until('both lines', () => lines().some(({ path }) => path === `${rootB}/students`));
  assert.deepEqual(new Set(lines().filter(({ path }) => path === `${rootB}/users`).map(({ deprecated }) => deprecated)), new Set([true]));
  assert.ok(lines().every((line) => line.path !== `${rootB}/students` || !('deprecated' in line)));
});
