// Tests backups of a database that is spread over several nodes: taken only while nobody else works on it, and restored to one node that
// every version which knows the schema starts on; and plans of backups, which such a database does not take. By what `distribute` notes; no
// cluster is needed.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { useDataDir } from '../../test/data-dir.ts';
import { useEmptyDatabases } from '../../test/empty-database.ts';
import { testSecretKey } from '../../test/service.ts';
import { createSeal } from '../access/seal.ts';
import { runPlan } from '../commands/backup-plan.ts';
import { readConfig } from '../config.ts';
import { connect, type Db } from '../db/connect.ts';
import { endOut, noteUnderWay, shutOutOlder } from '../db/distribution-steps.ts';
import { knowsNotes } from '../db/distribution.ts';
import { migrate } from '../db/migrate.ts';
import type { ForeseenUpgrade } from '../needs/check-upgrade.ts';
import { judgeBackupsLive } from '../needs/judge-backups.ts';
import { version } from '../version.ts';
import { createBackupBeforeUpgrade } from './before-upgrade.ts';
import { backupCore, type BackupCore } from './core.ts';
import { findBackupPlan, setBackupPlan } from './plan.ts';

const databases = await useEmptyDatabases();
const folder = useDataDir();
const settings = (url: string, name: string) =>
  ({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: join(folder, name), BACKUP_PASSPHRASE: 'correct horse battery' });
const readMigrationTable = (url: string) => databases.look(url, (db) => db`select version, breaks_before from migration order by version`);
const noteSpread = async (db: Db) => {
  await noteUnderWay(db, 'out');
  await shutOutOlder(db);
  await endOut(db);
};

test('a backup of a spread database waits for nobody, needs it to be still, and is restored to one node', async () => {
  const url = await databases.make();
  const file = join(folder, 'spread.backup');
  await databases.look(url, (db) => migrate(db));
  const plain = await readMigrationTable(url);
  await databases.look(url, noteSpread);
  assert.notDeepEqual(await readMigrationTable(url), plain, 'versions before it are shut out');
  const { assertFails, json } = useCommands(settings(url, 'from'));
  await databases.look(url, async (db) => {
    await db`select 1`;
    const refusal = /is spread over several nodes, of which no snapshot .* end every process .*others are connected to .*"schoolbell test look /;
    await assertFails(refusal, 'backup', file);
  });
  await json('backup', file);
  const into = await databases.make();
  const { leftOut } = await useCommands(settings(into, 'into')).json<{ leftOut: string[] }>('restore', file, '--deliveries', 'hold');
  assert.deepEqual([leftOut, await readMigrationTable(into), await databases.look(into, knowsNotes)], [[], plain, false]);
});

test('a new version takes the backup before an upgrade where nobody else is connected, and is not kept down where somebody is', async () => {
  const url = await databases.make();
  const { json } = useCommands(settings(url, 'planned'));
  const plan = { folder: join(folder, 'planned-backups'), everySeconds: 86_400, keep: 3, passphrase: 'correct horse battery', by: 'ann' };
  const [seal, written, told] = [createSeal([testSecretKey]), [] as string[], [] as string[]];
  const core: BackupCore = {
    ...backupCore,
    write: async ({ file }) => {
      written.push(file);
      return { bytes: 1, rows: 1, version, migration: 0, tookMs: 1 };
    },
  };
  const before = createBackupBeforeUpgrade({ config: readConfig(settings(url, 'planned')), seal: () => seal, core, tell: (words) => void told.push(words) });
  const upgrade = async () => {
    const db = connect(url, { max: 3, name: 'test upgrade' });
    await before({ db, pending: ['9000_x.sql'] }).finally(() => db.end({ timeout: 5 }));
  };
  await databases.look(url, async (db) => {
    await migrate(db);
    await setBackupPlan(db, seal, plan, new Date());
    await noteSpread(db);
    await db`delete from service_version`;
  });
  await databases.look(url, async (other) => {
    await other`select 1`;
    await upgrade();
  });
  assert.deepEqual([written.length, told.length], [0, 1]);
  assert.match(told.join(), /^no backup is taken before the upgrade: the database is spread over several nodes, and others are connected/);
  const { checks, firstStart } = await json<ForeseenUpgrade>('upgrade --check');
  assert.match(checks.find(({ check }) => check === 'backup')?.found ?? '', /^the database is spread over several nodes: a start takes one only where nobody/);
  assert.match(firstStart[0] ?? '', /^writes a backup to .+planned-backups, if nobody else is connected$/);
  await upgrade();
  assert.equal(written.length, 1);
});

test('a spread database takes no plan of backups, and says what to do instead', async () => {
  const url = await databases.make();
  const given = { options: { to: join(folder, 'refused-backups'), every: '24h' }, positionals: [] };
  await databases.look(url, async (db) => {
    await migrate(db);
    await noteSpread(db);
    const context = { db, seal: createSeal([testSecretKey]), config: readConfig(settings(url, 'refused')) };
    await assert.rejects(runPlan(context, given), /is spread .*: back up the nodes themselves, .*citus_create_restore_point; or .* backup <file>$/);
    assert.deepEqual([await findBackupPlan(db), existsSync(given.options.to)], [undefined, false]);
    assert.match((await judgeBackupsLive(db, { demo: false })).todo ?? '', /^back up the nodes themselves/);
  });
});
