// Covers the command for upgrades: on a database of an older version it says what would be done and changes nothing, then does it;
// what would make people wait, or end a version that runs, fails.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { withEmptyDatabase } from '../../test/generate.ts';
import { madeUpMigration, makeNextVersion, nextVersionNumber } from '../../test/next-version.ts';
import { ended, home, launch } from '../../test/processes.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { citusUrl } from '../../test/spread-database.ts';
import { readConfig } from '../config.ts';
import { migrate } from '../db/migrate.ts';
import { parseMigration, readMigrations, type Migration } from '../db/migrations.ts';
import { forgetThisProcess, noteProcess } from '../db/service-versions.ts';
import { checkUpgrade, type ForeseenUpgrade } from '../needs/check-upgrade.ts';
import { version } from '../version.ts';

const folder = join(home, 'upgrade');
mkdirSync(folder);
const service = await useService();
const { db } = service;
const config = readConfig({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: folder });

test('on the database of an older version it says what would be done, and only then does it', async () => {
  const tree = makeNextVersion(join(folder, 'next'));
  await withEmptyDatabase(async (url, old) => {
    await migrate(old);
    const env = { DATABASE_URL: url, SECRET_KEY: testSecretKey, BACKUP_PASSPHRASE: 'a long passphrase' };
    const applied = async () => (await old`select max(version) as at from migration`)[0]?.at as number;
    const before = await applied();
    const run = async (...args: string[]) => {
      const running = launch('src/cli.ts', args, folder, { env, tree });
      assert.equal(await ended(running), 0, running.output());
      return running.output();
    };
    const out = await run('upgrade', '--check');
    assert.equal(await applied(), before);
    assert.match(out, new RegExp(`^The database is at migration ${before}; the version that came to it last is ${version}\\.$`, 'm'));
    assert.match(out, new RegExp(`^${madeUpMigration.name} +establishment +adds the column made_up +a moment +`, 'm'));
    assert.match(out, /^waits +ok +nobody waits for longer than a second$/m);
    assert.match(out, /^backup +warn +none is set up: the first start takes none +take one before/m);
    assert.match(out, new RegExp(`^The first start of ${nextVersionNumber} here: applies 1 migration, in a moment; notes .*; serves\\.$`, 'm'));

    const taken = JSON.parse(await run('backup', join(folder, 'before.backup'), '--json')) as { migration: number };
    assert.deepEqual([taken.migration, await applied()], [before, before], 'a backup before it is of the older version');

    assert.equal((JSON.parse(await run('upgrade', '--json')) as { migration: number }).migration, madeUpMigration.version);
    const after = JSON.parse(await run('upgrade', '--check', '--json')) as ForeseenUpgrade & { ok: boolean };
    assert.deepEqual([after.ok, after.pending, after.versions.map((one) => one.version)], [true, [], [nextVersionNumber, version]]);
    assert.deepEqual(after.firstStart, ['changes nothing in the database', 'serves']);
    const trail = (await old`select action, outcome from audit_event order by number`).map(({ action, outcome }) => `${action} ${outcome}`);
    assert.deepEqual(trail, ['backup done', 'upgrade done']);
  });
});

const come = (name: string, sql: string) => [...readMigrations(), parseMigration(name, sql)];
const verdict = (found: ForeseenUpgrade, name: string) => found.checks.find(({ check }) => check === name);

test('what would make requests wait fails, by the size of the table here', async () => {
  await db`create table heavy as select n, repeat(md5(n::text), 30) as words from generate_series(1, 20000) n`;
  const constraint = come('9000_x.sql', 'alter table heavy add constraint words_there check (words <> \'\') , alter column n set not null;');
  assert.equal(verdict(await checkUpgrade({ db, config }, new Date(), constraint), 'waits')?.verdict, 'ok', '20 MB are read in less');
  const index = await checkUpgrade({ db, config }, new Date(), come('9000_x.sql', 'create index heavy_words on heavy (words);'));
  assert.equal(verdict(index, 'waits')?.verdict, 'fail');
  assert.match(verdict(index, 'waits')?.found ?? '', /requests would wait: 9000_x\.sql for about \d\.\d s/);
  assert.deepEqual(index.pending.flatMap(({ steps }) => steps.map(({ table, words, holdsUp }) => [table, words, holdsUp])), [
    ['heavy', 'makes the index heavy_words', 'writers'],
  ]);
});

test('whoever is connected is told with the version, and whether it goes on working', async () => {
  const breaking = come('9001_x.sql', '-- breaks versions before 9000\nalter table heavy drop column if exists words;');
  const alone = await checkUpgrade({ db, config }, new Date(), breaking);
  assert.match(verdict(alone, 'other versions')?.found ?? '', /^9001_x\.sql ends versions that do not have migration 9000; none is running$/);
  // As the connections of another process are named.
  const [older, noted] = ['zz0001', 'zz0002'];
  await db`insert into service_process (tag, version, role, host, migration) values (${noted}, '0.0.9', 'all', 'elsewhere', 1)`;
  const others = [older, noted].map((tag) => new pg.Client({ connectionString: service.databaseUrl, application_name: `schoolbell callers ${tag}` }));
  try {
    await Promise.all(others.map((one) => one.connect()));
    const [adding, ending] = [await checkUpgrade({ db, config }, new Date()), await checkUpgrade({ db, config }, new Date(), breaking)];
    const seen = adding.processes.filter(({ tag }) => tag.startsWith('zz')).map((one) => [one.version, one.host]);
    assert.deepEqual(seen.toSorted(), [[null, null], ['0.0.9', 'elsewhere']].toSorted());
    assert.match(verdict(adding, 'other versions')?.found ?? '', /processes of .*, which go on working$/);
    assert.equal(verdict(ending, 'other versions')?.verdict, 'fail');
    assert.match(verdict(ending, 'other versions')?.todo ?? '', /stop them before/);
  } finally {
    await Promise.all(others.map((one) => one.end()));
  }
});

test('a process that serves nobody at the moment is told too, and one that has ended is not', async () => {
  await db`insert into service_process (tag, version, role, host, migration)
    values ('zz0003', '0.0.8', 'api', 'idle', 1), ('zz0004', '0.0.8', 'worker', 'ended', 1)`;
  await db`update service_process set seen_at = now() - interval '5 minutes' where host = 'ended'`;
  const seen = async () => (await checkUpgrade({ db, config }, new Date())).processes.filter(({ host }) => host === 'idle' || host === 'ended');
  assert.deepEqual((await seen()).map((one) => [one.host, one.does, one.connections, one.version]), [['idle', ['API'], 0, '0.0.8']]);
  await noteProcess(db, 'api');
  assert.ok((await checkUpgrade({ db, config }, new Date())).processes.some(({ isThis, does }) => isThis && does.join() === 'API'));
  await forgetThisProcess(db);
  assert.equal((await db`select from service_process where host = ${hostname()}`).length, 0);
  await db`delete from service_process`;
});

test('a process of an older version goes on working only if no migration shuts it out', async () => {
  await db`insert into service_process (tag, version, role, host, migration) values ('zz0005', '0.0.9', 'all', 'elsewhere', 9000)`;
  const judge = async (migrations?: readonly Migration[]) => verdict(await checkUpgrade({ db, config }, new Date(), migrations), 'other versions');
  const next = (number: number, breaksBefore: number) => come(`${number}_x.sql`, `-- breaks versions before ${breaksBefore}\nselect 1;`);
  const insert = (number: number, breaksBefore: number) => db`
    insert into migration (version, name, checksum, breaks_before) values (${number}, ${`${number}_x.sql`}, '', ${breaksBefore})`;
  try {
    assert.deepEqual([(await judge(next(9001, 9000)))?.verdict, (await judge(next(9001, 9001)))?.verdict], ['ok', 'fail']);
    // Another process has applied a migration that the older one does not know. The next one shuts out whatever does not know that.
    await insert(9001, 1);
    assert.equal((await judge(next(9002, 9001)))?.verdict, 'fail');
    // A migration that was applied beside the older process shuts it out already.
    await insert(9002, 9001);
    const shutOut = await judge();
    assert.deepEqual([shutOut?.verdict, /could not start again/.test(shutOut?.found ?? '')], ['fail', true]);
  } finally {
    await db`delete from migration where version >= 9000`;
    await db`delete from service_process`;
  }
});

test('a database of an unreleased version is refused, and one that has left this version behind fails', async () => {
  const [first, ...rest] = readMigrations();
  assert.ok(first);
  const other = checkUpgrade({ db, config }, new Date(), [{ ...first, checksum: 'another' }, ...rest]);
  await assert.rejects(other, /made by an unreleased version .* does not carry: grants/);
  await db`insert into migration (version, name, checksum) values (9002, '9002_x.sql', '')`;
  const found = verdict(await checkUpgrade({ db, config }, new Date(), [first, ...rest]), 'schema')?.found ?? '';
  // One that is spread keeps off whatever is older.
  assert.match(found, citusUrl === undefined ? /newer than this version's \d+, which works on it/ : /with which this version does not work/);
  await db`update migration set breaks_before = 9002 where version = 9002`;
  assert.equal(verdict(await checkUpgrade({ db, config }, new Date(), [first, ...rest]), 'schema')?.verdict, 'fail');
});
