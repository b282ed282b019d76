// Covers collections as durable work, claim by claim on a real database: one at a time, resumed after a crash, fenced
// by the claim, retried on their schedule, held and approved, and what each ending leaves behind.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, beforeEach, test } from 'node:test';
import { lockWaits } from '../../test/lock-waits.ts';
import { until } from '../../test/until.ts';
import { attendanceCsv, smallPackage, smallSchool, user, type SchoolFiles } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { claimWork, reclaimExpired, type ClaimedWork } from '../outbox/claim.ts';
import { settleWork, type Outcome } from '../outbox/settle.ts';
import { isLive } from '../onboarding/live.ts';
import { sweepWaits } from '../schooldata/availability.ts';
import { createCollecting } from './collect.ts';
import { readDatabases, requestCollection, requestDue } from './component-databases.ts';
import type { DatabaseName } from './connector.ts';
import { setConnector, setDemoMode } from './connector-settings.ts';
import { recordWritten } from './fetch-outcome.ts';

const service = await useService();
const { db } = service;
const outbound = createOutbound(parseAllowList([]));
after(() => outbound.close());
const handler = createCollecting({ db, mis: db, seal: service.seal, outbound, dataDir: service.dataDir }, { shrinkLimitPercent: 20 });
let schools = 0;

async function fill(folder: string, files: Partial<SchoolFiles> = {}, raw: Record<string, string> = {}): Promise<void> {
  for (const file of smallPackage(files, { raw }).files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
}

/** A school that is read from a folder, its first collection asked for. */
async function newSchool(files: Partial<SchoolFiles> = {}, raw: Record<string, string> = {}): Promise<{ estab: string; folder: string }> {
  const estab = `S${(schools += 1)}`;
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  await fill(folder, files, raw);
  await service.addSchool(estab);
  await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'csv', folder }));
  return { estab, folder };
}

/** What one test leaves behind is no work for the next. */
beforeEach(() => db`delete from outbox`);

const claim = async () => [...(await claimWork(db, 60, 64))];
async function claimOne(): Promise<ClaimedWork> {
  const [work, ...more] = await claim();
  assert.ok(work && more.length === 0, 'there is exactly one piece of work');
  return work;
}
async function finish(work: ClaimedWork): Promise<Outcome> {
  const outcome = await handler.run(work);
  await settleWork(db, [{ work, outcome }]);
  return outcome;
}
const collect = async () => finish(await claimOne());
const request = (estab: string, name: DatabaseName, how: { force?: boolean; full?: boolean } = {}) => db.begin((tx) => requestCollection(tx, estab, name, how));
const rows = async (estab: string) => [
  ...(await db<
    { state: string; attempts: number; dueIn: number }[]
  >`select state, attempts, round(extract(epoch from due_at - now()))::int as "dueIn" from outbox where estab = ${estab} and kind = 'collect' order by seq`),
];
const hurry = async (estab: string) => {
  await db`update outbox set due_at = now() where estab = ${estab} and state = 'waiting'`;
  await db`update lane set next_at = now() where key in (select lane from outbox where estab = ${estab} and state = 'waiting')`;
};
const roster = async (estab: string) => (await readDatabases(db, estab))[0] ?? assert.fail();
const versionOf = async (estab: string) => (await db`select version from roster where estab = ${estab}`)[0]?.version as number;
const die = async () => {
  await db`update outbox set lease_until = now() - interval '1 second' where state = 'running'`;
  assert.equal(await reclaimExpired(db), 1);
};

test('a collection: asked for once however often, Updating meanwhile, then OK with its count and times', async () => {
  const { estab } = await newSchool();
  await request(estab, 'SchoolData');
  assert.deepEqual([(await roster(estab)).status, (await rows(estab)).length], ['Updating', 1]);
  const work = await claimOne();
  await request(estab, 'SchoolData');
  assert.equal((await rows(estab)).length, 1);
  assert.deepEqual(await finish(work), { success: true, state: 'done', detail: { database: 'SchoolData' } });
  const { status, rowCount, updatedAt, expiresAt, message, progress } = await roster(estab);
  assert.deepEqual([status, rowCount, message, progress, await versionOf(estab)], ['OK', 23, null, null, 1]);
  assert.equal(expiresAt?.getTime(), (updatedAt?.getTime() ?? 0) + 1440 * 60_000);
});

test('one at a time per establishment and database; others go on', async () => {
  const [one, two] = [await newSchool(), await newSchool()];
  const first = await claim();
  assert.deepEqual(first.map((work) => work.estab).sort(), [one.estab, two.estab]);
  await request(one.estab, 'SchoolData', { force: true });
  assert.deepEqual([(await rows(one.estab)).map(({ state }) => state), await claim()], [['running', 'waiting'], []]);
  for (const work of first) await finish(work);
  const next = await claimOne();
  assert.deepEqual([next.estab, next.payload], [one.estab, { database: 'SchoolData', force: true, full: false }]);
  assert.equal((await finish(next)).state, 'done');
  assert.deepEqual([(await roster(one.estab)).status, await versionOf(one.estab)], ['OK', 1]);
});

test('a worker that died: another one collects, and the try does not count', async () => {
  const { estab } = await newSchool();
  await claimOne();
  assert.deepEqual(await claim(), []);
  await die();
  const again = await claimOne();
  assert.deepEqual([again.attempts, again.forgiven], [0, 1]);
  assert.equal((await finish(again)).state, 'done');
  assert.deepEqual([(await roster(estab)).status, await versionOf(estab)], ['OK', 1]);
});

test('a worker that lost its claim merges nothing', async () => {
  const { estab } = await newSchool();
  const lost = await claimOne();
  await die();
  assert.equal((await finish(lost)).state, 'cancelled');
  assert.deepEqual([await versionOf(estab), (await roster(estab)).status, (await roster(estab)).updatedAt], [0, 'Updating', null]);
  assert.equal((await collect()).state, 'done');
  assert.deepEqual([await versionOf(estab), (await rows(estab)).map(({ state }) => state)], [1, ['done']]);
});

test('nor does it merge marks', async () => {
  const { estab, folder } = await newSchool();
  await collect();
  writeFileSync(join(folder, 'attendance.csv'), attendanceCsv('p1,2026-11-12,AM,/,,'));
  await db`insert into component_database (estab, name) values (${estab}, 'Attendance')`;
  await request(estab, 'Attendance');
  const lost = await claimOne();
  await die();
  const marks = async () => (await db`select from attendance_mark where estab = ${estab}`).length;
  assert.deepEqual([(await finish(lost)).state, await marks(), (await readDatabases(db, estab))[1]?.status], ['cancelled', 0, 'Updating']);
  assert.deepEqual([(await collect()).state, await marks(), (await readDatabases(db, estab))[1]?.status], ['done', 1, 'OK']);
});

test('a worker that lost its claim says nothing about how it went either', async () => {
  const { estab, folder } = await newSchool();
  const lost = await claimOne();
  await die();
  assert.equal((await collect()).state, 'done');
  rmSync(join(folder, 'users.csv'));
  await handler.run(lost);
  assert.equal((await roster(estab)).status, 'OK');
});

test('progress is seen before the merge commits', async () => {
  const { estab } = await newSchool();
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // Whoever merges waits for this one to end. Not later: a merge that has said how the data stands holds up what is said of its progress.
  const holding = db.begin(async (tx) => {
    await tx`select from roster where estab = ${estab} for no key update`;
    held.resolve();
    await release.promise;
  });
  await held.promise;
  const running = collect();
  try {
    await until('progress', async () => ((await roster(estab)).progress ?? 0) > 0, () => roster(estab));
    const { status, progress, updatedAt } = await roster(estab);
    assert.deepEqual([status, (progress ?? 2) <= 1, updatedAt, await versionOf(estab)], ['Updating', true, null, 0]);
  } finally {
    release.resolve();
    await holding;
  }
  assert.equal((await running).state, 'done');
  assert.deepEqual([(await roster(estab)).progress, (await roster(estab)).status], [null, 'OK']);
});

test('a large loss is held: Paused with the reason, nothing of it visible, not tried again, until a person approves it', async () => {
  const { estab, folder } = await newSchool({ users: [...smallSchool.users, ...Array.from({ length: 60 }, (_, at) => user(`n${at}`, 'student'))] });
  await collect();
  await fill(folder);
  await request(estab, 'SchoolData');
  assert.equal((await collect()).state, 'done');
  const held = await roster(estab);
  assert.equal(held.status, 'Paused');
  assert.match(held.message ?? '', /^waits for approval: 60 of 64 student users \(93\.8 %\) would be deleted$/);
  const active = async () => (await db`select count(*)::int as count from roster_user where estab = ${estab} and status = 'active'`)[0]?.count as number;
  assert.deepEqual([await active(), await versionOf(estab), (await rows(estab)).filter(({ state }) => state === 'waiting')], [68, 1, []]);
  assert.ok(held.updatedAt !== null);
  await request(estab, 'SchoolData', { force: true });
  assert.equal((await roster(estab)).status, 'Updating');
  assert.equal((await collect()).state, 'done');
  assert.deepEqual([(await roster(estab)).status, (await roster(estab)).message, await active()], ['OK', null, 8]);
});

test('a package with faults: Error with the words, the old data stays, tried once more after a minute', async () => {
  const { estab, folder } = await newSchool();
  await collect();
  await fill(folder, { users: [...smallSchool.users, user('px', 'pirate')] });
  await request(estab, 'SchoolData');
  const first = await collect();
  assert.deepEqual([first.state, first.delaySeconds, (await rows(estab)).at(-1)?.state], ['waiting', 60, 'waiting']);
  const { status, message } = await roster(estab);
  assert.equal(status, 'Error');
  assert.match(message ?? '', /^refused, nothing was changed: 1 problem, the first: users\.csv, line 10, role: /);
  assert.deepEqual([await versionOf(estab), await claim()], [1, []]);
  await hurry(estab);
  assert.deepEqual([(await collect()).state, (await roster(estab)).status], ['failed', 'Error']);
  await fill(folder, { users: [...smallSchool.users, user('px', 'student')] });
  await request(estab, 'SchoolData');
  assert.deepEqual([(await collect()).state, (await roster(estab)).status, (await roster(estab)).message, await versionOf(estab)], ['done', 'OK', null, 2]);
});

test('an MIS that is away is tried again after 1, 5, 15 and 60 minutes, then waits for the night; asking begins anew', async () => {
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab, smallPackage());
  await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'demo' }));
  await db`delete from outbox where estab = ${estab} and payload ->> 'database' = 'Attendance'`;
  await setDemoMode(db, 'offline');
  const delays: unknown[] = [];
  for (let at = 0; at < 5; at += 1) {
    const { state, delaySeconds = null } = await collect();
    delays.push(state === 'waiting' ? delaySeconds : state);
    assert.deepEqual([(await roster(estab)).status, /cannot be reached/.test((await roster(estab)).message ?? '')], ['Error', true]);
    await hurry(estab);
  }
  assert.deepEqual([delays, await claim()], [[60, 300, 900, 3600, 'failed'], []]);
  const [kept] =
    await db`select count(*)::int as count, (select refresh_at > now() from component_database where estab = ${estab} and name = 'SchoolData') as night
        from roster_user where estab = ${estab} and status = 'active'`;
  assert.deepEqual([kept?.count, kept?.night], [8, true]);
  await request(estab, 'SchoolData');
  assert.deepEqual([(await collect()).delaySeconds, (await roster(estab)).status], [60, 'Error']);
  await request(estab, 'SchoolData');
  assert.deepEqual((await rows(estab)).slice(1).map(({ state, attempts }) => `${state} ${attempts}`), ['superseded 1', 'waiting 0']);
});

test('the next collection is between three and four at night at the school, and an unattended one is due then', async () => {
  for (const zone of ['Europe/London', 'Pacific/Auckland', 'America/Los_Angeles', 'Asia/Kathmandu']) {
    const { estab } = await newSchool();
    await db`update establishment set time_zone = ${zone} where estab = ${estab}`;
    await collect();
    const [due] =
      await db`select extract(hour
          from refresh_at at time zone ${zone})::int as hour, refresh_at > now() as later, refresh_at < now() + interval '26 hours' as soon
          from component_database where estab = ${estab}`;
    assert.deepEqual({ ...due }, { hour: 3, later: true, soon: true }, zone);
    assert.equal(await db.begin((tx) => requestDue(tx)), 0);
    await db`update component_database set refresh_at = now() - interval '1 second' where estab = ${estab}`;
    assert.equal(await db.begin((tx) => requestDue(tx)), 1);
    assert.equal(await db.begin((tx) => requestDue(tx)), 0);
    const work = await claimOne();
    assert.deepEqual([work.estab, work.payload], [estab, { database: 'SchoolData', force: false, full: true }]);
    await finish(work);
  }
});

test('a school whose source is gone says so', async () => {
  const { estab, folder } = await newSchool();
  rmSync(folder, { recursive: true });
  assert.equal((await collect()).delaySeconds, 60);
  assert.deepEqual(
    [(await roster(estab)).status, (await roster(estab)).message],
    ['Error', "This school's folder cannot be read: it, or a file in it, is not there."],
  );
});

// ---- Another source -----------------------------------------------------------------------------------------------

const provider = { kind: 'oneroster', url: 'https://mis.example/ims/oneroster/v1p1', tokenUrl: undefined, clientId: 'c', clientSecret: 's' } as const;
const marked = { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,', 'p2,2026-11-12,AM,/,,') };
const change = (estab: string, setup: Parameters<typeof setConnector>[3]) => db.begin((tx) => setConnector(tx, service.seal, estab, setup));
const statuses = async (estab: string) => Object.fromEntries((await readDatabases(db, estab)).map(({ name, status }) => [name, status]));
const waiting = async () => (await db`select payload ->> 'database' as name from outbox where kind = 'collect' and state = 'waiting'`).map((row) => row.name);

test('another source: what it does not offer is forgotten, and what was under way from the one before is not merged', async () => {
  const { estab, folder } = await newSchool({}, marked);
  await collect();
  await fill(folder, { users: [...smallSchool.users, user('px', 'student')] });
  await request(estab, 'SchoolData');
  assert.deepEqual([await statuses(estab), (await waiting()).toSorted()], [{ SchoolData: 'Updating', Attendance: 'Updating' }, ['Attendance', 'SchoolData']]);
  const running = (await claim()).find((work) => work.payload.database === 'SchoolData') ?? assert.fail();
  const finishing = await db.begin(async (tx) => {
    // It has opened its source, and waits for the roster.
    await tx`select from roster where estab = ${estab} for update`;
    const under = finish(running);
    await until('it waits', async () => (await lockWaits(db, '%from roster where%')).length > 0);
    await change(estab, provider);
    return { under };
  });
  assert.deepEqual([await statuses(estab), await waiting()], [{ SchoolData: 'Updating', Attendance: 'NotInstalled' }, ['SchoolData']]);
  assert.equal((await finishing.under).state, 'cancelled');
  assert.deepEqual([await versionOf(estab), await statuses(estab)], [1, { SchoolData: 'Updating', Attendance: 'NotInstalled' }]);
  assert.deepEqual((await rows(estab)).map(({ state }) => state), ['done', 'cancelled', 'cancelled', 'waiting']);
});

test('those who wait for what the new source does not have are told at once, and the school is live without it', async () => {
  const { estab } = await newSchool({}, marked);
  await collect();
  const client = await service.addClient(`waits-${estab}`, [estab]);
  const asked = await client.s(estab, `AttendanceForDate?date=2026-11-12&callbackUrl=${encodeURIComponent('https://app.example/ready')}`);
  assert.equal(asked.status, 202);
  assert.deepEqual([await sweepWaits(db, { estab }), await isLive(db, estab)], [0, false]);
  const told: string[] = [];
  const listening = await db.listen('schoolbell_status', (school) => told.push(school));
  await change(estab, provider);
  await until('the status is told', () => told.includes(estab));
  await listening.unlisten();
  assert.deepEqual([await sweepWaits(db, { estab }), await isLive(db, estab)], [1, true]);
  const [call] = await db<{ body: Buffer }[]>`select body from outbox where estab = ${estab} and payload ->> 'event' = 'availability'`;
  assert.match(call?.body.toString() ?? '', /"DatabaseName":"Attendance","Status":"NotInstalled"/);
  assert.equal((await client.s(estab, 'AttendanceForDate?date=2026-11-12')).status, 409);
  assert.equal((await client.s(estab, 'Students')).status, 200);
});

test('marks stay, and show again when a source has some', async () => {
  const { estab, folder } = await newSchool({}, marked);
  const client = await service.addClient(`reads-${estab}`, [estab]);
  const answer = async () => {
    const response = await client.s(estab, 'AttendanceForDate?date=2026-11-12');
    return response.status === 200 ? ((await response.json()) as { AttendanceForDate: unknown[] }).AttendanceForDate.length : response.status;
  };
  await collect();
  await collect();
  assert.equal(await answer(), 2);
  await change(estab, { kind: 'csv', folder: undefined });
  assert.deepEqual([await answer(), (await db`select from attendance_mark where estab = ${estab}`).length, await waiting()], [409, 2, []]);
  const { status, expiresAt } = await roster(estab);
  assert.deepEqual([status, expiresAt], ['OK', null], 'what is only uploaded does not grow old');
  // Somebody enters a mark.
  await db.begin((tx) => recordWritten(tx, estab, 0));
  assert.equal((await readDatabases(db, estab))[1]?.rowCount, 2);
  await change(estab, { kind: 'csv', folder });
  // The marks wait for the roster of the new source.
  const [marks, people] = (await claim()).toSorted((a, b) => String(a.payload.database).localeCompare(String(b.payload.database)));
  assert.equal((await finish(marks ?? assert.fail())).state, 'waiting');
  assert.equal((await finish(people ?? assert.fail())).state, 'done');
  await db`update outbox set due_at = now() where estab = ${estab} and state = 'waiting'`;
  await db`update lane set next_at = now()`;
  for (const work of await claim()) await finish(work);
  assert.deepEqual([await answer(), await statuses(estab)], [2, { SchoolData: 'OK', Attendance: 'OK' }]);
});

test('what was uploaded is imported though its source is set to uploads meanwhile; another source leaves it behind', async () => {
  const { estab } = await newSchool();
  await db`delete from outbox`;
  await db`update component_database set refreshing_since = null where estab = ${estab}`;
  const [upload] = await db<{ id: string }[]>`insert into upload (estab) values (${estab}) returning id`;
  await db.begin((tx) => requestCollection(tx, estab, 'SchoolData', { upload: upload?.id ?? '' }));
  await change(estab, { kind: 'csv', folder: undefined });
  assert.deepEqual([await waiting(), (await roster(estab)).status], [['SchoolData'], 'Updating']);
  await change(estab, provider);
  const [work] = await db`select payload ? 'upload' as uploaded from outbox where estab = ${estab} and state = 'waiting'`;
  assert.deepEqual([work?.uploaded, (await db`select from upload where estab = ${estab}`).length], [false, 0]);
});
