// Covers migrations while others read and write: a table that somebody reads for long, an index that is made beside
// writers, what a kill in the midst leaves, and who waits for whom.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { withEmptyDatabase } from '../../test/generate.ts';
import { until } from '../../test/until.ts';
import { connect, type Db } from './connect.ts';
import { migrate, type MigrateOptions } from './migrate.ts';
import { parseMigration } from './migrations.ts';
import { listVersions } from './service-versions.ts';
import { version } from '../version.ts';

const { db, url } = await useDatabase();
const home = mkdtempSync(join(tmpdir(), 'schoolbell-migrate-'));
after(() => rmSync(home, { recursive: true, force: true }));
let folder = '';
beforeEach(async () => {
  folder = mkdtempSync(join(home, 'migrations-'));
  await db`drop table if exists thing`;
  await db`create table thing as select n, 'text ' || n as words from generate_series(1, 2000) n`;
  await db`delete from migration where version >= 9000`;
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const recorded = async () => (await db`select version from migration where version >= 9000 order by 1`).map((row) => row.version as number);
const columns = async () =>
  (await db`select column_name as name from information_schema.columns where table_name = 'thing' order by 1`).map((row) => row.name as string);
/** Name, and whether it can be used. */
const indexes = async () => [
  ...(await db<{ name: string; valid: boolean }[]>`
    select c.relname as name, i.indisvalid as valid from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = 'thing'::regclass order by 1`),
].map(({ name, valid }) => `${name} ${valid ? 'whole' : 'half'}`);

/** What a test that failed has left open. */
const open = new Set<() => Promise<void>>();
afterEach(async () => {
  for (const end of open) await end();
});

/** A reader in a transaction, which goes on until it is let go. */
async function readLong(): Promise<{ end(): Promise<void> }> {
  const [reads, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reading = db.begin(async (tx) => {
    await tx`set transaction isolation level repeatable read`;
    await tx`select count(*) from thing`;
    reads.resolve();
    await release.promise;
  });
  await reads.promise;
  const end = async () => {
    release.resolve();
    await reading;
    open.delete(end);
  };
  open.add(end);
  return { end };
}

async function withPool<T>(more: { lockMs?: number }, work: (pool: Db) => Promise<T>): Promise<T> {
  const pool = connect(url, { max: 2, name: 'migrating', ...more });
  try {
    return await work(pool);
  } finally {
    await pool.end({ timeout: 0 });
  }
}

const addsColumn = 'alter table thing add column more int;';
const makesIndex = (name: string, column: string) => `create index concurrently if not exists ${name} on thing (${column});`;
const outside = (...statements: string[]) => `-- outside a transaction\n${statements.join('\n-- next\n')}\n`;

for (const [where, text] of [['in', addsColumn], ['outside', outside(addsColumn.replace('column', 'column if not exists'))]] as const) {
  test(`behind a long reader a migration ${where} a transaction gives up soon, so that requests get through, and tries again until it can`, async () => {
    write('9000_more.sql', text);
    const reader = await readLong();
    const told: string[] = [];
    let waits = 0;
    const migrating = migrate(db, { folder, tell: (words) => told.push(words) });
    // Whoever reads as impatiently as who is calling gets through each time.
    for (; told.length < 2; waits += 1) await withPool({ lockMs: 1_000 }, (pool) => pool`select count(*) from thing`);
    await reader.end();
    assert.equal(await migrating, 1);
    assert.ok(waits > 0);
    assert.match(told[0] ?? '', /migration 9000_more\.sql waits for others; the oldest transaction: "schoolbell test \w+" from .+, for \d+ s with "/);
    assert.deepEqual([await columns(), await recorded()], [['more', 'n', 'words'], [9000]]);
  });
}

test('it does not try for ever, names who is in the way, and leaves nothing', async () => {
  write('9000_more.sql', addsColumn);
  const reader = await readLong();
  await withPool({ lockMs: 300 }, (pool) =>
    assert.rejects(migrate(pool, { folder }), /9000_more\.sql waits for others; the oldest transaction: "schoolbell test .+\. It was tried for 0\.3 s/),
  );
  await reader.end();
  assert.deepEqual([await columns(), await recorded()], [['n', 'words'], []]);
  assert.equal(await migrate(db, { folder }), 1, 'the lock is free again');
});

test('an index outside a transaction is made while others write, and waits for a long reader', async () => {
  write('9000_index.sql', outside(makesIndex('thing_n', 'n'), makesIndex('thing_words', 'words')));
  const reader = await readLong();
  const migrating = migrate(db, { folder });
  await until('the index waits', async () => (await indexes()).includes('thing_n half'), indexes);
  await withPool({ lockMs: 200 }, (pool) => pool`insert into thing values (0, 'written meanwhile')`);
  assert.deepEqual(await recorded(), []);
  await reader.end();
  assert.equal(await migrating, 1);
  assert.deepEqual([await indexes(), await recorded()], [['thing_n whole', 'thing_words whole'], [9000]]);
});

test('whoever waits for its turn does not keep an index from being made', async () => {
  write('9000_index.sql', outside(makesIndex('thing_n', 'n')));
  const reader = await readLong();
  const first = migrate(db, { folder });
  await until('the index waits', async () => (await indexes()).includes('thing_n half'), indexes);
  const heard = Promise.withResolvers<string>();
  const second = withPool({}, (pool) => migrate(pool, { folder, tell: heard.resolve }));
  assert.match(await heard.promise, /another process migrates the database: "schoolbell test \w+" from .+ with ".*create index concurrently .+ thing_n/);
  await reader.end();
  assert.deepEqual([await first, await second], [1, 0]);
});

test('nobody waits for their turn for ever, and who has it is named', async () => {
  write('9000_index.sql', outside(makesIndex('thing_n', 'n')));
  const reader = await readLong();
  const first = migrate(db, { folder });
  await until('the index waits', async () => (await indexes()).includes('thing_n half'), indexes);
  await withPool({ lockMs: 200 }, (pool) =>
    assert.rejects(migrate(pool, { folder }), /has been migrated by another process for 0\.2 s: "schoolbell test .+pg_terminate_backend\(\d+\)/),
  );
  await reader.end();
  await first;
});

test('killed in the midst: what was made stays, what was half made is made anew, and then it is recorded', async () => {
  write('9000_index.sql', outside(makesIndex('thing_n', 'n'), 'update thing set words = n::text where words <> n::text;', makesIndex('thing_words', 'words')));
  await db`create index thing_n on thing (n)`;
  const reader = await readLong();
  const killed = assert.rejects(withPool({}, (pool) => migrate(pool, { folder })), /terminat|connection/i);
  await until('the second index waits', async () => (await indexes()).includes('thing_words half'), indexes);
  // The server goes on with what a process asked for that is gone, unless it is ended too.
  await db`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'schoolbell migrating %' and query like 'create index%'`;
  await killed;
  await reader.end();
  assert.deepEqual([await indexes(), await recorded()], [['thing_n whole', 'thing_words half'], []]);
  assert.equal(await migrate(db, { folder }), 1);
  assert.deepEqual([await indexes(), await recorded()], [['thing_n whole', 'thing_words whole'], [9000]]);
  assert.equal((await db`select from thing where words <> n::text`).length, 0);
});

test('a process that died while the server goes on for it: the next one waits, and finds it done', async () => {
  write('9000_index.sql', outside(makesIndex('thing_n', 'n')));
  const reader = await readLong();
  const dying = connect(url, { max: 1, name: 'dying' });
  const died = assert.rejects(migrate(dying, { folder }));
  await until('the index waits', async () => (await indexes()).includes('thing_n half'), indexes);
  await dying.end({ timeout: 0 });
  await died;
  const heard = Promise.withResolvers<string>();
  const next = migrate(db, { folder, tell: heard.resolve });
  assert.match(await heard.promise, /"schoolbell dying/);
  await reader.end();
  assert.equal(await next, 1);
  assert.deepEqual([await indexes(), await recorded()], [['thing_n whole'], [9000]]);
});

test('what comes before an upgrade sees the database as it was, in one process while the others wait', async () => {
  write('9000_column.sql', 'alter table thing add column more int;');
  const called: (readonly string[])[] = [];
  const before: MigrateOptions['before'] = async ({ pending }) => {
    called.push(pending);
    assert.deepEqual(await columns(), ['n', 'words']);
  };
  const counts = await Promise.all([1, 2, 3].map(() => withPool({}, (pool) => migrate(pool, { folder, before }))));
  assert.deepEqual([counts.toSorted(), called], [[0, 0, 1], [['9000_column.sql']]]);
  await migrate(db, { folder, before: () => Promise.reject(new Error('not again')) });
  // One that brings no migration is new to a database all the same.
  await db`delete from service_version`;
  await migrate(db, { folder, before: async ({ pending }) => void called.push(pending) });
  assert.deepEqual(called, [['9000_column.sql'], []]);
  assert.deepEqual((await listVersions(db)).map((one) => one.version), [version]);
});

test('what cannot come before an upgrade stops it, and nothing is changed', async () => {
  write('9000_column.sql', 'alter table thing add column more int;');
  await assert.rejects(migrate(db, { folder, before: () => Promise.reject(new Error('the disk is full')) }), /the disk is full/);
  assert.deepEqual([await columns(), await recorded()], [['n', 'words'], []]);
  assert.equal(await migrate(db, { folder }), 1);
});

test('of a database that is new, nothing comes before', async () => {
  await withEmptyDatabase(async (_, empty) => {
    assert.ok((await migrate(empty, { before: () => Promise.reject(new Error('there is nothing yet')) })) > 0);
  });
});

test('what a migration says on its first lines', () => {
  const { outside: isOutside, statements, breaksBefore } = parseMigration('9000_x.sql', '-- outside a transaction\n-- Why.\nselect 1;\n-- next\nselect 2;\n');
  assert.deepEqual([isOutside, statements, breaksBefore], [true, ['-- outside a transaction\n-- Why.\nselect 1;', 'select 2;'], null]);
  const inside = parseMigration('9001_x.sql', '-- Why.\n-- breaks versions before 0042\nselect 1;\n-- outside a transaction\n-- next\n');
  assert.deepEqual([inside.outside, inside.statements.length, inside.breaksBefore, inside.version], [false, 1, 42, 9001]);
  for (const statement of ['create index concurrently a on b (c);', 'create unique index a on b (c);', 'create index if not exists a on b (c);'])
    assert.throws(() => parseMigration('9002_x.sql', outside('select 1;', statement)), /9002_x\.sql: outside a transaction an index is made with/);
});
