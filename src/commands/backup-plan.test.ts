// Covers the plan of backups through the door: set up, kept by the worker's chore with real backups that are restored and compared,
// listed, asked for and ended; and the one that comes before an upgrade.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { usePlainDatabase } from '../../test/database.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { backupCore } from '../backup/core.ts';
import { findBackupPlan, openPassphrase } from '../backup/plan.ts';
import { keepBackupPlan } from '../backup/run-plan.ts';
import type { BackupRun } from '../backup/runs.ts';
import { readConfig } from '../config.ts';
import type { ForeseenUpgrade } from '../needs/check-upgrade.ts';

const home = mkdtempSync(join(tmpdir(), 'schoolbell-backup-plan-'));
after(() => rmSync(home, { recursive: true, force: true }));
const service = await useService({}, { database: await usePlainDatabase() });
const { db, seal } = service;
await service.addSchool('3801001', smallPackage());
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir };
const { run, json, assertFails, schoolbell } = useCommands(settings);
const [folder, secret] = [join(home, 'backups'), join(home, 'passphrase')];
const passphrase = 'correct horse battery staple';
writeFileSync(secret, `${passphrase}\n`, { mode: 0o600 });
const keep = (now: Date, signal = new AbortController().signal) =>
  keepBackupPlan({ db, long: db, config: readConfig(settings), seal, core: backupCore, signal }, now);
const files = () => readdirSync(folder).filter((name) => name.endsWith('.backup'));
type Listed = { plan: { folder: string } | null; here: boolean; standing: { verdict: string } | null; runs: (BackupRun & { there: boolean })[] };

test('what cannot be a plan is refused, and nothing is set up', async () => {
  const refused: [RegExp, string][] = [
    [/name the file of the backup, or, for one again and again, a folder by --to/, 'backup'],
    [/either a file, or a folder by --to/, `backup x.backup --to ${folder}`],
    [/one of --to, --now and --stop/, `backup --to ${folder} --stop`],
    [/one of --to, --now and --stop/, 'backup --every 24h'],
    [/--every "soon": not a duration/, `backup --to ${folder} --every soon`],
    [/--every: 10m is the least/, `backup --to ${folder} --every 5m`],
    [/--keep "0": must be a number from 1/, `backup --to ${folder} --keep 0`],
    [/needs a passphrase/, `backup --to ${folder}`],
    [/the folder for backups .+\/passphrase: it is not a directory/, `backup --to ${secret} --passphrase-file ${secret}`],
    [/no backups are set up/, 'backup --now'],
    [/no backups are set up/, 'backup --stop'],
    [/"now" would be a file: --now is an option; \.\/now names the file/, 'backup now'],
    [/--keep "1e2": must be a number/, `backup --to ${folder} --keep 1e2`],
  ];
  for (const [reason, line] of refused) await assertFails(reason, line);
  assert.deepEqual([await findBackupPlan(db), existsSync(folder)], [undefined, false]);
  assert.match((await schoolbell('backup list')).out, /^no backups are set up; backup --to <folder> does that$/m);
});

test('a plan is set up, keeps its passphrase sealed, and makes a backup that restores', async () => {
  const { code, out } = await run(['backup', '--to', folder, '--every', '12h', '--keep', '2', '--passphrase-file', secret]);
  assert.equal(code, 0);
  assert.match(out, /^A backup goes to .+backups every 12 hours, and the newest 2 good ones are kept\.$/m);
  assert.equal(await openPassphrase(db, seal), passphrase);
  const [trail] = await db`select detail from audit_event where action = 'backup' and outcome = 'done'`;
  assert.deepEqual(trail?.detail, { to: folder, every: '12h', keep: '2', 'passphrase-file': secret });
  assert.ok(!JSON.stringify(await db`select to_jsonb(p) as plan from backup_plan p`).includes(passphrase));

  await keep(new Date());
  const { plan, here, standing, runs } = await json<Listed>('backup list');
  assert.deepEqual([plan?.folder, here, standing?.verdict, runs.map(({ state, there }) => [state, there])], [folder, true, 'ok', [['good', true]]]);
  const [made] = runs;
  assert.ok(made && Number(made.rows) > 20 && made.verifiedAt !== null);
  assert.match(readFileSync(made.file, 'latin1').slice(0, 40), /^age-encryption\.org\/v1/);
  assert.deepEqual(readdirSync(service.dataDir).filter((name) => name.startsWith('backup')), [], 'where it was tried out is gone');
  assert.match((await schoolbell('backup list')).out, /^standing +ok: the newest good one is (?:\d+ ms|[\d.]+ s) old, of one every 12 hours$/m);
});

test('a stop in the midst leaves nothing but what the next one takes up', async () => {
  const stopping = new AbortController();
  setImmediate(() => stopping.abort());
  await keep(new Date(Date.now() + 13 * 3_600_000), stopping.signal);
  assert.equal(files().length, 1);
  assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith('.half')), []);
  assert.doesNotMatch(JSON.stringify((await json<Listed>('backup list')).runs.map(({ state }) => state)), /writing|failed/);
});

test('whoever comes first with a new version takes a backup before anything is changed, also a command', async () => {
  const known = await db<{ version: string }[]>`delete from service_version returning version`;
  assert.equal(known.length, 1);
  const check = await json<ForeseenUpgrade>('upgrade --check');
  assert.match(check.firstStart.join('; '), /^writes a backup to .+backups, which took .+ the last time; notes that this version has been started/);
  await json('school list');
  const [latest] = (await json<Listed>('backup list')).runs;
  assert.deepEqual([latest?.why, latest?.state, latest?.there], ['upgrade', 'written', true]);
  await json('school list');
  assert.equal((await json<Listed>('backup list')).runs.filter(({ why }) => why === 'upgrade').length, 1);
});

test('where the backup fails nothing is changed, and the way on is to do without', async () => {
  await db`delete from service_version`;
  await db`update backup_run set started_at = started_at - interval '2 hours'`;
  const [sealed] = await db<{ passphrase: Uint8Array }[]>`select sealed_passphrase as passphrase from backup_plan`;
  // As when a disk is full: something is in the way of writing.
  await db`update backup_plan set sealed_passphrase = ${Buffer.from('not sealed by us, and long enough to be')}`;
  await assertFails(/the backup before the upgrade failed, and nothing was changed: .+upgrade --without-backup/, 'school list');
  assert.equal((await db`select from service_version`).length, 0);
  await json('upgrade --without-backup');
  assert.equal((await db`select from service_version`).length, 1);
  await db`update backup_plan set sealed_passphrase = ${sealed?.passphrase ?? null}`;
});

test('one is asked for, and the plan is ended: what was made stays', async () => {
  await json('backup --now');
  assert.notEqual((await findBackupPlan(db))?.askedAt, null);
  const before = files().length;
  await json('backup --stop');
  assert.deepEqual([await findBackupPlan(db), files().length], [undefined, before]);
});
