// Covers the purge: records that have been tobedeleted for long enough leave for good, with everything that was known
// of them, unless something that stays refers to them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { purgeRosters } from '../../test/all-schools.ts';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { earlier } from '../../test/earlier.ts';
import { useService } from '../../test/service.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';

const afterDays = 90;
const service = await useService();
const { db } = service;
let schools = 0;
/** What else is known of those who go is the concern of src/retention.test.ts. */

type Row = Rows[number];
type Files = Partial<Record<CollectionName, Rows>>;

const user = (sourcedId: string, role: string, more: Row = {}): Row => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'o1', role, username: sourcedId, givenName: 'Given', familyName: 'Family', ...more,
});
const enrolment = (sourcedId: string, userSourcedId: string, classSourcedId = 'k1'): Row => ({
  sourcedId, userSourcedId, classSourcedId, schoolSourcedId: 'o1', role: 'student',
});
const schoolClass = (sourcedId: string, more: Row = {}): Row => ({
  sourcedId, title: sourcedId, courseSourcedId: 'c1', classType: 'scheduled', schoolSourcedId: 'o1', termSourcedIds: 't1', ...more,
});
const org = (sourcedId: string, parentSourcedId = ''): Row => ({ sourcedId, name: sourcedId, type: 'school', parentSourcedId });
const term = (sourcedId: string, parentSourcedId = ''): Row => ({
  sourcedId, title: sourcedId, type: 'term', startDate: '2026-09-01', endDate: '2026-12-31', parentSourcedId, schoolYear: '2027',
});
const course = (sourcedId: string, more: Row = {}): Row => ({ sourcedId, title: sourcedId, orgSourcedId: 'o1', ...more });
const gone = (row: Row): Row => ({ ...row, status: 'tobedeleted', dateLastModified: '2026-09-01T08:00:00.000Z' });

const base: Record<CollectionName, Row[]> = {
  orgs: [org('o1')],
  academicSessions: [term('t1')],
  courses: [course('c1')],
  classes: [schoolClass('k1')],
  users: [user('p1', 'student'), user('p2', 'student')],
  enrollments: [enrolment('e1', 'p1'), enrolment('e2', 'p2')],
  demographics: [{ sourcedId: 'p1', sex: 'female' }, { sourcedId: 'p2', sex: 'male' }],
};
const plus = (more: Files): Record<CollectionName, Row[]> =>
  Object.fromEntries(allResources.map(({ collection }) => [collection, [...base[collection], ...(more[collection] ?? [])]])) as Record<CollectionName, Row[]>;

async function newSchool(files: Files): Promise<string> {
  const estab = `S${(schools += 1)}`;
  const report = await service.addSchool(estab, csvPackage(files));
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  return estab;
}

/** Marks these records as gone, in one import. */
async function leave(estab: string, files: Files): Promise<void> {
  const marked = Object.fromEntries(Object.entries(files).map(([name, rows]) => [name, rows.map(gone)]));
  const report = await service.load(estab, csvPackage(marked, { mode: 'delta' }), { approve: true });
  assert.equal(report.outcome, 'done', JSON.stringify(report.problems));
}

/** Makes everything that happened so far older. */
const passDays = (estab: string, days: number) => db`update roster_version set instant = ${earlier(db, 'instant', `${days} days`)} where estab = ${estab}`;
const versionOf = async (estab: string) => (await db`select version from roster where estab = ${estab}`)[0]?.version as number;
const idsOf = async (estab: string, name: CollectionName) =>
  (await db`select sourced_id from ${db(collections[name].table)} where estab = ${estab} order by 1`).map((row) => row.sourced_id as string);

/** Every reference of every record leads to a record. */
async function assertWhole(estab: string): Promise<void> {
  for (const resource of allResources) {
    for (const field of resource.fields.filter((one) => one.to !== undefined && one.csv !== undefined)) {
      const ids = field.type === 'refs' ? db`unnest(t.${db(field.column)})` : db`(select t.${db(field.column)} where t.${db(field.column)} is not null)`;
      const dangling = await db`
        select t.sourced_id, w.id from ${db(resource.table)} t cross join lateral ${ids} as w(id)
        where t.estab = ${estab} and not exists (select from ${db(collections[field.to ?? 'users'].table)} k where k.estab = ${estab} and k.sourced_id = w.id)`;
      assert.deepEqual(dangling.map((row) => `${row.sourced_id} → ${row.id}`), [], `${resource.collection}.${field.name}`);
    }
  }
  const totals = await db`select collection, sum(count)::int as count from roster_total where estab = ${estab} group by 1`;
  for (const { collection } of allResources)
    assert.equal(totals.find((row) => row.collection === collection)?.count ?? 0, (await idsOf(estab, collection)).length, `total of ${collection}`);
}

test('what left long ago vanishes from everywhere; what left lately or stays does not', async () => {
  const estab = await newSchool(
    plus({
      users: [user('p3', 'student')], enrollments: [enrolment('e3', 'p3')], demographics: [{ sourcedId: 'p3', sex: 'male' }],
      classes: [schoolClass('k2')],
    }),
  );
  const client = await service.addClient('purge-reader', [estab]);
  await leave(estab, {
    users: [user('p3', 'student')], enrollments: [enrolment('e3', 'p3')], demographics: [{ sourcedId: 'p3', sex: 'male' }],
    classes: [schoolClass('k2')],
  });
  await passDays(estab, afterDays + 1);
  await leave(estab, { users: [user('p2', 'student')], enrollments: [enrolment('e2', 'p2')], demographics: [{ sourcedId: 'p2', sex: 'male' }] });
  assert.equal((await client.b(estab, '/users/p3')).status, 200);

  assert.equal(await purgeRosters(db, afterDays), 4);
  for (const path of ['/users/p3', '/enrollments/e3', '/demographics/p3', '/classes/k2']) assert.equal((await client.b(estab, path)).status, 404, path);
  for (const path of ['/users/p2', '/enrollments/e2', '/demographics/p2', '/classes/k1', '/users/p1'])
    assert.equal((await client.b(estab, path)).status, 200, path);
  const list = await client.b(estab, '/users?limit=10');
  assert.equal(list.headers.get('x-total-count'), '2');
  assert.deepEqual(((await list.json()) as { users: { sourcedId: string }[] }).users.map((one) => one.sourcedId), ['p1', 'p2']);
  await assertWhole(estab);
});

test('a purge is a version of its own, and with nothing to purge there is none', async () => {
  const estab = await newSchool(plus({ enrollments: [enrolment('e3', 'p1')] }));
  await passDays(estab, 1000);
  await leave(estab, { enrollments: [enrolment('e3', 'p1')] });
  const version = await versionOf(estab);
  assert.equal(await purgeRosters(db, afterDays), 0);
  await passDays(estab, afterDays - 1);
  assert.equal(await purgeRosters(db, afterDays), 0);
  assert.equal(await versionOf(estab), version);
  await passDays(estab, 1);
  await db`update roster_version set instant = ${earlier(db, 'instant', '1 minute')} where estab = ${estab}`;
  assert.equal(await purgeRosters(db, afterDays), 1);
  assert.equal(await versionOf(estab), version + 1);
  const [newest] = await db`select instant > now() - interval '1 minute' as fresh from roster_version where estab = ${estab} and version = ${version + 1}`;
  assert.equal(newest?.fresh, true);
  const others = await db`select max(version) as version from roster_enrollment where estab = ${estab}`;
  assert.equal(others[0]?.version, 1, 'records that stay have not changed');
  assert.equal(await purgeRosters(db, afterDays), 0);
  assert.equal(await versionOf(estab), version + 1);
});

test('where nothing has changed since it was last looked at, nothing is locked or read', async () => {
  const estab = await newSchool(plus({ orgs: [org('o2')], classes: [schoolClass('k2', { schoolSourcedId: 'o2' })] }));
  await leave(estab, { orgs: [org('o2')] });
  await passDays(estab, afterDays + 1);
  // It stays, since a class refers to it.
  assert.equal(await purgeRosters(db, afterDays), 0);
  const [release, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = db.begin(async (tx) => {
    await tx`select from roster where estab = ${estab} for update`;
    held.resolve();
    await release.promise;
  });
  await held.promise;
  try {
    assert.equal(await purgeRosters(db, afterDays), 0);
  } finally {
    release.resolve();
    await holding;
  }
  await leave(estab, { classes: [schoolClass('k2', { schoolSourcedId: 'o2' })] });
  await passDays(estab, afterDays + 1);
  assert.equal(await purgeRosters(db, afterDays), 2, 'the class has left, and what only it referred to goes with it');
});

test('notes of what was touched go when they are old enough, also where no record does', async () => {
  const estab = await newSchool(base);
  const touches = async () => (await db`select from roster_touch where estab = ${estab} and what = 'test'`).length;
  await db`insert into roster_touch (estab, what, sourced_id, version) values (${estab}, 'test', 'p1', 1), (${estab}, 'test', 'p2', 2)`;
  await purgeRosters(db, afterDays);
  assert.equal(await touches(), 2);
  await passDays(estab, afterDays + 1);
  assert.deepEqual([await purgeRosters(db, afterDays), await touches()], [0, 1]);
});

test('a record that came back is not purged', async () => {
  const estab = await newSchool(base);
  await leave(estab, { enrollments: [enrolment('e2', 'p2')] });
  await passDays(estab, afterDays + 1);
  await service.load(estab, csvPackage({ enrollments: base.enrollments }));
  assert.equal(await purgeRosters(db, afterDays), 0);
  assert.deepEqual(await idsOf(estab, 'enrollments'), ['e1', 'e2']);
});

const keepers: [what: string, files: Files, leaving: Files, kept: CollectionName, id: string][] = [
  ['an org with a class', { orgs: [org('o2')], classes: [schoolClass('k2', { schoolSourcedId: 'o2' })] }, { orgs: [org('o2')] }, 'orgs', 'o2'],
  ['an org with a course', { orgs: [org('o2')], courses: [course('c2', { orgSourcedId: 'o2' })] }, { orgs: [org('o2')] }, 'orgs', 'o2'],
  ['an org with users', { orgs: [org('o2')], users: [user('u9', 'aide', { orgSourcedIds: 'o1,o2' })] }, { orgs: [org('o2')] }, 'orgs', 'o2'],
  ['an org with children', { orgs: [org('o2'), org('o3', 'o2')] }, { orgs: [org('o2')] }, 'orgs', 'o2'],
  ['a session with children', { academicSessions: [term('t2'), term('t3', 't2')] }, { academicSessions: [term('t2')] }, 'academicSessions', 't2'],
  [
    'a session with a course',
    { academicSessions: [term('t2')], courses: [course('c2', { schoolYearSourcedId: 't2' })] },
    { academicSessions: [term('t2')] },
    'academicSessions',
    't2',
  ],
  [
    'a session with a class',
    { academicSessions: [term('t2')], classes: [schoolClass('k2', { termSourcedIds: 't1,t2' })] },
    { academicSessions: [term('t2')] },
    'academicSessions',
    't2',
  ],
  ['a course with a class', { courses: [course('c2')], classes: [schoolClass('k2', { courseSourcedId: 'c2' })] }, { courses: [course('c2')] }, 'courses', 'c2'],
  ['a class with enrolments', { classes: [schoolClass('k2')], enrollments: [enrolment('e9', 'p1', 'k2')] }, { classes: [schoolClass('k2')] }, 'classes', 'k2'],
  ['a user with enrolments', { users: [user('u9', 'student')], enrollments: [enrolment('e9', 'u9')] }, { users: [user('u9', 'student')] }, 'users', 'u9'],
  [
    'a user with demographics',
    { users: [user('u9', 'student')], demographics: [{ sourcedId: 'u9', sex: 'male' }] },
    { users: [user('u9', 'student')] },
    'users',
    'u9',
  ],
  ['an agent of a user', { users: [user('u9', 'parent'), user('p9', 'student', { agentSourcedIds: 'u9' })] }, { users: [user('u9', 'parent')] }, 'users', 'u9'],
];
test('what something that stays refers to stays', async () => {
  await Promise.all(keepers.map(async ([what, files, leaving, kept, id]) => {
    const estab = await newSchool(plus(files));
    await leave(estab, leaving);
    await passDays(estab, afterDays + 1);
    await purgeRosters(db, afterDays);
    assert.ok((await idsOf(estab, kept)).includes(id), what);
    await assertWhole(estab);
  }));
});

test('pupils and contacts who name each other go together', async () => {
  const ring = [user('u8', 'student', { agentSourcedIds: 'u9' }), user('u9', 'parent', { agentSourcedIds: 'u8' })];
  const estab = await newSchool(plus({ users: ring, orgs: [org('o2', 'o3'), org('o3', 'o2'), org('o4', 'o4')] }));
  await leave(estab, { users: ring, orgs: [org('o2', 'o3'), org('o3', 'o2'), org('o4', 'o4')] });
  await passDays(estab, afterDays + 1);
  assert.equal(await purgeRosters(db, afterDays), 5);
  assert.deepEqual([await idsOf(estab, 'users'), await idsOf(estab, 'orgs')], [['p1', 'p2'], ['o1']]);
  await assertWhole(estab);
});

test('a ring of which one is still referred to stays whole', async () => {
  const ring = [user('u8', 'student', { agentSourcedIds: 'u9' }), user('u9', 'parent', { agentSourcedIds: 'u8' })];
  const estab = await newSchool(plus({ users: ring, enrollments: [enrolment('e9', 'u8')] }));
  await leave(estab, { users: ring });
  await passDays(estab, afterDays + 1);
  await purgeRosters(db, afterDays);
  assert.deepEqual(await idsOf(estab, 'users'), ['p1', 'p2', 'u8', 'u9']);
  await assertWhole(estab);
});

test('a chain goes as a whole, or stays as a whole while its end is referred to', async () => {
  const chain = [org('o2'), org('o3', 'o2'), org('o4', 'o3')];
  const [free, held] = [await newSchool(plus({ orgs: chain })), await newSchool(plus({ orgs: chain, users: [user('u9', 'aide', { orgSourcedIds: 'o4' })] }))];
  for (const estab of [free, held]) {
    await leave(estab, { orgs: chain });
    await passDays(estab, afterDays + 1);
  }
  await purgeRosters(db, afterDays);
  assert.deepEqual([await idsOf(free, 'orgs'), await idsOf(held, 'orgs')], [['o1'], ['o1', 'o2', 'o3', 'o4']]);
  await assertWhole(held);
});

test('children and marks are those of what is left', async () => {
  const people = Array.from({ length: 2100 }, (_, at) => user(`u${String(at).padStart(4, '0')}`, 'relative'));
  const estab = await newSchool({ ...base, users: [...base.users, ...people], orgs: [...base.orgs, org('o2'), org('o3', 'o2')] });
  await leave(estab, { users: people.slice(0, 1000), orgs: [org('o3', 'o2')] });
  await passDays(estab, afterDays + 1);
  assert.equal(await purgeRosters(db, afterDays), 1001);
  const marks = await db`select collection, sourced_id, preceding from roster_milestone where estab = ${estab}`;
  assert.deepEqual(
    marks.map((mark) => [mark.collection, mark.sourced_id, mark.preceding]),
    [['users', 'u1998', { 'student active': 2, 'contact active': 998 }]],
  );
  assert.deepEqual([...(await db`select child_ids, late from roster_org where estab = ${estab} and sourced_id = 'o2'`)], [{ child_ids: null, late: '' }]);
  await assertWhole(estab);
});

test('every school is purged by its own history, and a limit of days is what it says', async () => {
  const [old, young] = [await newSchool(base), await newSchool(base)];
  for (const estab of [old, young]) await leave(estab, { enrollments: [enrolment('e2', 'p2')] });
  await passDays(old, 11);
  await passDays(young, 9);
  await purgeRosters(db, 10);
  assert.deepEqual([await idsOf(old, 'enrollments'), await idsOf(young, 'enrollments')], [['e1'], ['e1', 'e2']]);
});
