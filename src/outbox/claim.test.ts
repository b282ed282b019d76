// Putting work into the outbox and taking it out, on a real database: it is there exactly when its cause was committed,
// goes to one claimer, in fair shares and within the limits, not early, and comes back when its worker has died.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { connect, type Db } from '../db/connect.ts';
import { isUnavailable } from '../db/unavailable.ts';
import { claimInTurn } from '../../test/claim.ts';
import { useDatabase } from '../../test/database.ts';
import { AnotherClaims, claimWork, reclaimExpired, renewLeases, type ClaimedWork } from './claim.ts';
import { enqueue, enqueueCoalesced, type Lane, type NewWork } from './enqueue.ts';
import { settleWork } from './settle.ts';
import { startWorker } from './worker.ts';

const { db, url } = await useDatabase();
const leaseSeconds = 60;

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane`;
});

const lane = (key: string, more: Partial<Lane> = {}): Lane => ({ key, host: null, width: 4, lasting: true, ...more });
const work = (on: Lane): NewWork => ({ estab: 'S1', rp: null, kind: 'call', lane: on, payload: { to: on.key }, body: null });
const put = (on: Lane, count = 1) => db.begin(async (tx) => {
  for (let made = 0; made < count; made += 1) await enqueue(tx, work(on));
});
const change = (on: Lane, topic = 'topic') => db.begin((tx) => enqueueCoalesced(tx, work(on), topic));
const claim = (most = 64) => claimInTurn(db, leaseSeconds, most);
const succeed = (given: readonly ClaimedWork[]) => settleWork(db, given.map((one) => ({ work: one, outcome: { success: true, state: 'done', detail: {} } })));
const perLane = (given: readonly ClaimedWork[]) => Object.fromEntries([...Map.groupBy(given, (one) => one.lane)].map(([key, ones]) => [key, ones.length]));
const passTime = async (seconds: number) => {
  await db`update outbox set due_at = due_at - make_interval(secs => ${seconds}), created_at = created_at - make_interval(secs => ${seconds}),
      lease_until = lease_until - make_interval(secs => ${seconds})`;
  await db`update lane set next_at = next_at - make_interval(secs => ${seconds}), open_until = open_until - make_interval(secs => ${seconds})`;
};

async function rows(): Promise<{ id: string; state: string; attempts: number; lane: string }[]> {
  return db`select id, state, attempts, lane from outbox order by created_at, id`;
}

/** Straight into the tables, where thousands are needed. */
async function fill(on: Lane, count: number, dueSecondsAgo = 60): Promise<void> {
  await db`insert into lane (key, host, width, lasting, next_at)
      values (${on.key}, ${on.host}, ${on.width}, ${on.lasting}, now() - make_interval(secs => ${dueSecondsAgo}))`;
  await db`
    insert into outbox (estab, id, kind, lane, payload, due_at)
    select 'S1', ${on.key} || ' ' || n, 'call', ${on.key}, '{}', now() - make_interval(secs => ${dueSecondsAgo}) from generate_series(1, ${count}::int) n`;
}

// ---- With its cause -----------------------------------------------------------------------------------------------

test('a cause that is rolled back leaves nothing', async () => {
  const cause = db.begin(async (tx) => {
    await enqueue(tx, work(lane('a')));
    await enqueueCoalesced(tx, work(lane('b')), 'topic');
    throw new Error('the cause failed');
  });
  await assert.rejects(cause, /the cause failed/);
  assert.deepEqual([...(await rows()), ...(await db`select key from lane`)], []);
  assert.deepEqual(await claim(), []);
});

test('a cause that is committed leaves one, which is claimed once, as it was put in', async () => {
  await db.begin((tx) => enqueue(tx, { ...work(lane('a')), rp: 'app', payload: { url: 'http://x/?a=%zz' }, body: Buffer.from([0, 255, 10]) }));
  const [claimed, ...more] = await claim();
  assert.deepEqual(
    [claimed?.rp, claimed?.payload, claimed?.body, claimed?.attempts, more.length],
    ['app', { url: 'http://x/?a=%zz' }, Buffer.from([0, 255, 10]), 0, 0],
  );
  assert.deepEqual(await claim(), []);
});

test('it cannot be claimed before its cause is committed', async () => {
  await db.begin(async (tx) => {
    await enqueue(tx, work(lane('a')));
    assert.deepEqual(await claim(), []);
  });
  assert.equal((await claim()).length, 1);
});

// ---- Who gets what ------------------------------------------------------------------------------------------------

test('many claimers at once never get the same work, and together get all of it', async () => {
  for (let at = 0; at < 40; at += 1) await put(lane(`lane ${at}`, { width: 10 }), 10);
  const seen: string[] = [];
  for (let round = 0; round < 60 && seen.length < 400; round += 1) {
    for (const given of await Promise.all(Array.from({ length: 8 }, () => claim(13)))) seen.push(...given.map((one) => one.id));
  }
  assert.equal(seen.length, 400);
  assert.equal(new Set(seen).size, 400);
});

test('at most four of a lane run at once, over several claimers, and each that ends makes room for one', async () => {
  await put(lane('a'), 20);
  const claimers = () => Promise.all(Array.from({ length: 8 }, () => claim()));
  const given = (await claimers()).flat();
  assert.equal(given.length, 4);
  await succeed(given.slice(0, 1));
  assert.equal((await claimers()).flat().length, 1);
  assert.equal((await db`select from outbox where state = 'running'`).length, 4);
});

test('at most 16 of a host run at once, over lanes and claimers; other hosts go on', async () => {
  // More lanes than one claim looks at, so that claimers at once look at different ones.
  for (let at = 0; at < 200; at += 1) await fill(lane(`victim ${at}`, { host: 'victim.example' }), 6);
  for (let at = 0; at < 3; at += 1) await put(lane(`other ${at}`, { host: `other${at}.example` }), 1);
  const running = async () =>
    Object.fromEntries(
      (
        await db<
          { host: string; count: number }[]
        >`select l.host, count(*)::int as count from outbox o join lane l on l.key = o.lane where o.state = 'running' group by 1`
      ).map(({ host, count }) => [host, count]),
    );
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 8 }, () => claim()));
    assert.deepEqual(await running(), { 'victim.example': 16, 'other0.example': 1, 'other1.example': 1, 'other2.example': 1 });
    await db`update lane set next_at = now() where next_at is not null`;
  }
});

test('a lane with 10,000 due rows keeps no other out of the first batch', async () => {
  await fill(lane('flood', { host: 'flood.example' }), 10_000, 3600);
  for (let at = 0; at < 20; at += 1) await put(lane(`other ${at}`, { host: 'others.example', width: 1 }), 1);
  const first = perLane(await claim());
  assert.equal(first.flood, 4);
  assert.equal(Object.keys(first).filter((key) => key.startsWith('other')).length, 16, 'as many as the host may have');
});

test('2,000 lanes of a host that is full keep no other out: the next claim looks past all of them', async () => {
  await db`insert into lane (key, host, width, lasting, next_at) select 'full ' || n, 'full.example', 4, true, now() - interval '1 hour'
      from generate_series(1, 2000) n`;
  await db`insert into outbox (estab, id, kind, lane, payload, due_at) select 'S1', 'full ' || n, 'call', 'full ' || n, '{}', now() - interval '1 hour'
      from generate_series(1, 2000) n`;
  assert.equal((await claim()).length, 16);
  await put(lane('other', { host: 'other.example' }));
  assert.deepEqual(perLane(await claim()), { other: 1 });
  assert.deepEqual(await claim(), [], 'and the full one gets no more');
});

test('with little room left, lanes that have failed lately wait and the healthy ones go on', async () => {
  await put(lane('failing'), 2);
  await put(lane('healthy'));
  await db`update lane set failures = 1 where key = 'failing'`;
  assert.deepEqual(perLane([...(await claimWork(db, leaseSeconds, 64, true))]), { healthy: 1 });
  assert.deepEqual(perLane(await claim()), { failing: 2 });
});

test('a hundred lanes with a backlog all get their turn within two batches', async () => {
  for (let at = 0; at < 100; at += 1) await fill(lane(`lane ${at}`, { width: 1 }), 50, 3600 - at);
  const got = { ...perLane(await claim(64)), ...perLane(await claim(64)) };
  assert.equal(Object.keys(got).length, 100);
});

test('rows that one batch has no room for can be claimed at once by the next', async () => {
  for (let at = 0; at < 20; at += 1) await put(lane(`lane ${at}`, { host: `host${at}.example` }), 4);
  assert.equal((await claim(64)).length, 64);
  assert.equal((await claim(64)).length, 16);
});

/** How many rows that wait a claim looks at, on the one connection of this pool. */
async function countLookedAt(single: Db): Promise<number> {
  const seen = async () => {
    await single`select pg_stat_force_next_flush()`;
    await single`select pg_stat_clear_snapshot()`;
    const [row] = await single<{ read: number }[]>`select idx_tup_read::int as read from pg_stat_user_indexes where indexrelname = 'outbox_waiting'`;
    return row?.read ?? assert.fail();
  };
  const before = await seen();
  await claimWork(single, leaseSeconds, 64);
  return (await seen()) - before;
}

test('what waits behind a lane that is full is not looked at, also with a plan that was made when nothing waited', async () => {
  const single = connect(url, { max: 1, name: 'outbox' });
  try {
    // Autovacuum may analyse the tables while they are empty. A claim that is planned then must use an index all the same.
    await single`analyze outbox, lane`;
    for (let time = 0; time < 10; time += 1) await claimWork(single, leaseSeconds, 64);
    await fill(lane('full'), 2_000);
    assert.equal((await claimWork(single, leaseSeconds, 64)).length, 4);
    await put(lane('other'));
    const looked = await countLookedAt(single);
    assert.ok(looked > 0 && looked < 100, `${looked}`);
    assert.deepEqual((await rows()).filter(({ lane: key, state }) => key === 'other' && state === 'running').length, 1);
  } finally {
    await single.end();
  }
});

// ---- When ---------------------------------------------------------------------------------------------------------

test('nothing is claimed early', async () => {
  await change(lane('a'));
  // A slow machine must not bring it about by itself.
  await passTime(-60);
  assert.deepEqual(await claim(), []);
  await passTime(30);
  assert.deepEqual(await claim(), []);
  await passTime(32.1);
  assert.equal((await claim()).length, 1);
});

test('a burst is one: put off by each change, 2 s after the last, 30 s after the first at most', async () => {
  // Real time passes as well, on a slow machine more of it: when each is due is told by the clock of the database.
  const clock = async () => (await db<{ at: number }[]>`select extract(epoch from clock_timestamp())::float8 as at`)[0]?.at ?? 0;
  for (let seconds = 0; seconds < 15; seconds += 1) {
    const before = await clock();
    await change(lane('a'));
    const after = await clock();
    const [row, ...more] = await db<{ due: number }[]>`select extract(epoch from due_at)::float8 as due from outbox`;
    const said = Number(row?.due) - 2;
    assert.ok(more.length === 0 && said >= before && said <= after, `after ${seconds} s: ${said} is not between ${before} and ${after}`);
    await passTime(1);
  }
  await db`update outbox set created_at = clock_timestamp() - interval '29 seconds'`;
  await change(lane('a'));
  const [row, ...more] = await db<{ afterFirst: number }[]>`select extract(epoch from due_at - created_at)::float8 as "afterFirst" from outbox`;
  assert.deepEqual([row?.afterFirst, more.length], [30, 0]);
  await passTime(1.1);
  assert.equal((await claim()).length, 1);
});

test('topics and establishments do not coalesce with one another', async () => {
  await change(lane('a'), 'one');
  await change(lane('a'), 'two');
  await db.begin((tx) => enqueueCoalesced(tx, { ...work(lane('a')), estab: 'S2' }, 'one'));
  assert.equal((await rows()).length, 3);
});

// ---- Leases -------------------------------------------------------------------------------------------------------

test('work whose lease has ended waits again and goes to another; renewed leases do not end', async () => {
  await put(lane('a'), 2);
  const [lost] = await claim(1);
  const [kept] = await claim(1);
  assert.notEqual(lost?.claim, kept?.claim, 'each claim has an id of its own');
  await passTime(30);
  assert.equal(await reclaimExpired(db), 0);
  await renewLeases(db, leaseSeconds, kept ? [kept] : []);
  await passTime(31);
  await reclaimExpired(db);
  assert.deepEqual((await rows()).map(({ id, state }) => [id, state]).toSorted(), [[lost?.id, 'waiting'], [kept?.id, 'running']].toSorted());
  assert.deepEqual((await claim()).map((one) => one.id), [lost?.id]);
});

test('a worker that dies at an event, with the next one waiting, stops nothing: the next is delivered', async () => {
  await change(lane('a'));
  await put(lane('b'));
  await passTime(3);
  assert.equal((await claim()).length, 2);
  await change(lane('a'));
  await passTime(leaseSeconds + 1);
  await reclaimExpired(db);
  const again = perLane(await claim());
  assert.ok((again.a ?? 0) >= 1, 'the lane of the events goes on');
  assert.equal(again.b, 1, 'and so do the others');
});

test('two events of one topic whose workers have died both come back or give way to the newer one', async () => {
  for (let time = 0; time < 2; time += 1) {
    await change(lane('a'));
    await passTime(3);
    assert.equal((await claim()).length, 1);
  }
  await passTime(leaseSeconds + 1);
  await reclaimExpired(db);
  assert.ok((await claim()).length >= 1);
});

test('a change after an event was reclaimed makes a new event, since the first may have arrived', async () => {
  await change(lane('a'));
  await passTime(3);
  const [first] = await claim();
  await passTime(leaseSeconds + 1);
  await reclaimExpired(db);
  await change(lane('a'));
  await passTime(3);
  const ids = (await claim()).map((one) => one.id);
  assert.ok(ids.some((id) => id !== first?.id), 'under an id of its own');
});

test('work enqueued while a claim finds its lane full is not forgotten when the lane empties', async () => {
  await put(lane('a'), 4);
  const running = await claim();
  await put(lane('a'), 1);
  assert.deepEqual(await claim(), []);
  await succeed(running);
  assert.equal((await claim()).length, 1);
});

test('a claimer that stops in the midst of a claim holds up nobody for long, and what it was about to have is there for the others', async () => {
  await put(lane('a'), 3);
  const stopping = connect(url, { max: 1, name: 'stopping', idleInTransactionMs: 3_000 });
  const stopped = await stopping.reserve();
  await stopped`begin`;
  await stopped`select pg_advisory_xact_lock(5219005)`;
  await stopped`select key from lane for update`;
  await assert.rejects(claimWork(db, leaseSeconds, 64), AnotherClaims);
  assert.equal((await claim()).length, 3);
  await assert.rejects(async () => stopped`select 1`, isUnavailable);
  stopped.release();
  await stopping.end();
});

test('a lease shorter than the longest call is refused at the start', async () => {
  const handlers = { call: { longestSeconds: 20, run: async () => ({ success: true, state: 'done' as const, detail: {} }) } };
  const log = { warn() {}, error() {} };
  await assert.rejects(startWorker({ db, handlers, log, leaseSeconds: 24 }), /lease of 24 s is too short.*25 s/);
  await (await startWorker({ db, handlers, log, leaseSeconds: 25 })).stop();
});
