// What 1.2 shows of records that were merged without it: after an update, or by a version beside this one that does not know it. And
// of administrators, whose role there depends on the organisation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { allResources } from '../roster/collections.ts';
import { noteStanding } from '../roster/standing.ts';
import { historyTable } from './history.ts';
import { renderRosters } from './render-editions.ts';

// What is unmade here was made at the same version before: no list is to come out of a file.
const service = await useService({ LIST_CACHE_MB: '0' });
const { db } = service;

const person = (sourcedId: string, role: string, more: Readonly<Record<string, string>> = {}) => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'school', role, username: sourcedId, givenName: 'Zoë 🎒', familyName: sourcedId, ...more,
});
const orgs = (of: Readonly<Record<string, string>>): Rows => [
  { sourcedId: 'trust', name: 'Trust', type: 'district' },
  { sourcedId: 'school', name: 'School', type: 'school', parentSourcedId: 'trust', identifier: '8881001', ...of },
  { sourcedId: 'maths', name: 'Maths', type: 'department', parentSourcedId: 'school' },
];
const files = (more: Readonly<Record<string, string>> = {}, ofSchool: Readonly<Record<string, string>> = {}): Record<string, Rows> => ({
  orgs: orgs(ofSchool),
  academicSessions: [{ sourcedId: 'term', title: 'Term', type: 'term', startDate: '2026-09-01', endDate: '2026-12-18', schoolYear: '2027' }],
  courses: [{ sourcedId: 'course', title: 'Course', orgSourcedId: 'school' }],
  classes: [{ sourcedId: 'class', title: 'Class', courseSourcedId: 'course', classType: 'scheduled', schoolSourcedId: 'school', termSourcedIds: 'term' }],
  users: [
    person('pupil', 'student', { 'metadata.house 🏠': 'Red', 'metadata.a': '1', userIds: '{UPN:A1}', ...more }),
    person('head', 'administrator', { orgSourcedIds: 'trust,school,maths' }),
    person('aide', 'aide', { orgSourcedIds: 'school,trust' }),
    person('twice', 'administrator', { orgSourcedIds: 'trust,trust,school' }),
  ],
  enrollments: ['pupil', 'aide'].map((id) => ({
    sourcedId: `e-${id}`, classSourcedId: 'class', schoolSourcedId: 'school', userSourcedId: id, role: id === 'aide' ? 'aide' : 'student',
  })),
  demographics: [{ sourcedId: 'pupil', sex: 'female' }],
});

const collections = ['orgs', 'academicSessions', 'courses', 'classes', 'users', 'enrollments', 'demographics'];

async function openSchool(estab: string) {
  assert.equal((await service.addSchool(estab, csvPackage(files())))?.outcome, 'done');
  const client = await service.addClient(`app-${estab}`, [estab]);
  let asked = 50;
  const all = async (headers: Record<string, string> = {}) => {
    // No two questions are the same, so that none is answered from what is remembered.
    asked += 1;
    return Promise.all(collections.map(async (name) => (await client.v12(estab, `/${name}?limit=${asked}`, headers)).json()));
  };
  return { client, all, load: (given: Record<string, Rows>) => service.load(estab, csvPackage(given)) };
}

/** As it is after an update, or after an import by a version that does not know of 1.2. */
async function forgetEdition(estab: string): Promise<void> {
  for (const resource of allResources)
    for (const table of [resource.table, historyTable(resource)]) await db`update ${db(table)} set v1p2 = null, shared = null where estab = ${estab}`;
  await db`update roster set rendered_to = 0 where estab = ${estab}`;
  await noteStanding(db, estab);
}

test('what was merged without it is not shown until it is made, and then as if it had been made at once', async () => {
  const { client, all, load } = await openSchool('before');
  const first = (await client.v12('before', '/users?limit=1')).headers.get('x-roster-version') ?? '';
  const then = await all();
  await load(files({ phone: '1' }));
  const now = await all();
  assert.notDeepEqual(now, then);
  await forgetEdition('before');
  for (const path of ['/users', '/users?limit=2', '/users/pupil', '/classes?limit=1']) {
    const refused = await client.v12('before', path);
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '30'], path);
    assert.match(await refused.text(), /being prepared[^]*server_busy/);
  }
  assert.equal((await client.b('before', '/users')).status, 200);
  assert.equal(await renderRosters(db), 1);
  assert.deepEqual(await all(), now);
  assert.deepEqual(await all({ 'if-roster-version': first }), then, 'earlier states as well');
  assert.equal(await renderRosters(db), 0);
});

test('an import after it makes it too, and takes nothing for changed', async () => {
  const { all, load } = await openSchool('importing');
  const now = await all();
  await forgetEdition('importing');
  assert.equal((await load(files())).outcome, 'unchanged');
  assert.deepEqual(await all(), now);
});

test('a record that was rendered in another way is made anew', async () => {
  const { all } = await openSchool('otherwise');
  const now = await all();
  await forgetEdition('otherwise');
  await db`update roster_user set record = record || ' ' where estab = 'otherwise'`;
  await renderRosters(db);
  assert.deepEqual(await all(), now);
});

test('an administrator is one of the site or of the district, and changes with the organisation', async () => {
  const { client, load } = await openSchool('heads');
  type Head = { user: { dateLastModified: string; roles: { role: string }[] } };
  const read = async (id = 'head') => ((await (await client.v12('heads', `/users/${id}`)).json()) as Head).user;
  const before = await read();
  assert.deepEqual(before.roles.map(({ role }) => role), ['districtAdministrator', 'siteAdministrator', 'ext:administrator']);
  assert.deepEqual((await read('twice')).roles.map(({ role }) => role), ['districtAdministrator', 'siteAdministrator'], 'each organisation once');
  const count = await load({ orgs: orgs({ type: 'local' }) });
  assert.deepEqual([count.outcome, count.changed], ['done', 1]);
  const after = await read();
  assert.deepEqual(after.roles.map(({ role }) => role), ['districtAdministrator', 'districtAdministrator', 'ext:administrator']);
  assert.ok(after.dateLastModified > before.dateLastModified, 'whoever reads deltas sees it');
  assert.equal((await load(files({}, { type: 'local' }))).outcome, 'unchanged');
});
