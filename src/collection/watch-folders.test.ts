// Covers folders that a school's system writes into, and packages that are uploaded: when a folder is read, attendance
// beside the roster, faults in it, and that a collection of the same again leaves no trace.
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, beforeEach, test } from 'node:test';
import { lockWaits } from '../../test/lock-waits.ts';
import { attendanceCsv, smallPackage, smallSchool, user, type SchoolFiles } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { claimWork } from '../outbox/claim.ts';
import { settleWork, type Outcome } from '../outbox/settle.ts';
import { collectDatabase, createCollecting } from './collect.ts';
import { readDatabases, requestDue } from './component-databases.ts';
import { setConnector } from './connector-settings.ts';
import { createFolderWatch } from './watch-folders.ts';

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db } = service;
const outbound = createOutbound(parseAllowList([]));
after(() => outbound.close());
const handler = createCollecting({ db, mis: db, seal: service.seal, outbound, dataDir: service.dataDir }, { shrinkLimitPercent: 20 });
let schools = 0;
beforeEach(async () => {
  await db`delete from outbox`;
  await db`delete from connector_setting`;
});

async function fill(folder: string, files: Partial<SchoolFiles> = {}, raw: Record<string, string> = {}): Promise<void> {
  for (const file of smallPackage(files, { raw }).files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
}

/** A school that is read from a folder; `collected`: its first collection is done. */
async function newSchool({ raw = {}, collected = true }: { raw?: Record<string, string>; collected?: boolean } = {}): Promise<{
  estab: string;
  folder: string;
}> {
  const estab = `S${(schools += 1)}`;
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  await fill(folder, {}, raw);
  await service.addSchool(estab);
  await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'csv', folder }));
  if (collected) await collect();
  return { estab, folder };
}

/** Does what is due, including what becomes due by it; gives the endings by database. */
async function collect(): Promise<Record<string, Outcome>> {
  const outcomes: Record<string, Outcome> = {};
  for (let claimed = await claimWork(db, 60, 64); claimed.length > 0; claimed = await claimWork(db, 60, 64)) {
    for (const work of claimed) {
      const outcome = await handler.run(work);
      outcomes[String(work.payload.database)] = outcome;
      await settleWork(db, [{ work, outcome }]);
    }
  }
  return outcomes;
}

const waiting = async (estab: string) =>
  (await db`select payload ->> 'database' as name from outbox where estab = ${estab} and kind = 'collect' and state = 'waiting' order by seq`).map(
    ({ name }) => name as string,
  );
const standing = async (estab: string) => (await readDatabases(db, estab)).map(({ name, status, rowCount }) => `${name} ${status} ${rowCount}`);
const marksOf = async (estab: string) =>
  (
    await db`select student_id || ' ' || date || ' ' || session || ' ' || coalesce(mark, 'none') as mark from attendance_mark where estab = ${estab} order by 1`
  ).map(({ mark }) => mark as string);
const versionOf = async (estab: string) => (await db`select version from roster where estab = ${estab}`)[0]?.version as number;
const activeUsers = async (estab: string) => (await db`select from roster_user where estab = ${estab} and status = 'active'`).length;

test('a folder is read when it has stopped changing, and not again while it stays as it is', async () => {
  const { estab, folder } = await newSchool();
  const look = createFolderWatch(db);
  await look();
  await look();
  assert.deepEqual(await collect(), { SchoolData: { success: true, state: 'done', detail: { database: 'SchoolData' } } });
  for (let at = 0; at < 3; at += 1) await look();
  assert.deepEqual(await waiting(estab), [], 'nothing has changed');

  appendFileSync(join(folder, 'users.csv'), 'half a li');
  await look();
  appendFileSync(join(folder, 'users.csv'), 'ne');
  await look();
  assert.deepEqual(await waiting(estab), [], 'it is still being copied');
  await fill(folder, { users: [...smallSchool.users, user('p4', 'student')] });
  await look();
  assert.deepEqual(await waiting(estab), []);
  await look();
  assert.deepEqual(await waiting(estab), ['SchoolData']);
  await collect();
  assert.equal(await activeUsers(estab), 9);

  const at = new Date(Date.now() - 5000);
  utimesSync(join(folder, 'users.csv'), at, at);
  mkdirSync(join(folder, 'writeback'));
  writeFileSync(join(folder, 'writeback', 'x.csv'), 'a,b\r\n');
  writeFileSync(join(folder, 'notes.txt'), 'of no interest');
  const version = await versionOf(estab);
  await look();
  await look();
  assert.deepEqual(await waiting(estab), ['SchoolData'], 'only a file that was touched counts');
  await collect();
  assert.equal(await versionOf(estab), version);
  writeFileSync(join(folder, 'writeback', 'y.csv'), 'a,b\r\n');
  for (let more = 0; more < 3; more += 1) await look();
  assert.deepEqual(await waiting(estab), []);
});

test('what was seen before a restart is not read again after it', async () => {
  const { estab } = await newSchool();
  const look = createFolderWatch(db);
  await look();
  await look();
  await collect();
  const restarted = createFolderWatch(db);
  for (let at = 0; at < 3; at += 1) await restarted();
  assert.deepEqual(await waiting(estab), []);
});

test('a folder that changes while it is being collected is collected again', async () => {
  const { estab, folder } = await newSchool({ collected: false });
  const look = createFolderWatch(db);
  const [work] = await claimWork(db, 60, 64);
  assert.ok(work);
  const [read, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The merge of what was read waits for this lock.
  const lock = db.begin(async (tx) => {
    await tx`insert into roster_version (estab, version, instant, stamp) values (${estab}, 1, now(), '')`;
    read.resolve();
    await go.promise;
    await tx`delete from roster_version where estab = ${estab}`;
  });
  await read.promise;
  const running = handler.run(work);
  while ((await lockWaits(db)).length === 0) await look();
  await fill(folder, { users: [...smallSchool.users, user('p4', 'student')] });
  for (let at = 0; at < 3; at += 1) await look();
  go.resolve();
  await lock;
  await settleWork(db, [{ work, outcome: await running }]);
  for (let at = 0; at < 3; at += 1) await look();
  await collect();
  assert.equal(await activeUsers(estab), 9);
});

test('attendance.csv that appears in a folder installs Attendance; faults in it leave the marks alone', async () => {
  const { estab, folder } = await newSchool();
  assert.deepEqual(await standing(estab), ['SchoolData OK 23', 'Attendance NotInstalled 0']);
  const look = createFolderWatch(db);
  writeFileSync(join(folder, 'attendance.csv'), attendanceCsv('p1,2026-11-12,AM,/,,', 'nobody,2026-11-12,AM,/,,'));
  await look();
  await look();
  await collect();
  assert.deepEqual([await standing(estab), await marksOf(estab)], [['SchoolData OK 23', 'Attendance OK 1'], ['p1 2026-11-12 AM /']]);
  const [, attendance] = await readDatabases(db, estab);
  assert.match(attendance?.message ?? '', /left out: 1 marks of students whom the roster does not know/);
  assert.equal(attendance?.expiresAt?.getTime(), (attendance?.updatedAt?.getTime() ?? 0) + 30 * 60_000);

  writeFileSync(join(folder, 'attendance.csv'), attendanceCsv('p1,2026-11-12,AM,I,,', 'p2,2026-11-12,EV,/,,'));
  await look();
  await look();
  assert.deepEqual(await waiting(estab), ['SchoolData', 'Attendance']);
  const { Attendance } = await collect();
  assert.deepEqual([Attendance?.state, Attendance?.delaySeconds, await marksOf(estab)], ['waiting', 60, ['p1 2026-11-12 AM /']]);
  const [roster, refused] = await readDatabases(db, estab);
  assert.deepEqual(
    [roster?.status, refused?.status, refused?.message],
    ['OK', 'Error', 'refused, nothing was changed: 1 problems, the first: attendance.csv, line 3: must be AM or PM'],
  );

  writeFileSync(join(folder, 'attendance.csv'), 'student;date\r\n');
  await db`delete from outbox`;
  await look();
  await look();
  assert.equal((await collect()).Attendance?.state, 'waiting');
  assert.deepEqual([(await readDatabases(db, estab))[1]?.status, await marksOf(estab)], ['Error', ['p1 2026-11-12 AM /']]);
  rmSync(join(folder, 'attendance.csv'));
});

test('marks wait for the first roster, without a try being spent', async () => {
  const { estab } = await newSchool({ raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,') }, collected: false });
  await db`insert into component_database (estab, name, refreshing_since) values (${estab}, 'Attendance', now())`;
  const outcome = await handler.run({
    estab, id: 'x', rp: null, kind: 'collect', lane: 'x', epoch: 0, payload: { database: 'Attendance', force: false, full: false }, body: null,
    attempts: 0, forgiven: 0, claim: '00000000-0000-0000-0000-000000000000', claimedAt: 0,
  });
  assert.deepEqual([outcome.state, outcome.delaySeconds, outcome.errorClass], ['waiting', 2, 'unexpected']);
  assert.deepEqual(await standing(estab), ['SchoolData Updating 0', 'Attendance Updating 0']);
});

test('a collection of the same again: no version, no event, no LastUpdated moves, but it is fresh', async () => {
  const { estab, folder } = await newSchool({ raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,') } });
  assert.deepEqual(await standing(estab), ['SchoolData OK 23', 'Attendance OK 1']);
  const client = await service.addClient('reader', [estab]);
  for (const DatabaseName of ['SchoolData', 'Attendance'])
    assert.equal(
      (await client.s(estab, 'Webhook', { method: 'POST', body: JSON.stringify({ url: 'http://127.0.0.1:9999/event', DatabaseName }) })).status,
      201,
    );
  const show = async () => {
    const lists = await Promise.all(
      ['Students', 'Staff', 'Contacts', 'Groups', 'AttendanceForDate?date=2026-11-12'].map(
        async (path) => (await client.s(estab, path)).json() as Promise<Record<string, unknown>>,
      ),
    );
    return {
      lists: lists.map((list) => Object.entries(list).filter(([key]) => key !== '__dbStatus__' && key !== 'meta')), version: await versionOf(estab),
      marks: (await db`select max(version) as version from attendance_version where estab = ${estab}`)[0]?.version as unknown,
      events: (await db`select from outbox where estab = ${estab} and kind = 'call'`).length,
      changed: (await readDatabases(db, estab)).map(({ changedAt }) => changedAt),
    };
  };
  const [before, fresh] = [await show(), (await readDatabases(db, estab)).map(({ updatedAt }) => Number(updatedAt))];
  const look = createFolderWatch(db);
  await look();
  await look();
  assert.deepEqual(Object.values(await collect()).map(({ state }) => state), ['done', 'done']);
  assert.deepEqual(await show(), before);
  assert.ok((await readDatabases(db, estab)).every(({ updatedAt }, at) => Number(updatedAt) > (fresh[at] ?? 0)));
  await fill(folder, { users: [...smallSchool.users, user('p4', 'student')] }, { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,I,,') });
  await look();
  await look();
  await db`delete from outbox_attempt`;
  for (let work = await claimWork(db, 60, 64); work.some(({ kind }) => kind === 'collect'); work = await claimWork(db, 60, 64))
    for (const one of work) await settleWork(db, [{ work: one, outcome: await handler.run(one) }]);
  assert.equal((await show()).events, 2);
});

const marks = (...lines: string[]) => ({ raw: { 'attendance.csv': attendanceCsv(...lines) } });

test('attendance.csv in a package that is uploaded: merged with it, never to expire, faults refuse everything', async () => {
  const estab = `S${(schools += 1)}`;
  const first = await service.addSchool(estab, smallPackage({}, marks('p1,2026-11-12,AM,/,,', 'p2,2026-11-12,PM,-,,')));
  assert.deepEqual([first?.outcome, first?.marks], ['done', { written: 1, unchanged: 1, rejected: 0 }]);
  assert.deepEqual(
    [await standing(estab), (await readDatabases(db, estab)).map(({ expiresAt }) => expiresAt)],
    [
      ['SchoolData OK 23', 'Attendance OK 1'],
      [null, null],
    ],
  );
  assert.deepEqual(
    (await db`select refresh_at from component_database where estab = ${estab}`).map((row) => row.refresh_at as unknown),
    [null, null],
  );
  const again = await service.load(estab, smallPackage({}, marks('p1,2026-11-12,AM,/,,')));
  assert.deepEqual([again.outcome, again.marks], ['unchanged', { written: 0, unchanged: 1, rejected: 0 }]);

  const changed = { users: [...smallSchool.users, user('p4', 'student')] };
  for (const lines of [['p1,2026-11-12,AM,I,,', 'nobody,2026-11-12,AM,/,,'], ['p1,2026-11-12,AM,I,,', 'p1,2026-11-12,AM,/,,'], ['p1,2026-02-30,AM,I,,']]) {
    const refused = await service.load(estab, smallPackage(changed, marks(...lines)));
    assert.deepEqual([refused.outcome, refused.problemsTotal, refused.problems[0]?.file], ['refused', 1, 'attendance.csv'], lines.join());
    assert.deepEqual([await versionOf(estab), await activeUsers(estab), await marksOf(estab)], [1, 8, ['p1 2026-11-12 AM /']]);
  }
  const partial = await service.load(estab, smallPackage(changed, marks('p4,2026-11-12,AM,/,,', 'nobody,2026-11-12,AM,/,,')), { partial: true });
  assert.deepEqual([partial.outcome, partial.marks], ['done', { written: 1, unchanged: 0, rejected: 1 }]);
});

test('attendance.csv that cannot be read at all refuses the package, and the report says so', async () => {
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab, smallPackage());
  for (const content of ['', 'student;date\r\n', 'studentSourcedId,date,session\r\n']) {
    const report = await service.load(estab, smallPackage({ users: [...smallSchool.users, user('p4', 'student')] }, { raw: { 'attendance.csv': content } }));
    assert.deepEqual([await versionOf(estab), await activeUsers(estab)], [1, 8]);
    assert.deepEqual([report.outcome, report.problemsTotal], ['refused', 1]);
  }
});

test('a refused package counts nothing as added and makes no version', async () => {
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab, smallPackage());
  const { added, version } = await service.load(
    estab,
    smallPackage({ users: [...smallSchool.users, user('p4', 'student')] }, marks('nobody,2026-11-12,AM,/,,')),
  );
  assert.deepEqual({ added, version }, { added: 0, version: 1 });
});

test('a held upload stays Paused: there is nothing to collect at night', async () => {
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab, smallPackage({ users: [...smallSchool.users, ...Array.from({ length: 60 }, (_, at) => user(`n${at}`, 'student'))] }));
  assert.equal((await service.load(estab, smallPackage())).outcome, 'held');
  await db`update component_database set refresh_at = now() - interval '1 second' where estab = ${estab} and refresh_at is not null`;
  await db.begin((tx) => requestDue(tx));
  await collect();
  const [roster] = await readDatabases(db, estab);
  assert.deepEqual([roster?.status, roster?.message?.startsWith('waits for approval')], ['Paused', true]);
});

test('asking for a collection of what is uploaded says so and leaves the status alone', async () => {
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab, smallPackage());
  await assert.rejects(
    collectDatabase({ db, mis: db, seal: service.seal, outbound, dataDir: service.dataDir }, estab, 'SchoolData', {
      force: false,
      full: true,
      shrinkLimitPercent: 20,
    }),
    /uploaded, so that there is nothing to collect/,
  );
  assert.deepEqual(await standing(estab), ['SchoolData OK 23', 'Attendance NotInstalled 0']);
});
