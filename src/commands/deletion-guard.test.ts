// The deletion guard as scripts meet it: which losses make an import wait, which of them --force approves, and that an approval names the
// import that somebody has looked at.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { csvPackage, type PackageOptions } from '../../test/csv-package.ts';
import { fakeSchool, useFakeProvider } from '../../test/fake-provider.ts';
import { zip } from '../../test/onboarding.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { enrolment, smallSchool, user, type SchoolFiles } from '../../test/small-school.ts';
import { keepHeldPackage } from '../collection/keep-package.ts';
import { readConfig } from '../config.ts';
import { rosterCommands } from './roster.ts';

const service = await useService();
const { db } = service;
const place = mkdtempSync(join(tmpdir(), 'schoolbell-guard-'));
after(() => rmSync(place, { recursive: true, force: true }));
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, OUTBOUND_ALLOW: '127.0.0.0/8' };
const { run, schoolbell, json, assertFails } = useCommands(settings);

type Source = {
  collections: { ending: { import: string; outcome: string; decision: string | null } | null }[];
  databases: { status: string; message: string }[];
};

const times = <T>(count: number, make: (at: number) => T) => Array.from({ length: count }, (_, at) => make(at));
const people = (count: number, role: string) => times(count, (at) => user(`${role}${at}`, role));
const nobody = smallSchool.users.filter(({ sourcedId }) => sourcedId === 's1');
const enrolled = smallSchool.enrollments.filter(({ userSourcedId }) => userSourcedId === 's1');

/** A school of one teacher in two classes, with more people, and one enrolment for each pupil. */
function school(users: SchoolFiles['users'], more: Partial<SchoolFiles> = {}): Partial<SchoolFiles> {
  const pupils = users.filter(({ role }) => role === 'student');
  return {
    ...smallSchool,
    users: [...nobody, ...users],
    enrollments: [...enrolled, ...pupils.map(({ sourcedId = '' }) => enrolment(`e-${sourcedId}`, sourcedId, 'k1'))],
    demographics: pupils.slice(0, 1).map(({ sourcedId = '' }) => ({ sourcedId, sex: 'female' })),
    ...more,
  };
}

let folders = 0;
async function write(files: Partial<SchoolFiles>, options: PackageOptions = {}): Promise<string> {
  const folder = join(place, `package-${(folders += 1)}`);
  mkdirSync(folder);
  for (const file of csvPackage(files, options).files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
  return folder;
}

let schools = 0;
async function newSchool(files: Partial<SchoolFiles>): Promise<string> {
  const estab = `guard${(schools += 1)}`;
  await service.addSchool(estab, csvPackage(files));
  return estab;
}

const active = async (estab: string, table = 'roster_user') =>
  (await db<{ count: number }[]>`select count(*)::int as count from ${db(table)} where estab = ${estab} and status = 'active'`)[0]?.count;
/** The id of the import that waits for approval, as `school source` lists it. */
async function waiting(estab: string): Promise<string | undefined> {
  const { collections } = await json<Source>(`school source --estab ${estab}`);
  return collections.find(({ ending }) => ending?.outcome === 'held' && ending.decision === null)?.ending?.import;
}

test('an upload with none of 40 pupils waits, and says so with the pupils first', async () => {
  const estab = await newSchool(school([...people(40, 'student'), ...people(8, 'parent')]));
  const none = await write(school([], { enrollments: enrolled }));
  for (const more of [[], ['--force']]) {
    const { err } = await assertFails(/40 of 40/, `import --estab ${estab}`, none, ...more);
    const [pupils, parents, classes] = [/student/, /parent/, /enrollments/].map((kind) => err.search(kind));
    assert.ok(pupils !== undefined && parents !== undefined && classes !== undefined && pupils >= 0 && pupils < parents && parents < classes, err);
    assert.ok(err.includes((await waiting(estab)) ?? 'no import waits'), err);
  }
  assert.deepEqual([await active(estab), await active(estab, 'roster_enrollment')], [49, 42]);
});

test('more than a fifth and more than five wait; --force approves them, and nothing below waits', async () => {
  const cases: [before: number, left: number, waits: boolean][] = [
    [30, 24, false],
    [30, 23, true],
    [6, 1, false],
    [7, 1, true],
    [100, 80, false],
    [100, 79, true],
  ];
  for (const [before, left, waits] of cases) {
    const estab = await newSchool(school(people(before, 'student')));
    const given = await write(school(people(left, 'student')));
    const first = await schoolbell(`import --estab ${estab}`, given);
    assert.deepEqual([first.code, await active(estab)], waits ? [1, before + 1] : [0, left + 1], `${left} of ${before}: ${first.err}`);
    if (waits) await json(`import --estab ${estab}`, given, '--force');
    assert.equal(await active(estab), left + 1);
  }
});

test('the only one of a kind does not leave unseen, but may be replaced', async () => {
  const heads = (id: string) => school([...people(10, 'student'), user(id, 'administrator')]);
  const estab = await newSchool(heads('old'));
  const [year, term = {}] = smallSchool.academicSessions;
  const next = [{ ...year, sourcedId: 'y2' }, { ...term, sourcedId: 't2', parentSourcedId: 'y2' }];
  const moved = smallSchool.classes.map((one) => ({ ...one, termSourcedIds: 't2' }));
  const done = await json<{ removed: number }>(`import --estab ${estab}`, await write({ ...heads('new'), academicSessions: next, classes: moved }));
  assert.equal(done.removed, 3, 'one head replaced by another, and one year and term by the next');
  const without = await write({ ...school(people(10, 'student')), academicSessions: next, classes: moved });
  await assertFails(/1 of 1 .*administrator/, `import --estab ${estab}`, without, '--force');
  const other = await write({ ...school([...people(10, 'student'), user('new', 'aide')]), academicSessions: next, classes: moved });
  await assertFails(/1 of 1 .*administrator/, `import --estab ${estab}`, other, '--force');
  await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
  assert.deepEqual((await db`select role from roster_user where estab = ${estab} and sourced_id = 'new'`).map(({ role }) => role), ['aide']);
});

test('a bulk file without rows counts as the loss of all its records, which only an approval of that import deletes', async () => {
  const estab = await newSchool(school(people(45, 'student')));
  const gone = await write(school([], { enrollments: [], demographics: [], users: nobody }));
  for (const more of [['--force'], []]) await assertFails(/45 of 45 .*student.*47 of 47 .*enrollments/, `import --estab ${estab}`, gone, ...more);
  assert.equal(await active(estab, 'roster_enrollment'), 47);
  const done = await json<{ removed: number; ignored: string[] }>(`import approve --estab ${estab} --import ${await waiting(estab)}`);
  assert.deepEqual([done.removed, await active(estab), await active(estab, 'roster_enrollment')], [45 + 47 + 1, 1, 0]);
});

test('people who are missing take what refers to them along, if they are all missing', async () => {
  const whole = school(people(45, 'student'));
  const estab = await newSchool(whole);
  await assertFails(/45 of 45 .*student.*1 of 1 .*teacher.*47 of 47 .*enrollments/, `import --estab ${estab}`, await write({ ...whole, users: [] }), '--force');
  await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
  assert.deepEqual([await active(estab), await active(estab, 'roster_enrollment'), await active(estab, 'roster_class')], [0, 0, 3]);
});

test('a package of 1.2 whose orgs.csv has no rows waits with everything that cannot be without an organisation', async () => {
  const users = people(10, 'student');
  const rolesOf = (some: typeof users) =>
    some.map(({ sourcedId = '', role = '' }) => ({ sourcedId: `r-${sourcedId}`, userSourcedId: sourcedId, roleType: 'primary', role, orgSourcedId: 'o1' }));
  const whole = { ...school(users), roles: rolesOf([...nobody, ...users]) };
  const pack = async (name: string, more: object = {}) => {
    const path = join(place, name);
    writeFileSync(path, await zip(csvPackage({ ...whole, ...more }, { edition: 'v1p2' })));
    return path;
  };
  const estab = `guard${(schools += 1)}`;
  await service.addSchool(estab);
  await json(`import --estab ${estab}`, await pack('whole.zip'));
  const lost = /10 of 10 .*student.*1 of 1 .*teacher.*1 of 1 orgs.*1 of 1 courses.*3 of 3 classes.*12 of 12 enrollments.*1 of 1 demographics/;
  await assertFails(lost, `import --estab ${estab}`, await pack('empty.zip', { orgs: [] }), '--force');
  await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
  const tables = ['roster_org', 'roster_user', 'roster_course', 'roster_class', 'roster_enrollment', 'roster_demographics', 'roster_academic_session'];
  const left = await Promise.all(tables.map((table) => active(estab, table)));
  assert.deepEqual(left, [0, 0, 0, 0, 0, 0, 2], 'only terms and years do not refer to an organisation');
});

test('outside a terminal an approval names its import, and every refusal names the one that waits', async () => {
  const estab = await newSchool(school(people(40, 'student')));
  const [first, second] = [await write(school(people(10, 'student'))), await write(school(people(9, 'student')))];
  await assertFails(/./, `import --estab ${estab}`, first);
  const seen = (await waiting(estab)) ?? 'none';
  await assertFails(new RegExp(seen), `import approve --estab ${estab}`);
  await assertFails(/./, `import --estab ${estab}`, second);
  const id = (await waiting(estab)) ?? 'none';
  assert.notEqual(id, seen);
  await assertFails(new RegExp(id), `import approve --estab ${estab} --import ${seen}`);
  await assertFails(new RegExp(id), `import approve --estab ${estab} --import ${crypto.randomUUID()}`);
  await assertFails(new RegExp(id), `import approve --estab ${estab}`);
  assert.equal(await active(estab), 41, 'nobody was deleted');
  assert.equal((await json<{ removed: number }>(`import approve --estab ${estab} --import ${id}`)).removed, 62);
});

test('the package of an import that a newer one replaced is not stored in place of the newer one', async () => {
  const estab = await newSchool(school(people(40, 'student')));
  await assertFails(/./, `import --estab ${estab}`, await write(school(people(15, 'student'))));
  const first = (await waiting(estab)) ?? 'none';
  await assertFails(/./, `import --estab ${estab}`, await write(school(people(10, 'student'))));
  const late = await write(school(people(15, 'student')));
  assert.equal(await keepHeldPackage(db, estab, first, late, { dataDir: service.dataDir }), 'replaced');
  await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
  assert.equal(await active(estab), 11);
});

test('a package that is too large to be stored cannot be approved: the refusal says so, and the remedies that it names work', async () => {
  const estab = await newSchool(school(people(40, 'student')));
  const lost = school([], { enrollments: enrolled });
  const only = ({ users = [] }: Partial<SchoolFiles>) => csvPackage({ users });
  const [whole, part] = await Promise.all([zip(csvPackage(lost)), zip(only(lost))]);
  const path = join(place, 'large.zip');
  writeFileSync(path, whole);
  const given = { options: { estab }, positionals: [path] };
  const command = rosterCommands.find(({ name }) => name === 'import') ?? assert.fail('there is no import command');
  const imported = (largestUpload: number) => command.run({ db, seal: service.seal, config: readConfig(settings), largestUpload }, given);
  assert.ok(part.length < whole.length - 1);
  const { failed = '' } = await imported(whole.length - 1);
  assert.match(failed, /40 of 40 student.*Nothing was changed\. The package is too large to be stored, so this import cannot be approved\./);
  assert.match(failed, /split it into several packages.*marked absent in manifest\.csv, or use a watched folder/);
  assert.match(failed, /school edit --estab \w+ --connector csv --folder/);
  assert.doesNotMatch(failed, /import approve/);
  const id = (await waiting(estab)) ?? 'none';
  const refusal = new RegExp(`${id}.*not stored\\. Nothing was changed\\..*split it into several packages.*watched folder`);
  await assertFails(refusal, `import approve --estab ${estab} --import ${id}`);
  assert.deepEqual([await waiting(estab), await active(estab)], [id, 41]);

  writeFileSync(path, part);
  assert.match((await imported(whole.length - 1)).failed ?? '', /import approve --estab/);
  await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
  await json(`import --estab ${estab}`, await write({ enrollments: enrolled }), '--force');
  assert.deepEqual([await active(estab), await active(estab, 'roster_enrollment')], [1, 2]);

  const folder = await write(school(people(3, 'student')));
  await json(`school edit --estab ${estab} --connector csv --folder ${folder}`);
  await db`update outbox set state = 'cancelled', settled_at = now() where estab = ${estab}`;
  await db`update component_database set refreshing_since = null where estab = ${estab}`;
  await json(`collect --estab ${estab}`);
  for (const file of csvPackage(lost).files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
  await assertFails(/3 of 3 .*student/, `collect --estab ${estab}`);
  await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
  assert.equal(await active(estab), 1);
});

test('on a terminal the person is shown what would be deleted, and asked', async () => {
  const estab = await newSchool(school(people(40, 'student')));
  await assertFails(/./, `import --estab ${estab}`, await write(school(people(10, 'student'))));
  const asked: string[] = [];
  const answer = (word: string) => (question: string) => (asked.push(question), Promise.resolve(word));
  assert.equal((await run(['import', 'approve', '--estab', estab], settings, answer('no'))).code, 1);
  assert.match(asked[0] ?? '', /30 .*student/);
  assert.equal(await active(estab), 41);
  assert.equal((await run(['import', 'approve', '--estab', estab], settings, answer('yes'))).code, 0);
  assert.equal(await active(estab), 11);
});

async function newProvider(more: { total?: boolean } = {}) {
  const fake = await useFakeProvider();
  if (more.total === false) fake.misbehave = (_, reply) => void (reply.total = undefined);
  const estab = `guard${(schools += 1)}`;
  await service.addSchool(estab);
  await json(`school edit --estab ${estab} --connector oneroster --url ${fake.url} --client-id id --client-secret secret`);
  // No worker runs here, so the fetch that was queued would wait for ever.
  await db`update outbox set state = 'cancelled', settled_at = now() where estab = ${estab}`;
  await db`update component_database set refreshing_since = null where estab = ${estab}`;
  const collect = (...options: string[]) => schoolbell(`collect --estab ${estab}`, ...options);
  const status = async () => (await json<Source>(`school source --estab ${estab}`)).databases[0]?.status;
  return { fake, estab, collect, status };
}

for (const total of [true, false]) {
  test(`an empty list of a provider ${total ? 'with' : 'without'} totals waits, whatever is forced`, async () => {
    const { fake, estab, collect, status } = await newProvider({ total });
    assert.equal((await collect()).code, 0);
    for (const lost of [['users'], ['enrollments'], ['users', 'enrollments', 'demographics']] as const) {
      fake.data = { ...fakeSchool(), ...Object.fromEntries(lost.map((name) => [name, []])) };
      for (const more of [[], ['--force']]) {
        const { code, err } = await collect(...more);
        const id = (await waiting(estab)) ?? 'none';
        assert.deepEqual([code, err.includes(id), await status()], [1, true, 'Paused'], `${String(lost)} ${String(more)}: ${err}`);
      }
      assert.deepEqual([await active(estab), await active(estab, 'roster_enrollment')], [30, 12]);
    }
    const id = await waiting(estab);
    fake.data = { ...fakeSchool(), users: [], enrollments: [], demographics: [], courses: [] };
    await assertFails(/courses/, `import approve --estab ${estab} --import ${id}`);
    assert.equal(await active(estab), 30, 'an approval covers the deletions that were recorded, and no others');
    fake.data = { ...fakeSchool(), users: [] };
    await assertFails(/./, `collect --estab ${estab}`);
    await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
    assert.deepEqual([await status(), await active(estab), await active(estab, 'roster_enrollment')], ['OK', 0, 0]);
  });

  test(`a first fetch of classes without people or enrolments waits, ${total ? 'with' : 'without'} totals`, async () => {
    for (const lost of [['users', 'enrollments', 'demographics'], ['enrollments'], ['users']] as const) {
      const { fake, estab, collect, status } = await newProvider({ total });
      fake.data = { ...fakeSchool(), ...Object.fromEntries(lost.map((name) => [name, []])) };
      for (const more of [[], ['--force']]) assert.deepEqual([(await collect(...more)).code, await status()], [1, 'Paused'], `${String(lost)} ${String(more)}`);
      assert.equal(await active(estab, 'roster_class'), 0);
      await json(`import approve --estab ${estab} --import ${await waiting(estab)}`);
      assert.deepEqual([await status(), await active(estab, 'roster_class')], ['OK', 1]);
    }
  });
}

test('a school without classes may begin without people', async () => {
  const { fake, collect, status } = await newProvider();
  fake.data = { ...fakeSchool(), classes: [], users: [], enrollments: [], demographics: [] };
  assert.deepEqual([(await collect()).code, await status()], [0, 'OK']);
});

test('a source that announces no totals is said not to report leavers: in the report, on the pages and in DBStatus', async () => {
  const { fake, estab, collect, status } = await newProvider({ total: false });
  const client = await service.addClient(`rp-${estab}`, [estab]);
  const said = async () => ((await (await client.s(estab, 'Databases')).json()) as { DBStatus: { Message: string | null }[] }).DBStatus[0]?.Message ?? '';
  await collect();
  fake.data = fakeSchool(20);
  fake.data.enrollments = fakeSchool().enrollments;
  assert.match((await collect()).out, /does not report leavers/);
  assert.deepEqual([await status(), await active(estab)], ['OK', 30]);
  assert.match(await said(), /does not report leavers/);
  const [last] = await json<{ id: string }[]>(`import list --estab ${estab}`);
  const { report } = await json<{ report: { leaversUnreported: string[] } }>(`import show --estab ${estab} ${last?.id}`);
  assert.ok(report.leaversUnreported.includes('users'));
  const shown = (await schoolbell(`import show --estab ${estab} ${last?.id}`)).out;
  assert.match(shown, /does not report leavers/);
  fake.misbehave = (_, reply) => void (reply.status = 404);
  assert.deepEqual([(await collect()).code, await status()], [1, 'Error']);
  assert.match(await said(), /does not report leavers/, 'the data is still shown');
  fake.behave();
  assert.deepEqual([(await collect()).code, await said()], [0, '']);
});
