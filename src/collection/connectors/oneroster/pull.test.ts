// Covers pulls from another instance of this service: through either variant the roster arrives as it is, a pull of
// changes asks for little and ends at the same roster, and one without changes changes nothing.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useFakeProvider } from '../../../../test/fake-provider.ts';
import { csvPackage } from '../../../../test/csv-package.ts';
import { root12, rootA, rootB, useService } from '../../../../test/service.ts';
import { parseAllowList } from '../../../http/address-guard.ts';
import { createOutbound } from '../../../http/outbound.ts';
import { allResources } from '../../../roster/collections.ts';
import type { RosterReading } from '../../connector.ts';
import { importRoster } from '../../import.ts';
import type { ImportReport } from '../../import-report.ts';
import { demoPackage } from '../demo/demo-package.ts';
import { createOneRosterConnector, pageLimits, testProvider } from './oneroster-connector.ts';

const [near, far] = [await useService(), await useService()];
const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), pageLimits);
test.after(() => outbound.close());
let schools = 0;

/** Everything that variant B or 1.2 shows, apart from what is a service's own. */
async function shown(service: typeof near, estab: string, by: 'b' | 'v12' = 'b'): Promise<Record<string, unknown[]>> {
  const client = await service.addClient(`reader${(schools += 1)}`, [estab]);
  const all: Record<string, unknown[]> = {};
  for (const { collection } of allResources) {
    const response = await client[by](estab, `/${collection}`);
    assert.equal(response.status, 200);
    const text = JSON.stringify(await response.json(), (key, value: unknown) => (key === 'href' || key === 'dateLastModified' ? undefined : value));
    all[collection] = (JSON.parse(text) as Record<string, unknown[]>)[collection] ?? [];
  }
  return all;
}

type Link = { url: string; clientId: string; clientSecret: string; version?: '1.2' };

/** A school of ours that is linked to one elsewhere, and remembers what the last pull left. */
async function addLinked(link: Link, pageSize: number) {
  const estab = `N${(schools += 1)}`;
  await near.addSchool(estab);
  let state: Record<string, unknown> = {};
  const pull = async (full: boolean, approved?: string): Promise<{ id: string; report: ImportReport; reading: RosterReading; records: number }> => {
    const id = crypto.randomUUID();
    const reading = await createOneRosterConnector({ ...link, tokenUrl: undefined, state, outbound, pageSize }).openRoster({ full });
    const options = { estab, id, approved, partial: false, force: false, dataDir: near.dataDir, shrinkLimitPercent: 20 };
    const report = await importRoster(near.db, async () => reading, options);
    assert.deepEqual(report.problems, []);
    state = JSON.parse(JSON.stringify(reading.state?.())) as Record<string, unknown>;
    return { id, report, reading, records: reading.bytesRead() / 100 };
  };
  return { estab, pull };
}

const link = {
  A: (client: { clientId: string; clientSecret: string }) => ({ url: `${far.url}${rootA}/`, clientId: client.clientId, clientSecret: client.clientSecret }),
  B: (rp: string, estab: string, secret = '') => ({ url: `${far.url}${rootB}`, clientId: `${rp}|${estab}`, clientSecret: secret }),
  /** Where the discovery document is found below it. */
  second: (rp: string, estab: string, secret = '') => ({ url: `${far.url}${root12}`, clientId: `${rp}|${estab}`, clientSecret: secret }),
};
const dated = (status: string) => ({ status, dateLastModified: '2026-09-20T08:00:00.000Z' });
const gone = dated('tobedeleted');
const newUser = {
  ...dated('active'), enabledUser: 'true', orgSourcedIds: 'sch-south', role: 'student', username: 'n.new', givenName: 'Nia', familyName: 'New',
  agentSourcedIds: 'rel-1', 'metadata.house': 'Green, or "not"',
};

test('the small school arrives through variant B, and so do its changes, which are few', async () => {
  await far.addSchool('small', join(import.meta.dirname, '../../../../test/fixtures/small-school'));
  await far.load(
    'small',
    csvPackage(
      { orgs: [{ ...dated('active'), sourcedId: 'dep-arts', name: 'Arts and crafts', type: 'department', parentSourcedId: 'sch-south' }] },
      { mode: 'delta' },
    ),
  );
  // The next reading goes back to when this one began, to the second; what is older than that is not asked for again.
  await pause(1100);
  const client = await far.addClient('puller', ['small']);
  const { estab, pull } = await addLinked(link.B('puller', 'small', client.schoolSecrets.small), 4);

  const first = await pull(true);
  const before = await shown(far, 'small');
  const total = Object.values(before).reduce((sum, records) => sum + records.length, 0);
  assert.deepEqual([first.report.outcome, first.report.added, first.records, first.reading.totalBytes], ['done', total, total, 100 * total]);
  assert.deepEqual(await shown(near, estab), before);

  const again = await pull(false);
  assert.deepEqual([again.report.outcome, again.report.version], ['unchanged', first.report.version]);
  assert.ok(again.reading.collections.every(({ mode }) => mode === 'delta'));
  assert.ok(again.records <= 3, `${again.records} records`);
  assert.equal((await pull(true)).report.outcome, 'unchanged');

  await pause(1100);
  const loaded = await far.load(
    'small',
    csvPackage(
      {
        users: [{ ...newUser, sourcedId: 'stu/new' }],
        enrollments: [
          {
            ...dated('active'), sourcedId: 'enr-new', classSourcedId: '9A/Ma1@north', schoolSourcedId: 'sch/north@ashdown', userSourcedId: 'stu/new',
            role: 'student',
          },
        ],
        demographics: [{ ...dated('active'), sourcedId: 'stu/new', birthDate: '2014-03-01' }],
        orgs: [{ ...gone, sourcedId: 'dep-arts', name: 'Arts', type: 'department', parentSourcedId: 'sch-south' }],
      },
      { mode: 'delta' },
    ),
  );
  assert.equal(loaded.outcome, 'done', JSON.stringify(loaded.problems));
  const changes = await pull(false);
  const after = await shown(far, 'small');
  assert.notDeepEqual(after, before);
  assert.deepEqual(await shown(near, estab), after);
  assert.deepEqual([changes.report.outcome, changes.report.added, changes.report.removed], ['done', 3, 1]);
  assert.ok(changes.records < 8, `${changes.records} records`);
});

test('the small school arrives through variant A, without demographics; changes come with everything', async () => {
  await far.addSchool('plain', join(import.meta.dirname, '../../../../test/fixtures/small-school'));
  const client = await far.addClient('plain-puller', ['plain']);
  const { estab, pull } = await addLinked(link.A(client), 4);
  const compare = async () => assert.deepEqual(await shown(near, estab), { ...(await shown(far, 'plain')), demographics: [] });

  const first = await pull(false);
  assert.equal(first.report.outcome, 'done');
  await compare();
  assert.equal((await pull(false)).report.outcome, 'unchanged');
  await far.load('plain', csvPackage({ users: [{ ...newUser, sourcedId: 'stu/new' }, { ...newUser, ...gone, sourcedId: 'stu-003' }] }, { mode: 'delta' }));
  const changes = await pull(false);
  assert.deepEqual([changes.report.outcome, changes.report.added, changes.report.removed, changes.report.collections.users?.mode], ['done', 1, 1, 'bulk']);
  await compare();
  assert.equal((await pull(false)).report.outcome, 'unchanged');
});

test('the small school arrives as OneRoster 1.2, and so do its changes, which are few', async () => {
  await far.addSchool('second', join(import.meta.dirname, '../../../../test/fixtures/small-school'));
  await far.load('second', csvPackage({ orgs: [{ ...dated('active'), sourcedId: 'dep-arts', name: 'Arts', type: 'department' }] }, { mode: 'delta' }));
  await pause(1100);
  const client = await far.addClient('second-puller', ['second']);
  const { estab, pull } = await addLinked(link.second('second-puller', 'second', client.schoolSecrets.second), 4);
  const compare = async () => assert.deepEqual(await shown(near, estab, 'v12'), await shown(far, 'second', 'v12'));

  assert.equal((await pull(true)).report.outcome, 'done');
  await compare();
  const people = async (service: typeof near, school: string) =>
    (await shown(service, school)).users?.map((one) => (({ role, orgs, username }) => ({ role, orgs, username }))(one as Record<string, unknown>));
  assert.deepEqual(await people(near, estab), await people(far, 'second'), 'roles are those of 1.1 again');
  const again = await pull(false);
  assert.deepEqual([again.report.outcome, again.reading.collections.every(({ mode }) => mode === 'delta')], ['unchanged', true]);
  await pause(1100);
  await far.load('second', csvPackage({ users: [{ ...newUser, sourcedId: 'stu/new' }, { ...newUser, ...gone, sourcedId: 'stu-003' }] }, { mode: 'delta' }));
  const changes = await pull(false);
  assert.deepEqual([changes.report.outcome, changes.report.added, changes.report.removed], ['done', 1, 1]);
  assert.ok(changes.records < 8, `${changes.records} records`);
  await compare();
});

test('what a provider of 1.2 leaves out stands in 1.1 alone', async () => {
  const fake = await useFakeProvider();
  const to = (sourcedId: string) => ({ href: 'x', sourcedId, type: 'any' });
  const [school, role] = [to('o1'), { roleType: 'primary', role: 'student', org: to('o1') }];
  fake.data = {
    ...fake.data,
    orgs: [['o', 'school', 'tobedeleted'], ['o0', 'district'], ['o1', 'school'], ['o2', 'school']].map(([sourcedId, type, status]) => ({
      sourcedId, name: 'Org', type, status,
    })),
    courses: [{ sourcedId: 'c1', title: 'Taught' }, { sourcedId: 'c2', title: 'Not taught' }, { sourcedId: 'c3', title: 'Of the trust', org: to('o0') }],
    classes: [
      { sourcedId: 'k0', status: 'tobedeleted', title: '7A', course: to('c1'), school, terms: [to('t1')] },
      { sourcedId: 'k1', title: '7A', course: to('c1'), school: to('o2'), terms: [to('t1')] },
    ],
    users: [{ sourcedId: 'u1', enabledUser: true, givenName: 'G', familyName: 'F', email: 'u1@x.example', roles: [role] }],
    enrollments: [{ sourcedId: 'e1', user: to('u1'), class: to('k1'), school, role: 'student' }],
    demographics: [{ sourcedId: 'u1', sex: 'other' }],
  };
  fake.misbehave = ({ collection }, reply) => void (collection === 'orgs' && (reply.total = undefined));
  const { estab, pull } = await addLinked({ url: fake.url, clientId: 'id', clientSecret: 'secret', version: '1.2' }, 2);
  assert.equal((await pull(true)).report.outcome, 'done');
  const of = (list: unknown[] | undefined, ...names: string[]) => list?.map((one) => names.map((name) => (one as Record<string, unknown>)[name]));
  const [first, second] = [await shown(near, estab), await shown(near, estab, 'v12')];
  const org = (sourcedId: string) => ({ sourcedId, type: 'org' });
  assert.deepEqual(of(first.courses, 'org'), [[org('o2')], [org('o1')], [org('o0')]]);
  assert.deepEqual(of(second.courses, 'org'), [[undefined], [undefined], [org('o0')]]);
  assert.deepEqual([of(first.classes, 'classType'), of(second.classes, 'classType')], [[['scheduled'], ['scheduled']], [[undefined], [undefined]]]);
  assert.deepEqual([of(first.users, 'username', 'role'), of(second.users, 'username')], [[['u1@x.example', 'student']], [[undefined]]]);
  assert.deepEqual([of(first.demographics, 'sex'), of(second.demographics, 'sex')], [[[undefined]], [['other']]]);
  assert.equal((await pull(true)).report.outcome, 'unchanged');

  const left = { status: 'tobedeleted', enabledUser: false, givenName: 'G', familyName: 'F', roles: [] };
  Object.assign(fake.data, {
    users: [{ sourcedId: 'u0', ...left }, { sourcedId: 'u1', ...left }],
    enrollments: ['u0', 'u1'].map((id, at) => ({ sourcedId: `e${at}`, status: 'tobedeleted', user: to(id), class: to('k1'), school, role: 'student' })),
    demographics: ['u0', 'u1'].map((sourcedId) => ({ sourcedId, status: 'tobedeleted' })),
  });
  const everybody = await pull(true);
  assert.equal(everybody.report.outcome, 'held');
  assert.equal((await pull(true, everybody.id)).report.outcome, 'done', 'somebody who is gone need not have a role');
  const [after1, after2] = [await shown(near, estab), await shown(near, estab, 'v12')];
  assert.deepEqual(of(after1.users, 'sourcedId', 'status', 'role'), [['u1', 'tobedeleted', 'student']], 'who was there keeps it; nobody else comes');
  assert.deepEqual(of(after2.users, 'roles'), of(second.users, 'roles'));
  assert.deepEqual([of(after1.enrollments, 'sourcedId', 'status'), of(after1.demographics, 'sourcedId')], [[['e1', 'tobedeleted']], [['u1']]]);
  assert.equal((await pull(true)).report.outcome, 'unchanged');

  // On pages of two, u0 comes after whoever names them.
  const named = (sourcedId: string, ...agents: string[]) => ({
    sourcedId, enabledUser: true, givenName: 'G', familyName: 'F', roles: [role], agents: agents.map(to), username: sourcedId,
  });
  fake.data.users = [named('u2', 'u0'), named('u3', 'u2', 'u0', 'u1'), { sourcedId: 'u1', ...left }, { sourcedId: 'u0', ...left }];
  assert.equal((await pull(true)).report.outcome, 'done', 'who is passed over refuses nobody');
  const people = of((await shown(near, estab, 'v12')).users, 'sourcedId', 'agents') ?? [];
  assert.deepEqual(people.map(([id, agents]) => [id, of(agents as unknown[] | undefined, 'sourcedId')?.flat()]), [
    ['u1', undefined], ['u2', undefined], ['u3', ['u2', 'u1']],
  ]);
  const kept = await near.db`select sourced_id as id, agent_ids as agents from roster_user where estab = ${estab} order by sourced_id`;
  assert.deepEqual(kept.map(({ id, agents }) => [id, agents]), [['u1', null], ['u2', null], ['u3', ['u2', 'u1']]]);
  assert.equal((await pull(true)).report.outcome, 'unchanged');
  fake.stop();
});

test('the demo school arrives in many pages', async () => {
  await far.addSchool('demo', demoPackage());
  const client = await far.addClient('demo-puller', ['demo']);
  const all = await shown(far, 'demo');
  const linked = await addLinked(link.B('demo-puller', 'demo', client.schoolSecrets.demo), 777);
  await linked.pull(true);
  assert.deepEqual(await shown(near, linked.estab), all);
});

test('credentials are tested against either variant, and wrong ones are refused in words', async () => {
  await far.addSchool('tested', csvPackage({ orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }] }));
  const client = await far.addClient('tester', ['tested']);
  const parts = { tokenUrl: undefined, state: {}, outbound };
  const none = { academicSessions: 0, courses: 0, classes: 0, users: 0, enrollments: 0 };
  assert.deepEqual(await testProvider({ ...parts, ...link.A(client) }), {
    version: '1.1',
    tokenUrl: `${far.url}${rootA}/token`,
    collections: { orgs: 1, ...none },
  });
  assert.deepEqual(await testProvider({ ...parts, ...link.B('tester', 'tested', client.schoolSecrets.tested) }), {
    version: '1.1',
    tokenUrl: `${far.url}${rootB}/auth/token`,
    collections: { orgs: 1, ...none, demographics: 0 },
  });
  for (const wrong of [{ ...link.A(client), clientSecret: 'wrong' }, link.B('tester', 'tested', 'wrong')])
    await assert.rejects(testProvider({ ...parts, ...wrong }), /does not accept the client id and secret \(401, invalid_client\)/);
  const narrow = await far.addClient('narrow', ['tested'], 'School');
  await assert.rejects(testProvider({ ...parts, ...link.B('narrow', 'tested', narrow.schoolSecrets.tested) }), /not let this client id read users \(403\)/);
  await assert.rejects(testProvider({ ...parts, ...link.A(narrow) }), /refused to give users \(400\)/);
});
