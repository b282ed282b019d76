// Covers what is kept of requests: a line for each and counts of all, by whom it was certain to be, without queries, ids and
// what stands at addresses that are none; no more at once than fits; and nothing of an application that is gone.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { rootA, rootB, useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { removeApplication } from '../onboarding/remove-application.ts';
import type { EndedRequest } from '../http/request-log.ts';
import { createRequestMeter } from '../http/request-meter.ts';
import { connect } from '../db/connect.ts';
import { createRequestLines, describePath, mostWaiting } from './request-lines.ts';
import { forgetRequestLines, listRequests, mostLines, readRequestHours, type RequestCount, type RequestLine } from './requests.ts';

const began = Date.now();
const service = await useService();
const { db, url, lines } = service;
await service.addSchool('3805001', smallPackage());
await service.addSchool('3805002', smallPackage());
const client = await service.addClient('app', ['3805001', '3805002']);

/** An answer is there before the request is over. */
async function requestsOf(rp: string, fewest: number): Promise<RequestLine[]> {
  let found: RequestLine[] = [];
  await until(`${fewest} lines of ${rp}`, async () => {
    await lines.write();
    found = await listRequests(db, { rp, most: 100 });
    return found.length >= fewest;
  });
  return found;
}
const isToken = (path: string) => path.endsWith('oken');
const shown = ({ method, path, status, estab, records }: RequestLine) => [method, path, status, estab, records];
const leftOut = (meter: ReturnType<typeof createRequestMeter>) =>
  meter.measure().find(({ name }) => name === 'schoolbell_request_lines_left_out_total')?.values[0]?.value;

before(async () => {
  await client.tokenA();
  await requestsOf('app', 1);
});

test('every request to the API is one line, with who, what, how it ended and how many records; no query and no id', async () => {
  const asking = [
    () => client.b('3805001', '/users?limit=2&filter=familyName%3D%27Secret%27'),
    () => client.b('3805001', '/users?limit=2'),
    () => client.b('3805001', '/users/p1'),
    () => client.a('/users'),
    () => client.s('3805001', 'School/3805001/Students'),
    () => client.b('3805001', '/users/anna.secret@home.example'),
  ];
  const ids: (string | null)[] = [];
  for (const ask of asking) {
    const answer = await ask();
    await answer.arrayBuffer();
    ids.push(answer.headers.get('x-request-id'));
    await requestsOf('app', ids.length + 1);
  }
  const found = (await requestsOf('app', 10)).toReversed();
  assert.deepEqual(found.filter(({ path }) => isToken(path)).map(shown).slice(0, 2), [
    ['POST', `${rootA}/token`, 200, null, null], ['POST', `${rootB}/auth/token`, 200, '3805001', null],
  ]);
  assert.deepEqual(found.filter(({ path }) => !isToken(path)).map(shown), [
    ['GET', `${rootB}/users`, 200, '3805001', null],
    ['GET', `${rootB}/users`, 200, '3805001', 2],
    ['GET', `${rootB}/users/:sourcedId`, 200, '3805001', 1],
    ['GET', `${rootA}/users`, 200, null, 16],
    ['GET', '/api/v1/School/3805001/Students', 200, '3805001', 4],
    ['GET', `${rootB}/users/:sourcedId`, 404, '3805001', null],
  ]);
  assert.deepEqual(found.filter(({ path }) => !isToken(path)).map(({ requestId }) => requestId), ids);
  assert.ok(found.every(({ ms, at }) => ms > 0 && at.getTime() >= began && at.getTime() <= Date.now()));
  assert.doesNotMatch(JSON.stringify(await db`select * from request_line`), /secret|filter|Idaas|Bearer/i);
});

test('who only says that it is somebody is nobody', async () => {
  const wrong = { method: 'POST', headers: { authorization: `Basic ${Buffer.from('app|3805001:guessed').toString('base64')}` } };
  const known = (await requestsOf('app', 1)).length;
  assert.equal((await fetch(`${url}${rootB}/auth/token`, wrong)).status, 401);
  assert.equal((await fetch(`${url}${rootB}/users`, { headers: { authorization: 'Bearer forged' } })).status, 401);
  assert.equal((await fetch(`${url}/ims/of/p123456/anna`)).status, 404);
  const nobody = await requestsOf('', 3);
  assert.deepEqual(nobody.map(({ path, status, estab }) => [path, status, estab]).toReversed(), [
    [`${rootB}/auth/token`, 401, null], [`${rootB}/users`, 401, null], ['/ims/…/…/…', 404, null],
  ]);
  assert.equal((await requestsOf('app', 1)).length, known);
});

test('pages, health and what lies beside the API are not kept', async () => {
  const known = (await db`select from request_line`).length;
  for (const path of ['/', '/healthz', '/readyz', '/console', '/school', '/login', '/apis', '/api-docs']) await fetch(`${url}${path}`, { redirect: 'manual' });
  await fetch(`${url}/api/v1/Version`);
  await until('the last is there', async () => {
    await lines.write();
    return (await db`select from request_line`).length > known;
  });
  assert.equal((await db`select from request_line`).length, known + 1);
});

test('they are counted by the hour and the day, and read by how they ended', async () => {
  const all = await requestsOf('app', 1);
  const [hours, days] = await Promise.all(
    (['hour', 'day'] as const).map((by) => readRequestHours(db, { rp: 'app', since: new Date(Date.now() - 26 * 3_600_000), by })),
  );
  const sum = (of: (one: RequestCount) => number) => (hours ?? []).reduce((so, one) => so + of(one), 0);
  assert.deepEqual([sum((one) => one.requests), sum((one) => one.refused), sum((one) => one.failed), sum((one) => one.records)], [all.length, 1, 0, 23]);
  assert.ok((days ?? []).length <= 2 && (days ?? []).every(({ at }) => at.toISOString().endsWith('T00:00:00.000Z')));
  const [together] = await db`select sum(requests)::int as requests from request_hour where rp <> '*'`;
  const everybody = await readRequestHours(db, { since: new Date(0), by: 'day' });
  assert.equal(everybody.reduce((so, one) => so + one.requests, 0), together?.requests);
  const statuses = async (status: 'fine' | 'refused' | 'failed') => (await listRequests(db, { rp: 'app', most: 100, status })).map((one) => one.status);
  assert.deepEqual([await statuses('refused'), await statuses('failed')], [[404], []]);
  assert.equal((await statuses('fine')).length, all.length - 1);
  const first = await listRequests(db, { rp: 'app', most: 4 });
  const next = await listRequests(db, { rp: 'app', most: 100, before: first.at(-1)?.number });
  assert.deepEqual([...first, ...next].map(({ number }) => number), all.map(({ number }) => number));
});

const ended = (rp: string, more: Partial<EndedRequest> = {}): EndedRequest => ({
  requestId: 'made', method: 'GET', url: '/api/v1/Made', route: undefined, words: new Set(), isApi: false,
  status: 200, ms: 2, caller: { rp }, records: null, ...more,
});

test('of many at once only so many are kept one by one; all are counted, and what is left out is known', async () => {
  for (const rp of ['busy', 'quiet']) await service.addClient(rp, []);
  const meter = createRequestMeter();
  const writer = createRequestLines(db, meter);
  for (let at = 0; at < mostWaiting.ofOne + 50; at += 1) writer.note(ended('busy'));
  writer.note(ended('quiet', { status: 503 }));
  await writer.write();
  assert.equal(leftOut(meter), 50);
  assert.equal((await listRequests(db, { rp: 'busy', most: 1000 })).length, mostWaiting.ofOne);
  assert.equal((await listRequests(db, { rp: 'quiet', most: 10, status: 'failed' })).length, 1);
  const [hour] = await readRequestHours(db, { rp: 'busy', since: new Date(0) });
  assert.deepEqual([hour?.requests, hour?.ms], [mostWaiting.ofOne + 50, 2]);
  for (let at = 0; at < mostWaiting.ofAll + 10; at += 1) writer.note(ended(`other-${at}`));
  assert.equal(leftOut(meter), 60);
  await writer.close();
});

test('a database that is away costs lines and no counts, and nobody an answer', async () => {
  await service.addClient('later', []);
  const meter = createRequestMeter();
  const away = connect('postgres://nobody@127.0.0.1:9/nothing', { name: 'away', max: 1, connectionMs: 200 });
  let pool = away;
  const together = (...all: Parameters<typeof db.together>) => pool.together(...all);
  const switched = Object.assign((...given: Parameters<typeof db>) => pool(...given), { json: db.json, together }) as unknown as typeof db;
  const writer = createRequestLines(switched, meter, 2 ** 31 - 1);
  writer.note(ended('later'));
  await assert.rejects(writer.write());
  assert.equal(leftOut(meter), 1);
  pool = db;
  writer.note(ended('later'));
  await writer.write();
  await writer.close();
  await away.end();
  const hours = await readRequestHours(db, { rp: 'later', since: new Date(0) });
  assert.equal(hours.reduce((sum, { requests }) => sum + requests, 0), 2);
  assert.equal((await listRequests(db, { rp: 'later', most: 10 })).length, 1);
});

test('the last of each application are kept, however busy another is', async () => {
  await db`
    insert into request_line (at, rp, method, path, status, ms, request_id)
    select now(), 'busy', 'GET', '/api', 200, 1, 'many' from generate_series(1, ${mostLines})`;
  await forgetRequestLines(db, 7);
  const [left] = await db`select count(*)::int as lines, bool_and(request_id = 'many') as latest from request_line where rp = 'busy'`;
  assert.deepEqual(left, { lines: mostLines, latest: true });
  assert.equal((await listRequests(db, { rp: 'quiet', most: 10 })).length, 1);
});

test('of an application that is removed nothing stays, nor comes later', async () => {
  const writer = createRequestLines(db, createRequestMeter());
  writer.note(ended('quiet', { caller: { rp: 'quiet', estab: '3805001' } }));
  writer.note(ended('', { caller: { estab: 'gone' } }));
  await removeApplication({ db, seal: service.seal, publicUrl: url }, 'quiet');
  await writer.write();
  await writer.close();
  assert.deepEqual(await listRequests(db, { rp: 'quiet', most: 10 }), []);
  assert.deepEqual(await readRequestHours(db, { rp: 'quiet', since: new Date(0) }), []);
  assert.deepEqual(await db`select from request_line where estab = 'gone'`, []);
});

test('a path says what was asked for and not about whom', () => {
  const cases: [url: string, route: string | undefined, path: string][] = [
    ['/api/v1/School/3805001/Students/17?x=1', '/api/v1/School/:estab/:name/:id', '/api/v1/School/3805001/Students/:id'],
    ['/api/v1/School/%3Cscript%3E/a1', '/api/v1/School/:estab/:name', '/api/v1/School/:estab/:name'],
    ['/ims/OneRoster/v1p1/pupils/anna', undefined, '/ims/OneRoster/v1p1/…/…'],
    [`/api/${'a/'.repeat(300)}`, undefined, `/api/${'…/'.repeat(300)}`.slice(0, 200)],
  ];
  const words = new Set(['', 'ims', 'oneroster', 'v1p1', 'api']);
  for (const [given, route, path] of cases) assert.equal(describePath(given, route, words), path);
});
