// Covers imports of OneRoster 1.2 packages on a real database: people with their roles and profiles in bulk and in deltas, where a state
// came from, what is kept without being shown, the switch from 1.1 and back, and words that 1.1 does not have.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { csvPackage, type PackageOptions, type Rows } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { collections } from '../roster/collections.ts';
import type { Item } from '../roster/resource.ts';
import { MisError } from './connector.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import { listLosses } from './held.ts';
import { importRoster } from './import.ts';
import type { ImportReport } from './import-report.ts';
import { renderReport } from './pages/import-report.ts';
import { describeOrigin, readRecordHistory } from './record-history.ts';
import { requireRun } from './source-view.ts';

type Row = Rows[number];
type Files = Partial<Record<string, Rows>>;

const service = await useService();
const { db, dataDir } = service;
let schools = 0;

const person = (sourcedId: string, more: Row = {}): Row => ({ sourcedId, enabledUser: 'true', username: sourcedId, givenName: 'G', familyName: 'F', ...more });
const role = (sourcedId: string, userSourcedId: string, word: string, orgSourcedId = 'o1', more: Row = {}): Row => ({
  sourcedId, userSourcedId, roleType: 'primary', role: word, orgSourcedId, ...more,
});
const profile = (sourcedId: string, userSourcedId: string, more: Row = {}): Row => ({
  sourcedId, userSourcedId, profileType: 'LMS', vendorId: 'v', credentialType: 'password', username: 'n', ...more,
});
const live = (row: Row): Row => ({ ...row, status: 'active', dateLastModified: '2026-09-01T08:00:00Z' });
const gone = (row: Row): Row => ({ ...row, status: 'tobedeleted', dateLastModified: '2026-09-01T08:00:00Z' });

const orgs = [
  { sourcedId: 'o1', name: 'School', type: 'school' },
  { sourcedId: 'o2', name: 'Other', type: 'school' },
  { sourcedId: 'd', name: 'D', type: 'department' },
];
const school: Files = {
  orgs,
  users: [person('t', { primaryOrgSourcedId: 'o2', 'metadata.bb': '1', 'metadata.a': '2' }), person('p')],
  roles: [role('t1', 't', 'teacher'), role('t2', 't', 'parent', 'o2'), role('p1', 'p', 'student')],
  userProfiles: [profile('tp', 't')],
};
const bulk = (files: Files, options: PackageOptions = {}) => csvPackage(files, { edition: 'v1p2', ...options });
const delta = (files: Files) => bulk(files, { mode: 'delta' });
const old = (files: Files) => csvPackage(files);

async function newSchool(files: Files = school): Promise<string> {
  const estab = `V${(schools += 1)}`;
  const report = await service.addSchool(estab, bulk(files));
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  return estab;
}

type Kept = { status: string; version: number; role: string; orgs: string[]; roles: string[] | null; profiles: string[] };

/** roles: `id word org`. */
async function kept(estab: string, id: string): Promise<Kept> {
  const [row] = await db<{ status: string; version: number; role: string; orgs: string[]; roles: Item[] | null; profiles: Item[] | null }[]>`
    select status, version, role, org_ids as orgs, roles, user_profiles as profiles from roster_user where estab = ${estab} and sourced_id = ${id}`;
  assert.ok(row);
  const roles = row.roles?.map((one) => `${one.id} ${String(one.role)} ${String(one.org)}`) ?? null;
  return { ...row, roles, profiles: (row.profiles ?? []).map(({ profileId }) => String(profileId)) };
}

const origin = async (estab: string, id: string) => {
  const [state] = await readRecordHistory(db, estab, collections.users, id);
  return state && describeOrigin(state.origin);
};
const ended = ({ outcome, added, changed, removed, rejected }: ImportReport) => [outcome, added, changed, removed, rejected];

type Expected = Partial<Kept> & { origin?: string };
const deltas: [name: string, files: Files, expected: Expected][] = [
  [
    'a role is changed',
    { roles: [live(role('t2', 't', 'principal', 'o2'))] },
    { role: 'administrator', roles: ['t1 teacher o1', 't2 principal o2'], origin: 'roles.csv, line 2' },
  ],
  [
    'a role is added',
    { roles: [live(role('t3', 't', 'aide', 'd'))] },
    { role: 'parent', orgs: ['o1', 'o2', 'd'], roles: ['t1 teacher o1', 't2 parent o2', 't3 aide d'] },
  ],
  ['a role is removed', { roles: [gone(role('t2', 't', 'parent', 'o2'))] }, { role: 'teacher', orgs: ['o1'], roles: ['t1 teacher o1'] }],
  [
    'a profile is added',
    { userProfiles: [live(profile('px', 't'))] },
    { profiles: ['tp', 'px'], roles: ['t1 teacher o1', 't2 parent o2'], origin: 'userProfiles.csv, line 2' },
  ],
  ['a profile is removed', { userProfiles: [gone(profile('tp', 't'))] }, { profiles: [], orgs: ['o1', 'o2'] }],
  [
    'a row of users.csv alone',
    { users: [live(person('t', { familyName: 'New' }))] },
    { role: 'teacher', profiles: ['tp'], roles: ['t1 teacher o1', 't2 parent o2'], origin: 'users.csv, line 2' },
  ],
  [
    'somebody leaves with their roles',
    { users: [gone(person('t'))], roles: [gone(role('t1', 't', 'teacher')), gone(role('t2', 't', 'parent', 'o2'))] },
    { status: 'tobedeleted', roles: ['t1 teacher o1', 't2 parent o2'], profiles: ['tp'] },
  ],
];
for (const [name, files, { origin: from, ...expected }] of deltas) {
  test(`a delta of 1.2: ${name}`, async () => {
    const estab = await newSchool();
    const report = await service.load(estab, delta(files), { approve: true });
    assert.deepEqual([report.problems, report.outcome, report.version], [[], 'done', 2]);
    assert.equal(report.collections.users?.mode, 'delta');
    const after = await kept(estab, 't');
    assert.deepEqual(after, { ...after, ...expected, version: 2 });
    if (from !== undefined) assert.equal(await origin(estab, 't'), from);
    assert.equal((await kept(estab, 'p')).version, 1);
    assert.equal((await service.load(estab, delta(files), { approve: true })).outcome, 'unchanged');
  });
}

const faulty: [name: string, files: Files, at: [file: string, line: number, column: string | null], rule: RegExp, people?: number][] = [
  ['the last role is removed', { roles: [gone(role('p1', 'p', 'student'))] }, ['roles.csv', 2, null], /must have a role: none would be left/],
  ['a role of nobody', { roles: [live(role('x', 'x', 'aide'))] }, ['roles.csv', 2, 'userSourcedId'], /no such record in the roster \(users\.csv is not/, 0],
  ['a role nowhere', { roles: [live(role('p2', 'p', 'aide', 'o9'))] }, ['roles.csv', 2, 'orgSourcedId'], /no such record in the roster \(orgs\.csv is not/],
  [
    'a profile that is in use',
    { roles: [live(role('t1', 't', 'teacher', 'o1', { userProfileSourcedId: 'tp' }))], userProfiles: [gone(profile('tp', 't'))] },
    ['roles.csv', 2, 'userProfileSourcedId'], /there is none in userProfiles\.csv or the roster/,
  ],
  ['a row without status and date', { roles: [role('p1', 'p', 'aide')] }, ['roles.csv', 2, 'status'], /in a delta file/],
];
for (const [name, files, at, rule, people = 1] of faulty) {
  test(`a delta of 1.2 is refused: ${name}`, async () => {
    const estab = await newSchool();
    const report = await service.load(estab, delta(files));
    const [first] = report.problems;
    assert.ok(first, report.outcome);
    assert.deepEqual([...ended(report), [first.file, first.line, first.column], rule.test(first.rule)], ['refused', 0, 0, 0, people, at, true], first.rule);
  });
}

test('a role as it was changes nothing, nobody goes who was never there, and who is gone in a bulk file keeps the known roles', async () => {
  const estab = await newSchool();
  const same = await service.load(estab, delta({ roles: [live(role('t1', 't', 'teacher'))] }));
  assert.deepEqual([same.problems, ...ended(same)], [[], 'unchanged', 0, 0, 0, 0]);
  const nobody = await service.load(estab, delta({ users: [gone(person('never'))] }));
  assert.deepEqual([nobody.problems, ...ended(nobody)], [[], 'unchanged', 0, 0, 0, 0]);
  const whole = { ...school, users: [person('t'), gone(person('p'))], roles: [role('t1', 't', 'teacher'), gone(role('t2', 't', 'parent', 'o2'))] };
  assert.deepEqual(ended(await service.load(estab, bulk(whole), { approve: true })), ['done', 0, 1, 1, 0]);
  assert.deepEqual([(await kept(estab, 'p')).roles, (await kept(estab, 't')).roles], [['p1 student o1'], ['t1 teacher o1']]);
});

test('with --partial a person with a faulty role is left as they were, and a row whose person is lost removes nobody', async () => {
  const estab = await newSchool();
  const files = { ...school, users: [person('t'), person('n')], roles: [role('t1', 't', 'pupil'), role('n1', 'n', 'aide')] };
  const lost = 'sourcedId,status,dateLastModified,userSourcedId,roleType,role,beginDate,endDate,orgSourcedId,userProfileSourcedId\nx,,\n';
  const report = await service.load(estab, bulk(files), { partial: true, approve: true });
  assert.deepEqual(ended(report), ['done', 1, 0, 1, 1]);
  assert.deepEqual([(await kept(estab, 't')).version, (await kept(estab, 'p')).status], [1, 'tobedeleted']);
  const torn = await service.load(estab, bulk({ orgs, users: [person('n')] }, { raw: { 'roles.csv': lost } }), { partial: true });
  assert.deepEqual([torn.outcome, torn.removed, (await kept(estab, 't')).status], ['unchanged', 0, 'active']);
});

const head = (file: 'roles' | 'userProfiles') => csvPackage({ [file]: [] }, { edition: 'v1p2' }).files.get(`${file}.csv`);

test('with --partial nobody loses a role or a profile because its row was left out', async () => {
  const estab = await newSchool();
  const header = await text((await head('roles')?.open()) ?? assert.fail());
  const rest = 't2,,,t,primary,parent,,,o2,\r\np1,,,p,primary,student,,,o1,\r\n';
  for (const torn of ['t1,,\r\n', 't1,,, ,primary,teacher,,,o1,\r\n', 't1,,,nobody,primary,teacher,,,o1,\r\n', 't1,,,no\0body,primary,teacher,,,o1,\r\n']) {
    const report = await service.load(estab, bulk(school, { raw: { 'roles.csv': `${header}${torn}${rest}` } }), { partial: true });
    assert.deepEqual([report.outcome, report.changed, report.removed, report.problems.length > 0], ['unchanged', 0, 0, true], torn);
    assert.deepEqual((await kept(estab, 't')).roles, ['t1 teacher o1', 't2 parent o2'], torn);
  }
  const stray = await service.load(estab, bulk({ ...school, userProfiles: [profile('tp', 'nobody')] }), { partial: true });
  assert.deepEqual([stray.outcome, (await kept(estab, 't')).profiles], ['unchanged', ['tp']]);
  const unread = await service.load(estab, bulk({ roles: [live(role('x', 'no\0body', 'aide'))], users: [live(person('no\0body'))] }, { mode: 'delta' }));
  assert.deepEqual([unread.outcome, unread.problems[0]?.value], ['refused', 'no\ufffdbody']);
});

test('a users.csv without rows is the loss of everybody, whatever roles.csv contains, and waits for approval', async () => {
  const estab = await newSchool();
  for (const partial of [false, true]) {
    const report = await service.load(estab, bulk({ orgs, users: [], roles: school.roles ?? [] }), { partial, force: true });
    assert.equal(report.outcome, 'held');
    assert.deepEqual(report.shrinkage.map(({ role: word, size }) => `${word} ${size}`), ['student all', 'parent all', 'teacher all']);
    assert.equal((await kept(estab, 't')).status, 'active');
  }
});

test('a bulk package without userProfiles.csv, or without rows in it, leaves profiles as they were', async () => {
  const estab = await newSchool();
  const { userProfiles: _, ...files } = school;
  const roles = [role('t1', 't', 'teacher', 'o1', { userProfileSourcedId: 'tp' }), role('t2', 't', 'parent', 'o2'), role('p1', 'p', 'student')];
  const given = [files, { ...school, userProfiles: [] }, { ...files, roles }];
  for (const [at, outcome] of (['unchanged', 'unchanged', 'done'] as const).entries()) {
    const report = await service.load(estab, bulk(given[at] ?? {}));
    assert.deepEqual([report.problems, report.outcome, (await kept(estab, 't')).profiles], [[], outcome, ['tp']]);
  }
  const users = [...(school.users ?? []), person('n')];
  const added = await service.load(estab, bulk({ ...files, users, roles: [...roles, role('n1', 'n', 'aide', 'o1', { userProfileSourcedId: 'tp' })] }));
  assert.deepEqual([added.outcome, added.problems.map(({ rule }) => rule)], [
    'refused', ['must be a profile of the same person: there is none in userProfiles.csv or the roster'],
  ]);
});

test('who leaves without ever having been there is passed over with what goes with them, and as an agent; nothing that stays is about them', async () => {
  const estab = await newSchool();
  const users = [gone(person('never'))];
  const passed = await service.load(estab, delta({ users, demographics: [gone({ sourcedId: 'never', sex: 'male' })] }));
  assert.deepEqual([passed.problems, ...ended(passed)], [[], 'unchanged', 0, 0, 0, 0]);
  const naming = [live(person('p', { agentSourcedIds: 'never,t' })), live(person('t', { agentSourcedIds: 'never' }))];
  const named = await service.load(estab, delta({ users: [...naming, ...users] }));
  assert.deepEqual([named.outcome, named.problems], ['done', []]);
  const rows = await db`select agent_ids as agents, late from roster_user where estab = ${estab} order by sourced_id`;
  assert.deepEqual(rows.map(({ agents, late }) => [agents, String(late).match(/"sourcedId":"\w+"/g)]), [[['t'], ['"sourcedId":"t"']], [null, null]]);
  const refused = await service.load(estab, delta({ users, demographics: [live({ sourcedId: 'never' })] }));
  assert.deepEqual([refused.outcome, refused.problems.map(({ value, rule }) => [value, rule])], [
    'refused', [['never', 'there is no such record in users.csv']],
  ]);
});

test('files without rows are told by their own names, and roles that are all tobedeleted are not called missing', async () => {
  const estab = await newSchool();
  const empty = await service.load(estab, delta({ roles: [], userProfiles: [] }));
  assert.deepEqual([empty.outcome, empty.ignored], ['unchanged', ['roles.csv (no rows)', 'userProfiles.csv (no rows)']]);
  const files = { ...school, roles: [...(school.roles ?? []).slice(0, 2), gone(role('p1', 'p', 'student'))] };
  const report = await service.load(estab, bulk(files));
  assert.deepEqual(report.problems.map(({ file, rule }) => [file, rule]), [['users.csv', 'must have a role: all of this person in roles.csv are tobedeleted']]);
});

test('what falls when everything is known names the file and line that somebody was changed by', async () => {
  const estab = await newSchool();
  const files = { orgs: [orgs[0] as Row], roles: [live(role('t2', 't', 'aide')), live(role('t9', 't', 'aide'))] };
  const report = await service.load(estab, bulk(files, { modes: { roles: 'delta' } }), { approve: true });
  const found = report.problems.map(({ file, line, column, value, rule }) => [file, line, column, value, rule]);
  assert.deepEqual(found, [['roles.csv', 2, null, 'o2', 'primaryOrgSourcedId of users.csv: there is no such record in orgs.csv']]);
  const [stored] = await db`select file, line, column_name as column, rule from import_fault where estab = ${estab}`;
  assert.deepEqual({ ...stored }, { file: 'roles.csv', line: 2, column: null, rule: found[0]?.[4] });
});

test('ids that nobody sees are brought up to date without a version, and a later delta finds them', async () => {
  const estab = await newSchool();
  const renamed = { ...school, roles: (school.roles ?? []).map((row) => ({ ...row, sourcedId: `new-${row.sourcedId}` })) };
  const report = await service.load(estab, bulk(renamed));
  assert.deepEqual([...ended(report), report.version], ['unchanged', 0, 0, 0, 0, 1]);
  assert.deepEqual((await kept(estab, 't')).roles, ['new-t1 teacher o1', 'new-t2 parent o2']);
  await service.load(estab, delta({ roles: [gone(role('new-t2', 't', 'parent', 'o2'))] }), { approve: true });
  assert.deepEqual((await kept(estab, 't')).roles, ['new-t1 teacher o1']);
});

const oldUser = (sourcedId: string, word: string, orgSourcedIds: string) => ({ ...person(sourcedId), role: word, orgSourcedIds });
const asOld: Files = { orgs, users: [oldUser('a', 'administrator', 'd,o1'), oldUser('s', 'student', 'o1')] };
const asNew: Files = {
  orgs,
  users: [person('a'), person('s', { primaryOrgSourcedId: 'o1' })],
  roles: [role('a2', 'a', 'ext:administrator', 'd'), role('a1', 'a', 'siteAdministrator'), role('s1', 's', 'student')],
};

test('a switch from a 1.1 package to the equal one of 1.2 moves nothing, nor does the way back', async () => {
  const estab = `V${(schools += 1)}`;
  await service.addSchool(estab, old(asOld));
  for (const [files, roles] of [[bulk(asNew), ['a2 ext:administrator d', 'a1 siteAdministrator o1']], [old(asOld), null]] as const) {
    const report = await service.load(estab, files);
    assert.deepEqual([report.problems, report.outcome, report.version, (await kept(estab, 'a')).roles], [[], 'unchanged', 1, roles]);
  }
});

test('a delta of 1.1 leaves what only 1.2 says; where it has another role or other organisations, it says what the roles are', async () => {
  const estab = await newSchool();
  await service.load(estab, delta({ users: [live(person('t', { pronouns: 'they', primaryOrgSourcedId: 'o1' }))] }));
  const oldDelta = (row: Row) => csvPackage({ users: [live(row)] }, { mode: 'delta' });
  const [renamed, moved] = [{ ...oldUser('t', 'teacher', 'o2,o1'), familyName: 'New' }, oldUser('t', 'teacher', 'd')];
  for (const [row, roles, orgIds] of [[renamed, ['t1 teacher o1', 't2 parent o2'], ['o1', 'o2']], [moved, null, ['d']]] as const) {
    const report = await service.load(estab, oldDelta(row), { approve: true });
    assert.deepEqual([report.problems, ...ended(report)], [[], 'done', 0, 1, 0, 0]);
    const after = await kept(estab, 't');
    const [more] = await db`select pronouns, primary_org_id as primary from roster_user where estab = ${estab} and sourced_id = 't'`;
    assert.deepEqual([after.roles, after.orgs, after.profiles, more?.pronouns, more?.primary], [roles, orgIds, ['tp'], 'they', roles ? 'o1' : null]);
  }
});

test('a delta of 1.2 to somebody who came from 1.1: a role takes the place of the one at its organisation, the others get ids', async () => {
  const estab = `V${(schools += 1)}`;
  await service.addSchool(estab, old(asOld));
  await service.load(estab, delta({ users: [live(person('s', { pronouns: 'they' }))] }));
  assert.deepEqual([(await kept(estab, 's')).roles, (await kept(estab, 's')).orgs], [null, ['o1']]);
  await service.load(estab, csvPackage({ users: [live(oldUser('a', 'administrator', 'o1,d'))] }, { mode: 'delta' }));
  assert.deepEqual((await kept(estab, 'a')).orgs, ['o1', 'd']);
  await service.load(estab, csvPackage({ users: [live(oldUser('a', 'administrator', 'd,o1'))] }, { mode: 'delta' }));
  await service.load(estab, delta({ roles: [live(role('x', 'a', 'principal'))] }));
  assert.deepEqual((await kept(estab, 'a')).roles, ['a/d ext:administrator d', 'x principal o1']);
});

test('somebody who returns has the roles and profiles that they return with, and those from before where none is named', async () => {
  const estab = await newSchool();
  const returning: [files: Files, roles: string[], profiles: string[]][] = [
    [{ users: [live(person('t'))], roles: [live(role('t3', 't', 'aide'))], userProfiles: [live(profile('new', 't'))] }, ['t3 aide o1'], ['new']],
    [{ users: [live(person('t'))], roles: [live(role('t4', 't', 'teacher'))] }, ['t4 teacher o1'], ['new']],
    [{ users: [live(person('t'))] }, ['t4 teacher o1'], ['new']],
  ];
  for (const [files, roles, profiles] of returning) {
    await service.load(estab, delta({ users: [gone(person('t'))] }), { approve: true });
    assert.equal((await service.load(estab, delta(files))).outcome, 'done');
    const { status, ...after } = await kept(estab, 't');
    assert.deepEqual([status, after.roles, after.profiles], ['active', roles, profiles]);
  }
});

test('a role or profile that a delta gives to somebody else is taken from whoever had it, but nobody is left without a role', async () => {
  const estab = await newSchool();
  const moved = await service.load(estab, delta({ roles: [live(role('t2', 'p', 'parent', 'o2'))], userProfiles: [live(profile('tp', 'p'))] }));
  assert.deepEqual([moved.problems, ...ended(moved)], [[], 'done', 0, 2, 0, 0]);
  const [t, p] = [await kept(estab, 't'), await kept(estab, 'p')];
  assert.deepEqual([t.roles, t.orgs, t.profiles, p.roles, p.profiles], [['t1 teacher o1'], ['o1'], [], ['p1 student o1', 't2 parent o2'], ['tp']]);
  const last = await service.load(estab, delta({ roles: [live(role('t1', 'p', 'teacher'))] }));
  const [fault] = last.problems;
  assert.deepEqual([last.outcome, fault?.file, fault?.line, fault?.value], ['refused', 'roles.csv', 2, 't']);
  const merged = await service.load(estab, delta({ users: [gone(person('t'))], roles: [live(role('t1', 'p', 'teacher'))] }), { approve: true });
  assert.deepEqual([merged.problems, ...ended(merged)], [[], 'done', 0, 1, 1, 0]);
  assert.deepEqual([(await kept(estab, 't')).roles, (await kept(estab, 'p')).roles?.at(-1)], [['undefined teacher o1'], 't1 teacher o1']);
});

test('roles and profiles in another order are the same, and 1.1 shows the same role', async () => {
  const both: Files = { ...school, users: [person('t'), person('p')], userProfiles: [profile('tp', 't'), profile('tq', 't', { username: 'm' })] };
  const estab = await newSchool(both);
  const turned = { ...both, roles: (both.roles ?? []).toReversed(), userProfiles: both.userProfiles?.toReversed() ?? [] };
  const report = await service.load(estab, bulk(turned));
  assert.deepEqual([...ended(report), report.version], ['unchanged', 0, 0, 0, 0, 1]);
  const changed = await service.load(estab, bulk({ ...turned, users: [person('t', { familyName: 'New' }), person('p')] }));
  assert.deepEqual(ended(changed), ['done', 0, 1, 0, 0]);
  const after = await kept(estab, 't');
  assert.deepEqual([after.role, after.orgs, after.roles, after.profiles], ['teacher', ['o1', 'o2'], ['t1 teacher o1', 't2 parent o2'], ['tp', 'tq']]);
});

test('a roles.csv that was cut off is held: who stays but loses a role counts for that role, and is named and approved like one who goes', async () => {
  const ids = Array.from({ length: 60 }, (_, at) => `u${at}`);
  const rolesOf = (some: readonly string[]) => [...ids.map((id) => role(`a-${id}`, id, 'teacher')), ...some.map((id) => role(`b-${id}`, id, 'parent', 'o2'))];
  const files: Files = { orgs, users: ids.map((id) => person(id)), roles: rolesOf(ids) };
  const estab = await newSchool(files);
  const load = (cut: readonly string[], more: { id?: string; approved?: string } = {}) =>
    importRoster(db, () => openCsvSource(bulk({ ...files, roles: rolesOf(cut) })), {
      estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20, ...more,
    });
  const id = crypto.randomUUID();
  const held = await load(ids.slice(20), { id });
  const lost = { collection: 'users', role: 'parent', size: 'many', active: 60, removed: 20, percent: 33.3, staying: 20 };
  assert.deepEqual([held.outcome, held.shrinkage], ['held', [lost]]);
  assert.deepEqual(await listLosses(db, estab, id).then((all) => all.map(({ role: word, total }) => [word, total])), [['parent', 20]]);
  assert.equal((await load(ids.slice(0, 40), { approved: id })).outcome, 'held');
  assert.deepEqual(ended(await load(ids.slice(1), {})), ['done', 0, 1, 0, 0]);
  const again = crypto.randomUUID();
  assert.equal((await load(ids.slice(20), { id: again })).outcome, 'held');
  assert.deepEqual(ended(await load(ids.slice(20), { approved: again })), ['done', 0, 19, 0, 0]);
});

/** As a provider gives them. */
const withoutIds = (estab: string) => db`
  update roster_user t set roles = (select jsonb_agg(i.role - 'id' order by i.at) from jsonb_array_elements(t.roles) with ordinality i (role, at))
  where t.estab = ${estab}`;

test('roles that came without ids are found by those that an export gives them', async () => {
  const estab = await newSchool();
  await withoutIds(estab);
  const same = await service.load(estab, delta({ roles: [live(role('t/o1', 't', 'teacher'))] }));
  assert.deepEqual([same.outcome, (await kept(estab, 't')).roles], ['unchanged', ['t/o1 teacher o1', 't/o2 parent o2']]);
  const report = await service.load(estab, delta({ roles: [gone(role('t/o2', 't', 'parent', 'o2'))] }), { approve: true });
  assert.deepEqual([report.outcome, (await kept(estab, 't')).roles], ['done', ['t/o1 teacher o1']]);
});

/** A delta of roles.csv, with something that happens whenever it was read. */
async function openWatched(given: ReturnType<typeof bulk>, whenRead: () => Promise<unknown>): Promise<Awaited<ReturnType<typeof openCsvSource>>> {
  const source = await openCsvSource(given);
  const watched = source.collections.map((one) => {
    const read: typeof one.read = async function* (...around) {
      yield* one.read(...around);
      if (one.resource === collections.users) await whenRead();
    };
    return { ...one, read };
  });
  return { ...source, collections: watched };
}

test('what is read again is opened again: in a folder there may be another package by then', async () => {
  const estab = await newSchool();
  const packages = [bulk({ orgs, users: school.users ?? [], roles: school.roles ?? [] }), delta({ roles: [live(role('t3', 't', 'aide', 'd'))] })];
  const move = () => db`update reading set roster_merged = roster_merged - ${packages.length} where estab = ${estab}`;
  const report = await importRoster(db, () => openWatched(packages.shift() ?? assert.fail(), move), {
    estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20,
  });
  assert.deepEqual(ended(report), ['done', 0, 1, 0, 0]);
  assert.deepEqual([(await kept(estab, 't')).roles?.at(-1), (await kept(estab, 'p')).status], ['t3 aide d', 'active']);
});

test('a delta that looked at the roster is completed anew when one that began earlier is merged before it', async () => {
  const estab = await newSchool();
  const options = { estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20 };
  const [began, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const openEarlier = async () => {
    began.resolve();
    await looked.promise;
    return openCsvSource(delta({ roles: [live(role('t3', 't', 'guardian', 'd'))] }));
  };
  const earlier = importRoster(db, openEarlier, options);
  await began.promise;
  const whenRead = async () => {
    looked.resolve();
    assert.equal((await earlier).outcome, 'done');
  };
  const roles = [live(role('t2', 't', 'parent', 'o2', { beginDate: '2026-09-01' })), live(role('p1', 'p', 'pupil'))];
  const later = await importRoster(db, () => openWatched(delta({ roles }), whenRead), { ...options, partial: true });
  assert.deepEqual([later.outcome, later.overtaken, later.problemsTotal, later.rejected], ['done', undefined, 1, 1]);
  assert.deepEqual((await kept(estab, 't')).roles, ['t1 teacher o1', 't2 parent o2', 't3 guardian d']);
});

test('a delta under which the roster moves all the time is neither taken nor given up: it can be tried later', async () => {
  const estab = await newSchool();
  let readings = 0;
  const whenRead = async () => {
    readings += 1;
    await db`update reading set roster_merged = roster_merged - 1 where estab = ${estab}`;
  };
  const importing = importRoster(db, () => openWatched(delta({ roles: [live(role('t1', 't', 'aide'))] }), whenRead), {
    estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20,
  });
  await assert.rejects(importing, (error) => error instanceof MisError && error.later && /changed again and again/.test(error.message));
  assert.deepEqual([readings, (await kept(estab, 't')).version], [5, 1]);
});

test('a list of nobody but people who are passed over is the loss of everybody, and waits for approval', async () => {
  const estab = await newSchool();
  const read = async function* read() {
    yield { rows: [], rejected: [{ line: 2, sourcedId: 'stranger', fault: 0 }] };
  };
  const source = { ...(await openCsvSource(bulk({ orgs }))), collections: [{ resource: collections.users, mode: 'bulk' as const, read }] };
  const report = await importRoster(db, async () => source, { estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20 });
  assert.deepEqual([...ended(report), ...report.ignored], ['held', 0, 0, 0, 0]);
  assert.equal((await kept(estab, 't')).status, 'active');
});

test('words that 1.1 does not have are told with the import, with what it shows instead; where there are none, nothing is', async () => {
  const own = [...orgs, { sourcedId: 'x', name: 'X', type: 'ext:campus' }];
  const roles = [...(school.roles ?? []), role('p2', 'p', 'ext:librarian')];
  const files = { ...school, orgs: own, roles, demographics: [{ sourcedId: 'p', sex: 'other' }] };
  const id = crypto.randomUUID();
  const estab = await newSchool();
  const report = await importRoster(db, () => openCsvSource(bulk(files)), { estab, id, dataDir, partial: false, force: false, shrinkLimitPercent: 20 });
  assert.deepEqual(report.words, [
    { file: 'orgs.csv', column: 'type', word: 'ext:campus', shown: 'ext:campus', records: 1 },
    { file: 'roles.csv', column: 'role', word: 'ext:librarian', shown: 'aide', records: 1 },
    { file: 'demographics.csv', column: 'sex', word: 'other', shown: null, records: 1 },
  ]);
  const page = renderReport(await requireRun(db, estab, id), { lead: '', problems: '/' }).text;
  assert.match(page, /Words that OneRoster 1\.1 does not have[\s\S]*ext:librarian[\s\S]*roles\.csv[\s\S]*aide[\s\S]*left out/);
  assert.equal((await service.load(estab, bulk(school), { approve: true })).words, undefined);
});
