// Covers the command that spreads the database where there is nothing to spread it by, and what others do with one that is half spread.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { describeSchema } from '../../test/describe-schema.ts';
import { useEmptyDatabases } from '../../test/empty-database.ts';
import { madeUpMigration, makeNextVersion } from '../../test/next-version.ts';
import { ended, launch } from '../../test/processes.ts';
import { testSecretKey } from '../../test/service.ts';
import { sumTables } from '../../test/sum-tables.ts';
import { readConfig } from '../config.ts';
import { connect, type Db } from '../db/connect.ts';
import { planDistribution, runDistribution, usualShards } from '../db/distribute.ts';
import { endBack, endOut, noteUnderWay, plainNumbers } from '../db/distribution-steps.ts';
import { findUnderWay, knowsNotes } from '../db/distribution.ts';
import { leaveTurn, makeSchema, migrate, onePerText, takeTurn } from '../db/migrate.ts';
import { readMigrations } from '../db/migrations.ts';
import { openDatabase } from '../db/open.ts';
import { policies } from '../db/policies.ts';

const home = mkdtempSync(join(tmpdir(), 'schoolbell-distribute-'));
after(() => rmSync(home, { recursive: true, force: true }));
const databases = await useEmptyDatabases();
const settingsOf = (url: string) => ({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: home });

async function makeMigrated() {
  const url = await databases.make();
  const db = databases.open(url);
  await migrate(db);
  return { url, db, ...useCommands(settingsOf(url)) };
}

test('without Citus it says what is missing and what to do, and changes nothing', async () => {
  const { db, assertFails, json, schoolbell } = await makeMigrated();
  const before = await sumTables(db);
  for (const line of ['distribute', 'distribute --yes', 'distribute --dry-run', 'distribute --yes --shards 8'])
    await assertFails(/^schoolbell: the database has no Citus.*shared_preload_libraries.*"create extension citus".*Nothing was changed$/m, line);
  assert.deepEqual(await json('distribute --back --yes'), { way: 'back', moved: [], rows: 0, nothingToDo: true });
  assert.equal((await schoolbell('distribute --back')).out, 'The database is on one node: there is nothing to do.\n');
  assert.deepEqual(await sumTables(db), before);
});

test('a number of pieces that is none is refused, and so is a database that nobody has made', async () => {
  const { assertFails } = await makeMigrated();
  for (const shards of ['0', '-1', 'many', '1.5', '1025'])
    await assertFails(/--shards ".*": must be a number from 1 to 1024/, 'distribute', `--shards=${shards}`);
  const empty = useCommands(settingsOf(await databases.make()));
  await empty.assertFails(/no start of Schoolbell has made anything in DATABASE_URL/, 'distribute');
});

test('what is half spread does not start, and says how to go on', async () => {
  const { url, db, assertFails, json } = await makeMigrated();
  for (const [way, words] of [['out', 'spread over several nodes'], ['back', 'brought back to one node']] as const) {
    await noteUnderWay(db, way);
    const refusal = new RegExp(`is being ${words}, or that was interrupted: end it with npx schoolbell distribute, or undo it with .* distribute --back`);
    await assert.rejects(openDatabase(readConfig(settingsOf(url))), refusal);
    await assertFails(refusal, 'school list');
  }
  // Whose Citus was taken away has what was noted left, and no table to move.
  await assertFails(/others are connected to DATABASE_URL .*"schoolbell test look .*end them first\. Nothing was changed/, 'distribute --back --yes');
  await assertFails(/would be moved, which may take long; repeat with --yes, or see with --dry-run/, 'distribute --back');
  await db.end({ timeout: 1 });
  await json('distribute --back --yes');
  await json('school list');
});

test('a start that waits for its turn while the database is spread is refused, too, if that is cut off', async () => {
  const { url, db } = await makeMigrated();
  const distributing = await db.reserve();
  await takeTurn(distributing, 1_000, () => {});
  const { promise: waits, resolve } = Promise.withResolvers<string>();
  const refused = assert.rejects(openDatabase(readConfig(settingsOf(url)), resolve), /is being spread over several nodes, or that was interrupted/);
  assert.match(await waits, /^another process migrates the database: /);
  await noteUnderWay(distributing, 'out');
  await leaveTurn(distributing);
  distributing.release();
  await refused;
});

test('a newer version ends what was interrupted before it applies its migrations', async () => {
  const tree = makeNextVersion(join(home, 'next'));
  const url = await databases.make();
  const run = async (...args: string[]) => {
    const running = launch('src/cli.ts', args, home, { env: settingsOf(url), tree });
    return { code: await ended(running), out: running.output() };
  };
  const applied = () => databases.look(url, async (db) => (await db`select max(version) as at from migration`)[0]?.at);
  await databases.look(url, async (db) => {
    await migrate(db);
    await noteUnderWay(db, 'back');
    await db`insert into migration (version, name, checksum, breaks_before) values (9000, 'x', 'x', 9000)`;
  });
  const refused = await run('distribute', '--back', '--yes');
  assert.deepEqual([refused.code, /at migration 9000, with which only versions .*: install a newer one/.test(refused.out)], [1, true], refused.out);
  await databases.look(url, (db) => db`delete from migration where version = 9000`);
  assert.match((await run('upgrade')).out, /end it with npx schoolbell distribute, or undo it with npx schoolbell distribute --back/);
  const foreseen = await run('distribute', '--back', '--dry-run');
  assert.match(foreseen.out, /^DATABASE_URL \S+\nIt was being brought back to one node before, which was interrupted\.$/m);
  assert.equal((await run('distribute', '--back', '--yes')).code, 0);
  assert.equal(await applied(), readMigrations().at(-1)?.version, 'no migration runs before it has ended');
  assert.equal((await run('upgrade')).code, 0);
  assert.equal(await applied(), madeUpMigration.version);
});

test('what somebody else has ended or begun while the question stood is not done', async () => {
  const url = await databases.make();
  const { run } = useCommands(settingsOf(url));
  const answer = (meanwhile: (db: Db) => Promise<unknown>) => run(['distribute', '--back'], settingsOf(url), async () => {
    await databases.look(url, meanwhile);
    return 'yes';
  });
  await databases.look(url, async (db) => {
    await migrate(db);
    await noteUnderWay(db, 'back');
  });
  for (const meanwhile of [endOut, (db: Db) => noteUnderWay(db, 'out'), endBack]) {
    const { code, err } = await answer(meanwhile);
    assert.deepEqual([code, err], [
      1, 'schoolbell: somebody else has changed meanwhile what is to be moved: see with --dry-run what it is now. Nothing was changed\n',
    ]);
  }
  const trail = await databases.look(url, (db) => db`select outcome from audit_event where action = 'distribute'`);
  assert.deepEqual(trail.map(({ outcome }) => outcome), ['refused', 'refused', 'refused']);
});

test('what is stopped behind a step goes no further; behind the last one it is done', async () => {
  const { db } = await makeMigrated();
  await noteUnderWay(db, 'back');
  const connection = await db.reserve();
  const runStopped = async (behind: string) => {
    const stopping = new AbortController();
    const onStep = (step: string) => (step === behind ? stopping.abort() : undefined);
    return runDistribution(connection, await planDistribution(connection, 'back'), usualShards, { onStep, signal: stopping.signal });
  };
  await assert.rejects(runStopped('note'), { name: 'AbortError' });
  assert.equal(await findUnderWay(db), 'back');
  assert.deepEqual([await runStopped('end'), await knowsNotes(db)], [[], false]);
  connection.release();
});

test('the way back ends also where a later version has dropped or renamed what was noted', async () => {
  const url = await databases.make();
  const { json } = useCommands(settingsOf(url));
  const readCounting = () => databases.look(url, async (db) => (await db<{ line: string }[]>`
    select concat_ws(' ', attrelid::regclass, attname, nullif(attidentity, ''), pg_get_expr(adbin, adrelid)) as line
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attrelid::regclass::text in ('erasure', 'deletion', 'request_line', 'identity_audit', 'outbox') and attname in ('number', 'seq', 'counted')
    order by 1`).map(({ line }) => line));
  await databases.look(url, async (db) => {
    await migrate(db);
    await noteUnderWay(db, 'out');
    await plainNumbers(db, ['erasure', 'request_line', 'identity_audit', 'outbox', 'inbox_call']);
    await endOut(db);
    await db`alter table erasure rename to deletion`;
    await db`alter table request_line rename column number to counted`;
    await db`alter table identity_audit alter column number drop default`;
  });
  await json('distribute --back --yes');
  assert.deepEqual(await readCounting(), [
    `deletion number nextval('erasure_number_seq'::regclass)`,
    'identity_audit number',
    'outbox seq a',
    `request_line counted nextval('request_line_number_seq'::regclass)`,
  ]);
  assert.equal(await databases.look(url, knowsNotes), false);
});

test('plans are kept on one node; on several Citus has to know the school', async () => {
  const { url, db } = await makeMigrated();
  const modes = async () => {
    const found: unknown[] = [];
    for (const name of ['reads', 'searches', 'changes'] as const) {
      const pool = connect(url, policies[name]);
      found.push((await pool`show plan_cache_mode`)[0]?.plan_cache_mode);
      await pool.end({ timeout: 1 });
    }
    return found;
  };
  assert.deepEqual(await modes(), ['force_generic_plan', 'force_custom_plan', 'auto']);
  await noteUnderWay(db, 'out');
  assert.deepEqual(await modes(), ['auto', 'force_custom_plan', 'auto']);
});

test('a table of that name in another schema of the search path says nothing', async () => {
  const { url, db } = await makeMigrated();
  await db`create schema other create table distribution (kind text)`;
  await db.unsafe(`alter database ${new URL(url).pathname.slice(1)} set search_path = public, other`);
  const found = await databases.look(url, async (look) => [
    (await look`select to_regclass('distribution') is not null as seen`)[0]?.seen, await knowsNotes(look), await findUnderWay(look),
  ]);
  assert.deepEqual(found, [true, false, undefined]);
  await databases.look(url, (look) => noteUnderWay(look, 'out'));
  assert.deepEqual(await databases.look(url, (look) => Promise.all([knowsNotes(look), findUnderWay(look)])), [true, 'out']);
});

test('migrations statement by statement make the same schema', async () => {
  const { db } = await makeMigrated();
  const one = databases.open(await databases.make());
  await makeSchema(one, readMigrations().map(onePerText));
  assert.equal(await describeSchema(one), await describeSchema(db));
});
