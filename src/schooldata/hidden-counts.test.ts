// Counts and RowCount include only the kinds of records that the scopes of the caller open.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { smallPackage, smallSchool } from '../../test/small-school.ts';
import { useService, type Client } from '../../test/service.ts';
import { until } from '../../test/until.ts';

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
await service.addSchool('S1', smallPackage());
await service.work();
const receiver = await useReceiver();
const { orgs, academicSessions, courses, classes } = smallSchool;
const core = { Groups: classes.length, Courses: courses.length, Orgs: orgs.length, AcademicSessions: academicSessions.length };
const sum = (counts: object) => Object.values(counts as Record<string, number>).reduce((total, count) => total + count, 0);

type Status = { DBStatus: { DatabaseName: string; RowCount: number }[] };
const rowCounts = ({ DBStatus }: Status) => Object.fromEntries(DBStatus.map(({ DatabaseName, RowCount }) => [DatabaseName, RowCount]));

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
