// Covers imports of what hardly changed: whatever is not read again, everything is as if it had been, and what does not stand any more is read
// as a whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bothWays } from '../../test/both-ways.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { useService } from '../../test/service.ts';
import { attendanceCsv, deltaPackage, smallSchool, user } from '../../test/small-school.ts';
import type { CsvPackage } from './connectors/csv/package.ts';

const service = await useService();
const { db } = service;
let schools = 0;

async function newSchool(given: CsvPackage = csvPackage(smallSchool)): Promise<string> {
  const estab = `T${(schools += 1)}`;
  const report = await service.addSchool(estab, given);
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  return estab;
}

/** Which collections were staged. */
async function staging(work: () => Promise<unknown>): Promise<string[]> {
  return (await heardStatements(work)).flatMap((text) => /^\s*copy "?(stage_\w+)/.exec(text)?.[1] ?? []).filter((table) => table !== 'stage_mark');
}

const { loadBoth, forget } = bothWays(service);

test('the same package again is not staged again, and is said to be as it was', async () => {
  const given = csvPackage(smallSchool);
  const [one, whole] = [await newSchool(given), await newSchool(given)];
  assert.ok((await staging(() => service.load(whole, csvPackage({ ...smallSchool, users: smallSchool.users.toReversed() })))).length > 0);
  await service.load(one, csvPackage({ ...smallSchool, users: smallSchool.users.toReversed() }));
  const again = csvPackage({ ...smallSchool, users: smallSchool.users.toReversed() });
  assert.deepEqual(await staging(() => service.load(one, again)), []);
  await forget(whole);
  await service.load(whole, again);
  const report = await loadBoth(one, whole, again);
  assert.equal(report.outcome, 'unchanged');
  assert.equal(report.unchanged, Object.values(smallSchool).flat().length);
});

test('marks of a package are brought in whether or not the rest is as it was', async () => {
  const [marks, others] = ['p1,2026-09-07,AM,/,,', 'p1,2026-09-07,AM,N,,'].map((line) => ({ 'attendance.csv': attendanceCsv(line) }));
  const [one, whole] = [await newSchool(csvPackage(smallSchool, { raw: marks })), await newSchool(csvPackage(smallSchool, { raw: marks }))];
  const report = await loadBoth(one, whole, csvPackage(smallSchool, { raw: others }));
  assert.deepEqual(report.marks, { written: 1, unchanged: 0, rejected: 0 });
  assert.equal(report.outcome, 'unchanged');
  const unknown = csvPackage(smallSchool, { raw: { 'attendance.csv': attendanceCsv('nobody,2026-09-07,AM,/,,') } });
  assert.equal((await loadBoth(one, whole, unknown)).outcome, 'refused');
  assert.equal((await loadBoth(one, whole, unknown, { partial: true })).outcome, 'unchanged');
});

test('what was completed out of the roster is left out once it has changed nothing', async () => {
  const roles = [{ sourcedId: 'r1', userSourcedId: 'p1', roleType: 'primary', role: 'student', orgSourcedId: 'o1' }];
  const users = [{ sourcedId: 'p1', enabledUser: 'true', username: 'p1', givenName: 'Given', familyName: 'Family' }];
  // Profiles are not said, so that those that are known stay.
  const given = csvPackage({ orgs: smallSchool.orgs, users, roles }, { edition: 'v1p2' });
  const [one, whole] = [await newSchool(given), await newSchool(given)];
  assert.deepEqual(await staging(() => loadBoth(one, whole, given)), ['stage_org', 'stage_user', 'stage_org', 'stage_user']);
  assert.deepEqual(await staging(() => loadBoth(one, whole, given)), ['stage_org', 'stage_user']);
});

/** As a purge does. */
const moveRoster = (estab: string) => db`
  update roster set version = version + 1, history_to = version + 1 where estab = ${estab}`;

const ways: Readonly<Record<string, (estab: string) => Promise<unknown>>> = {
  'another version of the product took it': (estab) => db`update reading set taken = taken || '{"by":"0.0.1"}' where estab = ${estab}`,
  'a version that knows nothing of this merged something since': (estab) => db`update reading set started = started + 1, roster_merged = started + 1
    where estab = ${estab}`,
  'the roster has moved': moveRoster,
  'another package was merged since': (estab) => service.load(estab, deltaPackage({ users: [user('p3', 'student', { grades: '10' })] })),
  'a part of a package was left out': async (estab) => {
    const report = await service.load(estab, csvPackage({ users: [...smallSchool.users, user('x', 'nonsense')] }), { partial: true });
    assert.equal(report.rejected, 1);
  },
};
for (const [name, happen] of Object.entries(ways)) {
  test(`the same package again is read as a whole: ${name}`, async () => {
    const estab = await newSchool();
    await happen(estab);
    assert.ok((await staging(() => service.load(estab, csvPackage(smallSchool), { approve: true }))).includes('stage_enrollment'));
  });
}

test('a roster that moves after the files were looked at is read as a whole', async () => {
  const estab = await newSchool();
  const given = csvPackage(smallSchool);
  let opened = 0;
  const moving: CsvPackage = {
    ...given,
    files: new Map(
      [...given.files].map(([name, file]) => [
        name,
        {
          ...file,
          open: async () => {
            if (name === 'enrollments.csv' && (opened += 1) === 1) await moveRoster(estab);
            return file.open();
          },
        },
      ]),
    ),
  };
  const report = await service.load(estab, moving);
  assert.equal(opened, 2);
  assert.equal(report.outcome, 'unchanged');
});
