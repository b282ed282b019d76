// Waking work that waits for something, on a real database: with the transaction that brings it about, only those that
// wait for it, and none is missed that was still under way.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { beforeEach, test } from 'node:test';
import { claimInTurn } from '../../test/claim.ts';
import { useDatabase } from '../../test/database.ts';
import type { ClaimedWork } from './claim.ts';
import { enqueue, outboxChannel, type Lane } from './enqueue.ts';
import { settleWork, type Outcome } from './settle.ts';
import { wakeWork } from './wake.ts';

const { db } = await useDatabase();
const lane: Lane = { key: 'a', host: null, width: 4, lasting: false };

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane`;
});

const put = (estab = 'S1', on = lane) => db.begin((tx) => enqueue(tx, { estab, rp: null, kind: 'write', lane: on, payload: {}, body: null }));
const claim = () => claimInTurn(db, 60, 64);
const waitFor = (waitsFor?: string): Outcome => ({
  success: false, state: 'waiting', delaySeconds: 3600, errorClass: 'mis', charged: false, detail: {}, ...(waitsFor ? { waitsFor } : {}),
});
const settle = (given: readonly ClaimedWork[], outcome: Outcome) => settleWork(db, given.map((work) => ({ work, outcome })));
const wake = (...what: string[]) => db.begin((tx) => wakeWork(tx, { estab: 'S1', lane: 'a' }, what));

async function waiting(...what: (string | undefined)[]): Promise<string[]> {
  const ids: string[] = [];
  for (const one of what) {
    ids.push(await put());
    await settle(await claim(), waitFor(one));
  }
  return ids;
}

test('what waits for it is due at once, and nothing else', async () => {
  const [mis = ''] = await waiting('mis', 'another', undefined);
  await put('S2', { ...lane, key: 'b' });
  await settle(await claim(), waitFor('mis'));
  assert.deepEqual(await claim(), [], 'all wait for an hour');
  await wake('mis', 'no one');
  assert.deepEqual((await claim()).map(({ id }) => id), [mis]);
  await wake('mis');
  assert.deepEqual(await claim(), [], 'and not twice');
});

test('it is woken exactly when the transaction commits, and workers are told', async () => {
  await waiting('mis');
  const events = new EventTarget();
  const { unlisten } = await db.listen(outboxChannel, () => events.dispatchEvent(new Event('told')));
  const failed = db.begin(async (tx) => {
    await wakeWork(tx, { estab: 'S1', lane: 'a' }, ['mis']);
    throw new Error('the cause failed');
  });
  await assert.rejects(failed, /the cause failed/);
  assert.deepEqual(await claim(), []);
  const told = once(events, 'told');
  await wake('mis');
  await told;
  assert.equal((await claim()).length, 1);
  await unlisten();
});

test('what was under way meanwhile, and waits only now, is tried again at once, but once', async () => {
  await put();
  const first = await claim();
  await wake('mis');
  await settle(first, waitFor('mis'));
  const second = await claim();
  assert.equal(second.length, 1);
  await settle(second, waitFor('mis'));
  assert.deepEqual(await claim(), []);
  const [row] = await db`select extract(epoch from due_at - now())::int as seconds from outbox`;
  assert.ok(Number(row?.seconds) > 3590);
});

test('work whose schedule ended while it waited, and that was woken during its last attempt, gets a new schedule', async () => {
  await put();
  const last = await claim();
  await wake('mis');
  await settle(last, { ...waitFor('mis'), state: 'failed' });
  const [again] = await claim();
  assert.equal(again?.attempts, 0);
  await settle(again ? [again] : [], { ...waitFor('mis'), state: 'failed' });
  const [row] = await db`select state, settled_at is not null as settled from outbox`;
  assert.deepEqual({ ...row }, { state: 'failed', settled: true }, 'nobody woke it the second time');
});

test('what failed by itself keeps its time, whoever was woken meanwhile', async () => {
  await put();
  const given = await claim();
  await wake('mis');
  await settle(given, waitFor());
  assert.deepEqual(await claim(), []);
});

test('a lane that nobody has used is no matter', () => wake('mis'));
