// Covers imports of what hardly changed: whatever is not read again, everything is as if it had been, and what does not stand any more is read
// as a whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage, type PackageOptions } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { useService } from '../../test/service.ts';
import { attendanceCsv, deltaPackage, smallSchool, user } from '../../test/small-school.ts';
import { allResources } from '../roster/collections.ts';
import type { CsvPackage } from './connectors/csv/package.ts';
import { historyTable } from './history.ts';
import type { ImportReport } from './import-report.ts';

const service = await useService();
const { db } = service;
let schools = 0;

async function newSchool(given: CsvPackage = csvPackage(smallSchool)): Promise<string> {
  const estab = `T${(schools += 1)}`;
  const report = await service.addSchool(estab, given);
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  return estab;
}

const forget = (estab: string) => db`update reading set taken = null where estab = ${estab}`;

/** Which collections were staged. */
async function staging(work: () => Promise<unknown>): Promise<string[]> {
  return (await heardStatements(work)).flatMap((text) => /^\s*copy "?(stage_\w+)/.exec(text)?.[1] ?? []).filter((table) => table !== 'stage_mark');
}

/** All that is kept of a roster, but for what is of the one school alone. */
async function contents(estab: string): Promise<Record<string, unknown>> {
  const tables: Record<string, unknown> = {};
  for (const table of ['roster_total', 'roster_mixed_total', 'roster_milestone', 'roster_touch', ...allResources.flatMap((one) => [one.table, historyTable(one)])])
    tables[table] = await db`
      select to_jsonb(t) - '{estab,head}'::text[] as row from ${db(table)} t where estab = ${estab} order by (to_jsonb(t) - '{estab,head}'::text[])::text collate "C"`;
  tables.roster = await db`select version, history_from, history_to, rendered_to from roster where estab = ${estab}`;
  tables.versions = await db`select version from roster_version where estab = ${estab} order by version`;
  tables.database = await db`
    select name, status, message, row_count, refreshing_since, changed_at = updated_at as changed from component_database where estab = ${estab} order by name`;
  tables.marks = await db`select date, student_id, session, mark, version from attendance_mark where estab = ${estab} order by 1, 2, 3`;
  tables.faults = await db`select number, file, line, column_name, value, rule, dependants from import_fault where estab = ${estab} order by import, number`;
  tables.runs = await db`select outcome, version, kind, partial, reading from import_run where estab = ${estab} order by finished_at`;
  return tables;
}

type Options = PackageOptions & { partial?: boolean; force?: boolean };

/** The same into two schools, one of which reads everything. */
async function loadBoth(one: string, whole: string, given: CsvPackage, options: Options = {}): Promise<ImportReport> {
  const short = await service.load(one, given, options);
  await forget(whole);
  const long = await service.load(whole, given, options);
  assert.deepEqual({ ...short, estab: '' }, { ...long, estab: '' });
  assert.deepEqual(await contents(one), await contents(whole));
  return short;
}

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
  update roster set version = version + 1, history_to = version + 1, rendered_to = version + 1 where estab = ${estab}`;

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
    assert.ok((await staging(() => service.load(estab, csvPackage(smallSchool), { force: true }))).includes('stage_enrollment'));
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
