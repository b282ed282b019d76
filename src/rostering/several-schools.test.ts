// Covers lists and records of several schools under one token, where each school is asked by itself and what they answer is put together:
// filtered, nested and sorted ones, in pages and whole, also while rosters change.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byName } from '../../test/dialects.ts';
import { loadSource, madeUpSource, person, role, type Given } from '../../test/made-up-source.ts';
import { readAnswer } from '../../test/read-answer.ts';
import { useService } from '../../test/service.ts';
import { until } from '../../test/until.ts';

const service = await useService();
const estabs = ['a-school', 'B-school', 'c.school'];
const names = ['Öz', 'Adams', 'adams', 'Ўолдо', 'Zed', '\u{1f600}', 'Adams-Lee', 'Zed'];
const grades = [['07'], ['07', '08'], [], ['10'], ['08']];
/** More than are read of a school at once. */
const peopleOfEach = 1_300;

/** Every so many have the same name, and some have nothing to be sorted by. */
function people(at: number): Given[] {
  return Array.from({ length: peopleOfEach }, (_, number) => {
    const seed = number * 7 + at * 3;
    const grade = grades[seed % grades.length] ?? [];
    const email = seed % 3 === 0 ? undefined : `p${(seed * 31) % 97}@example.org`;
    return person(`p${String(number).padStart(4, '0')}`, [role('student', 'org')], {
      familyName: names[seed % names.length] ?? '', ...(grade.length > 0 ? { grades: grade } : {}), ...(email === undefined ? {} : { email }),
    });
  });
}

const aClass = (sourcedId: string, school: string) => ({ sourcedId, title: 'One', classType: 'homeroom', course: 'c', school, terms: ['t'] });
const member = (sourcedId: string, of: string, school: string) => ({ sourcedId, class: of, school, user: 'p0001', role: 'student' });
/** Of the class x there is one in each school, but its site only in the first. */
const siteOf = (at: number) => (at === 0 ? 'site' : 'org');
const rosterOf = (at: number) => ({
  orgs: [{ sourcedId: 'org', name: `School ${at}`, type: 'school' }, ...(at === 0 ? [{ sourcedId: 'site', name: 'Site', type: 'school' }] : [])],
  academicSessions: [{ sourcedId: 't', title: 'Term', type: 'term', startDate: '2026-09-01', endDate: '2027-07-01', schoolYear: '2027' }],
  courses: [{ sourcedId: 'c', title: 'Course', org: 'org' }],
  classes: [aClass(at === 2 ? 'only-here' : 'k', 'org'), aClass('x', siteOf(at))],
  users: people(at),
  enrollments: [member('e', at === 2 ? 'only-here' : 'k', 'org'), member('x', 'x', siteOf(at))],
});
for (const [at, estab] of estabs.entries()) {
  await service.addSchool(estab);
  await loadSource(service, estab, madeUpSource(rosterOf(at)));
}
// The first school has records of two versions.
await loadSource(service, 'a-school', madeUpSource({ users: people(0).slice(0, 300).map((one) => ({ ...one, givenName: 'Later' })) }, 'delta'));
const client = await service.addClient('several', estabs);
const headers = { authorization: `Bearer ${await client.token12()}` };

const ask = (path: string) => readAnswer(`${service.url}${byName['1.2'].root}${path}`, headers);
type User = { sourcedId: string; familyName: string; email?: string; grades?: string[]; dateLastModified: string; orgs?: unknown };
async function read(path: string, more: Record<string, string> = {}) {
  const answer = await readAnswer(`${service.url}${byName['1.2'].root}${path}`, { ...headers, ...more });
  assert.deepEqual([answer.status, answer.fault], [200, undefined], path);
  const records = Object.values(JSON.parse(answer.body.toString()) as Record<string, User[]>)[0] ?? [];
  return { records, text: answer.body.toString(), total: Number(answer.headers['x-total-count']), version: String(answer.headers['x-roster-version']) };
}

const inOrder = await read('/users');
/** As the whole list has them: by school, then by id. */
const place = new Map(inOrder.records.map((record, at) => [JSON.stringify(record), at]));
const bytes = (value: string) => Buffer.from(value);

type Key = (user: User) => string | readonly string[] | undefined;
function compare(a: User, b: User, key: Key, descending: boolean): number {
  const [one, other] = [key(a), key(b)];
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  const sign = descending ? -1 : 1;
  if (typeof one === 'string' && typeof other === 'string') return sign * Buffer.compare(bytes(one), bytes(other));
  // Grades here are two digits each, so that joined they are in the order of their items.
  return sign * Buffer.compare(bytes([one].flat().join()), bytes([other].flat().join()));
}

const keys: Record<string, Key> = {
  familyName: (user) => user.familyName, email: (user) => user.email, grades: (user) => user.grades, dateLastModified: (user) => user.dateLastModified,
};

for (const [field, key] of Object.entries(keys)) {
  for (const orderBy of ['asc', 'desc']) {
    test(`sorted by ${field}, ${orderBy}: all schools together, then by school and id, whole and in pages`, async () => {
      const expected = inOrder.records.toSorted((a, b) =>
        compare(a, b, key, orderBy === 'desc') || (place.get(JSON.stringify(a)) ?? 0) - (place.get(JSON.stringify(b)) ?? 0));
      const whole = await read(`/users?sort=${field}&orderBy=${orderBy}`);
      assert.equal(whole.total, peopleOfEach * 3);
      assert.deepEqual(whole.records, expected);
      const walked: User[] = [];
      for (let offset = 0; offset < expected.length; offset += 700) {
        walked.push(...(await read(`/users?sort=${field}&orderBy=${orderBy}&limit=700&offset=${offset}`)).records);
      }
      assert.deepEqual(walked, expected);
      assert.deepEqual((await read(`/users?sort=${field}&orderBy=${orderBy}&offset=5000&limit=5`)).records, []);
    });
  }
}

test('filtered, with and without a sort, is what matches of each school, and counted over all of them', async () => {
  const filter = encodeURIComponent("familyName='adams' AND givenName!='Later'");
  const expected = inOrder.records.filter(({ familyName }, at) => familyName.toLowerCase() === 'adams' && !(inOrder.text && isLater(at)));
  const found = await read(`/users?filter=${filter}`);
  assert.deepEqual([found.total, found.records], [expected.length, expected]);
  const page = await read(`/users?filter=${filter}&limit=9&offset=${expected.length - 12}`);
  assert.deepEqual([page.total, page.records], [expected.length, expected.slice(-12, -3)]);
  const sorted = await read(`/users?filter=${filter}&sort=sourcedId&orderBy=desc&limit=4`);
  assert.deepEqual(sorted.records, expected.toSorted((a, b) =>
    Buffer.compare(bytes(b.sourcedId), bytes(a.sourcedId)) || (place.get(JSON.stringify(a)) ?? 0) - (place.get(JSON.stringify(b)) ?? 0)).slice(0, 4));
});
const isLater = (at: number) => (inOrder.records[at] as unknown as { givenName: string }).givenName === 'Later';

test('what only some schools have is asked for within those, and what none has is not there', async () => {
  assert.deepEqual((await read('/classes/k/students')).total, 2);
  assert.deepEqual((await read('/classes/only-here/students?sort=familyName')).total, 1);
  const within = await read('/schools/site/classes/x/students');
  assert.deepEqual([within.total, within.records.length], [1, 1]);
  assert.deepEqual((await read('/schools/site/classes/x/students?sort=familyName')).records, within.records);
  const nowhere = '/classes/nowhere/students';
  for (const path of ['/schools/site/classes/k/students', nowhere, `${nowhere}?sort=familyName`, `${nowhere}?limit=1`]) {
    assert.equal((await readAnswer(`${service.url}${byName['1.2'].root}${path}`, headers)).status, 404, path);
  }
});

test('one record: of the one school that has it; of none: 404; of several: told so', async () => {
  assert.equal((await ask('/classes/only-here')).status, 200);
  assert.equal((await ask('/classes/nowhere')).status, 404);
  const both = await ask('/classes/k');
  assert.equal(both.status, 400);
  assert.match(both.body.toString(), /More than one school/);
});

test('what lost its connection under a read is read again, of several schools as of one', async () => {
  const { db } = service;
  const waiting = () => db<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and application_name like 'schoolbell reads %' and wait_event_type = 'Lock'`;
  const [asked] = await db.begin(async (tx) => {
    await tx`lock table roster_class`;
    const answer = ask('/classes/only-here');
    await until('it waits', async () => (await waiting()).length > 0);
    for (const { pid } of await waiting()) await db`select pg_terminate_backend(${pid}::int, 5000)`;
    return [answer];
  });
  assert.equal((await asked).status, 200);
});

test('a sorted walk of one version sees one roster, whatever is merged meanwhile', async () => {
  const before = await read('/users?sort=familyName');
  const first = await read('/users?sort=familyName&limit=500');
  await loadSource(service, 'B-school', madeUpSource({ users: people(1).slice(0, 200).map((one) => ({ ...one, familyName: 'Aaron' })) }, 'delta'));
  const walked = [...first.records];
  for (let offset = 500; offset < before.records.length; offset += 500) {
    walked.push(...(await read(`/users?sort=familyName&limit=500&offset=${offset}`, { 'if-roster-version': first.version })).records);
  }
  assert.deepEqual(walked, before.records);
  assert.notDeepEqual((await read('/users?sort=familyName&limit=500')).records, first.records);
});

test('a version that cannot be seen yet where the school lies is waited for, and then the caller is told to come again', async () => {
  const [{ version = 0 } = {}] = await service.db<{ version: number }[]>`select version from roster_standing where estab = 'c.school'`;
  const stand = (at: number) => service.db`update roster_standing set version = ${at} where estab = 'c.school'`;
  await stand(version + 1);
  for (const path of ['/users', '/users?limit=3', '/users?sort=familyName', '/classes/only-here', '/orgs/site']) {
    const answer = await readAnswer(`${service.url}${byName['1.2'].root}${path}`, headers);
    assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '2'], path);
  }
  const waiting = read('/classes?limit=5');
  await stand(version);
  assert.equal((await waiting).total, 6);
});
