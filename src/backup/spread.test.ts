// Tests backups of a database that is spread over several nodes: taken only while nobody else works on it, and restored to one node that
// every version which knows the schema starts on. By what `distribute` notes; no cluster is needed.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { useDataDir } from '../../test/data-dir.ts';
import { useEmptyDatabases } from '../../test/empty-database.ts';
import { testSecretKey } from '../../test/service.ts';
import { endOut, noteUnderWay, shutOutOlder } from '../db/distribution-steps.ts';
import { knowsNotes } from '../db/distribution.ts';
import { migrate } from '../db/migrate.ts';

const databases = await useEmptyDatabases();
const folder = useDataDir();
const settings = (url: string, name: string) =>
  ({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: join(folder, name), BACKUP_PASSPHRASE: 'correct horse battery' });
const readMigrationTable = (url: string) => databases.look(url, (db) => db`select version, breaks_before from migration order by version`);

test('a backup of a spread database waits for nobody, needs it to be still, and is restored to one node', async () => {
  const url = await databases.make();
  const file = join(folder, 'spread.backup');
  await databases.look(url, (db) => migrate(db));
  const plain = await readMigrationTable(url);
  await databases.look(url, async (db) => {
    await noteUnderWay(db, 'out');
    await shutOutOlder(db);
    await endOut(db);
  });
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
