// Every data endpoint also answers at the root, for the school of the token.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attendanceCsv, smallPackage } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { listRequests, readRequestHours } from '../access/requests.ts';
import { endpoints } from './catalogue.ts';
import { aboutNames } from './describe-about.ts';

const service = await useService();
const marks = attendanceCsv('p1,2026-11-12,AM,L,5,bus', 'p2,2026-11-11,PM,/,,');
await service.addSchool('S1', smallPackage({}, { raw: { 'attendance.csv': marks } }));
const client = await service.addClient('app', ['S1']);
const narrow = await service.addClient('narrow', ['S1'], 'School');

async function getToken(rp: string, secret: string | undefined): Promise<string> {
  const response = await fetch(`${service.url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ estab: 'S1', relyingParty: rp, password: secret }),
  });
  return ((await response.json()) as { token: string }).token;
}

const authorization = `Idaas ${await getToken('app', client.schoolSecrets.S1)}`;
const ask = (path: string, headers: Record<string, string> = { authorization }) => fetch(service.url + path, { headers });

/** The status and the body, without the moment of the answer. */
async function read(path: string, headers?: Record<string, string>): Promise<unknown> {
  const response = await ask(path, headers);
  return [response.status, (await response.text()).replace(/"DateTime":"[^"]*"/, '')];
}

const needed: Readonly<Record<string, string>> = {
  AttendanceForDate: '?date=2026-11-12&sessionType=AM',
  AttendanceForDateRange: '?dateFrom=2026-11-02&dateTo=2026-11-12',
};

for (const name of [...endpoints.map((endpoint) => endpoint.name), ...aboutNames]) {
  test(`/${name}, in any case, answers as /api/v1/${name} does`, async () => {
    const query = needed[name] ?? '';
    const wanted = await read(`/api/v1/${name}${query}`);
    assert.deepEqual(await read(`/${name}${query}`), wanted);
    assert.deepEqual(await read(`/${name.toLowerCase()}/${query}`), wanted);
    assert.deepEqual(await read(`/${name}?nosuchname=1`), await read(`/api/v1/${name}?nosuchname=1`), 'an unknown parameter');
    assert.deepEqual(await read(`/${name}`, {}), await read(`/api/v1/${name}`, {}), 'without a token');
  });
}

test('a row by its Id, a scope that is not granted and other verbs: the same too', async () => {
  assert.deepEqual(await read('/students/p1'), await read('/api/v1/Students/p1'));
  assert.deepEqual(await read('/students/nobody'), await read('/api/v1/Students/nobody'));
  const other = { authorization: `Idaas ${await getToken('narrow', narrow.schoolSecrets.S1)}` };
  assert.deepEqual(await read('/students', other), await read('/api/v1/Students', other));
  const posted = await fetch(`${service.url}/students`, { method: 'POST', headers: { authorization } });
  assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, HEAD']);
});

for (const [name, rows] of [['AttendanceForDate', 1], ['AttendanceForDateRange', 2]] as const) {
  test(`/${name} serves marks`, async () => {
    const response = await ask(`/${name.toLowerCase()}${needed[name] ?? ''}`);
    assert.equal(response.status, 200);
    const served = ((await response.json()) as Record<string, unknown[]>)[name];
    assert.equal(served?.length, rows);
    assert.deepEqual(served, ((await (await ask(`/api/v1/${name}${needed[name] ?? ''}`)).json()) as Record<string, unknown[]>)[name]);
  });
}

test('requests at the root are in the list and the counts of requests, as those under /api/v1 are, without queries and ids', async () => {
  const counter = await service.addClient('counter', ['S1']);
  const own = { authorization: `Idaas ${await getToken('counter', counter.schoolSecrets.S1)}` };
  const paths = ['/students', '/Students/p1', '/attendancefordate?date=2026-11-12&sessionType=AM', '/scopes', '/AttendanceForDate', '/style.css'];
  for (const path of paths) await (await ask(path, own)).arrayBuffer();
  const list = async () => {
    await service.lines.write();
    return listRequests(service.db, { rp: 'counter', most: 100 });
  };
  await until('the last request is listed', async () => (await list()).some(({ path, status }) => path === '/AttendanceForDate' && status === 400), list);
  const found = (await list()).toReversed().slice(1);
  assert.deepEqual(found.map(({ path, status, estab, records }) => [path, status, estab, records]), [
    ['/Students', 200, 'S1', 4], ['/Students/:id', 200, 'S1', 1], ['/AttendanceForDate', 200, 'S1', 1], ['/Scopes', 200, 'S1', null],
    ['/AttendanceForDate', 400, 'S1', null],
  ]);
  const hours = await readRequestHours(service.db, { rp: 'counter', since: new Date(0) });
  const sum = (of: 'requests' | 'refused' | 'records') => hours.reduce((total, hour) => total + hour[of], 0);
  assert.deepEqual([sum('requests'), sum('refused'), sum('records')], [6, 1, 6]);
});
