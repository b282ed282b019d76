// Counts, RowCount and the messages of databases include only the kinds of records that the scopes of the caller open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { useReceiver } from '../../test/delivery.ts';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { useService, type Client } from '../../test/service.ts';
import { until } from '../../test/until.ts';

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
await service.addSchool('S1', smallPackage());
await service.work();
const receiver = await useReceiver();
const { orgs, academicSessions, courses, classes } = smallSchool;
const core = { Groups: classes.length, Courses: courses.length, Orgs: orgs.length, AcademicSessions: academicSessions.length };
const sum = (counts: object) => Object.values(counts as Record<string, number>).reduce((total, count) => total + count, 0);

type Status = { DBStatus: { DatabaseName: string; Status: string; RowCount: number; Message: string | null }[]; Message: string | null };
const rowCounts = ({ DBStatus }: Pick<Status, 'DBStatus'>) => Object.fromEntries(DBStatus.map(({ DatabaseName, RowCount }) => [DatabaseName, RowCount]));

async function readJson<T>(client: Client, path: string): Promise<T> {
  return (await (await client.s('S1', path)).json()) as T;
}

async function readCounts(client: Client): Promise<Record<string, number>> {
  const { Counts } = await readJson<{ Counts: { Area: string; Count: number }[] }>(client, 'Counts');
  return Object.fromEntries(Counts.map(({ Area, Count }) => [Area, Count]));
}

const [all, school, student] = [
  await service.addClient('all', ['S1']),
  await service.addClient('school', ['S1'], 'School'),
  await service.addClient('student', ['S1'], 'School,Student'),
];
const [marks, rosterOnly] = [
  await service.addClient('marks', ['S1'], 'Attendance,Identity'),
  await service.addClient('roster', ['S1'], 'School,Student,Staff,Contact,StudentDemographic'),
];
const everything = await readCounts(all);
const [enrolled] = await service.db<{ count: number }[]>`
  select count(*)::int as count from roster_enrollment e join roster_user u on u.estab = 'S1' and u.sourced_id = e.user_id
  where e.estab = 'S1' and u.kind = 'student' and e.status = 'active'`;
const ofStudents = { Students: everything.Students ?? 0, ...core, Enrollments: enrolled?.count ?? 0 };

test('an area without a kind that the scopes open is omitted, and the others count only those kinds', async () => {
  assert.deepEqual(Object.keys(everything), [
    'Students', 'Staff', 'Contacts', 'Groups', 'Courses', 'Enrollments', 'Demographics', 'Orgs', 'AcademicSessions',
  ]);
  assert.deepEqual(await readCounts(school), core);
  assert.deepEqual(await readCounts(student), ofStudents);
});

for (const [name, client, scopes, shown] of [
  ['all', all, undefined, everything], ['school', school, 'School', core], ['student', student, 'School and Student', ofStudents],
] as const) {
  test(`RowCount of an application with ${scopes ?? 'every scope'} is the sum of its Counts, wherever it is told`, async () => {
    const wanted = sum(shown);
    const attendance = scopes === undefined ? (rowCounts(await readJson<Status>(all, 'Databases')).Attendance ?? 0) : 0;
    assert.deepEqual(rowCounts(await readJson<Status>(client, 'Databases')), { SchoolData: wanted, Attendance: attendance });
    assert.deepEqual(rowCounts(await readJson<Status>(client, 'SchoolInfo?onlyGetDBStatus=true')), { SchoolData: wanted });
    const { __dbStatus__: DBStatus } = await readJson<{ __dbStatus__: Status['DBStatus'] }>(client, 'SchoolInfo');
    assert.deepEqual(rowCounts({ DBStatus }), { SchoolData: wanted });
    const told = `/${name}`;
    assert.deepEqual(rowCounts(await readJson<Status>(client, `SchoolInfo?callbackUrl=${encodeURIComponent(receiver.origin + told)}`)), { SchoolData: wanted });
    await until('the callback', () => receiver.arrivals.some(({ url }) => url === told));
    const arrival = receiver.arrivals.find(({ url }) => url === told);
    assert.deepEqual(rowCounts(JSON.parse(String(arrival?.body)) as Status), { SchoolData: wanted });
  });
}

test('marks are counted only for an application with Attendance', async () => {
  await service.db`
    update component_database set row_count = 7 where estab = 'S1' and name = 'Attendance'`;
  await service.db`insert into component_database (estab, name, row_count) values ('S1', 'Attendance', 7) on conflict do nothing`;
  const counted = async (client: Client) => rowCounts(await readJson<Status>(client, 'Databases')).Attendance;
  assert.deepEqual([await counted(all), await counted(school)], [7, 0]);
});

test('the message of an import that waits for approval gives sizes of opened kinds only, wherever it is told', async () => {
  const none = { users: smallSchool.users.filter(({ role }) => role === 'aide'), enrollments: [], demographics: [], courses: [], classes: [] };
  const report = await service.load('S1', csvPackage({ ...smallSchool, ...none }));
  assert.equal(report.outcome, 'held');
  await service.db`update connector_setting set state = '{"leaversUnreported":["users"]}' where estab = 'S1'`;
  await service.db`insert into connector_setting (estab, state) values ('S1', '{"leaversUnreported":["users"]}') on conflict do nothing`;
  const unreported = /; this source does not report leavers/;
  const told = async (client: Client, name: string) => {
    const { DBStatus: [database], Message } = await readJson<Status>(client, 'SchoolInfo?onlyGetDBStatus=true');
    assert.ok(Message?.includes(database?.Message ?? 'no message'), String(Message));
    await readJson<Status>(client, `SchoolInfo?callbackUrl=${encodeURIComponent(`${receiver.origin}/held/${name}`)}`);
    await until('the callback', () => receiver.arrivals.some(({ url }) => url === `/held/${name}`));
    const body = JSON.parse(String(receiver.arrivals.find(({ url }) => url === `/held/${name}`)?.body)) as Status;
    assert.deepEqual([body.DBStatus[0]?.Message, (await readJson<Status>(client, 'Databases')).DBStatus[0]?.Message], [database?.Message, database?.Message]);
    assert.match(database?.Message ?? '', unreported);
    return database?.Message?.replace(/;.*/, '');
  };
  const losses = (kinds: string[]) => kinds.length === 0 ? 'waits for approval' : `waits for approval: ${kinds.join(', ')} would be deleted`;
  const [pupils, guardians, parents, teachers] = ['4 of 4 student', '1 of 1 guardian', '1 of 1 parent', '1 of 1 teacher'].map((one) => `${one} users (100 %)`);
  const [courses, classes, enrolments] = ['1 of 1 courses', '3 of 3 classes', '8 of 8 enrollments'].map((one) => `${one} (100 %)`);
  assert.equal(await told(all, 'all'), losses([pupils, guardians, parents, teachers, courses, classes, enrolments].map(String)));
  assert.equal(await told(school, 'school'), losses([courses, classes].map(String)));
  assert.equal(await told(student, 'student'), losses([pupils, courses, classes].map(String)));
  assert.equal(await told(rosterOnly, 'roster'), await told(all, 'all'));
  assert.equal((await readJson<Status>(marks, 'Databases')).DBStatus[0]?.Message?.replace(/;.*/, ''), 'waits for approval');
});

test('a refused upload says so to every caller, and where its faults are only to those whose scopes open everything', async () => {
  await service.db`update component_database set status = 'OK', message = null where estab = 'S1'`;
  const { outcome } = await service.load('S1', csvPackage({ ...smallSchool, users: [...smallSchool.users, user('', 'student')] }));
  assert.equal(outcome, 'refused');
  const read = async (client: Client) => (await readJson<Status>(client, 'Databases')).DBStatus[0]?.Message ?? '';
  const [whole, some] = [await read(all), await read(school)];
  assert.ok(/users\.csv/.test(whole) && whole.startsWith(some.replace(/;.*/, '')), whole);
  assert.match(some, /refused, nothing was changed(;|$)/);
});

const refused = 'refused, nothing was changed';
const [failed, none] = ['the last fetch failed; the school and the operator see the details', null];
const providerFault = 'The provider announced 4500 users and delivered 4400; nothing was changed.';
const unknownMarks = 'left out: 12 marks of students whom the roster does not know (yet)';
const refusal = (file: string) => `${refused}: 3 problems, the first: ${file}, line 4712: is not known`;
for (const [name, status, message, shown] of [
  ['SchoolData', 'Error', refusal('users.csv'), refused],
  ['SchoolData', 'OK', refusal('attendance.csv'), refused],
  ['SchoolData', 'Error', providerFault, failed],
  ['SchoolData', 'Timeout', 'The provider delivered "ann.other" of users twice; nothing was changed.', failed],
  ['SchoolData', 'Expired', providerFault, none],
  ['SchoolData', 'OK', 'a newer one was merged while this one was read', 'a newer one was merged while this one was read'],
  ['Attendance', 'OK', unknownMarks, none],
  ['Attendance', 'Expired', unknownMarks, none],
  ['Attendance', 'Error', refusal('attendance.csv'), refused],
  ['Attendance', 'Error', providerFault, failed],
] as const) {
  test(`${name} is ${status}: "${message}" is shown whole only to callers whose scopes open everything that it may count`, async () => {
    await service.db`delete from connector_setting where estab = 'S1'`;
    await service.db`
      update component_database set status = ${status === 'Expired' ? 'OK' : status}, message = ${message}, updated_at = now() - interval '2 hours',
        expires_at = now() + ${status === 'Expired' ? '-1 hour' : '1 hour'}::interval where estab = 'S1' and name = ${name}`;
    const readMessage = async (client: Client) => {
      const database = (await readJson<Status>(client, 'Databases')).DBStatus.find(({ DatabaseName }) => DatabaseName === name);
      assert.equal(database?.Status, status);
      return database.Message;
    };
    assert.deepEqual([await readMessage(all), await readMessage(school), await readMessage(student)], [message, shown, shown]);
    if (name === 'Attendance') assert.equal(await readMessage(marks), message);
    else assert.equal(await readMessage(rosterOnly), shown);
  });
}
