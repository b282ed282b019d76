// Covers single rows by their Id, filters and chosen fields of the data endpoints, and that whoever gives a callbackUrl
// hears of everything there, through HTTP with a real receiver.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { attendanceCsv, deltaPackage, schoolClass, smallPackage, user } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';
import { scopeNames } from '../access/scopes.ts';

type Row = Record<string, unknown>;
type Envelope = Record<string, Row[]> & { Message: string | null; ExceptionType: string | null; ExceptionMessage: string | null };

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db } = service;
const slashed = 'a/b c%';
const files = smallPackage({ users: [
  user('p1', 'student', { grades: '07' }), user('p2', 'student', { grades: '08' }), user('p3', 'student'), user(slashed, 'student', { grades: '7' }),
  user('s1', 'teacher'), user('s2', 'aide'), user('a1', 'parent', { agentSourcedIds: 'p1,p2' }), user('a2', 'guardian'), user('p9', 'student'),
] }, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,', 'p1,2026-11-12,PM,L,12,bus', 'p2,2026-11-12,AM,I,,') } });
const loaded = await service.addSchool('S1', files);
assert.equal(loaded?.outcome, 'done', JSON.stringify(loaded?.problems));
await service.addSchool('S2', smallPackage());
await service.addSchool('Empty');
await service.work();
const receiver = await useReceiver();
const client = await service.addClient('app', ['S1', 'S2', 'Empty']);

async function ask(path: string, estab = 'S1'): Promise<{ status: number; body: Envelope }> {
  const response = await client.s(estab, path);
  return { status: response.status, body: (await response.json()) as Envelope };
}

async function list(path: string): Promise<Row[]> {
  const { status, body } = await ask(path);
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
  return Object.values(body)[0] as Row[];
}

const ids = (rows: Row[]) => rows.map((row) => row.Id);

test('each row of a list can be asked for by its Id, in both shapes of the path, and is the same', async () => {
  for (const name of ['Students', 'Staff', 'Contacts', 'Groups', 'AttendanceForDate']) {
    const rows = await list(`${name}${name === 'AttendanceForDate' ? '?date=2026-11-12' : ''}`);
    assert.ok(rows.length > 1, name);
    for (const row of rows) {
      const id = encodeURIComponent(String(row.Id));
      for (const path of [`${name}/${id}`, `${name.toLowerCase()}/${id}/`, `School/S1/${name}/${id}`]) {
        const { status, body } = await ask(path);
        assert.deepEqual([status, Object.keys(body)[0], body[name]], [200, name, [row]], path);
        assert.deepEqual(body['__pagination__'], [{ PageSize: 1, PageNumber: 1, PageCount: 1, RowCount: 1 }]);
      }
    }
  }
  assert.deepEqual(ids(await list('AttendanceForDate/p1.2026-11-12.AM?date=2026-11-12&sessionType=am&select=id')), ['p1.2026-11-12.AM']);
});

test('the Id of a student is the sourcedId of the roster and the StudentId of a mark', async () => {
  const [mark] = await list('AttendanceForDate/p2.2026-11-12.AM');
  const [student] = await list(`Students/${String(mark?.StudentId)}`);
  const roster = await client.b('S1', `/users/${String(student?.Id)}`);
  assert.deepEqual([student?.Id, ((await roster.json()) as { user: Row }).user.sourcedId], ['p2', 'p2']);
});

test('a row that is not there, or not of this kind, is a 404 in words; what has no rows by Id says so', async () => {
  await service.load('S1', deltaPackage({ users: [user('p9', 'student')] }, 'tobedeleted'));
  for (const path of [
    'Students/nobody', 'Students/s1', 'Staff/p1', 'Contacts/p1', 'Groups/p1', 'Students/p9', 'School/S1/Students/nobody', 'Students/P1',
    'AttendanceForDate/p1.2026-11-13.AM', 'AttendanceForDate/p1.2026-02-31.AM', 'AttendanceForDate/p1.2026-11-12.AM?sessionType=PM',
    'AttendanceForDate/p1.2026-11-12.AM?date=2026-11-11', 'AttendanceForDate/p1?date=2026-11-12', 'Students/p1?yearGroup=8',
  ]) {
    const { status, body } = await ask(path);
    assert.equal(status, 404, `${path}: ${JSON.stringify(body)}`);
    assert.match(String(body.ExceptionMessage), /has no row with the Id/, path);
  }
  assert.match(String((await ask('AttendanceForDate/p1?date=2026-11-12')).body.ExceptionMessage), /StudentId\.Date\.Session/);
  for (const path of [
    'Calendar/1', 'SchoolInfo/S1', 'Counts/Students', 'AttendanceCodes/L', 'AttendanceForDateRange/x', 'Queries/Students', 'School/S1/Scopes/x',
  ])
    assert.match(String((await ask(path)).body.ExceptionMessage), /has no rows by Id/, path);
  for (const path of ['Pupils/p1', 'School/S1/Pupils/p1', 'School/S1'])
    assert.deepEqual([(await ask(path)).status, (await ask(path)).body.ExceptionType], [404, 'not_found'], path);
});

test('a row needs the same scope and school as the list, and something that was collected', async () => {
  const narrow = await service.addClient('narrow', ['S1'], scopeNames.filter((one) => one !== 'Student').join(','));
  assert.equal((await narrow.s('S1', 'Students/p1')).status, 403);
  assert.equal((await ask('School/S2/Students/p1')).status, 403);
  assert.equal((await fetch(`${service.url}/api/v1/Students/p1`)).status, 401);
  assert.equal((await ask('Students/p1', 'Empty')).status, 409);
});

test('other addresses under /api/v1 are not taken for rows', async () => {
  const status = async (path: string, method = 'GET') => (await client.s('S1', path, { method })).status;
  assert.deepEqual(
    [await status('Attendance/S1'), await status('Writeback/x'), await status('Students/p1', 'DELETE'), await status('School/S1/Students/p1', 'POST')],
    [405, 404, 405, 405],
  );
  assert.match(String((await ask('Writeback/x')).body.ExceptionMessage), /no such writeback/);
  assert.equal((await fetch(`${service.url}/api/v1/Identity/ResetPassword`)).status, 405);
});

test('Students by yearGroup, Groups by type: values in any case, counted and paged, and what left the filter is gone', async () => {
  assert.deepEqual(ids(await list('Students?yearGroup=07')), [slashed, 'p1']);
  assert.deepEqual(ids(await list('Students?YEARGROUP=7')), [slashed, 'p1']);
  assert.deepEqual(ids(await list('Students?yearGroup=13')), []);
  assert.deepEqual(ids(await list('Groups?type=reggrp')), ['g1', 'g2']);
  assert.deepEqual(ids(await list('Groups?type=TeachingGrp')), ['k1']);
  const { body } = await ask('Students?yearGroup=7&pageSize=1&select=Id');
  assert.deepEqual(body['__pagination__'], [{ PageSize: 1, PageNumber: 1, PageCount: 2, RowCount: 2, NextPage: '?yearGroup=7&select=Id&page=2&pageSize=1' }]);
  assert.deepEqual(await list(`Students${String(body['__pagination__']?.[0]?.NextPage)}`), [{ Id: 'p1' }]);
  const [version] = await db<{ at: Date }[]>`select max(instant) as at from roster_version where estab = 'S1'`;
  const since = encodeURIComponent(String(version?.at.toISOString()));
  await service.load('S1', deltaPackage({ users: [user(slashed, 'student', { grades: '08' })], classes: [schoolClass('g2', '7B')] }));
  const seventh = (await ask(`Students?yearGroup=7&updatedSince=${since}`)).body;
  assert.deepEqual([seventh.Students, seventh.Students_deleted], [[], [slashed]]);
  assert.deepEqual(ids((await ask(`Students?yearGroup=8&updatedSince=${since}`)).body.Students ?? []), [slashed]);
  const forms = (await ask(`Groups?type=RegGrp&updatedSince=${since}`)).body;
  assert.deepEqual(forms.Groups_deleted, ['g2']);
});

test('select gives the fields asked for, in the order of the catalogue, and the record of disclosures names only those', async () => {
  assert.deepEqual(Object.keys((await list('Students?select=surname, ID'))[0] ?? {}), ['Id', 'Surname']);
  assert.deepEqual(await list('AttendanceCodes?select=Mark&pageSize=1'), [{ Mark: '/' }]);
  assert.deepEqual(await list('Counts?select=Count,Area&pageSize=1'), [{ Area: 'Students', Count: 4 }]);
  assert.deepEqual(await list('Students/p1?select=Forename'), [{ Forename: 'Given p1' }]);
  const one = await service.addClient('one', ['S2']);
  await (await one.s('S2', 'Staff?select=Id,Role')).text();
  const noted = async () => (await db<{ fields: string[] }[]>`select fields from disclosure where estab = 'S2' and rp = 'one' and collection = 'Staff'`)[0];
  await until('it is noted', async () => (await noted()) !== undefined);
  assert.deepEqual((await noted())?.fields.toSorted(), ['Id', 'Role']);
});

test('bad filters and fields are a 400 that says what would be right', async () => {
  for (const [path, words] of [
    ['Groups?type=Form', /^type: "Form" is neither RegGrp nor TeachingGrp/],
    ['Groups?type=', /type is empty/],
    ['Students?yearGroup=', /yearGroup is empty/],
    ['Staff?yearGroup=7', /"yearGroup" is not a parameter of Staff: it takes select, page/],
    ['Students?select=Id,UPN', /^select: "upn" is not a field of Students; its fields are Id, Forename, .*LastUpdated/],
    ['Students?select=', /^select: a field is empty; its fields are Id/],
    ['Students?select=Id,,Email', /^select: a field is empty/],
    ['Students?select=Id&select=Email', /select is given 2 times/],
    ['Students/p1?page=1', /"page" is not a parameter of Students\/\{Id\}: it takes yearGroup, select, onlyGetDBStatus, callbackUrl/],
    ['Students/p1?updatedSince=2020-01-01', /"updatedSince" is not a parameter/],
  ] as const) {
    const { status, body } = await ask(path);
    assert.equal(status, 400, path);
    assert.match(String(body.ExceptionMessage), words, path);
  }
});

test('Queries tells of rows, filters and fields', async () => {
  const queries = await list('Queries') as { Name: string; PathOfRow: string | null; Parameters: { Name: string; Description: string }[] }[];
  assert.deepEqual(queries.filter((one) => one.PathOfRow).map((one) => one.Name), ['Students', 'Staff', 'Contacts', 'Groups', 'AttendanceForDate']);
  assert.equal(queries.find((one) => one.Name === 'Groups')?.PathOfRow, '/api/v1/School/{estab}/Groups/{Id}');
  assert.ok(queries.every((one) => one.Parameters.some(({ Name }) => Name === 'select') && one.Parameters.every(({ Description }) => Description)));
  const names = (name: string) => queries.find((one) => one.Name === name)?.Parameters[0]?.Name;
  assert.deepEqual([names('Students'), names('Groups')], ['yearGroup', 'type']);
});

let calls = 0;
/** Asks with a callbackUrl, and gives what was called back. */
async function callBack(path: string, estab = 'S1'): Promise<Row> {
  const mine = `/cb/${(calls += 1)}`;
  const { status, body } = await ask(`${path}${path.includes('?') ? '&' : '?'}callbackUrl=${encodeURIComponent(receiver.origin + mine)}`, estab);
  assert.deepEqual([status, typeof body.RequestId], [202, 'string'], `${path}: ${JSON.stringify(body)}`);
  await until(`the callback of ${path}`, () => receiver.arrivals.some(({ url }) => url === mine));
  const told = receiver.arrivals.filter(({ url }) => url === mine).map((arrival) => JSON.parse(String(arrival.body)) as Row);
  assert.deepEqual([told.length, told[0]?.RequestId], [1, body.RequestId], path);
  return told[0] ?? {};
}

test('with a callbackUrl whatever is wrong is told there: unknown endpoints and rows, bad parameters, what cannot be decoded', async () => {
  for (const [path, endpoint, type, words] of [
    ['Pupils', 'Pupils', 'not_found', /There is no "Pupils"/],
    ['School/S1/Pupils/p1', 'Pupils', 'not_found', /There is no "Pupils"/],
    ['%00Pupils', 'Pupils', 'not_found', /There is no/],
    ['Attendance', 'Attendance', 'not_found', /written with POST/],
    ['Calendar/1', 'Calendar', 'not_found', /has no rows by Id/],
    ['Students/nobody', 'Students', 'not_found', /no row with the Id "nobody"/],
    ['School/S1/AttendanceForDate/p1.2026-11-30.AM', 'AttendanceForDate', 'not_found', /no row with the Id/],
    ['Students?select=UPN', 'Students', 'invalid_request', /is not a field of Students/],
    ['Students?nonsense=1', 'Students', 'invalid_request', /is not a parameter/],
    ['Students?yearGroup=%ZZ', 'Students', 'invalid_request', /percent-encoded/],
    ['AttendanceForDate', 'AttendanceForDate', 'invalid_request', /date is missing/],
  ] as const) {
    const told = await callBack(path);
    assert.deepEqual([told.Endpoint, told.AllOK, told.TimedOut, told.ExceptionType], [endpoint, false, false, type], path);
    assert.match(String(told.ExceptionMessage), words, path);
  }
});

test('with a callbackUrl what is well is called back too: rows, and those about the caller', async () => {
  for (const [path, endpoint, databases] of [
    ['Students/p1', 'Students', ['SchoolData']],
    ['AttendanceForDate/p1.2026-11-12.AM', 'AttendanceForDate', ['SchoolData', 'Attendance']],
    ['tokendetails', 'TokenDetails', []],
    ['Scopes', 'Scopes', []],
    ['School/S1/Queries', 'Queries', []],
    ['Databases', 'Databases', ['SchoolData', 'Attendance']],
  ] as const) {
    const told = await callBack(path);
    assert.deepEqual([told.Endpoint, told.AllOK, told.ExceptionMessage], [endpoint, true, null], path);
    assert.deepEqual((told.DBStatus as Row[]).map((one) => one.DatabaseName), databases, path);
  }
});

test('only who may not, too many, and a callbackUrl that cannot be called are answered directly', async () => {
  const good = encodeURIComponent(`${receiver.origin}/never`);
  const narrow = await service.addClient('narrower', ['S1'], 'School');
  for (const [expected, response] of [
    [401, await fetch(`${service.url}/api/v1/Pupils?callbackUrl=${good}`)],
    [403, await client.s('S1', `School/S2/Pupils?callbackUrl=${good}`)],
    [403, await narrow.s('S1', `Students/nobody?callbackUrl=${good}`)],
    [400, await client.s('S1', 'Pupils?callbackUrl=ftp%3A%2F%2Fa.example%2F')],
    [400, await client.s('S1', 'TokenDetails?callbackUrl=http%3A%2F%2F10.0.0.1%2F')],
    [400, await client.s('S1', `Students?callbackUrl=${good}&callbackurl=${good}`)],
    [400, await client.s('S1', 'Students?callbackUrl=')],
    [400, await client.s('S1', 'Students?callbackUrl=%ZZ')],
    [200, await client.s('S1', `Students?callbackUrl=${good}`, { method: 'HEAD' })],
  ] as const)
    assert.equal(response.status, expected, `${response.url}: ${await response.text()}`);
  assert.equal(receiver.arrivals.filter(({ url }) => url === '/never').length, 0);
});
