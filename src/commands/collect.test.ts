// Covers the commands that connect a school, collect from it, take marks back and steer the demo's MIS: on a real
// database, beside a running service with a worker, and once as a real process.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertFailed, runProcess, useCommands } from '../../test/commands.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { until } from '../../test/until.ts';
import { date, mark, student, useWriteback } from '../../test/writeback.ts';
import { sealedAs } from '../access/sealed-as.ts';
import { recordCollected } from '../collection/fetch-outcome.ts';

const { service, db, addSchool, open } = await useWriteback({ work: false });
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-collect-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: 'a key for tests that is long enough', DATA_DIR: service.dataDir };
const { schoolbell, json, assertFails } = useCommands(settings);

type Collected = { estab: string; databases: { name: string; status: string; rowCount: number; message: string | null }[] };
const brief = ({ databases }: Collected) => databases.map(({ name, status, rowCount }) => [name, status, rowCount]);
const add = (estab: string) => `school add --estab ${estab} --name School --email office@school.example`;
const settingsOf = async (estab: string) =>
  (await db`select connector, settings, sealed_credentials as sealed from establishment left join connector_setting using (estab) where estab = ${estab}`)[0] ??
  assert.fail();
const schools = async () => (await db<{ estab: string }[]>`select estab from establishment`).map(({ estab }) => estab);

async function exportInto(place: string, more: Record<string, string> = {}): Promise<void> {
  mkdirSync(place, { recursive: true });
  const users = Array.from({ length: 3 }, (_, at) => ({
    sourcedId: student(at), enabledUser: 'true', orgSourcedIds: 'o1', role: 'student', username: student(at), givenName: 'Given',
    familyName: 'Family',
  }));
  for (const file of csvPackage({ orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }], users }).files.values()) {
    const pieces: Buffer[] = [];
    for await (const piece of await file.open()) pieces.push(piece as Buffer);
    writeFileSync(join(place, file.name), Buffer.concat(pieces));
  }
  for (const [name, content] of Object.entries(more)) writeFileSync(join(place, name), content);
}

test('a school is added with a connector, checked before anything is kept', async () => {
  const place = join(folder, 'watched');
  mkdirSync(place);
  const plain = await json<{ connector: string | null }>(add('plain'));
  const csv = await json<{ connector: string }>(`${add('csv')} --connector csv --folder ${place}`);
  const uploaded = await json<{ connector: string }>(`${add('uploaded')} --connector csv`);
  const pulled = await schoolbell(
    `${add('pulled')} --connector oneroster --url https://provider.example/ims/oneroster/v1p1 --client-id me --client-secret hush-hush`,
  );
  assert.deepEqual(
    [plain.connector, csv.connector, uploaded.connector, pulled.code, pulled.out.trim()],
    [null, 'csv', 'csv', 0, 'added pulled School, connected by oneroster'],
  );
  assert.deepEqual((await settingsOf('csv')).settings, { folder: place });
  const { connector, settings, sealed } = await settingsOf('pulled');
  assert.deepEqual([connector, settings, String(sealed).includes('hush')], ['oneroster', { url: 'https://provider.example/ims/oneroster/v1p1' }, false]);
  assert.ok(service.seal.open(sealed as Buffer, sealedAs.connectorCredentials('pulled')).includes('hush-hush'));
  const asked = await db`select estab, payload ->> 'database' as name from outbox where kind = 'collect' order by estab`;
  assert.deepEqual([...asked], [{ estab: 'csv', name: 'SchoolData' }, { estab: 'pulled', name: 'SchoolData' }]);

  const before = await schools();
  const refused: [RegExp, string][] = [
    [/--connector "sims": must be one of csv, oneroster, demo/, '--connector sims'],
    [/--folder does not go with/, '--folder /tmp'],
    [/--folder does not go with --connector demo/, '--connector demo --folder /tmp'],
    [/must be an absolute path/, '--connector csv --folder exports'],
    [/there is no such folder/, `--connector csv --folder ${join(folder, 'nowhere')}`],
    [/--url is missing/, '--connector oneroster --client-id a --client-secret b'],
    [/client id and a client secret/, '--connector oneroster --url https://provider.example/'],
    [/OneRoster version "1\.3": must be one of 1\.1, 1\.2/, '--connector oneroster --url https://provider.example/ --oneroster-version 1.3'],
    [/scope must be plain text/, '--connector oneroster --url https://provider.example/ --client-id a --client-secret b --scope "a"'],
    [/--scope does not go with --connector csv/, '--connector csv --scope a'],
  ];
  await Promise.all(refused.map(([reason, options]) => assertFails(reason, `${add('refused')} ${options}`)));
  const provider = '--connector oneroster --url https://provider.example/ --client-id a --client-secret b';
  await assertFails(/"none" asks for tokens without a scope, and stands alone/, `${add('refused')} ${provider} --scope`, 'mis:read None');
  assert.deepEqual(await schools(), before);
});

test('a folder is collected at once, its marks too; a broken one says why and ends with 1', async () => {
  const place = join(folder, 'exports');
  await exportInto(place, { 'attendance.csv': `studentSourcedId,date,session,mark,minutesLate,notes\n${student(0)},${date},AM,L,5,\n` });
  await json(`${add('exporting')} --connector csv --folder ${place}`);
  assert.deepEqual(brief(await json<Collected>('collect --estab exporting')), [['SchoolData', 'OK', 4], ['Attendance', 'OK', 1]]);
  const { out } = await schoolbell('collect --estab exporting --database attendance');
  assert.match(out, /^DATABASE +STATUS +ROWS +LAST COLLECTED[^]*^Attendance +OK +1 +\d{4}-/m);
  writeFileSync(join(place, 'attendance.csv'), `studentSourcedId,date,session,mark,minutesLate,notes\n${student(0)},yesterday,AM,L,5,\n`);
  const failed = await runProcess(folder, settings, ['collect', '--estab', 'exporting', '--json']);
  assertFailed(failed, /Attendance: refused, nothing was changed.*line 2/);
  assert.deepEqual(brief(JSON.parse(failed.out) as Collected), [['SchoolData', 'OK', 4], ['Attendance', 'Error', 1]]);
  rmSync(place, { recursive: true });
  await assertFails(/folder cannot be read/, 'collect --estab exporting');
  await Promise.all([
    assertFails(/no establishment nobody/, 'collect --estab nobody'),
    assertFails(/not connected to an MIS/, 'collect --estab plain'),
    assertFails(/nothing to collect; upload/, 'collect --estab uploaded'),
    assertFails(/--database "Everything": must be one of SchoolData, Attendance/, 'collect --estab exporting --database Everything'),
  ]);
});

test('the demo MIS is told how to behave, and a collection says how it went', async () => {
  await assertFails(/no demo school.*--connector demo/, 'demo mode offline');
  await json(`${add('demo')} --connector demo`);
  assert.deepEqual(await json('demo mode offline'), { mode: 'offline', schools: 1 });
  const offline = await assertFails(/SchoolData: The demo MIS cannot be reached/, 'collect --estab demo --json');
  assert.equal(brief(JSON.parse(offline.out) as Collected)[0]?.[1], 'Error');
  for (const mode of ['broken', 'rejecting', 'slow', 'normal'])
    assert.equal((await schoolbell(`demo mode ${mode}`)).out.trim(), `the demo's MIS is ${mode} now`);
  const [roster, marks] = brief(await json<Collected>('collect --estab demo'));
  assert.deepEqual([roster?.[1], marks?.[1]], ['OK', 'OK']);
  assert.ok(Number(roster?.[2]) > 5000 && Number(marks?.[2]) > 10_000, JSON.stringify([roster, marks]));
  await Promise.all([
    assertFails(/"asleep": must be one of normal, slow, offline, broken, rejecting/, 'demo mode asleep'),
    assertFails(/normal slow/, 'demo mode normal slow'),
    assertFails(/<mode> is missing/, 'demo mode'),
  ]);
  assert.equal((await json<{ estab: string }>('school remove --yes --estab demo')).estab, 'demo');
  for (const table of ['attendance_mark', 'component_database', 'connector_setting'])
    assert.equal((await db`select from ${db(table)} where estab = 'demo'`).length, 0, table);
});

test('a writeback is taken back', async () => {
  await service.work();
  const school = await addSchool();
  await school.post([mark(0, '/')]);
  const { TrackingId } = await school.post([mark(0, 'I'), mark(1, 'I')]);
  await school.post([mark(1, 'N')]);
  const undo = await json<{ trackingId: string; undoOf: string; marks: number; changedSince: number }>('writeback undo', TrackingId);
  assert.deepEqual([undo.undoOf, undo.marks, undo.changedSince], [TrackingId, 1, 1]);
  assert.equal((await school.ended(undo.trackingId)).Status, 'Completed');
  assert.deepEqual(await school.shown(), { 's0000 AM': '/', 's0001 AM': 'N' });
  assert.deepEqual((await school.history()).at(-1), {
    id: student(0), session: 'AM', mark: '/', previous: 'I', rp: school.client.rp, trackingId: undo.trackingId, reason: `undo of ${TrackingId}`,
  });
  await Promise.all([
    assertFails(/taken back already/, 'writeback undo', TrackingId),
    assertFails(/no writeback nonsense/, 'writeback undo nonsense'),
    assertFails(/<trackingId> is missing/, 'writeback undo'),
  ]);
  assert.match((await schoolbell('writeback undo', undo.trackingId)).out, /^1 marks? will be written as (it was|they were), under /);
  await json('school remove --yes --estab', school.estab);
  for (const table of ['writeback', 'writeback_mark', 'attendance_history', 'attendance_version', 'demo_mark', 'demo_write'])
    assert.equal((await db`select from ${db(table)} where estab = ${school.estab}`).length, 0, table);
});

test('an address that cannot be called is refused in words', async () => {
  await assertFails(/http/, `${add('refused')} --connector oneroster --url ftp://provider.example/ --client-id a --client-secret b`);
});

test('two writebacks are not taken back by one command', async () => {
  await assertFails(/one/, 'writeback undo', crypto.randomUUID(), 'and another');
});

test('a folder that never had marks is collected all the same after some were written to it', async () => {
  const place = join(folder, 'roster only');
  await exportInto(place);
  const estab = 'rosteronly';
  await json(`${add(estab)} --connector csv --folder`, place);
  await json('collect --estab', estab);
  const school = open(estab, await service.addClient('rosteronly', [estab]));
  const answer = await school.post([mark(0)]);
  assert.deepEqual([answer.Status, readdirSync(join(place, 'writeback'))], ['Completed', [`${answer.TrackingId}.csv`]]);
  // Nothing is collected by itself meanwhile.
  await service.rest();
  assert.deepEqual(brief(await json<Collected>('collect --estab', estab)), [['SchoolData', 'OK', 4], ['Attendance', 'OK', 1]]);
});

/** Collects, and does something while what was read waits to be merged. */
async function collectWhile(estab: string, meanwhile: () => Promise<unknown>): ReturnType<typeof schoolbell> {
  const place = join(folder, estab);
  await exportInto(place);
  await service.work();
  await json(`${add(estab)} --connector csv --folder`, place);
  await until('the first one is over', async () => (await db`select from outbox where estab = ${estab} and state in ('waiting', 'running')`).length === 0);
  await service.rest();
  const { under } = await db.begin(async (tx) => {
    await tx`select from roster where estab = ${estab} for update`;
    const collecting = schoolbell('collect --json --estab', estab);
    await until('it is about to merge', async () => (await lockWaits(db, '%from roster where%')).length > 0);
    await meanwhile();
    return { under: collecting };
  });
  return under;
}

test('a collection is no failure because a newer one was merged while it was read', async () => {
  const { code, err, out } = await collectWhile('overtaken', async () => {
    await db`update reading set started = started + 1, roster_merged = started + 1 where estab = 'overtaken'`;
    await recordCollected(db, 'overtaken', 'SchoolData', { rowCount: 4, changed: true });
  });
  assert.deepEqual([code, err], [0, '']);
  const [roster] = (JSON.parse(out) as Collected).databases;
  assert.deepEqual([roster?.status, roster?.message], ['OK', 'a newer one was merged while this one was read']);
});

test('but it is one if another source was set: nothing of that was collected', async () => {
  const provider = '--connector oneroster --url https://provider.example/ims/oneroster/v1p1 --client-id me --client-secret hush-hush';
  const { code, err } = await collectWhile('moved', () => json(`school edit --estab moved ${provider}`));
  assert.deepEqual([code, err.trim()], [1, 'schoolbell: SchoolData: another source was set while this one was read']);
});

test('an export that is older than a writeback does not bring the old mark back', async () => {
  await service.work();
  const place = join(folder, 'stale');
  await exportInto(place, { 'attendance.csv': `studentSourcedId,date,session,mark,minutesLate,notes\n${student(0)},${date},AM,N,,\n` });
  await json(`${add('stale')} --connector csv --folder ${place}`);
  await json('collect --estab stale');
  const school = open('stale', await service.addClient('stale', ['stale']));
  assert.equal((await school.post([mark(0, 'I')])).Written, 1);
  await json('collect --estab stale');
  assert.deepEqual(await school.shown(), { 's0000 AM': 'I' });
});
