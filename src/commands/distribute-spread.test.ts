// Covers spreading a filled database over the nodes of a real Citus cluster and bringing it back: the same rows and the same schema,
// wherever it is interrupted; and what is done on one that is spread. It needs TEST_CITUS_URL.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useCommands } from '../../test/commands.ts';
import { root } from '../../test/generate.ts';
import { testSecretKey } from '../../test/service.ts';
import { citusUrl, dropOnEach, makeOnEach, openNodes, takeName, urlOf, type TestNode } from '../../test/spread-database.ts';
import { readConfig } from '../config.ts';
import { connect, type Db } from '../db/connect.ts';
import { listLinks } from '../db/distribution-steps.ts';
import { migrate } from '../db/migrate.ts';
import { migrationsFolder, readMigrations } from '../db/migrations.ts';
import { readNodeLoads } from '../db/node-load.ts';
import { placements } from '../db/placement.ts';
import { judgeNodes } from '../needs/judge-nodes.ts';
import { runDistribute } from './distribute.ts';

const schools = ['one', 'two', 'three'];
const home = mkdtempSync(join(tmpdir(), 'schoolbell-spread-'));
after(() => rmSync(home, { recursive: true, force: true }));

suite('on a real cluster', { skip: citusUrl === undefined && 'TEST_CITUS_URL names no cluster' }, () => {
  let nodes: TestNode[] = [];
  let close = async () => {};
  let [name, leave] = ['', async () => {}];
  let url = '';
  const settings = () => ({ DATABASE_URL: url, SECRET_KEY: testSecretKey, DATA_DIR: home });
  const commands = () => useCommands(settings());
  const look = async <T>(work: (db: Db) => Promise<T>): Promise<T> => {
    const db = connect(url, { max: 1, name: 'test look' });
    return work(db).finally(() => db.end({ timeout: 5 }));
  };
  /** Every row of every table, but for the trail, which the command itself writes. */
  const readRows = () => look(async (db) => {
    const found: Record<string, string[]> = {};
    for (const table of placements.keys())
      if (table !== 'audit_event') found[table] = (await db`select * from ${db(table)}`).map((row) => JSON.stringify(row)).toSorted();
    return found;
  });
  /** Without the names that PostgreSQL 18 gives to what is not null. */
  const readSchema = () => look(async (db) => [
    ...(await db`select concat_ws(' ', c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
        a.attcollation, a.attstorage, a.attcompression, a.attstattarget, a.attoptions, a.attacl, pg_get_expr(d.adbin, d.adrelid)) as line
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'i') and c.relname !~ '^citus_'`),
    ...(await db`select concat_ws(' ', c.relname, c.reloptions, t.reloptions, c.relacl, c.relpersistence, c.relreplident) as line
      from pg_class c left join pg_class t on t.oid = c.reltoastrelid where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
        and c.relname !~ '^citus_'`),
    ...(await db`select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) as line from pg_constraint
      where connamespace = 'public'::regnamespace and contype <> 'n'`),
    ...(await db`select pg_get_triggerdef(oid) as line from pg_trigger where not tgisinternal and tgrelid::regclass::text !~ '^pg_'`),
    ...(await db`select concat_ws(' ', pg_get_indexdef(indexrelid), relpersistence) as line from pg_index join pg_class c on c.oid = indrelid
      where c.relnamespace = 'public'::regnamespace`),
  ].map((row) => String(row.line)).toSorted());
  const readLinks = () => look(async (db) => (await listLinks(db)).map(({ table, name: link, definition }) => `${table} ${link} ${definition}`));
  const countCitus = () => look(async (db) => Number((await db`select count(*)::int as count from pg_dist_partition`)[0]?.count));

  const kill = async (laterMs: number): Promise<void> => {
    await pause(laterMs);
    const admin = connect(citusUrl ?? '', { max: 1, name: 'test admin' });
    await admin`
      select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ${name} and starts_with(application_name, 'schoolbell distribute')`;
    await admin.end({ timeout: 5 });
  };
  /** As a machine that fails does: its connections end behind a step. Gives which steps were done. */
  const runKilled = async (back: boolean, isLast: (step: string) => boolean, laterMs?: number): Promise<string[]> => {
    const done: string[] = [];
    let killed: Promise<void> | undefined;
    const given = { options: { yes: true, shards: '4', ...(back ? { back } : {}) }, positionals: [] };
    const run = runDistribute(readConfig(settings()), given, undefined, async (step) => {
      done.push(step);
      if (!isLast(step)) return;
      killed = kill(laterMs ?? 0);
      // Behind the step, or in the midst of the next one.
      if (laterMs === undefined) await killed;
    });
    // Behind the last step there is nothing left that could be lost, and it says that it is done.
    const outcome = await run.then(() => 'done', (error: Error) => error.message);
    assert.match(outcome, done.at(-1) === 'end' ? /^done$/ : /ended|terminat/);
    await killed;
    return done;
  };

  let rows: Record<string, string[]> = {};
  let schema: string[] = [];

  before(async () => {
    const opened = await openNodes(citusUrl ?? '');
    ({ nodes, close } = opened);
    ({ name, leave } = await takeName(opened.coordinator));
    await makeOnEach(nodes, name);
    url = urlOf(nodes[0], name);
    await look((db) => migrate(db));
    // A role that every server has.
    await look((db) => db`grant select on roster_user, establishment, outbox to pg_monitor`);
    const { json } = commands();
    for (const estab of schools) {
      await json('school add', '--estab', estab, '--name', `School ${estab}`, '--email', `office@${estab}.example`);
      await json('import', '--estab', estab, join(root, 'samples/hill-top-school'));
    }
    await json('application add', '--rp', 'reader', '--name', 'Reader', '--callback-url', 'https://reader.example/', '--scopes', 'School,Student');
    for (const estab of schools) await json('authorise', '--rp', 'reader', '--estab', estab);
    [rows, schema] = [await readRows(), await readSchema()];
    assert.ok((rows.roster_user?.length ?? 0) > 30 && rows.authorisation?.length === 3);
  });
  after(async () => {
    await dropOnEach(nodes, name);
    await leave();
    await close();
  });

  test('it says what it would do, and asks', async () => {
    const { json, assertFails, run } = commands();
    const plan = await json<{ moves: { table: string; to: string }[]; nodes: unknown[] }>('distribute --dry-run');
    assert.deepEqual(plan.moves.length, [...placements.values()].filter((place) => place !== 'coordinator').length);
    assert.equal(plan.nodes.length, nodes.length);
    await assertFails(/repeat with --yes/, 'distribute');
    const asked: string[] = [];
    const refused = await run(['distribute'], settings(), async (question) => {
      asked.push(question);
      return 'no';
    });
    assert.deepEqual([refused.code, refused.err], [1, 'schoolbell: nothing was changed\n']);
    assert.match(asked.join(), /^TABLE +GOES TO +ROWS, ABOUT$/m);
    assert.match(asked.join(), /^roster_user +the node of its school +\d+$/m);
    await look(async (db) => {
      await db`select 1`;
      await assertFails(/others are connected to .*"schoolbell test look/, 'distribute --yes');
    });
    assert.equal(await countCitus(), 0);
  });

  /** A run is ended behind the first step that none before it was ended behind, until all of them have been. Gives how many those are. */
  const killBehindEach = async (back: boolean, says: RegExp): Promise<number> => {
    const { assertFails } = commands();
    for (const seen = new Set<string>(); ; ) {
      const halt = (await runKilled(back, (step) => !seen.has(step))).at(-1) ?? '';
      seen.add(halt);
      if (halt === 'end') return seen.size;
      await assertFails(says, 'school list');
    }
  };
  const assertSpread = async () => {
    const { json, schoolbell } = commands();
    const { migration, ...others } = await readRows();
    assert.deepEqual(others, Object.fromEntries(Object.entries(rows).filter(([table]) => table !== 'migration')));
    const newest = readMigrations().at(-1)?.version ?? 0;
    assert.equal(migration?.filter((row) => row.includes(`"breaks_before":${newest}`)).length, 1, 'a version that knows one node only does not start');
    assert.equal((await schoolbell('distribute --yes')).out, 'The database is spread over several nodes: there is nothing to do.\n');
    const lying = await look((db) => db`select logicalrelid::regclass::text as table from pg_dist_partition where partmethod = 'h' order by 1`);
    assert.equal(lying.length, [...placements.values()].filter((place) => place === 'school').length);
    assert.equal((await json<unknown[]>('application list')).length, 1);
  };
  const assertBack = async () => {
    assert.deepEqual([await readRows(), await countCitus()], [rows, 0]);
    assert.deepEqual(await readSchema(), schema);
  };

  test('interrupted behind each of its steps it goes on where it stood, and loses no row', async (context) => {
    const says = /is being spread over several nodes, or that was interrupted: end it with npx schoolbell distribute/;
    context.diagnostic(`${await killBehindEach(false, says)} steps`);
    await assertSpread();
  });

  test('the way back can be interrupted behind each of its steps, too, and all is as before', async (context) => {
    context.diagnostic(`${await killBehindEach(true, /is being brought back to one node, or that was interrupted/)} steps`);
    await assertBack();
    assert.deepEqual(await commands().json('distribute --back --yes'), { way: 'back', moved: [], rows: 0, nothingToDo: true });
  });

  test('what is cut off in the midst of a step is as if that had not been begun', async () => {
    const { json } = commands();
    for (const [step, laterMs] of [['table roster', 20], ['table roster_org', 60], ['foreign key inbox_rp_fkey put back', 5]] as const)
      await runKilled(false, (one) => one === step, laterMs);
    await json('distribute --yes');
    await assertSpread();
    for (const [step, laterMs] of [['foreign key inbox_rp_fkey taken away', 10], ['table roster', 20]] as const)
      await runKilled(true, (one) => one === step, laterMs);
    await json('distribute --back --yes');
    await assertBack();
  });

  test('who changes their mind on the way comes back, or goes out after all', async () => {
    const { json, schoolbell } = commands();
    for (const halt of ['numbers', 'foreign key inbox_rp_fkey taken away', 'table roster_user', 'foreign key inbox_rp_fkey put back']) {
      await runKilled(false, (step) => step === halt);
      await json('distribute --back --yes');
      await assertBack();
    }
    const out = await json<{ moved: { table: string; rows: number }[]; rows: number }>('distribute --yes --shards 4');
    assert.equal(out.rows, out.moved.reduce((sum, { table }) => sum + (rows[table]?.length ?? 0), 0));
    const plan = (await schoolbell('distribute --back --dry-run')).out;
    for (const table of ['roster_user', 'roster_enrollment', 'establishment', 'authorisation'])
      assert.match(plan, new RegExp(`^${table} +the coordinator +${rows[table]?.length}$`, 'm'), 'by statistics of each piece');
    await assertSpread();
    for (const halt of ['foreign key inbox_rp_fkey taken away', 'table roster_user', 'foreign key inbox_rp_fkey put back']) {
      await runKilled(true, (step) => step === halt);
      await json('distribute --yes');
      await assertSpread();
    }
  });

  test('each node is known by how many schools lie on it, and one that does not answer is reported', async () => {
    await look(async (db) => {
      const loads = await readNodeLoads(db);
      assert.deepEqual([loads.length, loads.every(({ answers, bytes }) => answers && bytes !== null), loads[0]?.coordinator], [nodes.length, true, true]);
      assert.deepEqual([loads[0]?.schools, loads.reduce((sum, one) => sum + one.schools, 0)], [0, schools.length]);
      assert.deepEqual(await judgeNodes(db), { verdict: 'ok', found: `all ${nodes.length} answer`, todo: null });
      const [first] = await db<{ port: number }[]>`select nodeport as port from pg_dist_node where groupid = 1`;
      await db`update pg_dist_node set nodeport = 1 where groupid = 1`;
      assert.match((await judgeNodes(db)).found, /:1 of \d does not answer, and its schools cannot be read or written/);
      assert.deepEqual((await readNodeLoads(db)).map(({ answers }) => answers).filter((answers) => !answers).length, 1);
      await db`update pg_dist_node set nodeport = ${first?.port ?? 0}::int where groupid = 1`;
      assert.equal((await judgeNodes(db)).verdict, 'ok');
    });
  });

  test('what this version has elsewhere than the one before is moved by the command, and until then no process starts', async () => {
    const { assertFails, json } = commands();
    const before = await readLinks();
    const elsewhere = [
      ['roster_standing', `create_distributed_table('roster_standing', 'estab', colocate_with => 'roster')`, 'coordinator'],
      ['application_secret', `create_distributed_table('application_secret', 'id', colocate_with => 'none')`, 'everywhere'],
      ['disclosure', `create_reference_table('disclosure')`, 'school'],
    ] as const;
    await look(async (db) => {
      const links = (await listLinks(db)).filter(({ table }) => elsewhere.some(([name]) => name === table));
      for (const { table, name: link } of links) await db`alter table ${db(table)} drop constraint ${db(link)}`;
      for (const [table, move, goal] of elsewhere) {
        if (goal !== 'coordinator') await db`select undistribute_table(${table}::regclass)`;
        await db.unsafe(`select ${move}`);
      }
      for (const { table, name: link, definition } of links) await db.unsafe(`alter table ${table} add constraint ${link} ${definition}`);
    });
    await assertFails(/another place for roster_standing, application_secret, disclosure .* end every process and run npx schoolbell distribute/, 'upgrade');
    const { moved } = await json<{ moved: { table: string; to: string }[] }>('distribute --yes');
    assert.deepEqual(moved.map(({ table, to }) => [table, to]), elsewhere.map(([table, , goal]) => [table, goal]));
    assert.deepEqual(await readLinks(), before);
    await assertSpread();
  });

  test('what a migration adds comes to lie where it is to, also where its start was cut off', async () => {
    const folder = mkdtempSync(join(home, 'migrations-'));
    const change = 'update roster_user set next = 1 where next is null';
    cpSync(migrationsFolder, folder, { recursive: true });
    writeFileSync(join(folder, '9000_next.sql'), `-- A piece; of two statements.
      alter table disclosure rename to old_disclosure;
      create table disclosure (estab text collate "C" not null references roster on delete cascade, number bigint generated always as identity,
        primary key (estab, number));
      alter table roster_user add column next int; alter table roster_user add constraint next_check check (next > 0) not valid;
      create index next_index on roster_user (estab, next);`);
    writeFileSync(join(folder, '9001_after.sql'), `-- outside a transaction
create index concurrently if not exists after_index on disclosure (number);
-- next
${change};`);
    const [first] = await look(async (db) => [await migrate(db, { folder })]);
    const lying = await look((db) => db`select partmethod from pg_dist_partition where logicalrelid = 'disclosure'::regclass`);
    assert.deepEqual([first, lying], [2, [{ partmethod: 'h' }]]);
    await look(async (db) => {
      for (const estab of schools) await db`insert into disclosure (estab) values (${estab})`;
      await assert.rejects(db`insert into disclosure (estab) values ('nobody')`, /foreign key/);
      assert.deepEqual((await db`select estab from disclosure order by number`).map(({ estab }) => estab), schools);
      assert.equal((await db`select count(*)::int as count from roster_user where next = 1`)[0]?.count, rows.roster_user?.length);
    });
  });
});
