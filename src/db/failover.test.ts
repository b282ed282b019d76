// Two real servers, of which one follows the other: every pool goes to the one that takes writes, waits while there is none, and takes
// nothing for written that the standby has not confirmed.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTwoServers, type TwoServers } from '../../test/two-servers.ts';
import { until } from '../../test/until.ts';
import { readConfig } from '../config.ts';
import { connect, Servers, type Db, type PoolOptions } from './connect.ts';
import { DatabaseUnavailable, type WhyUnavailable } from './unavailable.ts';

let two: TwoServers;
const opened: Db[] = [];
const hosts = () => readConfig({ DATABASE_URL: two.databaseUrl, SECRET_KEY: 'x'.repeat(32) }).databaseUrls ?? [];
const patient = { awayMs: 60_000, connectionMs: 10_000 };

function open(options: Partial<PoolOptions> = {}, servers = new Servers(hosts)): Db {
  const db = connect(servers, { max: 4, name: 'failing', ...options });
  opened.push(db);
  return db;
}

const is = (why: WhyUnavailable) => (error: unknown) => error instanceof DatabaseUnavailable && error.why === why;
const count = async (db: Db) => (await db<{ n: number }[]>`select count(*)::int as n from written`)[0]?.n;

before(async () => {
  two = await openTwoServers({ synchronous: true });
  await two.ask('primary', 'create table written (n int primary key)');
});
after(async () => {
  for (const db of opened) await db.end({ timeout: 0 });
  await two.close();
});

test('whichever host is the standby is passed over, by all who ask', async () => {
  for (const order of [hosts(), hosts().toReversed()]) {
    const servers = new Servers(() => order);
    const pools = [open({}, servers), open({}, servers)];
    const found = await Promise.all([...pools, ...pools, ...pools].map((db) => db<{ standby: boolean }[]>`select pg_is_in_recovery() as standby`));
    assert.deepEqual(found.flatMap((rows) => rows.map(({ standby }) => standby)), Array.from({ length: 6 }, () => false));
  }
  const alone = open({}, new Servers(() => [two.url('standby')]));
  await assert.rejects(async () => alone`select 1`, /this server is a standby, which only reads; name the primary/);
});

test('who asks while there is no primary waits for the next one, and is told if it takes too long; a listener hears again', async () => {
  const servers = new Servers(hosts);
  const [db, hasty] = [open(patient, servers), open({ awayMs: 300 }, servers)];
  const heard: string[] = [];
  let moves = 0;
  db.onMoved(() => (moves += 1));
  await db.listen('news', (word) => heard.push(word));
  const say = (word: string) => until(word, async () => (await db`select pg_notify('news', ${word})`, heard.includes(word)));
  await say('before');
  await db`insert into written values (1)`;
  await two.kill('primary');
  const waiting = db.begin(async (tx) => tx`insert into written values (2)`);
  await assert.rejects(async () => hasty`select 1`, is('away'));
  await two.promote();
  await waiting;
  await say('after');
  assert.equal(await count(hasty), 2);
  assert.equal(moves, 1, 'whoever remembers anything is told once');
  await two.rejoin();
});

test('what was under way when the primary was lost is done again, unless it may have been done', async () => {
  const servers = new Servers(hosts);
  const db = open(patient, servers);
  let times = 0;
  const under = Promise.all([
    db<{ n: number }[]>`select count(*)::int as n from written, pg_sleep(${5})`.then(([row]) => row?.n),
    db.begin(async (tx) => {
      times += 1;
      await tx`insert into written values (10)`;
      if (times === 1) await tx`select pg_sleep(60)`;
    }),
    assert.rejects(async () => db`insert into written select 11 from pg_sleep(60)`, is('lost')),
  ]);
  const sleeping = () => two.ask('primary', `select from pg_stat_activity where wait_event = 'PgSleep'`);
  await until('all three are under way', async () => (await sleeping()).length === 3);
  await two.kill('primary');
  await two.promote();
  assert.ok([2, 3].includes((await under)[0] ?? 0), 'before or after the other one');
  assert.equal(times, 2);
  await db`delete from written where n = 10`;
  await two.rejoin();
});

test('what the standby has not confirmed is not taken for written, however long that takes', async () => {
  const db = open({ ...patient, max: 2, statementMs: 200, answerMs: 1_500 });
  assert.equal(await count(db), 2);
  two.freeze('standby');
  try {
    await assert.rejects(db.begin(async (tx) => tx`insert into written values (3)`), is('unknown'));
    await assert.rejects(db.together(db`insert into written values (4)`), is('unknown'));
    await assert.rejects(async () => db`insert into written values (5)`, is('silent'));
    assert.equal(await count(db), 2, 'nobody sees it, either');
  } finally {
    two.resume('standby');
  }
  await until('they are written after all', async () => (await count(db)) === 5);
});

test('a primary that hangs is left by all who read, also by those who wait for a connection; who writes is told that nobody knows', async () => {
  const limits = { statementMs: 2_000, answerMs: 3_000 };
  // Who waits for a connection is done with that before anything is given up.
  const db = open({ ...patient, ...limits, connectionMs: 300 });
  const hasty = open({ ...limits, awayMs: 0, max: 1 });
  await until('it is connected, which takes long on a busy machine', () => count(hasty).then(() => true, () => false));
  await Promise.all(Array.from({ length: 4 }, () => db`select pg_sleep(0.1)`));
  two.freeze('primary');
  const writing = assert.rejects(async () => db`insert into written values (7)`, is('silent'));
  let times = 0;
  const changing = db.begin((tx) => ((times += 1), tx`update written set n = n where n = 1`));
  const waiting = Promise.all(Array.from({ length: 12 }, () => count(db)));
  // It was asked last: those before it have been given up as well.
  await assert.rejects(count(hasty), is('silent'));
  await two.kill('primary');
  await two.promote();
  assert.deepEqual([...new Set(await waiting)], [5]);
  await Promise.all([writing, changing]);
  assert.equal(times, 1, 'a transaction that had not begun is begun where it can be');
  await two.rejoin();
});

test('one that is read-only and has no other beside it is read from, and left now and then for wherever its address may lead', async () => {
  const servers = new Servers(() => [two.url('primary')]);
  const db = open({}, servers);
  let left = 0;
  servers.onSuspect(() => (left += 1));
  for (let time = 0; time < 3; time += 1)
    await assert.rejects(db.begin(async (tx) => (await tx`set transaction read only`, tx`insert into written values (8)`)), /read-only transaction/);
  assert.equal(left, 1);
  assert.equal(await count(db), 5);
});

test('a server that does not tell its timeline is used all the same; one that does not answer is not asked again', async () => {
  const servers = new Servers(() => ['one']);
  const asked: string[] = [];
  const refused = (code: string) => Object.assign(new Error('not here'), { severity: 'ERROR', code });
  const answer = async (asks: readonly string[]) => {
    asked.push(asks.some((one) => one.includes('timeline')) ? 'with' : 'without');
    if (asked.at(-1) === 'with') throw refused('55000');
    return { standby: false, readOnly: false };
  };
  await Promise.all([servers.examine(answer), servers.examine(answer)]);
  await servers.examine(answer);
  assert.deepEqual(asked, ['with', 'with', 'without', 'without', 'without']);
  await assert.rejects(new Servers(() => ['one']).examine(() => Promise.reject(refused('57P01'))), /not here/);
});

test('a server that takes no writes any more is left, and one that never did is passed over', async () => {
  const [db, single] = [open({ max: 3 }), open({ max: 1 }, new Servers(() => [two.url('primary')]))];
  await Promise.all(Array.from({ length: 3 }, () => db`select pg_sleep(0.1)`));
  assert.equal(await count(db), 5);
  await two.ask('primary', 'alter system set default_transaction_read_only = on');
  await two.ask('primary', 'select pg_reload_conf()');
  await until('it refuses', () => db`update written set n = n where n = 1`.then(() => false, () => true));
  await assert.rejects(async () => db`select 1`, /none of the servers in DATABASE_URL takes writes at present/, 'on none of its connections');
  assert.equal(await count(single), 5, 'where there is no other one, it is read from');
  await two.ask('primary', 'alter system reset default_transaction_read_only');
  await two.ask('primary', 'select pg_reload_conf()');
  await until('it is taken again', () => db`update written set n = n where n = 1`.then(() => true, () => false));
});
