// Covers how a request for data is read and refused, through HTTP: names in any case, every bad parameter by its name,
// scopes, schools, verbs and tokens, a school without data, and what a caller can learn about itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attendanceCsv, smallPackage } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { scopeNames } from '../access/scopes.ts';
import { endpoints } from './catalogue.ts';

type Envelope = Record<string, unknown> & { ExceptionMessage: string | null };
type Row = Record<string, unknown>;

const service = await useService();
const { db } = service;
await service.addSchool('S1', smallPackage({}, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,') } }));
await service.addSchool('S2', smallPackage());
await service.addSchool('Empty');
const client = await service.addClient('app', ['S1', 'S2', 'Empty']);
const query = (name: string) => ({ AttendanceForDate: '?date=2026-11-12', AttendanceForDateRange: '?dateFrom=2026-11-01&dateTo=2026-11-12' })[name] ?? '';

async function ask(path: string, estab = 'S1', init: RequestInit = {}): Promise<{ status: number; body: Envelope; headers: Headers }> {
  const response = await client.s(estab, path, init);
  return { status: response.status, headers: response.headers, body: (await response.json()) as Envelope };
}

function assertRefused({ status, body }: { status: number; body: Envelope }, expected: number, words: RegExp, what: string): void {
  assert.equal(status, expected, `${what}: ${JSON.stringify(body)}`);
  assert.deepEqual(
    [Object.keys(body), body.Message, body.InnerException],
    [['Message', 'ExceptionType', 'ExceptionMessage', 'InnerException'], null, null],
    what,
  );
  assert.match(String(body.ExceptionMessage), words, what);
}

test('names and names of parameters in any case, with and without the school, with a slash at the end', async () => {
  for (const path of [
    'Students', 'students', 'STUDENTS/', 'School/S1/Students', 'school/S1/sTUDENTS/', 'Students?PAGESIZE=2&Page=1', 'School/S1/Students?pagesize=2',
  ]) {
    const { status, body } = await ask(path);
    assert.deepEqual([status, (body.Students as Row[])[0]?.Id], [200, 'p1'], path);
  }
  assert.equal((await ask('attendancefordate?DATE=2026-11-12&SESSIONTYPE=am&ID=p1')).status, 200);
});

const bad: readonly [path: string, words: RegExp][] = [
  ['Students?page=0', /^page: "0"/],
  ['Students?page=-1&pageSize=2', /^page: "-1"/],
  ['Students?page=1.5&pageSize=2', /^page/],
  ['Students?page=2', /page without pageSize/],
  ['Students?page=&pageSize=2', /^page/],
  ['Students?pageSize=abc', /^pageSize: "abc"/],
  ['Students?pageSize=0', /^pageSize/],
  ['Students?pageSize=', /^pageSize/],
  ['Students?pageSize=9999999999', /^pageSize/],
  ['Students?pageSize=1e3', /^pageSize/],
  ['Students?pageSize=2&pageSize=2', /pageSize is given 2 times/],
  ['Students?pageSize=2&PAGESIZE=3', /pageSize is given 2 times/],
  ['AttendanceForDate?date=2026-11-12&date=2026-11-12', /date is given 2 times/],
  ['AttendanceForDate', /date is missing/],
  ['AttendanceForDate?date=', /date is missing/],
  ['AttendanceForDate?date=12/11/2026', /^date: /],
  ['AttendanceForDate?date=2026-02-30', /^date: "2026-02-30"/],
  ['AttendanceForDate?date=2026-13-01', /^date/],
  ['AttendanceForDate?date=0000-01-01', /^date/],
  ['AttendanceForDate?date=2026-11-12T00:00:00Z', /^date/],
  ['AttendanceForDate?date=2026-11-12&sessionType=EV', /^sessionType: "EV"/],
  ['AttendanceForDate?date=2026-11-12&id=', /id is empty/],
  ['AttendanceForDateRange?dateFrom=2026-11-01', /dateTo is missing/],
  ['AttendanceForDateRange?dateTo=2026-11-01', /dateFrom is missing/],
  ['AttendanceForDateRange?dateFrom=2026-10-01&dateTo=2026-11-01', /dateFrom to dateTo is 32 days; at most 31/],
  ['AttendanceForDateRange?dateFrom=2026-11-02&dateTo=2026-11-01', /dateTo is before dateFrom/],
  ['Students?limit=2', /"limit" is not a parameter of Students/],
  ['Students?date=2026-11-12', /"date" is not a parameter of Students/],
  ['Students?__proto__=1', /"__proto__" is not a parameter/],
  ['Students?updatedSince=yesterday', /^updatedSince: "yesterday"/],
  ['Students?updatedSince=', /^updatedSince/],
  ['Students?updatedSince=2026-02-30T00:00:00Z', /^updatedSince/],
  ['Students?updatedSince=2026-11-12T25:00:00Z', /^updatedSince/],
  ['Students?updatedSince=1763000000', /^updatedSince/],
  ['Students?onlyGetDBStatus=perhaps', /^onlyGetDBStatus: "perhaps"/],
  ['Students?pageSize=%ZZ', /percent-encoded/],
  ['AttendanceForDate?date=2026-11-12%00', /percent-encoded/],
];
test('every bad parameter is a 400 that names it', async () => {
  for (const [path, words] of bad) assertRefused(await ask(path), 400, words, path);
});

test('times in the forms that clients write', async () => {
  for (const at of [
    '2026-11-12', '2026-11-12T08:00', '2026-11-12T08:00:00', '2026-11-12T08:00:00.1234567Z', '2026-11-12T08:00:00+01:00',
    '2026-11-12T08:00:00%2B0100', '2026-11-12%2008:00:00', '2026-11-12t08:00:00z',
  ])
    assert.equal((await ask(`Students?updatedSince=${at}`)).status, 200, at);
});

test('each endpoint needs its scope', async () => {
  for (const { name, scope } of endpoints) {
    const without = await service.addClient(`no-${name}`, ['S1'], scopeNames.filter((one) => one !== scope).join(','));
    const response = await without.s('S1', `${name}${query(name)}`);
    assertRefused({ status: response.status, body: (await response.json()) as Envelope }, 403, new RegExp(`has not granted ${scope}`), name);
    const only = await service.addClient(`only-${name}`, ['S1'], scope);
    assert.equal((await only.s('S1', `${name}${query(name)}`)).status, 200, name);
  }
});

test('another school than that of the token is refused, also one that is authorised and one that does not exist', async () => {
  for (const estab of ['S2', 's1', 'Nowhere']) assertRefused(await ask(`School/${estab}/Students`), 403, new RegExp(`for S1, not for ${estab}`), estab);
});

test('unknown names are a 404, other verbs a 405 that says which there are', async () => {
  for (const path of ['Pupils', 'School/S1/Pupils', 'constructor', 'School/S1/__proto__'])
    assertRefused(await ask(path), 404, /Queries lists what there is/, path);
  for (const path of ['Students', 'School/S1/Students', 'Queries']) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const refused = await ask(path, 'S1', { method });
      assertRefused(refused, 405, /This address takes/, `${method} ${path}`);
      assert.ok(
        refused.headers.get('allow')?.includes('GET, HEAD') || refused.headers.get('allow') === 'GET, POST, HEAD',
        `${method} ${path}: ${refused.headers.get('allow')}`,
      );
    }
  }
});

test('Allow never names a verb that is then refused', async () => {
  assert.equal((await ask('School/S1/Students', 'S1', { method: 'PUT' })).headers.get('allow'), 'GET, HEAD');
  const attendance = await ask('School/S1/Attendance');
  assert.deepEqual([attendance.status, attendance.headers.get('allow')], [405, 'POST']);
});

test('only a school token opens school data', async () => {
  const management = await fetch(`${service.url}/api/oauth/GetToken`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ relyingParty: 'app', password: client.managementSecret }),
  });
  const tokens = { A: await client.tokenA(), B: await client.tokenB('S1'), management: ((await management.json()) as { token: string }).token, none: 'x.y.z' };
  assert.equal(management.status, 200);
  for (const [kind, token] of Object.entries(tokens)) {
    for (const path of ['Students', 'School/S1/Students', 'TokenDetails', 'Databases']) {
      const response = await fetch(`${service.url}/api/v1/${path}`, { headers: { authorization: `Bearer ${token}` } });
      assertRefused({ status: response.status, body: (await response.json()) as Envelope }, 401, /./, `${kind} ${path}`);
    }
  }
  const bare = await fetch(`${service.url}/api/v1/Students`);
  assertRefused({ status: bare.status, body: (await bare.json()) as Envelope }, 401, /Authorization/, 'none');
});

test('a school without data says so, except for what can be said', async () => {
  for (const { name } of endpoints) {
    const asked = await ask(`${name}${query(name)}`, 'Empty');
    if (name === 'SchoolInfo')
      assert.deepEqual(
        [asked.status, asked.body.SchoolInfo],
        [200, [{ Estab: 'Empty', Name: 'School Empty', Email: 'office@Empty.example', TimeZone: 'Europe/London', Connector: null, LastUpdated: null }]],
      );
    else if (name === 'AttendanceCodes') assert.equal(asked.status, 200);
    else assertRefused(asked, 409, new RegExp(`^${name} cannot be served: SchoolData is NotInstalled .*nothing was collected before`), name);
  }
  assertRefused(await ask('AttendanceForDate?date=2026-11-12', 'S2'), 409, /Attendance is NotInstalled/, 'without attendance');
  assert.equal((await db`select from outbox where kind = 'collect'`).length, 0);
});

test('onlyGetDBStatus gives the DBStatus object in place of data, with or without any', async () => {
  const { status, body } = await ask('AttendanceForDate?date=2026-11-12&onlygetdbstatus=TRUE', 'S2');
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body), [
    'DBStatus', 'Estab', 'Endpoint', 'RequestId', 'AllOK', 'TimedOut', 'Message', 'ExceptionType', 'ExceptionMessage', 'InnerException',
  ]);
  assert.deepEqual(
    [body.Estab, body.Endpoint, body.RequestId, body.AllOK, body.TimedOut, body.ExceptionMessage],
    ['S2', 'AttendanceForDate', null, false, false, null],
  );
  assert.deepEqual(
    (body.DBStatus as Row[]).map((row) => [row.DatabaseName, row.Status]),
    [
      ['SchoolData', 'OK'],
      ['Attendance', 'NotInstalled'],
    ],
  );
  assert.match(String(body.Message), /Attendance is NotInstalled/);
  const fine = await ask('AttendanceForDate?date=2026-11-12&onlyGetDBStatus=1');
  assert.deepEqual([fine.body.AllOK, fine.body.Message, (fine.body.DBStatus as Row[]).length], [true, null, 2]);
  assert.ok('Students' in (await ask('Students?onlyGetDBStatus=false')).body);
});

test('Queries is the catalogue: what it lists can be asked as it says, and answers with the fields it names', async () => {
  const { body } = await ask('Queries');
  const listed = body.Queries as {
    Name: string;
    Path: string;
    Scope: string;
    Databases: string[];
    Fields: string[];
    Parameters: { Name: string; Required: boolean }[];
  }[];
  assert.deepEqual(
    listed.map(({ Name }) => Name),
    ['SchoolInfo', 'Students', 'Staff', 'Contacts', 'Groups', 'Calendar', 'Counts', 'AttendanceCodes', 'AttendanceForDate', 'AttendanceForDateRange'],
  );
  for (const { Name, Path, Fields, Parameters, Databases } of listed) {
    const given = { date: '2026-11-12', dateFrom: '2026-11-12', dateTo: '2026-11-12' } as Record<string, string>;
    const required = Parameters.filter((one) => one.Required).map((one) => `${one.Name}=${given[one.Name]}`).join('&');
    const answer = await ask(`${Path.replace('/api/v1/', '').replace('{estab}', 'S1')}?${required}`);
    const [row] = answer.body[Name] as Row[];
    assert.deepEqual([answer.status, Object.keys(row ?? {})], [200, Fields], Name);
    assert.deepEqual((answer.body['__dbStatus__'] as Row[]).map((one) => one.DatabaseName), Databases, Name);
  }
});

test('TokenDetails, Scopes and Databases', async () => {
  const narrow = await service.addClient('narrow', ['S1'], 'School,Identity:optional');
  const details = (await (await narrow.s('S1', 'TokenDetails')).json()) as Envelope & { Expires: string };
  const { Expires, ...rest } = details;
  assert.deepEqual(rest, {
    Estab: 'S1', Name: 'School S1', RelyingParty: 'narrow', Scopes: ['School', 'Identity'], Message: null, ExceptionType: null,
    ExceptionMessage: null, InnerException: null,
  });
  assert.ok(Math.abs(Date.parse(Expires) - Date.now() - 24 * 3_600_000) < 60_000);
  const { Scopes } = (await (await narrow.s('S1', 'School/S1/scopes')).json()) as { Scopes: Row[] };
  assert.deepEqual(Scopes.filter((one) => one.Granted).map((one) => one.Name), ['School', 'Identity']);
  assert.deepEqual(Scopes.map((one) => [one.Name, typeof one.Category, typeof one.Description]), scopeNames.map((name) => [name, 'string', 'string']));
  const { body } = await ask('databases', 'S2');
  assert.deepEqual(
    [(body.DBStatus as Row[]).map((row) => [row.DatabaseName, row.Status]), body.Endpoint],
    [
      [
        ['SchoolData', 'OK'],
        ['Attendance', 'NotInstalled'],
      ],
      'Databases',
    ],
  );
});

test('HEAD answers like GET, without a body', async () => {
  for (const path of ['Students', 'School/S1/AttendanceForDate?date=2026-11-12', 'Queries']) {
    const head = await client.s('S1', path, { method: 'HEAD' });
    assert.deepEqual([head.status, head.headers.get('content-type'), await head.text()], [200, 'application/json; charset=utf-8', ''], path);
  }
  assert.equal((await client.s('S1', 'AttendanceForDate', { method: 'HEAD' })).status, 400);
});
