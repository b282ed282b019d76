// Covers readings that come too late: another was merged, or another source set, while they were read or merged. What is
// newer stays, and nothing is called an error that is none.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { useService } from '../../test/service.ts';
import { attendanceCsv, smallSchool, user } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { createOutbound } from '../http/outbound.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { isLive } from '../onboarding/live.ts';
import { collectDatabase, collectMarks } from './collect.ts';
import { readDatabases } from './component-databases.ts';
import type { Connector } from './connector.ts';
import { setConnector } from './connector-settings.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import { recordCollected } from './fetch-outcome.ts';
import { importRoster } from './import.ts';

const service = await useService();
const { db, dataDir } = service;
const optionsOf = (estab: string) => ({ estab, dataDir, partial: false, force: true, shrinkLimitPercent: 20 });
const provider = (name: string) => ({ kind: 'oneroster', url: `http://127.0.0.1:9/${name}`, tokenUrl: undefined, clientId: 'c', clientSecret: 's' }) as const;
const change = (estab: string, setup: Parameters<typeof setConnector>[3]) => db.begin((tx) => setConnector(tx, service.seal, estab, setup));
const waits = (like: string) =>
  until(`something waits for ${like}`, async () => (await lockWaits(db, like)).length > 0);

/** Does something while a statement like this waits for the table or row that is locked. */
async function during<T>(lock: (tx: typeof db) => Promise<unknown>, like: string, work: () => Promise<T>, meanwhile: () => Promise<unknown>): Promise<T> {
  const { under } = await db.begin(async (tx) => {
    await lock(tx as unknown as typeof db);
    const pending = work();
    await waits(like);
    await meanwhile();
    return { under: pending };
  });
  return under;
}

test('a source that is changed while the one before is merged: nothing of that is taken, its cursor least of all', async () => {
  const estab = 'changed';
  await service.addSchool(estab, csvPackage(smallSchool));
  await change(estab, provider('old'));
  const given = csvPackage({ users: [...smallSchool.users, user('old', 'student')] });
  const report = await during(
    (tx) => tx`lock table stage_change in exclusive mode`,
    '%stage_change%',
    () => importRoster(db, async () => ({ ...(await openCsvSource(given)), state: () => ({ since: 'of the old one' }) }), optionsOf(estab)),
    () => change(estab, provider('new')),
  );
  assert.deepEqual([report.outcome, report.overtaken, report.version], ['refused', true, 1]);
  const [setting] = await db`select settings ->> 'url' as url, state from connector_setting where estab = ${estab}`;
  assert.deepEqual({ ...setting }, { url: 'http://127.0.0.1:9/new', state: {} });
  assert.equal((await db`select from roster_user where estab = ${estab} and sourced_id = 'old'`).length, 0);
});

test('a delta that was read before a newer one is refused, so that it cannot undo that', async () => {
  const estab = 'delta';
  await service.addSchool(estab, csvPackage(smallSchool));
  const delta = (familyName: string) => {
    const row = { ...user('p1', 'student', { familyName }), status: 'active', dateLastModified: '2026-11-12T08:00:00Z' };
    return csvPackage({ users: [row] }, { mode: 'delta' });
  };
  const open = async () => {
    assert.equal((await service.load(estab, delta('Newer'))).outcome, 'done');
    return openCsvSource(delta('Older'));
  };
  const report = await importRoster(db, open, optionsOf(estab));
  assert.deepEqual([report.outcome, report.overtaken, report.version], ['refused', true, 2]);
  assert.deepEqual((await db`select family_name from roster_user where estab = ${estab} and sourced_id = 'p1'`)[0]?.family_name, 'Newer');
});

const markOf = async (estab: string) => (await db`select mark from attendance_mark where estab = ${estab}`).map((row) => row.mark);
const reads = (mark: string, meanwhile: () => Promise<unknown> = async () => {}): Connector => ({
  kind: 'demo',
  offers: ['SchoolData', 'Attendance'],
  openRoster: () => assert.fail('not asked for'),
  async *readMarks() {
    await meanwhile();
    yield [{ line: 2, studentId: 'p1', date: '2026-11-12', session: 'AM', mark, minutesLate: undefined, notes: undefined }];
  },
});

test("the instant of collected marks is taken when only the commit is left", async () => {
  const estab = 'instant';
  await service.addSchool(estab, csvPackage(smallSchool));
  const heard = await heardStatements(() => collectMarks({ db, dataDir }, reads('/'), estab));
  assert.match(heard[heard.lastIndexOf('commit') - 1] ?? '', /^\s*insert into attendance_version/);
});

test('marks of a package that were read before newer ones are left out, and its roster is taken', async () => {
  const estab = 'marks';
  await service.addSchool(estab, csvPackage(smallSchool));
  const given = csvPackage({ users: [...smallSchool.users, user('px', 'student')] }, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,N,,') } });
  const report = await importRoster(
    db,
    async () => {
      assert.equal(await collectMarks({ db, dataDir }, reads('/'), estab), undefined);
      return openCsvSource(given);
    },
    optionsOf(estab),
  );
  assert.deepEqual([report.outcome, report.marks, report.ignored.at(-1)], ['done', undefined, 'attendance.csv (newer marks were collected meanwhile)']);
  assert.deepEqual(await markOf(estab), ['/']);
});

test('marks that were being read when the source changed install nothing, and the school stays live', async () => {
  const estab = 'live';
  await service.addSchool(estab, csvPackage(smallSchool));
  await change(estab, { kind: 'demo' });
  const trouble = await collectMarks({ db, dataDir }, reads('/', () => change(estab, { kind: 'csv', folder: undefined })), estab);
  assert.equal(trouble?.overtaken, true);
  assert.deepEqual([await markOf(estab), await isLive(db, estab)], [[], true]);
  assert.deepEqual((await readDatabases(db, estab)).map(({ status }) => status), ['OK', 'NotInstalled']);
});

async function folderOf({ files }: ReturnType<typeof csvPackage>): Promise<string> {
  const folder = mkdtempSync(join(dataDir, 'folder-'));
  for (const [name, file] of files) writeFileSync(join(folder, name), await buffer(await file.open()));
  return folder;
}

test('what was approved, and was completed out of a roster that always moved, waits for a person again', async () => {
  const outbound = createOutbound(parseAllowList([]));
  test.after(() => outbound.close());
  for (const [estab, approved, status] of [['asked', crypto.randomUUID(), 'Paused'], ['unasked', undefined, 'Error']] as const) {
    await service.addSchool(estab, csvPackage(smallSchool));
    const users = [{ ...user('new', 'student'), status: 'active', dateLastModified: '2026-09-01T08:00:00Z' }];
    await change(estab, { kind: 'csv', folder: await folderOf(csvPackage({ users }, { mode: 'delta' })) });
    await db`update outbox set state = 'done', settled_at = now() where estab = ${estab}`;
    const begin: typeof db.begin = async (...given) => {
      await db`update reading set roster_merged = roster_merged - 1 where estab = ${estab}`;
      return db.begin(...given);
    };
    const moving = new Proxy(db, { get: (target, name) => (name === 'begin' ? begin : Reflect.get(target, name)) });
    const how = { force: false, full: true, shrinkLimitPercent: 20, approved };
    await assert.rejects(collectDatabase({ db: moving, mis: db, seal: service.seal, outbound, dataDir }, estab, 'SchoolData', how), /again and again/);
    assert.deepEqual((await readDatabases(db, estab, ['SchoolData'])).map((one) => one.status), [status]);
  }
});

test('a collection that was overtaken is no error of the database: what is newer is there', async () => {
  const estab = 'fine';
  await service.addSchool(estab, csvPackage(smallSchool));
  await change(estab, { kind: 'csv', folder: await folderOf(csvPackage(smallSchool)) });
  const outbound = createOutbound(parseAllowList([]));
  test.after(() => outbound.close());
  const trouble = await during(
    (tx) => tx`select from roster where estab = ${estab} for update`,
    '%from roster where%',
    () => collectDatabase({ db, mis: db, seal: service.seal, outbound, dataDir }, estab, 'SchoolData', { force: false, full: true, shrinkLimitPercent: 20 }),
    () => db`update reading set started = started + 1, roster_merged = started + 1 where estab = ${estab}`,
  );
  assert.equal(trouble?.overtaken, true);
  const [roster] = await readDatabases(db, estab, ['SchoolData']);
  assert.deepEqual([roster?.status, roster?.message], ['OK', 'a newer one was merged while this one was read']);
});

test('changing the source does not stand in the way of a merge that ends at the same time', async () => {
  const estab = 'both';
  await service.addSchool(estab, csvPackage(smallSchool));
  let changing: Promise<unknown> | undefined;
  await db.begin(async (tx) => {
    await recordCollected(tx, estab, 'SchoolData', { rowCount: 1, changed: false });
    changing ??= change(estab, { kind: 'demo' });
    await waits('%component_database%');
    await tx`insert into import_run (estab, started_at, outcome, version, report, kind) values (${estab}, now(), 'done', 1, '{}', 'upload')`;
  });
  await changing;
});
