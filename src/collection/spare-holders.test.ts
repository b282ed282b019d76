// Covers, on a real database, that with --partial nobody loses a role or a profile because a row of somebody else was left out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import type { ImportReport } from './import-report.ts';

type Row = Rows[number];
type Files = Partial<Record<string, Rows>>;

const service = await useService();
const { db } = service;
let schools = 0;

const person = (sourcedId: string, more: Row = {}): Row => ({ sourcedId, enabledUser: 'true', username: sourcedId, givenName: 'G', familyName: 'F', ...more });
const renamed = (sourcedId: string, more: Row = {}) => person(sourcedId, { familyName: 'New', ...more });
const role = (sourcedId: string, userSourcedId: string, word: string, orgSourcedId = 'o1'): Row => ({
  sourcedId, userSourcedId, roleType: 'primary', role: word, orgSourcedId,
});
const profile = (sourcedId: string, userSourcedId: string): Row => ({
  sourcedId, userSourcedId, profileType: 'LMS', vendorId: 'v', credentialType: 'password', username: userSourcedId,
});
const dated = (status: string) => (row: Row): Row => ({ ...row, status, dateLastModified: '2026-09-01T08:00:00Z' });
const [live, gone] = [dated('active'), dated('tobedeleted')];

const orgs = [{ sourcedId: 'o1', name: 'School', type: 'school' }, { sourcedId: 'o2', name: 'Other', type: 'school' }];
const roles = { t1: role('t1', 't', 'teacher'), t2: role('t2', 't', 'parent', 'o2'), p1: role('p1', 'p', 'student'), u1: role('u1', 'u', 'aide') };
const u2 = role('u2', 'u', 'proctor', 'o2');
const school: Files = {
  orgs,
  users: [person('t'), person('p'), person('u')],
  roles: [...Object.values(roles), u2],
  userProfiles: [profile('tp', 't')],
};
const bulk = (files: Files) => csvPackage({ ...school, ...files }, { edition: 'v1p2' });
const delta = (files: Files) =>
  csvPackage(Object.fromEntries(Object.entries(files).map(([name, rows]) => [name, (rows ?? []).map(live)])), { edition: 'v1p2', mode: 'delta' });

async function newSchool(): Promise<string> {
  const estab = `H${(schools += 1)}`;
  const report = await service.addSchool(estab, bulk({}));
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  return estab;
}

/** `family name: roles; profiles`, or that they are gone. */
async function kept(estab: string, id: string): Promise<string> {
  const [row] = await db<{ status: string; name: string; roles: { id: string }[]; profiles: { profileId: string }[] | null }[]>`
    select status, family_name as name, roles, user_profiles as profiles from roster_user where estab = ${estab} and sourced_id = ${id}`;
  assert.ok(row);
  const listed = `${row.name}: ${row.roles.map((one) => one.id).join(' ')}; ${(row.profiles ?? []).map(({ profileId }) => profileId).join(' ')}`;
  return row.status === 'active' ? listed : `${row.status} ${listed}`;
}

const ended = ({ outcome, changed, removed, rejected, problems }: ImportReport) => [
  outcome, changed, removed, rejected, ...problems.map(({ file, line, dependants = 0 }) => `${file} ${line} +${dependants}`),
];

const wrong = { enabledUser: 'nonsense' };
const lostAgent = { agentSourcedIds: 'nobody' };
const given = [role('t2', 'p', 'parent', 'o2')];
const others = [roles.t1, roles.p1, roles.u1, u2];
const taken: [name: string, files: ReturnType<typeof bulk>, problem: string][] = [
  ['a delta, whose row of users.csv is wrong', delta({ users: [renamed('p', wrong), renamed('t')], roles: given }), 'users.csv 2 +1'],
  ['a delta, who has another role that is wrong', delta({ roles: [...given, role('p9', 'p', 'pupil')] }), 'roles.csv 3 +1'],
  ['a delta, who has a role nowhere', delta({ roles: [role('p9', 'p', 'aide', 'o9'), ...given] }), 'roles.csv 2 +1'],
  ['a delta, who has an agent that is not there', delta({ users: [renamed('p', lostAgent)], roles: given }), 'users.csv 2 +1'],
  ['a delta of a profile', delta({ users: [renamed('p', wrong)], userProfiles: [profile('tp', 'p')] }), 'users.csv 2 +1'],
  [
    'a bulk package, who has an agent that is not there',
    bulk({ users: [renamed('t'), person('p', lostAgent), person('u')], roles: [...others, ...given], userProfiles: [profile('tp', 'p')] }),
    'users.csv 3 +1',
  ],
  [
    'a bulk package, who has an agent that fell',
    bulk({
      users: [renamed('t'), person('p'), person('u'), person('n', wrong), person('m', { agentSourcedIds: 'n' })],
      roles: [...others, role('n1', 'n', 'aide'), role('m1', 'm', 'aide'), role('t2', 'm', 'parent', 'o2')],
    }),
    'users.csv 5 +2',
  ],
];
for (const [name, files, problem] of taken) {
  test(`somebody keeps what goes to a person who is left out: ${name}`, async () => {
    const estab = await newSchool();
    const report = await service.load(estab, files, { partial: true });
    const rejected = 1 + Number(problem.split('+')[1]);
    assert.deepEqual(ended(report), ['unchanged', 0, 0, rejected, problem]);
    assert.deepEqual([await kept(estab, 't'), await kept(estab, 'p')], ['F: t1 t2; tp', 'F: p1; ']);
    const refused = await service.load(estab, files);
    assert.deepEqual(ended(refused), ['refused', 0, 0, rejected, problem], 'what would be left out is the same');
  });
}

test('one line gives a role to somebody who falls when everything is known: they are the one at fault, not who has it', async () => {
  const estab = await newSchool();
  const more = [...orgs, { sourcedId: 'o3', name: 'O', type: 'school' }];
  await service.load(estab, bulk({ orgs: more, users: [person('t'), person('p', { primaryOrgSourcedId: 'o3' }), person('u')] }));
  const files = { orgs, roles: [live(role('t2', 'p', 'parent', 'o2'))] };
  const report = await service.load(estab, csvPackage(files, { edition: 'v1p2', modes: { roles: 'delta' } }), { partial: true, approve: true });
  assert.deepEqual([report.problems.map(({ value, dependants }) => [value, dependants]), await kept(estab, 't')], [[['o3', 1]], 'F: t1 t2; tp']);
});

test('who is spared was given what another has, who is spared as well, and what refers to them is right', async () => {
  const estab = await newSchool();
  const files = bulk({
    users: [renamed('t'), person('p', lostAgent), renamed('u'), person('n', { agentSourcedIds: 'u' })],
    roles: [roles.t1, role('t2', 'p', 'parent', 'o2'), roles.p1, roles.u1, role('u2', 't', 'proctor', 'o2'), role('n1', 'n', 'student')],
  });
  const report = await service.load(estab, files, { partial: true });
  assert.deepEqual([report.added, ...ended(report)], [1, 'done', 0, 0, 3, 'users.csv 3 +2']);
  assert.deepEqual([await kept(estab, 't'), await kept(estab, 'u')], ['F: t1 t2; tp', 'F: u1 u2; ']);
});

test('a row that is there twice is left out, but its person has what the package gives to them', async () => {
  const estab = await newSchool();
  const report = await service.load(estab, delta({ users: [renamed('p'), renamed('p')], roles: given }), { partial: true });
  assert.deepEqual([ended(report), await kept(estab, 't'), await kept(estab, 'p')], [['done', 2, 0, 1, 'users.csv 3 +0'], 'F: t1; tp', 'New: p1 t2; ']);
});

test('who has the same under another id loses nothing, even where all ids moved on by one', async () => {
  const estab = await newSchool();
  const files = bulk({
    users: [renamed('t'), person('p', lostAgent), renamed('u')],
    roles: ([['p1', roles.t1], ['t1', roles.t2], ['t2', roles.p1], ['u2', roles.u1], ['u1', u2]] as const).map(([sourcedId, row]) => ({ ...row, sourcedId })),
    userProfiles: [profile('tq', 't'), profile('tp', 'p')],
  });
  assert.deepEqual(ended(await service.load(estab, files, { partial: true })), ['done', 2, 0, 1, 'users.csv 3 +0']);
  assert.deepEqual([await kept(estab, 't'), await kept(estab, 'u')], ['New: p1 t1; tq', 'New: u2 u1; ']);
});

test('who is passed over without a fault takes nobody else along', async () => {
  const estab = await newSchool();
  const users = [renamed('t'), person('p'), person('u'), gone(person('z'))];
  const report = await service.load(estab, bulk({ users, userProfiles: [profile('tp', 'z')] }), { partial: true });
  assert.deepEqual([ended(report), await kept(estab, 't')], [['done', 1, 0, 0], 'New: t1 t2; ']);
});

test('rows of nobody are problems, but only those are counted as left out who had what they say, each once', async () => {
  const estab = await newSchool();
  const stray = (...rows: Row[]) => service.load(estab, bulk({ roles: [roles.p1, roles.u1, u2, ...rows] }), { partial: true });
  const report = await stray(role('x1', '', 'aide'), role('x2', 'x', 'aide'), role('x3', '', 'aide'), roles.t1, roles.t2);
  assert.deepEqual(ended(report), ['unchanged', 0, 0, 0, 'roles.csv 5 +0', 'roles.csv 7 +0', 'roles.csv 6 +0']);
  assert.deepEqual(ended(await stray(roles.t1, role('t2', '', 'parent', 'o2'))), ['unchanged', 0, 0, 1, 'roles.csv 6 +1']);
  assert.deepEqual(ended(await stray(roles.t1, role('t2', 'x', 'parent', 'o2'))), ['unchanged', 0, 0, 1, 'roles.csv 6 +1']);
  const users = [person('t'), person('p'), person('m', { agentSourcedIds: 'x' })];
  const cut = await service.load(estab, bulk({ users, roles: [...(school.roles ?? []), role('x2', 'x', 'aide'), role('m1', 'm', 'aide')] }), { partial: true });
  assert.deepEqual(ended(cut), ['unchanged', 0, 0, 2, 'roles.csv 5 +0', 'roles.csv 6 +0', 'roles.csv 7 +1'], 'u is known, x is not, m falls with x');
});

test('who had left returns, whatever a row of nobody says of a role that they had', async () => {
  const estab = await newSchool();
  const left = { users: [person('p'), person('u')], roles: [roles.p1, roles.u1, u2], userProfiles: [] };
  await service.load(estab, bulk(left), { approve: true });
  assert.match(await kept(estab, 't'), /^tobedeleted/);
  const report = await service.load(estab, bulk({ roles: [...others, role('t2', 'nobody', 'parent', 'o2')] }), { partial: true });
  assert.deepEqual([report.outcome, await kept(estab, 't')], ['done', 'F: t1; tp']);
});
