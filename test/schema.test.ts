// Covers what is generated, which must be what is committed, and the migrations that it is generated from: many
// processes at once, migrations that were changed, are not known or fail.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { connect, type Db } from '../src/db/connect.ts';
import { isMigrated, migrate } from '../src/db/migrate.ts';
import { useCommands } from './commands.ts';
import { describeSchema } from './describe-schema.ts';
import { renderGenerated, root, withEmptyDatabase } from './generate.ts';
import { testSecretKey } from './service.ts';

const folder = mkdtempSync(join(tmpdir(), 'schoolbell-schema-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const migrations = readdirSync(join(root, 'migrations')).filter((file) => file.endsWith('.sql'));

/** A folder of migrations of its own to change, and the code that applies them. */
function copyOfMigrate(): { path: (file: string) => string; migrate: (db: Db) => Promise<number> } {
  const copy = mkdtempSync(join(folder, 'copy-'));
  cpSync(join(root, 'migrations'), copy, { recursive: true });
  return { path: (file) => join(copy, file), migrate: (db) => migrate(db, { folder: copy }) };
}

const generated = await renderGenerated();
for (const file of Object.keys(generated)) {
  test(`${file} is up to date (npm run generate writes it)`, () => {
    assert.equal(readFileSync(join(root, file), 'utf8'), generated[file]);
  });
}

test('what is generated is the same every time', async () => {
  assert.deepEqual(await renderGenerated(), generated);
});

test('schema.sql makes the same schema again', async () => {
  await withEmptyDatabase(async (_, db) => {
    for (const statement of inOrder(generated['schema.sql'] ?? '')) await db.unsafe(statement);
    assert.equal(await describeSchema(db), generated['schema.sql']);
  });
});

/** Tables after those that they refer to. */
function inOrder(schema: string): string[] {
  const waiting = schema.split(/\n\n(?=create)/i);
  const done = new Set<string>();
  const ordered: string[] = [];
  while (waiting.length > 0) {
    const at = waiting.findIndex((statement) => [...statement.matchAll(/REFERENCES (\w+)/g)].every(([, table = '']) => done.has(table)));
    assert.ok(at >= 0, 'tables refer to one another in a ring');
    const [statement = ''] = waiting.splice(at, 1);
    done.add(/table (\w+)/.exec(statement)?.[1] ?? '');
    ordered.push(statement);
  }
  return ordered;
}

test('any number of processes and pools may migrate an empty database at once', async () => {
  await withEmptyDatabase(async (url, db) => {
    const script = `
      import { connect } from ${JSON.stringify(join(root, 'src/db/connect.ts'))};
      import { migrate } from ${JSON.stringify(join(root, 'src/db/migrate.ts'))};
      const db = connect(process.argv[1], { max: 1, name: 'test' });
      console.log(await migrate(db));
      await db.end();`;
    const processes = Array.from({ length: 3 }, async () =>
      Number((await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, url])).stdout),
    );
    const pools = Array.from({ length: 5 }, async () => {
      const pool = connect(url, { max: 2, name: 'test' });
      return migrate(pool).finally(() => pool.end({ timeout: 5 }));
    });
    const applied = await Promise.all([...processes, ...pools]);
    assert.deepEqual(applied.toSorted((a, b) => b - a), [migrations.length, 0, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual((await db`select name from migration order by version`).map((row) => row.name as string), migrations.toSorted());
    assert.equal(await describeSchema(db), generated['schema.sql']);
    assert.deepEqual([await migrate(db), await isMigrated(db)], [0, true]);
  });
});

test('a database of an unreleased version is refused, and nothing in it is changed', async () => {
  await withEmptyDatabase(async (url, db) => {
    await db`
      create table migration (version int primary key, name text not null, checksum text not null, applied_at timestamptz not null default now(),
        breaks_before int)`;
    await db`create table establishment (estab text primary key)`;
    await db`insert into migration (version, name, checksum) values (1, '0001_access.sql', 'a'), (2, '0002_roster.sql', 'b')`;
    const before = await describeSchema(db);
    const carriesNot = /does not carry: grants .* secrets, logins .* history/;
    await assert.rejects(migrate(db), (error: Error) => /unreleased version .* 0001_access\.sql/.test(error.message) && carriesNot.test(error.message));
    const { assertFails } = useCommands({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: folder });
    for (const command of ['school list', 'status', 'upgrade', 'upgrade --check', 'keys rotate']) await assertFails(/unreleased version/, command);
    assert.deepEqual([await describeSchema(db), await isMigrated(db)], [before, false]);
  });
});

test('a migration that was changed after it was applied is refused by name', async () => {
  await withEmptyDatabase(async (_, db) => {
    const copy = copyOfMigrate();
    await copy.migrate(db);
    const [first = ''] = migrations;
    appendFileSync(copy.path(first), '\n-- An afterthought.\n');
    writeFileSync(copy.path('9000_next.sql'), 'create table next_thing ();');
    await assert.rejects(copy.migrate(db), new RegExp(`its migration ${first} is not the`));
    assert.equal(await describeSchema(db), generated['schema.sql']);
    assert.equal(await migrate(db), 0, 'the lock is free again');
  });
});

test('a database that is newer than the code: as long as nothing was taken away, it starts and is ready', async () => {
  await withEmptyDatabase(async (_, db) => {
    const copy = copyOfMigrate();
    writeFileSync(copy.path('9000_next.sql'), 'create table next_thing ();');
    assert.equal(await copy.migrate(db), migrations.length + 1);
    assert.deepEqual([await migrate(db), await isMigrated(db)], [0, true]);
    const newest = Math.max(...migrations.map((file) => Number(file.slice(0, 4))));
    writeFileSync(copy.path('9001_less.sql'), `-- breaks versions before ${String(newest).padStart(4, '0')}\ndrop table next_thing;`);
    assert.equal(await copy.migrate(db), 1);
    assert.deepEqual([await migrate(db), await isMigrated(db)], [0, true], 'this version knows the migration from which on it is done without');
    writeFileSync(copy.path('9002_least.sql'), '-- breaks versions before 9000\nalter table upload drop column created_at;');
    assert.equal(await copy.migrate(db), 1);
    await assert.rejects(migrate(db), /migration 9002, with which only versions of Schoolbell that have migration 9000 work; this one has \d+: install/);
    assert.deepEqual([await isMigrated(db), await copy.migrate(db)], [false, 0]);
  });
});

test('a database that lacks a migration is not migrated, also when it has a later one', async () => {
  await withEmptyDatabase(async (_, db) => {
    await migrate(db);
    await db`update migration set version = 9000`;
    assert.equal(await isMigrated(db), false);
  });
});

/** Statements that take away something which the previous version may still need. */
const takesAway = /\b(drop (table|column|constraint|function)|rename|set not null|alter column \w+ (set data )?type|revoke)\b/i;

test('a migration that takes something away names the versions that it breaks', () => {
  const silent = migrations.filter((file) => {
    const text = readFileSync(join(root, 'migrations', file), 'utf8');
    return takesAway.test(text) && !/^-- breaks versions before \d{4}$/m.test(text);
  });
  assert.deepEqual(silent, []);
});

test('released migrations are as they were released: they never change and none is missing', () => {
  const sums = readFileSync(join(root, 'migrations/sums.txt'), 'utf8').split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  for (const line of sums) {
    const [sum, file = ''] = line.split('  ');
    assert.equal(createHash('sha256').update(readFileSync(join(root, 'migrations', file))).digest('hex'), sum, `${file} was changed after its release`);
  }
  const isReleased = /^## \d+\.\d+\.\d+ - /m.test(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  assert.equal(sums.length > 0, isReleased, 'npm run release adds the checksums of a release');
});

test('a migration that fails leaves nothing, keeps those before it, and can be tried again', async () => {
  await withEmptyDatabase(async (_, db) => {
    const copy = copyOfMigrate();
    writeFileSync(copy.path('9000_good.sql'), 'create table good_thing ();');
    writeFileSync(copy.path('9001_bad.sql'), 'create table half_a_thing (); insert into good_thing default values; select 1 / 0; create table other_half ();');
    writeFileSync(copy.path('9002_after.sql'), 'create table after_thing ();');
    await assert.rejects(copy.migrate(db), /division by zero/);
    const tables = async () =>
      (await db`select relname from pg_class where relname like '%_thing' or relname = 'other_half' order by 1`).map((row) => row.relname as string);
    const applied = async () => (await db`select version from migration where version >= 9000 order by 1`).map((row) => row.version as number);
    assert.deepEqual([await tables(), await applied(), (await db`select from good_thing`).length], [['good_thing'], [9000], 0]);
    writeFileSync(copy.path('9001_bad.sql'), 'create table whole_thing ();');
    assert.equal(await copy.migrate(db), 2);
    assert.deepEqual([await tables(), await applied()], [['after_thing', 'good_thing', 'whole_thing'], [9000, 9001, 9002]]);
    // What ran but cannot be recorded has not happened either.
    writeFileSync(copy.path('9003_unrecorded.sql'), 'create table lost_thing (); alter table migration add constraint full_up check (version < 9003);');
    await assert.rejects(copy.migrate(db), /full_up/);
    assert.deepEqual([await tables(), await applied()], [['after_thing', 'good_thing', 'whole_thing'], [9000, 9001, 9002]]);
  });
});
