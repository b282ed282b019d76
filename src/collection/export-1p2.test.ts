// Covers packages of OneRoster 1.2 that go out and come in again: a roster is the same in both editions afterwards, one of 1.1 comes back
// to the same bytes, and what 1.2 only fills in for readers stays blank.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import Papa from 'papaparse';
import { csvPackage } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { allResources } from '../roster/collections.ts';
import type { Edition } from '../roster/resource.ts';
import { readRoster } from '../rostering/read-roster.ts';
import { openPackage, type CsvPackage } from './connectors/csv/package.ts';
import { demoPackage } from './connectors/demo/demo-package.ts';
import { exportRoster, type ExportOptions } from './export.ts';
import { profilesOf, rolesOf } from './export-people.ts';

const service = await useService();
const { db } = service;
const fixture = (name: string) => join(import.meta.dirname, '../../test/fixtures', name);
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-export-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;

type Written = { path: string; files: Record<string, string>; leftOut: number };

async function exportOf(estab: string, options: ExportOptions): Promise<Written> {
  const path = join(folder, `${(made += 1)}.zip`);
  const { leftOut } = await exportRoster(await readRoster(db, estab), path, options);
  return { path, files: await readFiles(path), leftOut };
}

async function readFiles(path: string): Promise<Record<string, string>> {
  const opened = await openPackage(path);
  const files: Record<string, string> = {};
  for (const [name, file] of opened.files) files[name] = await text(await file.open());
  await opened.close();
  return files;
}

async function newSchool(given: string | CsvPackage): Promise<string> {
  const estab = `X${(made += 1)}`;
  const report = await service.addSchool(estab, given);
  assert.deepEqual([report?.problems, report?.outcome], [[], 'done']);
  return estab;
}

type Known = Record<string, unknown> & { sourcedId: string; status: string };

/** Everything that both editions show, dates aside. */
async function shown(estab: string): Promise<Record<Edition, Record<string, Known[]>>> {
  const client = await service.addClient(`reader-${(made += 1)}`, [estab]);
  const all: Record<Edition, Record<string, Known[]>> = { v1p1: {}, v1p2: {} };
  for (const { collection } of allResources) {
    const responses = [['v1p1', await client.b(estab, `/${collection}`)], ['v1p2', await client.v12(estab, `/${collection}?limit=10000`)]] as const;
    for (const [edition, response] of responses) {
      assert.equal(response.status, 200);
      const records = ((await response.json()) as Record<string, Known[]>)[collection] ?? [];
      all[edition][collection] = records.map((record) => ({ ...record, dateLastModified: typeof record.dateLastModified }));
    }
  }
  return JSON.parse(JSON.stringify(all).replaceAll(/"href":"[^"]*"/g, '"href":""'));
}

const withoutDates = (files: Record<string, string>) =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [name, content.replaceAll(/(active|tobedeleted),[^,]+Z/g, '$1,then')]));

test('a roster that came as 1.2 and goes out as 1.2 is the same elsewhere in both editions, with those that left and without', async () => {
  const estab = await newSchool(fixture('school-1p2'));
  const whole = await shown(estab);
  const active = Object.fromEntries(
    Object.entries(whole).map(([edition, lists]) => [
      edition,
      Object.fromEntries(Object.entries(lists).map(([name, records]) => [name, records.filter(({ status }) => status === 'active')])),
    ]),
  );
  for (const [leavers, expected] of [[true, whole], [false, active]] as const) {
    const exported = await exportOf(estab, { edition: 'v1p2', leavers });
    const elsewhere = await newSchool(exported.path);
    assert.deepEqual(await shown(elsewhere), JSON.parse(JSON.stringify(expected)));
    assert.equal(exported.leftOut, 0);
    assert.deepEqual(withoutDates((await exportOf(elsewhere, { edition: 'v1p2', leavers })).files), withoutDates(exported.files));
    const same = await service.load(estab, exported.path, { approve: true });
    assert.deepEqual([same.problems, same.outcome], [[], 'unchanged']);
    assert.doesNotMatch(JSON.stringify([exported.files, expected]), /never-leaves|read past/);
  }
});

const parse = (csv: string) => Papa.parse<Record<string, string>>(csv.replace(/^\ufeff/, ''), { header: true, skipEmptyLines: true }).data;

test('what goes out as 1.2 is what came in, cell by cell: what readers of 1.2 are given in place of blanks stays blank, ids are kept', async () => {
  const files = (await exportOf(await newSchool(fixture('school-1p2')), { edition: 'v1p2' })).files;
  const given = await readFiles(fixture('school-1p2'));
  assert.deepEqual(Object.keys(files).toSorted(), Object.keys(given).toSorted());
  for (const [name, content] of Object.entries(given)) {
    if (name === 'manifest.csv') continue;
    const rows = parse(content)
      .filter(({ status }) => status === '')
      .map((row) => Object.fromEntries(Object.entries(row).filter(([column]) => column !== 'metadata.note')))
      .map((row) => ('password' in row ? { ...row, password: '' } : row));
    const byId = (some: Record<string, string>[]) => some.toSorted((a, b) => ((a.sourcedId ?? '') < (b.sourcedId ?? '') ? -1 : 1));
    assert.deepEqual(byId(parse(files[name] ?? '')), byId(rows), name);
  }
  const [, ...manifest] = (files['manifest.csv'] ?? '').trim().split('\r\n');
  const declared = (csv: string | undefined) => parse(csv ?? '').filter(({ propertyName = '' }) => !propertyName.startsWith('source.'));
  const sorted = (csv: string | undefined) => declared(csv).map(({ propertyName, value }) => `${propertyName},${value}`).toSorted();
  assert.deepEqual([manifest.length, sorted(files['manifest.csv'])], [24, sorted(given['manifest.csv'])]);
});

const long = 'x'.repeat(200);
const awkward = () =>
  csvPackage({
    orgs: [
      { sourcedId: `a/${long}`, name: 'A', type: 'department' },
      { sourcedId: 'b', name: 'B', type: 'school' },
      { sourcedId: 'u/b', name: 'C', type: 'local' },
      { sourcedId: 'c', name: 'D', type: 'district' },
    ],
    users: [
      ['u', 'administrator', `a/${long},b,u/b`],
      [`u/${long}`, 'administrator', 'c,b'],
      ['u/u', 'aide', 'b,c'],
      ['p', 'proctor', 'u/b'],
      ['r', 'relative', 'b'],
    ].map(([sourcedId = '', role = '', orgSourcedIds = '']) => ({
      sourcedId, role, orgSourcedIds, enabledUser: 'true', username: sourcedId, givenName: 'G', familyName: 'F',
    })),
  });
const old: [name: string, given: () => string | CsvPackage][] = [
  ['the small school', () => fixture('small-school')],
  ['the demo school', demoPackage],
  ['an awkward school', awkward],
];
for (const [name, given] of old) {
  test(`${name} of 1.1 comes back to the same bytes by way of 1.2`, async () => {
    const estab = await newSchool(given());
    for (const leavers of [false, true]) {
      const before = await exportOf(estab, { leavers });
      const between = await exportOf(estab, { edition: 'v1p2', leavers });
      assert.equal(between.files['userProfiles.csv'], undefined);
      const elsewhere = await newSchool(between.path);
      const roles = parse(between.files['roles.csv'] ?? '');
      assert.equal(new Set(roles.map(({ sourcedId }) => sourcedId)).size, roles.length);
      assert.ok(roles.every(({ sourcedId = '', roleType }) => /^[0-9A-Za-z./@_-]{1,255}$/.test(sourcedId) && roleType === 'primary'));
      assert.deepEqual(withoutDates((await exportOf(elsewhere, { leavers })).files), withoutDates(before.files));
    }
  });
}

test('a package of 1.2 has subjects only with as many codes, and lists of other lengths come back from its metadata', async () => {
  const about = { schoolSourcedId: 's', courseSourcedId: 'k', termSourcedIds: 't', classType: 'scheduled' };
  const estab = await newSchool(
    csvPackage({
      orgs: [{ sourcedId: 's', name: 'S', type: 'school' }],
      academicSessions: [{ sourcedId: 't', title: 'T', type: 'term', startDate: '2026-09-01', endDate: '2026-12-18', schoolYear: '2027' }],
      courses: [{ sourcedId: 'k', title: 'K', orgSourcedId: 's', subjects: 'Latin,Greek' }],
      classes: [
        { sourcedId: 'both', title: 'A', subjects: 'Art,Music', subjectCodes: '1,2', ...about },
        { sourcedId: 'codes', title: 'B', subjectCodes: '3', ...about },
        { sourcedId: 'neither', title: 'C', ...about },
        { sourcedId: 'own', title: 'D', subjects: 'Drama', 'metadata.subjects': 'of the source', ...about },
        { sourcedId: 'own codes', title: 'G', subjects: 'Art,Music', subjectCodes: '1', 'metadata.subjectCodes': 'of the source', ...about },
        { sourcedId: 'unequal', title: 'E', subjects: 'Art,Music', subjectCodes: '1', ...about },
        { sourcedId: 'words', title: 'F', subjects: 'Art', ...about },
      ],
    }),
  );
  const between = await exportOf(estab, { edition: 'v1p2' });
  const written = (name: string) =>
    parse(between.files[name] ?? '').map((row) =>
      ['sourcedId', 'subjects', 'subjectCodes', 'metadata.subjects', 'metadata.subjectCodes'].map((column) => row[column] ?? '').join(';'),
    );
  assert.deepEqual(written('courses.csv'), ['k;;;Latin,Greek;']);
  assert.deepEqual(written('classes.csv'), [
    'both;Art,Music;1,2;;', 'codes;;;;3', 'neither;;;;', 'own;Drama;;of the source;', 'own codes;Art,Music;1;;of the source', 'unequal;;;Art,Music;1',
    'words;;;Art;',
  ]);
  const elsewhere = await newSchool(between.path);
  assert.deepEqual((await exportOf(elsewhere, {})).files, (await exportOf(estab, {})).files);
  assert.deepEqual((await exportOf(elsewhere, { edition: 'v1p2' })).files, between.files);
});

test('a bulk package of 1.2 names no organisation that left: neither at roles nor as the main one', async () => {
  const person = (sourcedId: string, primaryOrgSourcedId = '') => ({
    sourcedId, primaryOrgSourcedId, enabledUser: 'true', username: 'n', givenName: 'G', familyName: 'F',
  });
  const role = (sourcedId: string, userSourcedId: string, orgSourcedId: string) => ({
    sourcedId, userSourcedId, orgSourcedId, roleType: 'primary', role: 'aide',
  });
  const org = (sourcedId: string) => ({ sourcedId, name: 'N', type: 'school' });
  const roles = [role('1', 'a', 'o2'), role('2', 'a', 'o1'), role('3', 'b', 'o2')];
  const estab = await newSchool(csvPackage({ orgs: [org('o1'), org('o2')], users: [person('a', 'o2'), person('b')], roles }, { edition: 'v1p2' }));
  const left = { ...org('o2'), status: 'tobedeleted', dateLastModified: '2026-09-01T08:00:00Z' };
  await service.load(estab, csvPackage({ orgs: [left] }, { edition: 'v1p2', mode: 'delta' }), { approve: true });
  const { files, leftOut } = await exportOf(estab, { edition: 'v1p2' });
  const [users, written] = ['users.csv', 'roles.csv'].map((name) => parse(files[name] ?? ''));
  assert.deepEqual([leftOut, users?.map(({ sourcedId, primaryOrgSourcedId }) => [sourcedId, primaryOrgSourcedId])], [1, [['a', '']]]);
  assert.deepEqual(written?.map(({ sourcedId, orgSourcedId }) => [sourcedId, orgSourcedId]), [['2', 'o1']]);
});

test("a provider's roster, where two people have one profileId, can be imported elsewhere, and its delta changes nothing here", async () => {
  const people = ['a', 'b:b'];
  const users = people.map((sourcedId) => ({ sourcedId, enabledUser: 'true', username: 'n', givenName: 'G', familyName: 'F' }));
  const role = (of: string) => ({ sourcedId: of, userSourcedId: of, orgSourcedId: 'o', roleType: 'primary', role: 'aide', userProfileSourcedId: of });
  const profile = (of: string) => ({ sourcedId: of, userSourcedId: of, profileType: 'LMS', vendorId: 'v', credentialType: 'password', username: 'n' });
  const files = { orgs: [{ sourcedId: 'o', name: 'N', type: 'school' }], users, roles: people.map(role), userProfiles: people.map(profile) };
  const estab = await newSchool(csvPackage(files, { edition: 'v1p2' }));
  const changed = await db<{ id: string; roles: unknown; profiles: unknown }[]>`
    select sourced_id as id, jsonb_build_array(roles -> 0 || '{"userProfile": "urn:x"}' #- '{id}') as roles,
      jsonb_build_array(user_profiles -> 0 || '{"profileId": "urn:x"}') as profiles from roster_user where estab = ${estab}`;
  for (const { id, roles, profiles } of changed)
    await db`update roster_user set roles = ${db.json(roles)}, user_profiles = ${db.json(profiles)} where estab = ${estab} and sourced_id = ${id}`;
  const [whole, delta] = [await exportOf(estab, { edition: 'v1p2' }), await exportOf(estab, { edition: 'v1p2', leavers: true })];
  await newSchool(whole.path);
  const written = ['userProfiles.csv', 'roles.csv'].map((name) => parse(whole.files[name] ?? ''));
  const expected = ['a/urn:x', 'b:b/urn:x'];
  assert.deepEqual([written[0]?.map(({ sourcedId }) => sourcedId), written[1]?.map((row) => row.userProfileSourcedId)], [expected, expected]);
  // The statement above left the rendered records as they were; the first import renders them.
  assert.deepEqual((await service.load(estab, delta.path)).problems, []);
  const same = await service.load(estab, delta.path);
  assert.deepEqual([same.problems, same.outcome], [[], 'unchanged']);
  assert.deepEqual((await exportOf(estab, { edition: 'v1p2' })).files, whole.files);
});

const noneShared = { roles: new Set<string>(), profiles: new Set<string>() };

test('what came without ids of files gets some, and a profile has a row for each credential', () => {
  const credential = (username: string) => ({ type: 'password', username });
  const record = {
    sourcedId: 'u', status: 'active' as const,
    roles: [
      { role: 'aide', org: 'o' },
      { role: 'parent', org: 'o', userProfile: 'two' },
      { role: 'aide', org: 'gone' },
      { id: 'own', role: 'aide', org: 'o', userProfile: 'none' },
    ],
    userProfiles: [{ profileId: 'two', vendorId: 'v', credentials: [credential('a'), credential('b')] }, { profileId: 'none', vendorId: 'v' }],
  };
  const roles = rolesOf(record, { isGone: (org) => org === 'gone', typeOf: () => undefined }, noneShared);
  const expected = [['u/o', undefined], ['u/o/2', 'two'], ['own', undefined]];
  assert.deepEqual(roles.map(({ sourcedId, userProfileSourcedId }) => [sourcedId, userProfileSourcedId]), expected);
  assert.deepEqual(profilesOf(record, noneShared).map(({ sourcedId, username }) => [sourcedId, username]), [['two', 'a'], ['two/2', 'b']]);
});

test('a role that somebody has whose former holder left with it can be imported elsewhere, and a delta finds it at either', async () => {
  const person = (sourcedId: string) => ({ sourcedId, enabledUser: 'true', username: 'n', givenName: 'G', familyName: 'F' });
  const role = (sourcedId: string, userSourcedId: string, word: string) => ({ sourcedId, userSourcedId, orgSourcedId: 'o', roleType: 'primary', role: word });
  const dated = (row: Record<string, string>, status = 'active') => ({ ...row, status, dateLastModified: '2026-09-01T08:00:00Z' });
  const files = { orgs: [{ sourcedId: 'o', name: 'N', type: 'school' }], users: ['p', 't', 'u'].map(person) };
  const roles = [role('p1', 'p', 'aide'), role('t1', 't', 'teacher'), role('u1', 'u', 'teacher'), role('u/o', 'u', 'aide')];
  const estab = await newSchool(csvPackage({ ...files, roles }, { edition: 'v1p2' }));
  const loadDelta = (given: Parameters<typeof csvPackage>[0]) => service.load(estab, csvPackage(given, { edition: 'v1p2', mode: 'delta' }), { approve: true });
  await loadDelta({ users: [dated(person('p'), 'tobedeleted')] });
  await loadDelta({ roles: [dated(role('t2', 't', 'aide'))] });
  await db`update roster_user set roles = jsonb_set(roles, '{1,id}', '"p1"') where estab = ${estab} and sourced_id = 't'`;
  await db`update roster_user set roles = roles #- '{0,id}' where estab = ${estab} and sourced_id = 'u'`;
  const idsIn = ({ files: written }: Written) => parse(written['roles.csv'] ?? '').map(({ sourcedId }) => sourcedId);
  const [delta, whole] = [await exportOf(estab, { edition: 'v1p2', leavers: true }), await exportOf(estab, { edition: 'v1p2' })];
  assert.deepEqual([idsIn(delta), idsIn(whole)], [['p/p1', 't1', 't/p1', 'u/o/2', 'u/o'], ['t1', 'p1', 'u/o/2', 'u/o']]);
  const elsewhere = await newSchool(delta.path);
  assert.deepEqual(withoutDates((await exportOf(elsewhere, { edition: 'v1p2', leavers: true })).files), withoutDates(delta.files));
  const same = await service.load(estab, delta.path);
  assert.deepEqual([same.problems, same.outcome], [[], 'unchanged']);
  assert.deepEqual((await exportOf(estab, { edition: 'v1p2', leavers: true })).files, delta.files);
  const words = db<{ words: string[] }[]>`
    select array(select i.item ->> 'id' || ' ' || (i.item ->> 'role') from jsonb_array_elements(roles) i (item)) as words
    from roster_user where estab = ${estab} order by sourced_id`;
  assert.equal((await loadDelta({ roles: [dated(role('t/p1', 't', 'proctor'))] })).outcome, 'done');
  assert.deepEqual((await words).map((row) => row.words), [['p1 aide'], ['t1 teacher', 'p1 proctor'], ['u/o/2 teacher', 'u/o aide']]);
});

test('no id is written that the person has already', () => {
  const aide = (id?: string) => ({ ...(id !== undefined && { id }), role: 'aide', org: 'o' });
  const profile = (profileId: string, ...usernames: string[]) => ({
    profileId, vendorId: 'v', credentials: usernames.map((username) => ({ type: 'password', username })),
  });
  const record = {
    sourcedId: 't', status: 'active' as const,
    roles: [{ ...aide(), userProfile: '1' }, aide('t/o'), aide(), aide('1'), aide('t/1')],
    userProfiles: [profile('1', 'a', 'b'), profile('t/1', 'c', 'd'), profile('t/1/3', 'e')],
  };
  const shared = { roles: new Set(['1']), profiles: new Set(['1']) };
  const roles = rolesOf(record, { isGone: () => false, typeOf: () => undefined }, shared);
  assert.deepEqual(roles.map(({ sourcedId }) => sourcedId), ['t/o/2', 't/o', 't/o/4', 't/1/2', 't/1']);
  assert.equal(roles[0]?.userProfileSourcedId, 't/1/2');
  const expected = [['t/1/2', 'a'], ['t/1/2/2', 'b'], ['t/1', 'c'], ['t/1/4', 'd'], ['t/1/3', 'e']];
  assert.deepEqual(profilesOf(record, shared).map(({ sourcedId, username }) => [sourcedId, username]), expected);
});

test('a main organisation stays when a delta of 1.1 adds another one, or says another role, and goes when it is none of them any more', async () => {
  const person = { sourcedId: 't', enabledUser: 'true', username: 'n', givenName: 'G', familyName: 'F' };
  const roles = ['o1', 'o2'].map((org) => ({ sourcedId: org, userSourcedId: 't', orgSourcedId: org, roleType: 'primary', role: 'teacher' }));
  const orgs = ['o1', 'o2', 'o3'].map((sourcedId) => ({ sourcedId, name: 'N', type: 'school' }));
  const estab = await newSchool(csvPackage({ orgs, users: [{ ...person, primaryOrgSourcedId: 'o2' }], roles }, { edition: 'v1p2' }));
  for (const [orgSourcedIds, role, expected] of [['o1,o2,o3', 'teacher', 'o2'], ['o1,o2,o3', 'aide', 'o2'], ['o1,o3', 'aide', '']] as const) {
    const user = { ...person, status: 'active', dateLastModified: '2026-09-01T08:00:00Z', role, orgSourcedIds };
    assert.equal((await service.load(estab, csvPackage({ users: [user] }, { mode: 'delta' }), { approve: true })).outcome, 'done');
    const { files } = await exportOf(estab, { edition: 'v1p2' });
    assert.equal(parse(files['users.csv'] ?? '')[0]?.primaryOrgSourcedId, expected);
    assert.deepEqual(parse(files['roles.csv'] ?? '').map((row) => `${row.role} ${row.orgSourcedId}`), orgSourcedIds.split(',').map((org) => `${role} ${org}`));
  }
});
