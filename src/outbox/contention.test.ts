// The outbox while others use the same lanes, on a real database: settling, reclaiming and announcing beside
// transactions that are long or locked, and the order in which things were said.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { claimInTurn } from '../../test/claim.ts';
import { useDatabase } from '../../test/database.ts';
import { reclaimExpired, renewLeases, type ClaimedWork } from './claim.ts';
import { coalescing, enqueue, enqueueCoalesced, type Lane, type NewWork } from './enqueue.ts';
import { settleWork, type Outcome } from './settle.ts';

const { db } = await useDatabase();

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane`;
});

const success: Outcome = { success: true, state: 'done', detail: { status: 200 } };
const failure: Outcome = { success: false, state: 'waiting', delaySeconds: 3600, errorClass: 'status_500', detail: { status: 500 } };
const lane = (key = 'a', more: Partial<Lane> = {}): Lane => ({ key, host: null, width: 4, lasting: true, ...more });
const work = (on: Lane): NewWork => ({ estab: 'S1', rp: null, kind: 'call', lane: on, payload: {}, body: null });
const put = (on = lane()) => db.begin((tx) => enqueue(tx, work(on)));
const change = (on = lane()) => db.begin((tx) => enqueueCoalesced(tx, work(on), 'topic'));
const claim = () => claimInTurn(db, 60, 64);
const settle = (given: readonly ClaimedWork[], outcome: Outcome) => settleWork(db, given.map((one) => ({ work: one, outcome })));
const states = async () => (await db<{ lane: string; state: string }[]>`select lane, state from outbox order by seq`).map((row) => `${row.lane} ${row.state}`);
/** When things were said stays as it was: some of these tests are about that. */
const passTime = async (seconds: number) => {
  await db`update outbox set due_at = due_at - make_interval(secs => ${seconds}), lease_until = lease_until - make_interval(secs => ${seconds})`;
  await db`update lane set next_at = next_at - make_interval(secs => ${seconds})`;
};

/** Somebody holds a lane while `meanwhile` runs, which must not wait for it. */
async function whileLocked(key: string, meanwhile: () => Promise<void>): Promise<void> {
  await db.begin(async (tx) => {
    await tx`select from lane where key = ${key} for update`;
    const endWaits = () => db`select pg_cancel_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    const late = setTimeout(() => void endWaits().catch(() => {}), 30_000);
    await meanwhile().finally(() => clearTimeout(late));
  });
}

// ---- A lane that is held ------------------------------------------------------------------------------------------

test('a lane that somebody holds does not stop the settling of others; its own outcome is settled later', async () => {
  await put(lane('held'));
  await put(lane('free'));
  const given = await claim();
  let later: ClaimedWork[] = [];
  await whileLocked('held', async () => {
    later = (await settle(given, success)).later.map((one) => one.work);
    assert.deepEqual(await states(), ['held running', 'free done']);
  });
  assert.deepEqual(later.map((one) => one.lane), ['held']);
  assert.deepEqual((await settle(later, success)).later, []);
  assert.deepEqual(await states(), ['held done', 'free done']);
});

test('a lane that somebody holds does not stop the reclaiming, claiming and renewing of others', async () => {
  await put(lane('held'));
  await put(lane('free'));
  await put(lane('renewed'));
  const renewed = (await claim()).filter((one) => one.lane === 'renewed');
  await passTime(61);
  await whileLocked('held', async () => {
    await renewLeases(db, 60, renewed);
    assert.equal(await reclaimExpired(db), 1);
    assert.deepEqual(await states(), ['held running', 'free waiting', 'renewed running']);
    assert.deepEqual((await claim()).map((one) => one.lane), ['free']);
  });
  assert.equal(await reclaimExpired(db), 1);
  assert.deepEqual((await claim()).map((one) => one.lane), ['held']);
});

test('a row that somebody holds does not stop the reclaiming and renewing of others', async () => {
  await put(lane('held'));
  await put(lane('free'));
  const given = await claim();
  await db.begin(async (tx) => {
    await tx`select from outbox where lane = 'held' for update`;
    await renewLeases(db, -1, given);
    assert.equal(await reclaimExpired(db), 1);
    assert.deepEqual(await states(), ['held running', 'free waiting']);
  });
});

test('a change whose transaction ends while a call of the same lane is settled is not forgotten', async () => {
  await change();
  await passTime(3);
  const running = await claim();
  await db.begin(async (tx) => {
    await enqueueCoalesced(tx, work(lane()), 'topic');
    assert.equal((await settle(running, success)).later.length, 1);
  });
  await settle(running, success);
  await passTime(3);
  assert.equal((await claim()).length, 1);
});

test('settling many lanes while a change is announced in them ends in no deadlock, and nothing is forgotten', async () => {
  const keys = Array.from({ length: 12 }, (_, at) => `lane ${String(at).padStart(2, '0')}`);
  for (const key of keys) await put(lane(key));
  const running = (await claim()).toSorted((a, b) => (a.lane < b.lane ? 1 : -1));
  assert.equal(running.length, keys.length);
  let left = running;
  await db.begin(async (tx) => {
    for (const key of keys.slice(5)) {
      await enqueue(tx, work(lane(key)));
      left = (await settle(left, success)).later.map((one) => one.work);
    }
  });
  await settle(left, success);
  assert.equal((await claim()).length, 7);
});

// ---- Who holds what -----------------------------------------------------------------------------------------------

test('what the asking worker holds itself is not dead, however late; what others held is', async () => {
  await put(lane('own'));
  const own = await claim();
  await put(lane('other'));
  await claim();
  await passTime(600);
  assert.equal(await reclaimExpired(db, own), 1);
  assert.deepEqual(await states(), ['own running', 'other waiting']);
  await settle(own, success);
  assert.deepEqual(await states(), ['own done', 'other waiting']);
  assert.equal((await db`select from outbox_attempt where error_class = 'worker_lost'`).length, 1);
});

test('two claims by the same worker have different ids: what it lost and claimed again is settled by the second only', async () => {
  await put();
  const first = await claim();
  await passTime(61);
  await reclaimExpired(db);
  const second = await claim();
  assert.deepEqual([first[0]?.id === second[0]?.id, first[0]?.claim === second[0]?.claim], [true, false]);
  await settle(first, failure);
  await renewLeases(db, -100, first);
  assert.deepEqual([await states(), await reclaimExpired(db)], [['a running'], 0]);
  await settle(second, success);
  assert.deepEqual(await states(), ['a done']);
});

// ---- Order and time -----------------------------------------------------------------------------------------------

test('an event put in at the end of a long transaction is not superseded by one that was put in and done before it', async () => {
  await db.begin(async (tx) => {
    await tx`select now()`;
    await change();
    await passTime(3);
    await settle(await claim(), success);
    await enqueueCoalesced(tx, work(lane()), 'topic');
  });
  await passTime(3);
  const [long] = await claim();
  assert.ok(long);
  await settle([long], failure);
  assert.deepEqual(await states(), ['a done', 'a waiting'], 'it is tried again');
  await passTime(3601);
  assert.deepEqual((await claim()).map((one) => one.id), [long.id]);
  await passTime(61);
  await reclaimExpired(db);
  assert.deepEqual(await states(), ['a done', 'a waiting'], 'and again when its worker dies');
});

/** Announces a change late in its transaction; gives the instants just before and after. */
async function announceLate(): Promise<[before: number, after: number]> {
  return db.begin(async (tx) => {
    const clock = async () => (await tx<{ at: number }[]>`select extract(epoch from clock_timestamp())::float8 as at`)[0]?.at ?? 0;
    await tx`select now(), pg_sleep(0.2)`;
    const before = await clock();
    await enqueueCoalesced(tx, work(lane()), 'topic');
    return [before, await clock()];
  });
}

test('the quiet time counts from the announcement, not from the start of its transaction', async () => {
  // The second time an event waits already, and is put off.
  for (const time of ['first', 'second']) {
    const [before, after] = await announceLate();
    const [row, ...more] = await db<{ due: number }[]>`select extract(epoch from due_at)::float8 as due from outbox`;
    const due = Number(row?.due) - coalescing.quietSeconds;
    assert.equal(more.length, 0);
    assert.ok(due >= before && due <= after, `${time}: ${due} is not between ${before} and ${after}`);
  }
});

test('the longest wait counts from the first announcement, not from the start of its transaction', async () => {
  const [before, after] = await announceLate();
  const [first] = await db<{ at: number }[]>`select extract(epoch from created_at)::float8 as at from outbox`;
  assert.ok(Number(first?.at) >= before && Number(first?.at) <= after, `${first?.at} is not between ${before} and ${after}`);
  await db`update outbox set created_at = created_at - make_interval(secs => ${coalescing.longestSeconds - 1})`;
  await change();
  const [due] = await db<{ seconds: number }[]>`select extract(epoch from due_at - created_at)::float8 as seconds from outbox`;
  assert.equal(due?.seconds, coalescing.longestSeconds);
});
