// What becomes of claimed work, on a real database: attempt and outcome together and fenced by the claim, the breaker
// of a lane, its end and events that supersede retries.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { claimInTurn } from '../../test/claim.ts';
import { useDatabase } from '../../test/database.ts';
import { reclaimExpired, type ClaimedWork } from './claim.ts';
import { enqueue, enqueueCoalesced, type Lane, type NewWork } from './enqueue.ts';
import { warnFailingLanes } from './lane-end.ts';
import { ownFault, settleWork, type Outcome } from './settle.ts';

const { db } = await useDatabase();

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane`;
});

const success: Outcome = { success: true, state: 'done', detail: { status: 200 } };
const failure: Outcome = { success: false, state: 'waiting', delaySeconds: 3600, errorClass: 'status_500', detail: { status: 500 } };
const gone: Outcome = { success: false, state: 'failed', errorClass: 'status_410', detail: { status: 410 }, disableLane: 'the receiver answered 410 Gone' };

const lane = (key = 'a', more: Partial<Lane> = {}): Lane => ({ key, host: null, width: 4, lasting: true, ...more });
const work = (on: Lane): NewWork => ({ estab: 'S1', rp: null, kind: 'call', lane: on, payload: {}, body: null });
const put = (on = lane(), count = 1) => db.begin(async (tx) => {
  for (let made = 0; made < count; made += 1) await enqueue(tx, work(on));
});
const change = (on = lane()) => db.begin((tx) => enqueueCoalesced(tx, work(on), 'topic'));
const claim = (most = 64) => claimInTurn(db, 60, most);
const settle = (given: readonly ClaimedWork[], outcome: Outcome) => settleWork(db, given.map((one) => ({ work: one, outcome })));
const passTime = async (seconds: number) => {
  await db`update outbox set due_at = due_at - make_interval(secs => ${seconds}), created_at = created_at - make_interval(secs => ${seconds}),
      lease_until = lease_until - make_interval(secs => ${seconds})`;
  await db`update lane set next_at = next_at - make_interval(secs => ${seconds}), open_until = open_until - make_interval(secs => ${seconds}),
      failing_since = failing_since - make_interval(secs => ${seconds})`;
};

/** Claims as many as come, up to `most`, and gives all the same outcome. */
async function attempt(outcome: Outcome, most = 64): Promise<string[]> {
  const given = await claim(most);
  await settle(given, outcome);
  return given.map((one) => one.id);
}

type LaneRow = { failures: number; openings: number; pause: number | null; failing: boolean; warned: boolean; disabled: string | null };
async function readLane(key = 'a'): Promise<LaneRow> {
  const [row] = await db<LaneRow[]>`
    select failures, openings, extract(epoch from open_until - (select max(at) from outbox_attempt))::float8 as pause, failing_since is not null as failing,
      warned_at is not null as warned, case when disabled_at is not null then disabled_why end as disabled from lane where key = ${key}`;
  assert.ok(row);
  return row;
}
const states = async () => Object.fromEntries((await db<{ id: string; state: string }[]>`select id, state from outbox`).map(({ id, state }) => [id, state]));
const perLane = (given: readonly ClaimedWork[]) => given.map((one) => one.lane).toSorted();
/** Accepts a difference of half a second or 10 %, because a busy machine may be slow between two readings of the clock. */
const near = (actual: number | null, expected: number) =>
  assert.ok(actual !== null && Math.abs(actual - expected) < Math.max(0.5, expected / 10), `${actual} is not ${expected}`);

// ---- Attempt and outcome ------------------------------------------------------------------------------------------

test('a success is done, with its attempt in the log', async () => {
  await put();
  await attempt({ ...success, response: Buffer.from([0, 200, 10]) });
  const [row] =
    await db`select o.state, o.attempts, o.claim, o.settled_at is not null as settled, a.number, a.success, a.error_class, a.detail, a.response,
        a.next_at from outbox o join outbox_attempt a using (estab, id)`;
  assert.deepEqual(
    { ...row },
    {
      state: 'done', attempts: 1, claim: null, settled: true, number: 1, success: true, error_class: null, detail: { status: 200 },
      response: Buffer.from([0, 200, 10]), next_at: null,
    },
  );
});

test('lanes are held by their keys, whatever those are made of', async () => {
  const keys = ['one-off app https://x.example/{a,"b"}', String.raw`back\slash \" "`, 'NULL', '', ' ', "it's", 'é € 中', '{}'];
  for (const key of keys) await put(lane(key));
  const given = await claim();
  assert.deepEqual(perLane(given), keys.toSorted());
  assert.deepEqual(await settle(given, success), { later: [], ended: [] });
  assert.deepEqual([...new Set(Object.values(await states()))], ['done']);
});

test('a failure waits for its time, which the log names, and is claimed then with its attempts counted', async () => {
  await put();
  await attempt({ ...failure, delaySeconds: 30 });
  const [row] =
    await db`select o.state, o.settled_at, a.error_class, a.next_at = o.due_at as named, extract(epoch from o.due_at - a.at)::float8 as seconds
        from outbox o join outbox_attempt a using (estab, id)`;
  assert.deepEqual([row?.state, row?.settled_at, row?.error_class, row?.named], ['waiting', null, 'status_500', true]);
  near(row?.seconds as number, 30);
  await passTime(14);
  assert.deepEqual(await claim(), []);
  await passTime(17);
  assert.deepEqual((await claim()).map((one) => one.attempts), [1]);
});

test('attempt and outcome are one: when the attempt cannot be logged nothing of the outcome stays', async () => {
  await put();
  const given = await claim();
  await db`insert into outbox_attempt (estab, id, number, success, detail) select estab, id, 1, true, '{}' from outbox`;
  const before = await db`select to_jsonb(o) as row, to_jsonb(l) as lane from outbox o join lane l on l.key = o.lane`;
  await assert.rejects(settle(given, success), /duplicate key/);
  assert.deepEqual(await db`select to_jsonb(o) as row, to_jsonb(l) as lane from outbox o join lane l on l.key = o.lane`, before);
});

test('a late settle of a worker that lost its claim changes nothing', async () => {
  await put();
  const held = await claim();
  await passTime(61);
  await settle(held.map((one) => ({ ...one, claim: '00000000-0000-4000-8000-000000000000' })), success);
  assert.equal(Object.values(await states())[0], 'running', 'a claim that never held it');
  await reclaimExpired(db);
  await settle(held, success);
  assert.equal(Object.values(await states())[0], 'waiting', 'while it waits again');
  const again = await claim();
  assert.notEqual(again[0]?.claim, held[0]?.claim);
  const before = await db`select to_jsonb(o) as row, to_jsonb(l) as lane from outbox o join lane l on l.key = o.lane`;
  await settle(held, gone);
  assert.deepEqual(await db`select to_jsonb(o) as row, to_jsonb(l) as lane from outbox o join lane l on l.key = o.lane`, before, 'while another has it');
  await settle(again, success);
  await settle(held, failure);
  assert.equal(Object.values(await states())[0], 'done');
  assert.deepEqual((await db`select error_class from outbox_attempt order by number`).map((row) => row.error_class as string | null), ['worker_lost', null]);
});

// ---- Breaker ------------------------------------------------------------------------------------------------------

test('five failures in a row pause a lane without spending the attempts of what waits; a success between starts anew', async () => {
  await put(lane(), 12);
  for (let time = 0; time < 4; time += 1) await attempt(failure, 1);
  assert.equal((await readLane()).pause, null);
  await attempt(success, 1);
  assert.deepEqual([(await readLane()).failures, (await readLane()).failing], [0, false]);
  for (let time = 0; time < 5; time += 1) await attempt(failure, 1);
  near((await readLane()).pause, 30);
  assert.deepEqual(await claim(), []);
  await passTime(14);
  assert.deepEqual(await claim(), []);
  assert.equal((await db`select from outbox where attempts = 0`).length, 2);
});

test('after the pause one probe decides: it fails and the pause doubles up to 15 minutes, it succeeds and all goes on', async () => {
  await put(lane(), 20);
  for (let time = 0; time < 5; time += 1) await attempt(failure, 1);
  for (const pause of [60, 120, 240, 480, 900, 900]) {
    await passTime(((await readLane()).pause ?? 0) + 1);
    const given = (await Promise.all([claim(), claim(), claim()])).flat();
    assert.equal(given.length, 1, 'one probe over all claimers');
    assert.deepEqual(await claim(), []);
    await settle(given, failure);
    near((await readLane()).pause, pause);
    assert.deepEqual(await claim(), []);
  }
  await passTime(901);
  assert.equal((await attempt(success)).length, 1);
  const after = await readLane();
  assert.deepEqual([after.failures, after.openings, after.pause], [0, 0, null]);
  assert.equal((await claim()).length, 4);
});

test('new work in a paused lane waits for the end of the pause', async () => {
  await put(lane(), 5);
  for (let time = 0; time < 5; time += 1) await attempt(failure, 1);
  await put(lane(), 1);
  assert.deepEqual(await claim(), []);
  await passTime(31);
  assert.equal((await claim()).length, 1);
});

test('failures of calls that were under way when the lane was paused do not lengthen the pause', async () => {
  await put(lane(), 8);
  await attempt(failure);
  for (const one of await claim()) await settle([one], failure);
  near((await readLane()).pause, 30);
});

// ---- The end of a lane --------------------------------------------------------------------------------------------

test('410 ends a lasting lane at once, and only the one delivery of a lane of one-off calls', async () => {
  for (const lasting of [true, false]) {
    const on = lane(`lasting ${lasting}`, { lasting });
    await put(on, 3);
    await attempt(gone, 1);
    assert.equal((await readLane(on.key)).disabled, lasting ? 'the receiver answered 410 Gone' : null);
    assert.equal((await claim()).length, lasting ? 0 : 2);
    assert.equal(
      (await db`select from outbox where lane = ${on.key} and state = 'failed'`).length,
      lasting ? 3 : 1,
      'what waits in a lane that has ended is failed with it',
    );
  }
});

test('four days of nothing but failures make one notice; after five days the next failure ends the lane, and what waits is failed at once', async () => {
  const [lasting, oneOff] = [lane('lasting'), lane('one-off', { lasting: false })];
  for (let time = 0; time < 7; time += 1) for (const on of [lasting, oneOff]) await put(on);
  for (let time = 0; time < 5; time += 1) await attempt(failure, 2);
  await passTime(95.9 * 3600);
  assert.equal((await warnFailingLanes(db)).length, 0);
  await passTime(0.2 * 3600);
  assert.deepEqual((await warnFailingLanes(db)).map(({ key }) => key), ['lasting']);
  await passTime(23.8 * 3600);
  assert.equal((await warnFailingLanes(db)).length, 0, 'the notice comes once');
  assert.deepEqual([(await settle(await claim(), failure)).ended, (await readLane('lasting')).disabled], [[], null], 'not before five days');
  await passTime(3600);
  const probes = await claim();
  assert.deepEqual(perLane(probes), ['lasting', 'one-off']);
  assert.deepEqual((await settle(probes, failure)).ended, [{ key: 'lasting', why: 'five days of nothing but failures' }]);
  assert.match((await readLane('lasting')).disabled ?? '', /five days/);
  assert.equal((await readLane('one-off')).disabled, null);
  assert.deepEqual(
    [...(await db`select lane, state, count(*)::int from outbox group by 1, 2 order by 1, 2`)],
    [
      { lane: 'lasting', state: 'failed', count: 7 },
      { lane: 'one-off', state: 'waiting', count: 7 },
    ],
  );
});

test('a lane that rested for days after a few failures does not end: not by time alone, nor by one success, nor by too few failures', async () => {
  await put(lane(), 6);
  await attempt(failure, 1);
  await passTime(200 * 3600);
  assert.equal((await readLane()).disabled, null, 'time alone ends nothing');
  assert.deepEqual((await settle(await claim(1), failure)).ended, [], 'nor does the second failure');
  await attempt(success, 1);
  assert.deepEqual([(await readLane()).failing, (await readLane()).failures], [false, 0]);
});

test('failures that are our own, and cancelled work, neither begin the days nor end the lane nor open its breaker', async () => {
  await put(lane(), 12);
  for (let time = 0; time < 6; time += 1)
    await attempt(time % 2 ? { ...failure, errorClass: ownFault } : { ...failure, state: 'cancelled', errorClass: 'not_authorised' }, 1);
  const after = await readLane();
  assert.deepEqual([after.failures, after.failing, after.pause], [0, false, null]);
});

test('a success in between starts the days anew, and the notice too', async () => {
  await put(lane(), 2);
  await attempt(failure, 1);
  await passTime(100 * 3600);
  assert.equal((await warnFailingLanes(db)).length, 1);
  await attempt(success, 1);
  assert.deepEqual([(await readLane()).failing, (await readLane()).warned], [false, false]);
  await put();
  await attempt(failure);
  await passTime(90 * 3600);
  assert.equal((await warnFailingLanes(db)).length, 0);
  await passTime(7 * 3600);
  assert.deepEqual((await warnFailingLanes(db)).map(({ key }) => key), ['a']);
});

// ---- Superseded ---------------------------------------------------------------------------------------------------

test('a change supersedes a retry that waits; the new event has an id and a schedule of its own', async () => {
  await change();
  await passTime(3);
  const [first = ''] = await attempt(failure);
  await change();
  await passTime(3);
  const given = await claim();
  assert.deepEqual(given.map((one) => one.attempts), [0]);
  assert.notEqual(given[0]?.id, first);
  assert.equal((await states())[first], 'superseded');
});

for (const newer of ['waits', 'is under way', 'is done'] as const) {
  test(`a retry that fails when a newer event of its topic ${newer} is superseded`, async () => {
    await change();
    await passTime(3);
    const [first] = await claim();
    assert.ok(first);
    await change();
    await passTime(3);
    if (newer !== 'waits') {
      const given = await claim();
      assert.equal(given.length, 1);
      if (newer === 'is done') await settle(given, success);
    }
    await settle([first], failure);
    assert.equal((await states())[first.id], 'superseded');
    assert.equal((await db`select from outbox`).length, 2);
    const [logged] = await db`select error_class, next_at from outbox_attempt where id = ${first.id}`;
    assert.deepEqual({ ...logged }, { error_class: 'status_500', next_at: null });
  });
}
