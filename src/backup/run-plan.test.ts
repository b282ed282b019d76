// Covers the plan of backups: when one is due, who makes it, what counts and what is removed; what a stop, a death and a failure leave.
// How a backup is written and verified has its own tests; here it is a small file, so that time can pass.
import assert from 'node:assert/strict';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { usePlainDatabase } from '../../test/database.ts';
import { withEmptyDatabase } from '../../test/generate.ts';
import { testSecretKey } from '../../test/service.ts';
import { createSeal } from '../access/seal.ts';
import { readConfig } from '../config.ts';
import { connect } from '../db/connect.ts';
import { migrate } from '../db/migrate.ts';
import { readMigrations } from '../db/migrations.ts';
import { judgeStanding } from '../needs/judge-backups.ts';
import { version } from '../version.ts';
import { createBackupBeforeUpgrade } from './before-upgrade.ts';
import type { BackupCore } from './core.ts';
import { claimFolder, findOwner, giveToOwnerOf } from './folder.ts';
import type { PlanParts } from './one-run.ts';
import { DamagedBackup, WrongPassphrase } from './age.ts';
import { askForBackup, endPlan, findBackupPlan, setBackupPlan, stopBackupPlan } from './plan.ts';
import { keepBackupPlan } from './run-plan.ts';
import { listBackupRuns, readBackupStanding } from './runs.ts';

const { db, url } = await usePlainDatabase();
const home = mkdtempSync(join(tmpdir(), 'schoolbell-plan-'));
after(() => rmSync(home, { recursive: true, force: true }));
const config = readConfig({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: home });
const seal = createSeal([testSecretKey]);
const passphrase = 'correct horse battery staple';

const newestMigration = readMigrations().at(-1)?.version ?? 0;
let folder = '';
let verified: string[] = [];
const core: BackupCore = {
  async write({ file, passphrase: given }) {
    assert.equal(given, passphrase);
    writeFileSync(file, 'whole');
    return { bytes: 5, rows: 7, version, migration: newestMigration, tookMs: 3 };
  },
  verify: async ({ file }) => void verified.push(file),
};
const rejecting = (what: 'write' | 'verify', error: Error): BackupCore => ({ ...core, [what]: () => Promise.reject(error) });
const failing = (what: 'write' | 'verify', message = 'no room is left') => rejecting(what, new Error(message));
const parts = (more: Partial<PlanParts> = {}): PlanParts => ({ db, long: db, config, seal, core, signal: new AbortController().signal, ...more });

const hour = 3_600_000;
const at = (hours: number) => new Date(Date.parse('2026-11-17T02:30:00Z') + hours * hour);
const set = (keep = 3, everyHours = 24) => setBackupPlan(db, seal, { folder, everySeconds: everyHours * 3600, keep, passphrase, by: 'ann' }, at(0));
const files = () => readdirSync(folder).filter((name) => !name.startsWith('.')).toSorted();
const states = async () => (await listBackupRuns(db, 100)).toReversed().map(({ why, state }) => `${why} ${state}`);

beforeEach(async () => {
  folder = join(mkdtempSync(join(home, 'folder-')), 'made');
  verified = [];
  await db`truncate backup_plan, backup_run`;
});

test('the first at once, then at the hour of the plan; however many were missed, one makes up for them', async () => {
  await keepBackupPlan(parts(), at(0));
  assert.deepEqual(await states(), [], 'without a plan nothing is made');
  await set();
  for (const hours of [0, 0.02, 23.9, 24.1, 47, 96.2, 97, 119.9, 120.05]) await keepBackupPlan(parts(), at(hours));
  const made = await listBackupRuns(db, 100);
  assert.deepEqual(made.toReversed().map(({ startedAt }) => (startedAt.getTime() - at(0).getTime()) / hour), [0, 24.1, 96.2, 120.05]);
  const [newest] = made;
  assert.deepEqual([newest?.state, newest?.bytes, newest?.rows, newest?.migration], ['good', 5, 7, newestMigration]);
  // Three are kept; the oldest is gone.
  assert.deepEqual(files(), ['schoolbell-2026-11-18T023600Z.backup', 'schoolbell-2026-11-21T024200Z.backup', 'schoolbell-2026-11-22T023300Z.backup']);
  assert.equal(made.at(-1)?.goneAt?.getTime(), at(120.05).getTime());
  assert.equal(verified.length, 4, 'each was restored before it counted');
});

test('what is not ours in the folder stays, and what somebody took away counts no more', async () => {
  await set(1);
  await keepBackupPlan(parts(), at(0));
  writeFileSync(join(folder, 'schoolbell-2020-01-01T000000Z.backup'), 'of somebody else');
  rmSync(join(folder, 'schoolbell-2026-11-17T023000Z.backup'));
  await keepBackupPlan(parts(), at(1));
  assert.equal((await readBackupStanding(db, at(1)))?.newest, undefined);
  await keepBackupPlan(parts(), at(24));
  await keepBackupPlan(parts(), at(48));
  assert.deepEqual(files(), ['schoolbell-2020-01-01T000000Z.backup', 'schoolbell-2026-11-19T023000Z.backup']);
});

test('one that fails leaves no file, removes nothing, is tried again in an hour, and is told', async () => {
  await set(1);
  await keepBackupPlan(parts(), at(0));
  for (const what of ['write', 'verify'] as const) {
    const hours = what === 'write' ? 24 : 25.1;
    await assert.rejects(keepBackupPlan(parts({ core: rejecting(what, new DamagedBackup('other rows')) }), at(hours)), /other rows/);
    await keepBackupPlan(parts({ core: failing(what, 'too soon') }), at(hours + 0.9));
    assert.deepEqual(files(), ['schoolbell-2026-11-17T023000Z.backup']);
  }
  const standing = await readBackupStanding(db, at(49));
  assert.deepEqual([standing?.last?.state, standing?.overdue, standing?.newest?.number], ['failed', true, (await listBackupRuns(db, 9)).at(-1)?.number]);
  assert.match(standing?.last?.trouble ?? '', /^it was written, but does not restore: other rows$/);
  await keepBackupPlan(parts(), at(49));
  assert.deepEqual(await states(), ['plan good', 'plan failed', 'plan failed', 'plan good']);
  assert.deepEqual([(await readBackupStanding(db, at(49)))?.overdue, files().length], [false, 1]);
});

test('of those that could not be tried out the newest stays, until one is good', async () => {
  await set(1);
  for (const hours of [0, 1.1, 2.2]) await assert.rejects(keepBackupPlan(parts({ core: failing('verify') }), at(hours)), /no room is left/);
  assert.deepEqual(files(), ['schoolbell-2026-11-17T033600Z.backup', 'schoolbell-2026-11-17T044200Z.backup']);
  assert.match((await readBackupStanding(db, at(3)))?.last?.trouble ?? '', /^it was written, but could not be restored to try it out: no room is left$/);
  await keepBackupPlan(parts(), at(3.3));
  assert.deepEqual([await states(), files()], [['plan failed', 'plan failed', 'plan failed', 'plan good'], ['schoolbell-2026-11-17T054800Z.backup']]);
});

test('of several processes one makes it, and one without the folder does not', async () => {
  await set();
  const inTheMidst = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const slow: BackupCore = {
    ...core,
    async verify(given) {
      inTheMidst.resolve();
      await release.promise;
      return core.verify(given);
    },
  };
  const first = keepBackupPlan(parts({ core: slow }), at(0));
  await inTheMidst.promise;
  const others: BackupCore = { write: failing('write', 'a second time').write, verify: failing('verify', 'a second time').verify };
  await Promise.all([1, 2].map(() => keepBackupPlan(parts({ core: others }), at(0.1))));
  release.resolve();
  await first;
  assert.deepEqual(await states(), ['plan good']);
  // Another disk is mounted there, or none: a folder of that name without our mark.
  const elsewhere = `${folder}-elsewhere`;
  await db`update backup_plan set folder = ${elsewhere}`;
  await keepBackupPlan(parts({ core: failing('write') }), at(24));
  assert.deepEqual([await states(), existsSync(elsewhere)], [['plan good'], false]);
});

test('a stop ends it, and it is begun anew; what was written already is only verified anew', async () => {
  await set();
  for (const [what, left] of [['write', 'plan cut off'], ['verify', 'plan written']] as const) {
    const stopping = new AbortController();
    const stopped: BackupCore = { ...core, [what]: () => {
      stopping.abort();
      return Promise.reject(new Error('aborted'));
    } };
    await keepBackupPlan(parts({ core: stopped, signal: stopping.signal }), at(0));
    assert.equal((await states()).at(-1), left);
    assert.equal(files().length, what === 'write' ? 0 : 1);
  }
  await keepBackupPlan(parts({ core: failing('write', 'not again') }), at(0.1));
  assert.deepEqual(await states(), ['plan cut off', 'plan good']);
});

test('what a process that died has left is removed by the next, and not what another is writing', async () => {
  await set();
  const plan = (await findBackupPlan(db))?.id ?? '';
  const left = ['died', 'writes'].map((name) => join(folder, name));
  for (const file of left) {
    writeFileSync(`${file}.half`, 'half');
    await db`insert into backup_run (plan, why, file, host, started_at) values (${plan}, 'upgrade', ${file}, 'here', ${at(-1)})`;
  }
  const [writing] = await listBackupRuns(db, 1);
  const other = connect(url, { max: 1, name: 'another process' });
  const connection = await other.reserve();
  await connection`select pg_advisory_lock(5219, ${writing?.number ?? 0}::int)`;
  await keepBackupPlan(parts(), at(0));
  connection.release();
  await other.end({ timeout: 1 });
  assert.deepEqual(await states(), ['upgrade cut off', 'upgrade writing', 'plan good']);
  assert.deepEqual(files().filter((name) => name.endsWith('.half')), ['writes.half']);
});

test('while it is written, its lock is held', async () => {
  await set();
  const other = connect(url, { max: 1, name: 'another process' });
  const free: (boolean | undefined)[] = [];
  const looking: BackupCore = {
    ...core,
    async write(given) {
      const [run] = await listBackupRuns(db, 1);
      const [lock] = await other<{ free: boolean }[]>`select pg_try_advisory_lock(5219, ${run?.number ?? 0}::int) as free`;
      free.push(lock?.free);
      return core.write(given);
    },
  };
  await keepBackupPlan(parts({ core: looking }), at(0)).finally(() => other.end({ timeout: 1 }));
  assert.deepEqual(free, [false]);
});

test('one that was stamped by a clock that was ahead does not stand for those that are due', async () => {
  await set();
  for (const what of ['verify', 'write'] as const)
    await assert.rejects(keepBackupPlan(parts({ core: failing(what) }), at(24 * 365 + (what === 'write' ? 2 : 0))), /no room/);
  await keepBackupPlan(parts(), at(24 * 365 + 4));
  assert.equal((await readBackupStanding(db, at(24)))?.newest, undefined);
  await keepBackupPlan(parts(), at(24));
  await keepBackupPlan(parts(), at(24.9));
  await askForBackup(db, at(25));
  await keepBackupPlan(parts(), at(25.1));
  assert.deepEqual((await states()).slice(-2), ['plan good', 'asked good']);
  assert.equal((await readBackupStanding(db, at(25.1)))?.ageMs, 0);
  const told: string[] = [];
  await db`update backup_run set why = 'upgrade', version = ${version}, migration = (select max(version) from migration)`;
  await before({ now: () => at(3) }, told)({ db, pending: [] });
  assert.match(told.join(), /a backup goes to .+ first$/, 'nor for that of an upgrade');
});

test('a clock that was set back gives a name once more, and nothing is written over or removed', async () => {
  await set();
  await keepBackupPlan(parts(), at(0));
  await askForBackup(db, new Date(at(0).getTime() + 1));
  await db`update backup_run set started_at = ${at(-24)}`;
  await keepBackupPlan(parts({ core: { ...core, verify: () => Promise.reject(new DamagedBackup('other rows')) } }), at(0)).catch(() => {});
  await keepBackupPlan(parts({ core: failing('write', 'is there already') }), at(2)).catch(() => {});
  await keepBackupPlan(parts(), at(4));
  assert.deepEqual(files(), ['schoolbell-2026-11-17T023000Z.backup', 'schoolbell-2026-11-17T063000Z.backup']);
  const late: BackupCore = {
    ...core,
    async write({ file }) {
      writeFileSync(file, 'of somebody else');
      throw new Error(`${file} is there already`);
    },
  };
  await assert.rejects(keepBackupPlan(parts({ core: late }), at(24)), /is there already/);
  await db`update backup_run set started_at = ${at(-24)} where state = 'failed'`;
  await keepBackupPlan(parts(), at(24));
  assert.deepEqual(files().slice(2), ['schoolbell-2026-11-18T023000Z-2.backup', 'schoolbell-2026-11-18T023000Z.backup']);
});

test('one that was written with an earlier passphrase is verified with that, or stays untried', async () => {
  await set();
  const other = 'another passphrase of tests';
  const change = () => setBackupPlan(db, seal, { folder, everySeconds: 86_400, keep: 3, passphrase: other, by: 'ann' }, at(0));
  const opened: string[] = [];
  const careful: BackupCore = {
    async write(given) {
      const written = await core.write(given);
      await change();
      return written;
    },
    async verify(given) {
      opened.push(given.passphrase);
      if (given.passphrase !== passphrase) throw new WrongPassphrase('the passphrase is wrong');
    },
  };
  await keepBackupPlan(parts({ core: careful }), at(0));
  assert.deepEqual([await states(), opened], [['plan good'], [passphrase]]);
  // Of one that was cut off before it was verified, nobody knows the passphrase any more.
  await db`update backup_run set state = 'written'`;
  await assert.rejects(keepBackupPlan(parts({ core: careful }), at(0.1)), /passphrase is wrong/);
  assert.deepEqual([await states(), files().length, opened.at(-1)], [['plan failed'], 1, other]);
});

test('however many are kept or have failed, those that are there are known', async () => {
  const { id } = await set(1000, 1);
  await db`
    insert into backup_run (plan, why, file, host, started_at, state, gone_at)
    select ${id}, 'plan', ${folder} || '/' || n, 'here', ${at(-3000)}::timestamptz + n * interval '1 hour', case when n > 1003 then 'failed' else 'good' end,
      case when n > 1003 then now() end
    from generate_series(1, 1203) n`;
  for (let n = 1; n <= 1003; n += 1) writeFileSync(join(folder, String(n)), '');
  assert.equal((await readBackupStanding(db, at(0)))?.newest?.file, join(folder, '1003'));
  await keepBackupPlan(parts(), at(0));
  assert.deepEqual([files().length, existsSync(join(folder, '4')), existsSync(join(folder, '5'))], [1000, false, true]);
});

test('a folder that no worker has at hand any more is told, and nobody is asked for a backup there', async () => {
  await set();
  await keepBackupPlan(parts(), at(0));
  const unseen = async (hours: number) => (await readBackupStanding(db, at(hours)))?.unseenMs;
  assert.equal(await unseen(0.2), undefined);
  rmSync(folder, { recursive: true });
  await keepBackupPlan(parts(), at(0.2));
  assert.equal(await unseen(0.5), 0.5 * hour);
  const standing = (await readBackupStanding(db, at(0.5))) ?? assert.fail();
  assert.deepEqual([judgeStanding(standing).verdict, judgeStanding({ ...standing, unseenMs: undefined }).verdict], ['warn', 'ok']);
  await assert.rejects(askForBackup(db, at(0.5)), /nobody would make it: no worker has had .+ at hand for 30 minutes/);
  await db`update backup_run set state = 'writing'`;
  assert.equal(await unseen(5), undefined, 'whoever makes one does not look meanwhile');
});

test('one that is asked for is made beside the plan, once', async () => {
  await set();
  await keepBackupPlan(parts(), at(0));
  await keepBackupPlan(parts(), at(1.9));
  await askForBackup(db, at(2));
  await keepBackupPlan(parts(), at(2.01));
  await keepBackupPlan(parts(), at(2.03));
  assert.deepEqual(await states(), ['plan good', 'asked good']);
});

test('a plan that is set again goes on in its folder; stopped or elsewhere, what was made stays', async () => {
  const first = await set();
  await keepBackupPlan(parts(), at(0));
  const again = await setBackupPlan(db, seal, { folder: `${folder}/`, everySeconds: 3600, keep: 1, passphrase, by: 'ben' }, at(5));
  assert.deepEqual([again.id, again.since, again.by, again.keep], [first.id, first.since, 'ben', 1]);
  assert.equal((await stopBackupPlan(db))?.id, first.id);
  await keepBackupPlan(parts({ core: failing('write') }), at(48));
  assert.deepEqual([await findBackupPlan(db), files().length], [undefined, 1]);
  assert.notEqual((await set()).id, first.id);
});

test('the folder of another plan is refused, and left as it is', async () => {
  await set();
  await withEmptyDatabase(async (_, other) => {
    await migrate(other);
    const taken = setBackupPlan(other, seal, { folder, everySeconds: 60, keep: 1, passphrase, by: 'eve' }, at(0));
    await assert.rejects(taken, /the backups of another service, or of an earlier plan, go to .+: name another folder, or remove .+\.schoolbell-backups if/);
  });
  await keepBackupPlan(parts(), at(0));
  assert.deepEqual(await states(), ['plan good']);
});

const nobody = { uid: 65_534, gid: 65_534 };
test('a folder that root makes is the service’s, and one that is there stays whose it is', { skip: process.getuid?.() !== 0 && 'not as root' }, async () => {
  const dataDir = mkdtempSync(join(home, 'data-'));
  assert.equal(await findOwner(dataDir), undefined, 'the service runs as root itself');
  chownSync(dataDir, nobody.uid, nobody.gid);
  const owner = await findOwner(dataDir);
  assert.deepEqual(owner, nobody);
  await claimFolder(folder, undefined, owner);
  const ownersIn = (of: string) => [of, join(of, '.schoolbell-backups')].map((path) => statSync(path, { throwIfNoEntry: false })?.uid);
  assert.deepEqual(ownersIn(folder), [nobody.uid, nobody.uid]);
  const deep = join(folder, 'more', 'and', 'more');
  await claimFolder(deep, undefined, owner);
  assert.deepEqual([...ownersIn(deep), ...ownersIn(join(folder, 'more/and')).slice(0, 1), statSync(join(folder, 'more')).uid], Array(4).fill(nobody.uid));
  writeFileSync(join(deep, 'x'), '');
  await giveToOwnerOf(deep, join(deep, 'x'));
  assert.equal(statSync(join(deep, 'x')).uid, nobody.uid);
  const there = mkdtempSync(join(home, 'there-'));
  await claimFolder(there, undefined, owner);
  assert.deepEqual(ownersIn(there), [0, nobody.uid]);
});

test('a copy of the database writes nothing into the folder of the original, and takes it over only when it is told to', async () => {
  const original = await set(1);
  await keepBackupPlan(parts(), at(0));
  await db`insert into backup_run (plan, why, file, host, started_at) values (${original.id}, 'plan', ${join(folder, files()[0] ?? '')}, 'here', ${at(0)})`;
  const [plan] = await db<{ database: string; named: boolean }[]>`
    select database, database like '%/' || current_setting('data_directory') as named from backup_plan`;
  assert.ok(plan?.named);
  await db`update backup_plan set database = regexp_replace(database, '/[^/]*$', '/copied')`;
  assert.equal((await findBackupPlan(db))?.moved, true, 'the folder of a server on this machine is another');
  await db`update backup_plan set database = ${plan?.database ?? ''}`;
  assert.equal((await findBackupPlan(db))?.moved, false);
  await endPlan(db);
  await keepBackupPlan(parts({ core: failing('write') }), at(48));
  assert.equal((await readBackupStanding(db, at(48)))?.plan.moved, true);
  assert.deepEqual(await states(), ['plan good', 'plan cut off'], 'of its own backup it says nothing wrong');
  await set(1);
  await keepBackupPlan(parts(), at(72));
  await keepBackupPlan(parts(), at(96));
  assert.deepEqual(files(), ['schoolbell-2026-11-17T023000Z.backup', 'schoolbell-2026-11-21T023000Z.backup'], 'what it was restored from is there');
});

// ---- Before an upgrade.

const before = (more: Partial<Parameters<typeof createBackupBeforeUpgrade>[0]> = {}, told: string[] = []) =>
  createBackupBeforeUpgrade({ config, seal: () => seal, core, tell: (words) => void told.push(words), now: () => at(30), ...more });

test('before an upgrade one is written, and verified by the worker that comes after', async () => {
  await before({ core: failing('write') })({ db, pending: ['9000_x.sql'] });
  await set();
  await before({ core: { ...core, verify: failing('verify').verify } })({ db, pending: ['9000_x.sql'] });
  assert.deepEqual(await states(), ['upgrade written']);
  const told: string[] = [];
  await before({ core: failing('write'), now: () => at(30.5) }, told)({ db, pending: ['9000_x.sql'] });
  assert.match(told.join(), /^the backup before the upgrade is .+2026-11-18T083000Z\.backup$/, 'a start that is repeated makes no other');
  await keepBackupPlan(parts(), at(31));
  assert.deepEqual(await states(), ['upgrade good'], 'which is that of the day as well');
});

test('each of two upgrades within the hour takes one', async () => {
  await set();
  await before()({ db, pending: ['9000_x.sql'] });
  await db`update backup_run set migration = migration - 1`;
  await before({ now: () => at(30.5) })({ db, pending: ['9001_y.sql'] });
  await db`update backup_run set version = '0.0.9'`;
  await before({ now: () => at(30.8) })({ db, pending: [] });
  assert.deepEqual(await states(), ['upgrade written', 'upgrade written', 'upgrade written']);
});

test('one that fails stops the upgrade and says what can be done; a folder that is elsewhere is told', async () => {
  await set();
  await assert.rejects(
    before({ core: failing('write') })({ db, pending: [] }),
    /^SchoolbellError: the backup before the upgrade failed, and nothing was changed: no room is left\. Mend that .+upgrade --without-backup$/,
  );
  assert.deepEqual([await states(), files()], [['upgrade failed'], []]);
  const told: string[] = [];
  await db`update backup_plan set folder = '/not/here'`;
  await before({ core: failing('write') }, told)({ db, pending: [] });
  assert.match(told.join(), /^no backup is taken before the upgrade: its folder \/not\/here is not on this machine$/);
});

test('a start that is stopped during its backup changes nothing, and leaves nothing', async () => {
  await set();
  const stopping = new AbortController();
  const stopped: BackupCore = { ...core, write: () => {
    stopping.abort();
    return Promise.reject(new Error('aborted'));
  } };
  await assert.rejects(before({ core: stopped, signal: stopping.signal })({ db, pending: [] }), /nothing was changed: aborted/);
  assert.deepEqual([await states(), files()], [['upgrade cut off'], []]);
});

test('one before an upgrade that does not restore stays until there are enough good ones', async () => {
  await set(2);
  await before()({ db, pending: [] });
  await assert.rejects(keepBackupPlan(parts({ core: failing('verify') }), at(31)), /no room/);
  assert.deepEqual([await states(), files().length], [['upgrade failed'], 1]);
  for (const hours of [48, 72]) await keepBackupPlan(parts(), at(hours));
  assert.deepEqual(files(), ['schoolbell-2026-11-19T023000Z.backup', 'schoolbell-2026-11-20T023000Z.backup']);
});
