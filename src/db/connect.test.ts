// The driver on a real server: what is bound, what comes back, and what happens when the server side fails, dies or says nothing.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { againIfLost, connect, Servers, type Db, type PoolOptions } from './connect.ts';
import { DatabaseUnavailable, isLost, isUnavailable } from './unavailable.ts';

const { db, url } = await useDatabase();
const pool = use({ max: 1, name: 'victim' });
const ended: Db[] = [];
after(async () => {
  for (const one of ended) await one.end({ timeout: 1 });
});

function use(options: PoolOptions): Db {
  const opened = connect(url, options);
  queueMicrotask(() => ended.push(opened));
  return opened;
}

async function kill(pid: unknown): Promise<void> {
  await db`select pg_terminate_backend(${Number(pid)}::int, 5000)`;
}

const one = [{ one: 1 }];
const askOne = (on: Db = pool) => on`select 1 as one`;

// ---- Values -------------------------------------------------------------------------------------------------------

const bound: readonly [what: string, type: string, value: unknown, back?: unknown][] = [
  ['text with everything in it', 'text', `a'b"c\\d$1\n☃`],
  ['the empty text', 'text', ''],
  ['null', 'text', null],
  ['an integer', 'int', 42],
  ['a large integer stays text', 'bigint', 9007199254740993n, '9007199254740993'],
  ['a fraction', 'float8', 0.1],
  ['a numeric stays text', 'numeric', '1.10', '1.10'],
  ['true', 'boolean', true],
  ['an instant', 'timestamptz', new Date('2026-11-15T01:02:03.456Z')],
  ['a date is its midnight UTC', 'date', '2026-03-29', new Date('2026-03-29T00:00:00Z')],
  ['bytes', 'bytea', Buffer.from([0, 255, 10, 92])],
  ['texts', 'text[]', ['a', 'b,c', '"d"', 'e\\f', '', 'NULL', '{}']],
  ['no texts', 'text[]', []],
  ['integers', 'int[]', [1, 2, 3]],
  ['instants', 'timestamptz[]', [new Date(0), new Date('2026-11-15T01:02:03.456Z')]],
  ['an interval stays text', 'interval', '02:00:00'],
];

for (const [what, type, value, back = value] of bound) {
  test(`bound and read back: ${what}`, async () => {
    const [row] = await db`select ${value}::${db.unsafe(type)} as value`;
    assert.deepEqual(row?.value, back);
  });
}

test('a value that is not one is refused before anything is sent', async () => {
  assert.throws(() => db`select ${undefined}`, /undefined cannot be bound/);
  assert.throws(() => db`select ${{ a: 1 }}`, /a object cannot be bound/);
});

test('statements are pieces of statements, with names, json and their values in order', async () => {
  const condition = (low: number) => db`n > ${low} and n < ${low + 3}`;
  const rows =
    await db`select ${db('n')},
        ${db.json({ a: [1, "'"] })} as json from generate_series(1, ${10}) as t(${db(['n'])}) where ${condition(2)} order by ${db.unsafe('n desc')}`;
  assert.deepEqual(rows, [
    { n: 4, json: { a: [1, "'"] } },
    { n: 3, json: { a: [1, "'"] } },
  ]);
  assert.equal(rows.count, 2);
  assert.equal((await db`create temp table counted as select generate_series(1, 5)`).count, 5);
});

test('a statement runs once, however often it is awaited, and not at all if it is not', async () => {
  await db`create table once (n int)`;
  const insert = db`insert into once values (1)`;
  assert.equal((await db`select from once`).length, 0);
  await Promise.all([insert, insert, insert.catch(() => {})]);
  assert.equal((await db`select from once`).length, 1);
});

// ---- Failures in mid-stream ---------------------------------------------------------------------------------------

test('after a statement that failed at its 500th row, the next has its own answer', async () => {
  for (let round = 0; round < 10; round += 1) {
    await assert.rejects(async () => pool`select 1 / (500 - n) as x from generate_series(1, ${1000}) n`, { code: '22012' });
    assert.deepEqual(await pool`select 42 as answer`, [{ answer: 42 }]);
    assert.deepEqual(await pool`select ${'42'}::int as answer`, [{ answer: 42 }]);
  }
});

test('a cursor that fails half-way says so, and its connection goes on', async () => {
  let read = 0;
  await assert.rejects(async () => {
    for await (const batch of pool`select 1 / (500 - n) as x from generate_series(1, ${1000}) n`.cursor(100)) read += batch.length;
  }, { code: '22012' });
  assert.ok(read > 0 && read < 500, String(read));
  assert.deepEqual(await askOne(), one);
});

test('a cursor that is left early gives its connection back; batches are of the size asked for', async () => {
  const sizes: number[] = [];
  for await (const batch of pool`select n from generate_series(1, ${250}) n`.cursor(100)) sizes.push(batch.length);
  assert.deepEqual(sizes, [100, 100, 50]);
  for await (const batch of pool<{ n: number }[]>`select n from generate_series(1, 1000000) n`.cursor(10)) {
    assert.equal(batch[0]?.n, 1);
    break;
  }
  assert.deepEqual(await askOne(), one);
});

// ---- COPY ---------------------------------------------------------------------------------------------------------

async function copy(on: Db, lines: AsyncGenerator<Buffer> | Buffer[]): Promise<number> {
  return on.begin(async (tx) => {
    await tx`create temp table copied (n int) on commit drop`;
    await pipeline(Readable.from(lines), await tx`copy copied from stdin`.writable());
    return (await tx`select from copied`).length;
  }, { repeatable: false });
}

test('COPY takes rows in, and hands rows out', async () => {
  assert.equal(await copy(pool, Array.from({ length: 1000 }, (_, n) => Buffer.from(`${n}\n`.repeat(100)))), 100_000);
  const text = await pool.begin(async (tx) => {
    const chunks: Buffer[] = [];
    for await (const chunk of await tx`copy (select generate_series(1, 3)) to stdout`.readable()) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  });
  assert.equal(text, '1\n2\n3\n');
});

test('COPY of what is wrong, or from a source that breaks, fails as a whole, and the pool goes on', async () => {
  await assert.rejects(copy(pool, [Buffer.from('1\n'), Buffer.from('x\n')]), { code: '22P02' });
  assert.deepEqual(await askOne(), one);
  await assert.rejects(copy(pool, (async function* broken() {
    yield Buffer.from('1\n');
    throw new Error('the source broke');
  })()), /the source broke/);
  assert.deepEqual(await askOne(), one);
});

test('COPY whose connection dies fails, and the pool goes on', async () => {
  const began = Promise.withResolvers<number>();
  const copying = pool.begin(async (tx) => {
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    await tx`create temp table copied (n int) on commit drop`;
    await pipeline(Readable.from((async function* endless() {
      began.resolve(row?.pid ?? 0);
      for (;;) {
        yield Buffer.from('1\n'.repeat(1000));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })()), await tx`copy copied from stdin`.writable());
  });
  copying.catch(() => {});
  await kill(await began.promise);
  await assert.rejects(copying);
  assert.deepEqual(await askOne(), one);
});

test('COPY to a server that stands still is given up: before it begins, while it takes rows, and after the last', async () => {
  const impatient = use({ max: 1, name: 'still', answerMs: 1500, statementMs: 0 });
  for (const moment of ['begin', 'rows', 'end'] as const) {
    let pid = 0;
    const stop = () => process.kill(pid, 'SIGSTOP');
    const copying = impatient.begin(async (tx) => {
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      pid = row?.pid ?? 0;
      await tx`create temp table still (n int) on commit drop`;
      if (moment === 'begin') stop();
      const writable = await tx`copy still from stdin`.writable();
      if (moment === 'begin') return pipeline(Readable.from([Buffer.from('1\n')]), writable);
      await new Promise((resolve, reject) => void writable.once('error', reject).write(Buffer.from('1\n'), resolve));
      stop();
      const rows = moment === 'end' ? [Buffer.from('2\n')] : Array.from({ length: 400 }, () => Buffer.from('1\n'.repeat(32_768)));
      return pipeline(Readable.from(rows), writable);
    }, { repeatable: false });
    await assert.rejects(copying, moment);
    process.kill(pid, 'SIGCONT');
    assert.deepEqual(await askOne(impatient), one, moment);
  }
});

// ---- Transactions -------------------------------------------------------------------------------------------------

test('a transaction is all or nothing, and a savepoint is undone alone', async () => {
  await db`create table kept (n int)`;
  await assert.rejects(db.begin(async (tx) => {
    await tx`insert into kept values (1)`;
    throw new Error('no');
  }), /no/);
  await db.begin(async (tx) => {
    await tx`insert into kept values (2)`;
    await assert.rejects(tx.savepoint(async (inner) => {
      await inner`insert into kept values (3)`;
      await inner`select 1 / 0`;
    }), { code: '22012' });
    await tx.savepoint(async (inner) => inner`insert into kept values (4)`);
  });
  assert.deepEqual(await db`select n from kept order by n`, [{ n: 2 }, { n: 4 }]);
});

test('a transaction in which a failure was passed over is not taken for done, and its connection is clean', async () => {
  await db`create table passed_over (n int)`;
  await assert.rejects(pool.begin(async (tx) => {
    await tx`insert into passed_over values (1)`;
    await tx`select 1 / 0`.catch(() => {});
  }), /failure was passed over/);
  assert.deepEqual(await db`select from passed_over`, []);
  assert.deepEqual(await askOne(), one);
});

test('a connection that is released in a transaction is not handed on, and does nothing more', async () => {
  const connection = await pool.reserve();
  const [before] = await connection`select pg_backend_pid() as pid`;
  await connection`begin`;
  connection.release();
  await assert.rejects(async () => connection`select 1`, /was released/);
  const [behind] = await pool`select pg_backend_pid() as pid`;
  assert.notEqual(behind?.pid, before?.pid);
});

test('statements of a transaction that are started at once run one after the other', async () => {
  const rows = await pool.begin(async (tx) => Promise.all(Array.from({ length: 20 }, (_, n) => tx<{ n: number }[]>`select ${n}::int as n`)));
  assert.deepEqual(rows.map(([row]) => row?.n), Array.from({ length: 20 }, (_, n) => n));
});

test('what comes after the end of a transaction is refused', async () => {
  await db`create table trace (round int)`;
  let late: (() => Promise<unknown>) | undefined;
  await pool.begin(async (tx) => {
    late = async () => tx`insert into trace values (1)`;
  });
  await assert.rejects(late ?? assert.fail(), /the transaction has ended/);
  assert.deepEqual(await db`select from trace`, []);
});

test('a transaction whose connection dies rejects, nothing of it runs on another, and the pool goes on', async () => {
  await db`create table remains (round int)`;
  for (let round = 0; round < 5; round += 1) {
    await assert.rejects(
      pool.begin(async (tx) => {
        const [row] = await tx`select pg_backend_pid() as pid`;
        await kill(row?.pid);
        await tx`insert into remains values (${round})`.catch(() => {});
        await tx`insert into remains values (${round})`;
      }),
      isUnavailable,
    );
    assert.deepEqual(await askOne(), one);
  }
  assert.deepEqual(await db`select * from remains`, []);
});

test('a reserved connection that dies rejects what follows, and is not handed out again', async () => {
  for (let round = 0; round < 5; round += 1) {
    const connection = await pool.reserve();
    const [row] = await connection`select pg_backend_pid() as pid`;
    await kill(row?.pid);
    await assert.rejects(async () => connection`select 1`, isUnavailable);
    await assert.rejects(async () => connection`rollback`, isUnavailable);
    connection.release();
    assert.deepEqual(await askOne(), one);
  }
});

test('what was lost with its connection is done once more, unless it had taken long already, or must not be', async (context) => {
  const lost = new DatabaseUnavailable('lost', 'the connection ended');
  let clock = 0;
  context.mock.method(performance, 'now', () => clock);
  for (const [tookMs, isRepeatable, times] of [[5_000, true, 2], [5_001, true, 1], [0, false, 1]] as const) {
    let tried = 0;
    const work = async () => {
      tried += 1;
      clock += tookMs;
      throw lost;
    };
    await assert.rejects(againIfLost(work, (error) => isRepeatable && error === lost), lost);
    assert.equal(tried, times, `after ${tookMs} ms`);
  }
});

test('statements that are sent together are one transaction, in their order, and leave the connection as it was', async () => {
  const single = use({ max: 1, name: 'single' });
  await single`create table told (n int check (n < 10))`;
  const put = (n: number) => single`insert into told values (${n})`;
  const read = () => single<{ n: number }[]>`select n from told order by n`;
  for (const n of [1, 2]) {
    const [before, put1, after] = await single.together(read(), put(n), single<{ n: number; at: Date }[]>`select n, now() as at from told where n = ${n}`);
    assert.deepEqual([before.length, put1.count, after.map((row) => row.n)], [n - 1, 1, [n]]);
  }
  await assert.rejects(single.together(put(3), put(11), put(4)), { code: '23514' });
  await assert.rejects(single.together(put(3), single`select 1 / ${0}::int`), { code: '22012' });
  assert.deepEqual((await read()).map(({ n }) => n), [1, 2]);
  const id = () => single<{ id: string }[]>`select pg_current_xact_id()::text as id`;
  const [[one], , [two]] = await single.together(id(), put(4), id());
  assert.equal(one?.id, two?.id);
  const [[three], [four]] = await single.together(id(), id());
  assert.notEqual(three?.id, four?.id, 'those that only read are none');
  const written = (await single`copy told from stdin`.writable().catch((error: unknown) => error)) as Error;
  assert.match(written.message, /a transaction or a reserved connection/);
  await single.begin(async (tx) => pipeline(Readable.from(['7\n']), await tx`copy told from stdin`.writable()));
  assert.deepEqual((await read()).map(({ n }) => n), [1, 2, 4, 7]);
});

test('a connection that dies under statements that were sent together rejects them, and none of them was done', async () => {
  await db`create table undone (n int)`;
  const asked = pool.together(pool`insert into undone values (${1})`, pool`select pg_sleep(${60})`, pool`insert into undone values (${2})`);
  const gone = assert.rejects(asked, isUnavailable);
  await until('it sleeps', async () => {
    const [row] = await db`select pid from pg_stat_activity where query like 'select pg_sleep(%' and state = 'active' and pid <> pg_backend_pid()`;
    if (row) await kill(row.pid);
    return row !== undefined;
  });
  await gone;
  assert.deepEqual([...(await db`select from undone`)], []);
  assert.deepEqual(await askOne(), one);
});

// ---- Plans --------------------------------------------------------------------------------------------------------

test('a kept plan that a change of schema made stale is made anew, also in a transaction', async () => {
  const kept = use({ max: 1, name: 'kept', plans: 'kept' });
  await db`create table changing (a int)`;
  await db`insert into changing values (1)`;
  const read = (on: Pick<Db, never> & Db | Parameters<Parameters<Db['begin']>[0]>[0]) => on`select * from changing where a > ${0}`;
  for (const column of ['b', 'c', 'd']) {
    await read(kept);
    await db`alter table changing add ${db(column)} int`;
    const [row] = column === 'b' ? await read(kept) : column === 'c' ? await kept.begin(async (tx) => read(tx)) : (await kept.together(read(kept)))[0];
    assert.ok(row && column in row, column);
  }
  const works: number[] = [];
  await db`alter table changing add e int`;
  await assert.rejects(kept.begin(async (tx) => {
    works.push(1);
    await read(tx);
  }, { repeatable: false }), { code: '0A000' });
  assert.equal(works.length, 1);
  assert.equal((await read(kept)).length, 1);
});

test('fixed statements are prepared once by name; those of filters and of cursors are not', async () => {
  const names = async (on: Db) => {
    for (const n of [1, 2, 3]) await on`select ${n}::int as n`;
    return (await on<{ name: string }[]>`select name from pg_prepared_statements where statement like 'select $1::int as n%'`).length;
  };
  assert.equal(await names(use({ max: 1, name: 'kept', plans: 'kept' })), 1);
  assert.equal(await names(use({ max: 1, name: 'made', plans: 'made' })), 0);
  const reading = use({ max: 1, name: 'reading', plans: 'chosen' });
  for await (const batch of reading`select n from generate_series(1, ${3}) n`.cursor(2)) assert.ok(batch.length > 0);
  assert.deepEqual([...(await reading`select statement from pg_prepared_statements where statement like 'declare %'`)], []);
});

test('a connection that came to be doubted while it was opened is not handed out', async () => {
  let opened = 0;
  class Doubted extends Servers {
    override async examine(ask: Parameters<Servers['examine']>[0]): Promise<void> {
      await super.examine(ask);
      opened += 1;
      if (opened === 1) this.suspect(this.generation);
    }
  }
  const doubting = connect(new Doubted(() => [url]), { max: 1, name: 'doubting' });
  ended.push(doubting);
  assert.deepEqual(await askOne(doubting), one);
  assert.equal(opened, 2);
});

// ---- Waits --------------------------------------------------------------------------------------------------------

test('a pool that has no connection free says so in time', async () => {
  const narrow = use({ max: 1, name: 'narrow', connectionMs: 1000 });
  await until('it is connected, which takes long on a busy machine', () => askOne(narrow).then(() => true, () => false));
  const connection = await narrow.reserve();
  await assert.rejects(async () => askOne(narrow), (error) => error instanceof DatabaseUnavailable && error.why === 'busy');
  connection.release();
  assert.deepEqual(await askOne(narrow), one);
});

test('of those who wait for a connection none waits twice as long: whoever came first is refused first', async () => {
  const narrow = use({ max: 1, name: 'orderly', connectionMs: 1000 });
  await until('it is connected, which takes long on a busy machine', () => askOne(narrow).then(() => true, () => false));
  const connection = await narrow.reserve();
  const refused: number[] = [];
  const waiters: Promise<unknown>[] = [];
  for (let at = 0; at < 50; at += 1) {
    waiters.push(askOne(narrow).catch(() => refused.push(at)));
    await pause(1);
  }
  await Promise.all(waiters);
  connection.release();
  assert.deepEqual(refused, Array.from(waiters.keys()));
});

test('the server ends a statement, a wait for a lock and an idle transaction after the limits of the pool', async () => {
  const limited = use({ max: 2, name: 'limited', statementMs: 2_000, lockMs: 50, idleInTransactionMs: 2_000 });
  await assert.rejects(async () => limited`select pg_sleep(60)`, { code: '57014' });
  await db`create table locked (n int)`;
  await db.begin(async (tx) => {
    await tx`lock table locked`;
    await assert.rejects(async () => limited`select from locked`, { code: '55P03' });
  });
  await assert.rejects(
    limited.begin(async (tx) => {
      await tx`select 1`;
      const gone = async () =>
        (await db`select from pg_stat_activity where application_name like 'schoolbell limited %' and state = 'idle in transaction'`).length === 0;
      while (!(await gone())) await new Promise((resolve) => setTimeout(resolve, 20));
      await tx`select 1`;
    }),
    isUnavailable,
  );
  assert.deepEqual(await askOne(limited), one);
});

test('the limits hold between two batches of a cursor as well', async () => {
  const limited = use({ max: 1, name: 'batches', statementMs: 30_000, idleInTransactionMs: 2_000 });
  const batches = limited`select n from generate_series(1, 100) n`.cursor(10);
  await batches.next();
  const gone = async () =>
    (await db`select from pg_stat_activity where application_name like 'schoolbell batches %' and state = 'idle in transaction'`).length === 0;
  while (!(await gone())) await new Promise((resolve) => setTimeout(resolve, 20));
  await assert.rejects(async () => batches.next(), isUnavailable);
  assert.deepEqual(await askOne(limited), one);
});

test('what the server does not end is given up on this side, and its connection is not used again', async () => {
  const impatient = use({ max: 1, name: 'impatient', statementMs: 0, answerMs: 1500 });
  const [before] = await impatient`select pg_backend_pid() as pid`;
  await assert.rejects(async () => impatient`select pg_sleep(60)`, (error) => error instanceof DatabaseUnavailable && error.why === 'silent');
  const [behind] = await impatient`select pg_backend_pid() as pid`;
  assert.notEqual(behind?.pid, before?.pid);
});

test('a server that cannot be reached is said to be away', async () => {
  const nowhere = connect('postgres://nobody:x@127.0.0.1:1/nothing', { max: 1, name: 'nowhere' });
  await assert.rejects(
    async () => askOne(nowhere),
    (error) => error instanceof DatabaseUnavailable && error.why === 'away' && /cannot be reached/.test(error.message),
  );
  await nowhere.end();
});

// ---- Where --------------------------------------------------------------------------------------------------------

test('of several hosts the one that answers is found, and where it is, is asked for each connection', async () => {
  const hosts = ['postgres://nobody:x@127.0.0.1:1/nothing', url];
  const several = connect(() => hosts, { max: 1, name: 'several' });
  assert.deepEqual(await askOne(several), one);
  const crowd = connect(() => hosts, { max: 8, name: 'crowd' });
  assert.deepEqual(await Promise.all(Array.from({ length: 8 }, () => askOne(crowd))), Array.from({ length: 8 }, () => one), 'also many at once');
  await crowd.end();
  const moved: string[] = ['postgres://nobody:x@127.0.0.1:1/nothing'];
  const moving = connect(() => moved, { max: 1, name: 'moving' });
  await assert.rejects(async () => askOne(moving), isUnavailable);
  moved[0] = url;
  assert.deepEqual(await askOne(moving), one);
  await several.end();
  await moving.end();
});

// ---- Notifications ------------------------------------------------------------------------------------------------

test('a listener is called, also after its connection was ended, and not after it has left', async () => {
  const heard: string[] = [];
  const hearing = use({ max: 1, name: 'hearing' });
  const listening = await hearing.listen('news', (payload) => heard.push(payload));
  const say = async (word: string) => {
    while (!heard.includes(word)) {
      await db`select pg_notify('news', ${word})`;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  await say('first');
  const [ears] = await db<
    { pid: number }[]
  >`select pid from pg_stat_activity where application_name like 'schoolbell hearing % listening' and datname = current_database()`;
  await kill(ears?.pid);
  await say('second');
  await listening.unlisten();
  heard.length = 0;
  await db`select pg_notify('news', 'third')`;
  const ear = () => db`select from pg_stat_activity where application_name like 'schoolbell hearing % listening' and datname = current_database()`;
  await until('nobody listens', async () => (await ear()).length === 0);
  assert.deepEqual(heard, []);
});

test('the end does not wait for a statement that takes too long, and the server ends the session of a client that is gone', async () => {
  const hour = 3_600_000;
  const ending = connect(url, { max: 1, name: 'ending', statementMs: hour, answerMs: hour });
  const sleeping = assert.rejects(async () => ending`select pg_sleep(3600)`, isUnavailable);
  const sessions = () => db`select from pg_stat_activity where application_name like 'schoolbell ending %' and state = 'active'`;
  await until('it sleeps', async () => (await sessions()).length === 1);
  await ending.end({ timeout: 0 });
  await sleeping;
  await until('the session has ended', async () => (await sessions()).length === 0);
});

test('of two transactions that wait for one another, the one that the server ended is done again, unless it cannot be', async () => {
  const db = use({ max: 4, name: 'crossing' });
  await db`create table crossing (id int primary key, value int not null)`;
  const cross = async (how?: { repeatable: boolean }) => {
    await db`truncate crossing`;
    await db`insert into crossing values (1, 0), (2, 0)`;
    const reached = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const both = Promise.all(reached.map(({ promise }) => promise));
    return Promise.allSettled(reached.map(({ resolve }, at) => db.begin(async (tx) => {
      await tx`update crossing set value = value + 1 where id = ${at + 1}`;
      resolve();
      await both;
      await tx`update crossing set value = value + 1 where id = ${2 - at}`;
    }, how)));
  };
  assert.deepEqual((await cross()).map(({ status }) => status), ['fulfilled', 'fulfilled']);
  assert.deepEqual((await db`select value from crossing order by id`).map(({ value }) => value), [2, 2]);
  assert.deepEqual((await cross({ repeatable: false })).map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  await db`drop table crossing`;
});

for (const [times, outcome] of [[3, 'fulfilled'], [4, 'rejected']] as const) {
  test(`a transaction that others cross ${times} times in a row is ${outcome}`, async () => {
    const [db, watch] = [use({ max: 4, name: 'crossed' }), use({ max: 1, name: 'watching' })];
    await db`create table crossed (id int primary key, value int not null)`;
    await db`insert into crossed values (1, 0), (2, 0)`;
    const rounds = Array.from({ length: times }, () => ({ mine: Promise.withResolvers<void>(), others: Promise.withResolvers<void>() }));
    let attempt = 0;
    const crossed = Promise.allSettled([db.begin(async (tx) => {
      const round = rounds[attempt++];
      await tx`set local deadlock_timeout = '10ms'`;
      await tx`update crossed set value = value + 1 where id = 2`;
      round?.mine.resolve();
      await round?.others.promise;
      await tx`update crossed set value = value + 1 where id = 1`;
    })]);
    for (const { mine, others } of rounds) {
      await Promise.race([mine.promise, crossed]);
      await db.begin(async (tx) => {
        await tx`set local deadlock_timeout = '1min'`;
        await tx`update crossed set value = value + 10 where id = 1`;
        let isWaiting = true;
        const waiting = (async () => tx`update crossed set value = value + 10 where id = 2`)().finally(() => (isWaiting = false));
        // It waits first: whoever waits last finds that they wait for one another, and looks only once.
        await until('it waits', async () => !isWaiting || (await watch`
          select from pg_stat_activity where application_name like 'schoolbell crossed %' and wait_event_type = 'Lock'`).length > 0);
        others.resolve();
        await waiting;
      });
    }
    assert.deepEqual((await crossed).map(({ status }) => status), [outcome]);
    const done = times * 10 + (outcome === 'fulfilled' ? 1 : 0);
    assert.deepEqual((await db`select value from crossed order by id`).map(({ value }) => value), [done, done]);
    await db`drop table crossed`;
  });
}

test('a node that the server asked in turn and lost is told from a wrong statement: what only reads is asked again, on the same connection', async () => {
  const nodes = connect(url, { max: 1, name: 'test nodes' });
  try {
    await nodes.unsafe('create sequence node_tries');
    await nodes.unsafe(`create function lose_node(state text, times int) returns int language plpgsql as $$ begin
      if nextval('node_tries') <= times then raise exception 'a node is gone' using errcode = state; end if; return pg_backend_pid(); end $$`);
    const again = () => nodes.unsafe(`select setval('node_tries', 1, false)`);
    const [own] = await nodes<{ pid: number }[]>`select pg_backend_pid() as pid`;
    for (const state of ['08006', '57P01']) {
      await again();
      const [found] = await nodes<{ pid: number }[]>`select lose_node(${state}, 1) as pid`;
      assert.equal(found?.pid, own?.pid, state);
      await again();
      await assert.rejects(nodes`select lose_node(${state}, 9)`, (error) => isLost(error) && /a node of the database went away/.test((error as Error).message));
    }
    await again();
    await assert.rejects(nodes`select lose_node('08P01', 1)`, { code: '08P01' });
    // Citus makes an error of its own of what the network told it, and says of which node.
    const fail = (message: string) => nodes.unsafe(`do $do$ begin raise exception '${message}' using errcode = 'XX000'; end $do$`);
    await assert.rejects(fail('failure on connection marked as essential: there:5432'), isLost);
    await assert.rejects(fail('SSL error: unexpected eof while reading, while executing command on there:5432'), isLost);
    await assert.rejects(fail('a fault of the server itself'), { code: 'XX000' });
  } finally {
    await nodes.end();
  }
});
