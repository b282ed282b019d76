// Pausing a lane: what is under way ends, what comes waits, nothing is forgotten, and it goes on in its order.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { claimInTurn } from '../../test/claim.ts';
import { useDatabase } from '../../test/database.ts';
import { tellFailingTargets } from '../mail/failing-targets.ts';
import { armForgottenLanes, reclaimExpired } from './claim.ts';
import { enqueue, type Lane } from './enqueue.ts';
import { forgetSettled, warnFailingLanes } from './lane-end.ts';
import { openLane, pauseLane, resumeLane } from './pause-lane.ts';
import { removeWork } from './remove-work.ts';
import { settleWork } from './settle.ts';

const { db } = await useDatabase();
const lane: Lane = { key: 'paused', host: 'h', width: 2, lasting: true };

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane`;
});

const put = (estab = 'S1') => db.begin((tx) => enqueue(tx, { estab, rp: null, kind: 'call', lane, payload: {}, body: null }));
const claim = async () => (await claimInTurn(db, 30, 10)).toSorted((one, other) => one.id.localeCompare(other.id));
const turn = async () => (await db<{ at: Date | null }[]>`select next_at as at from lane where key = 'paused'`)[0]?.at;

test('nothing of a paused lane is claimed; what came meanwhile is, in its order, once it goes on', async () => {
  const before = await put();
  assert.equal(await pauseLane(db, lane, 'Ann'), true);
  assert.equal(await pauseLane(db, lane, 'Bob'), false);
  const [paused] = await db`select paused_by from lane`;
  assert.equal(paused?.paused_by, 'Ann', 'who came first');
  const later = [await put(), await put(), await put()];
  assert.deepEqual(await claim(), []);
  assert.equal(await turn(), null, 'without a turn, it costs those who claim nothing');
  await db`update lane set next_at = now()`;
  assert.deepEqual(await claim(), [], 'whoever gave it a turn');
  await db`update outbox set due_at = due_at - interval '1 hour' where id = ${later[2] ?? ''}`;
  assert.equal(await resumeLane(db, lane.key), true);
  assert.equal(await resumeLane(db, lane.key), false);
  const order: string[] = [];
  for (let left = 4; left > 0; left -= 2) {
    const claimed = await claimInTurn(db, 30, 10);
    order.push(...claimed.map(({ id }) => id).toSorted());
    await settleWork(db, claimed.map((work) => ({ work, outcome: { success: true, state: 'done', detail: {} } })));
  }
  assert.deepEqual(order, [[before, later[2]].toSorted(), [later[0], later[1]].toSorted()].flat());
});

test('what is under way ends as it will, and neither that nor whoever looks after lanes gives a turn to one that is paused', async () => {
  const [done, fails] = [await put(), await put()];
  const claimed = await claim();
  await pauseLane(db, lane, 'Ann');
  await settleWork(db, claimed.map((work) => ({
    work,
    outcome: work.id === done
      ? { success: true, state: 'done', detail: {} }
      : { success: false, state: 'waiting', delaySeconds: 0, errorClass: 'timeout', detail: {} },
  })));
  assert.deepEqual(await db`select id from outbox where state = 'waiting'`.then((rows) => rows.map(({ id }) => id)), [fails]);
  await armForgottenLanes(db);
  assert.deepEqual([await turn(), await claim()], [null, []]);
  await resumeLane(db, lane.key);
  assert.deepEqual((await claim()).map(({ id }) => id), [fails]);
});

test('work of a worker that died in a paused lane waits, and is done once it goes on', async () => {
  const id = await put();
  await claim();
  await pauseLane(db, lane, 'Ann');
  await db`update outbox set lease_until = now() - interval '1 second'`;
  await reclaimExpired(db);
  assert.deepEqual([await turn(), await claim()], [null, []]);
  await resumeLane(db, lane.key);
  assert.deepEqual((await claim()).map((work) => work.id), [id]);
});

test('what is put in while somebody resumes is found, whichever commits first', async () => {
  await pauseLane(db, lane, 'Ann');
  let resumed: Promise<boolean> | undefined;
  const id = await db.begin(async (tx) => {
    const sent = await enqueue(tx, { estab: 'S1', rp: null, kind: 'call', lane, payload: {}, body: null });
    resumed = resumeLane(db, lane.key);
    await tx`select pg_sleep(0.1)`;
    return sent;
  });
  assert.equal(await resumed, true);
  assert.deepEqual((await claim()).map((work) => work.id), [id]);
});

test('a pause is not held against the lane: five days of failures begin anew, nobody is warned or told meanwhile', async () => {
  await put();
  await db`update lane set failing_since = now() - interval '119 hours', failures = 9, open_until = now() + interval '1 hour', openings = 4`;
  await pauseLane(db, lane, 'Ann');
  assert.deepEqual([await warnFailingLanes(db), await tellFailingTargets(db, 'http://x')], [[], 0]);
  await resumeLane(db, lane.key);
  const [after] = await db`select failures, failing_since, open_until, openings from lane`;
  assert.deepEqual({ ...after }, { failures: 0, failing_since: null, open_until: null, openings: 0 });
});

test('one that is given up and paused stays given up when it is resumed, and paused when it is opened', async () => {
  await put();
  await pauseLane(db, lane, 'Ann');
  await db`update lane set disabled_at = now(), disabled_why = 'gone'`;
  await openLane(db, lane.key);
  assert.deepEqual(await claim(), []);
  await db`update lane set disabled_at = now(), disabled_why = 'gone'`;
  await resumeLane(db, lane.key);
  assert.deepEqual([await turn(), await claim()], [null, []]);
});

test('the pause outlives the sweep and the removal of the last work; without one the lane goes', async () => {
  await put();
  await pauseLane(db, lane, 'Ann');
  await db`update outbox set state = 'done', settled_at = now() - interval '40 days'`;
  await forgetSettled(db, 30);
  assert.deepEqual([(await db`select from outbox`).length, (await db`select from lane`).length], [0, 1]);
  await put('S2');
  await db.begin((tx) => removeWork(tx, tx`estab = 'S2'`));
  assert.equal((await db`select from lane`).length, 1);
  await db`update lane set paused_at = null`;
  await forgetSettled(db, 30);
  assert.equal((await db`select from lane`).length, 0);
});
