// Tests that a large collection is staged while it is read, and that nothing depends on that: whatever becomes of the connection or of the
// rest of the package, the roster is the whole new one or the old one.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { useService } from '../../test/service.ts';
import { enrolment, smallSchool } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import type { Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import type { CsvPackage } from './connectors/csv/package.ts';
import { importRoster, type ImportOptions } from './import.ts';
import type { ImportReport } from './import-report.ts';
import type { TakeMergeTurn } from './merge-turns.ts';
import type { SpooledRoster, Spooling } from './read-source.ts';
import { openSpoolFile } from './spool.ts';
import { mergeWhenRead } from './stage-ahead.ts';
import { stageTable } from './stage.ts';

const service = await useService();
const { db, dataDir } = service;

const many = 30_000;
const pupils = ['p1', 'p2', 'p3', 'p9'];
const files = {
  ...smallSchool,
  enrollments: Array.from({ length: many }, (_, at) => enrolment(`e${at}`, pupils[at % pupils.length] ?? '', 'k1', { role: 'student' })),
};

async function load(estab: string, given: CsvPackage, more: Pick<ImportOptions, 'beforeCommit'> = {}): Promise<ImportReport> {
  return importRoster(db, () => openCsvSource(given), { estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20, ...more });
}

const staging = (state: string) => db<{ pid: number }[]>`
  select pid from pg_stat_activity where datname = current_database() and state = ${state} and query like 'copy "stage_enrollment"%'`;

async function untilStaging(): Promise<number> {
  await until('it is staged while more is read', async () => (await staging('active')).length > 0);
  return (await staging('active'))[0]?.pid ?? assert.fail();
}

const count = async (estab: string) =>
  (await db<{ count: number }[]>`select count(*)::int as count from roster_enrollment where estab = ${estab} and status = 'active'`)[0]?.count;

async function assertNothingStaged(): Promise<void> {
  for (const table of [...allResources.map(stageTable), 'stage_rejected', 'stage_fault', 'stage_change'])
    assert.equal((await db`select from ${db(table)}`).length, 0, table);
}

/** The last rows come when something has happened. */
function beforeItsEnd(given: CsvPackage, name: string, does: () => Promise<unknown>): CsvPackage {
  const file = given.files.get(name);
  assert.ok(file);
  async function* read(bytes: Buffer): AsyncGenerator<Buffer> {
    yield bytes.subarray(0, -1000);
    await does();
    yield bytes.subarray(-1000);
  }
  const open = async () => Readable.from(read(await buffer(await file.open())), { objectMode: false });
  return { ...given, files: new Map([...given.files, [name, { ...file, open }]]) };
}

test('a large file is staged while it is read', async () => {
  await service.addSchool('ahead');
  const report = await load('ahead', beforeItsEnd(csvPackage(files), 'enrollments.csv', untilStaging));
  assert.deepEqual([report.outcome, report.collections.enrollments?.added, await count('ahead')], ['done', many, many]);
  await assertNothingStaged();
});

test('a connection that is lost meanwhile costs nothing but time', async () => {
  await service.addSchool('lost');
  const lose = async () => {
    const pid = await untilStaging();
    await db`select pg_terminate_backend(${pid}::int)`;
  };
  const report = await load('lost', beforeItsEnd(csvPackage(files), 'enrollments.csv', lose));
  assert.deepEqual([report.outcome, report.collections.enrollments?.added, await count('lost')], ['done', many, many]);
  await assertNothingStaged();
});

test('so does one that is lost when the file was staged, while another is read', async () => {
  await service.addSchool('later');
  const demographics = [{ sourcedId: 'p1', birthDate: '2015-01-01' }];
  const lose = async () => {
    await until('all of it is staged', async () => (await staging('idle in transaction')).length > 0);
    for (const { pid } of await staging('idle in transaction')) await db`select pg_terminate_backend(${pid}::int)`;
  };
  const report = await load('later', beforeItsEnd(csvPackage({ ...files, demographics }), 'demographics.csv', lose));
  assert.deepEqual([report.outcome, report.collections.enrollments?.added, await count('later')], ['done', many, many]);
  await assertNothingStaged();
});

test('a merge that stood in the way of another is done again, with all that was staged for it', async () => {
  await service.addSchool('again');
  const versions: number[] = [];
  const beforeCommit: ImportOptions['beforeCommit'] = async (tx) => {
    const [roster] = await tx<{ version: number }[]>`select version from roster where estab = 'again'`;
    versions.push(roster?.version ?? 0);
    if (versions.length === 1) await tx.unsafe(`do $$ begin raise sqlstate '40P01'; end $$`);
  };
  const report = await load('again', beforeItsEnd(csvPackage(files), 'enrollments.csv', untilStaging), { beforeCommit });
  assert.deepEqual([report.outcome, report.version, report.collections.enrollments?.added], ['done', 1, many]);
  assert.deepEqual([versions, await count('again')], [[1, 1], many]);
  await assertNothingStaged();
});

test('where connections are scarce nothing is staged before all was read', async () => {
  await service.addSchool('scarce');
  const taken = await Promise.all(Array.from({ length: Math.ceil(db.policy.max / 2) }, () => db.reserve()));
  const heard = await heardStatements(async () => {
    assert.equal((await load('scarce', csvPackage(files))).outcome, 'done');
  });
  for (const one of taken) one.release();
  const copied = heard.filter((text) => text.startsWith('copy "stage_')).map((text) => text.split('"')[1]);
  assert.deepEqual(copied.filter((table) => table === 'stage_org' || table === 'stage_enrollment'), ['stage_org', 'stage_enrollment']);
});

for (const [what, isSpooled] of [['the file itself', false], ['a later file', true]] as const) {
  test(`a connection is held for a limited time while ${what} is read from a slow disk; then everything is staged when it was read`, async () => {
    const rows = await openSpoolFile(dataDir);
    if (isSpooled) rows.end();
    else await rows.write('the beginning of a row');
    const reading = Promise.withResolvers<SpooledRoster>();
    const begun = Promise.withResolvers<void>();
    const takeTurn: TakeMergeTurn = async (work) => {
      begun.resolve();
      return work();
    };
    const isStagedLater = async (_tx: Tx, _spooled: SpooledRoster, already: Spooling | undefined) => already === undefined;
    const merged = mergeWhenRead(db, takeTurn, { resource: collections.enrollments, rows }, reading.promise, isStagedLater, 200);
    await begun.promise;
    await until('it is staged while it is read', () => db.load().inUse === 1);
    await until('the connection is released', () => db.load().inUse === 0);
    reading.resolve({} as SpooledRoster);
    assert.equal(await merged, true);
    await rows.close();
  });
}

test('whoever follows what is spooled does not wait for ever', async () => {
  const file = await openSpoolFile(dataDir);
  const never = new AbortController().signal;
  await file.write('a line');
  await assert.rejects(buffer(file.follow(20, never)), /nothing was spooled for 0.02 s/);
  file.end();
  assert.equal((await buffer(file.follow(20, never))).toString(), 'a line');
  await file.close();
});

test('what is wrong with a later file is told of that file, and the old roster stands', async () => {
  await service.addSchool('wrong', csvPackage(smallSchool));
  const broken = csvPackage(files, { raw: { 'demographics.csv': 'sourcedId,birthDate\np1,"2015-01-01' } });
  const report = await load('wrong', broken);
  assert.deepEqual([report.outcome, report.problems[0]?.file], ['refused', 'demographics.csv'], JSON.stringify(report.problems));
  assert.equal(await count('wrong'), smallSchool.enrollments.length);
  await assertNothingStaged();
});

test('a source that fails while its rows are staged is told as it failed', async () => {
  await service.addSchool('fails');
  const fail = async () => {
    await untilStaging();
    throw new Error('the disk is gone');
  };
  const report = await load('fails', beforeItsEnd(csvPackage(files), 'enrollments.csv', fail));
  assert.deepEqual([report.outcome, report.problems[0]?.file], ['refused', 'enrollments.csv'], JSON.stringify(report.problems));
  assert.match(report.problems[0]?.rule ?? '', /the disk is gone/);
  assert.equal(await count('fails'), 0);
  await assertNothingStaged();
});
