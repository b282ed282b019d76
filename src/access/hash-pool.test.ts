// Tests the threads that hash: whose turn it is, how many may wait, and what happens to a thread that dies or hangs.
import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { after, test } from 'node:test';
import { SchoolbellError } from '../errors.ts';
import { createHashPool, type HashLimits, type HashPool } from './hash-pool.ts';

const task = { message: 'seven green lanterns', nonce: Buffer.from('a salt of sixteen'), memory: 8192, passes: 1, parallelism: 1, tagLength: 32 };
const wanted = argon2Sync('argon2id', task).toString('hex');

function usePool(limits: HashLimits): HashPool {
  const pool = createHashPool(limits);
  after(() => pool.close());
  return pool;
}

/** A turn that lasts until it is let go. */
function hold(turns: HashPool['anyone']): { begun: Promise<void>; done: Promise<void>; letGo(): void } {
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const done = turns(async () => {
    begun.resolve();
    await released.promise;
  });
  done.catch(begun.reject);
  begun.promise.catch(() => {});
  return { begun: begun.promise, done, letGo: released.resolve };
}

const hash = async (turns: HashPool['anyone']) => Buffer.from(await turns((derive) => derive(task))).toString('hex');
const isBusy = (error: unknown) => error instanceof SchoolbellError && error.code === 'too_many_requests' && Number(error.headers['retry-after']) >= 1;

test('what it derives is argon2id, for strangers and for those who are known', async () => {
  const pool = usePool({ threads: 1 });
  assert.deepEqual([await hash(pool.anyone), await hash(pool.known), await hash(pool.anyone)], [wanted, wanted, wanted]);
});

test('the clock of the main thread goes on meanwhile', async () => {
  const pool = usePool({ threads: 1 });
  let beats = 0;
  const beat = setInterval(() => { beats += 1; }, 1);
  await Promise.all(Array.from({ length: 8 }, () => pool.anyone((derive) => derive({ ...task, memory: 19 * 1024, passes: 2 }))));
  clearInterval(beat);
  assert.ok(beats >= 5, `it ticked ${beats} times`);
});

test('as many wait as may, in their order, and the next is refused', async () => {
  const pool = usePool({ threads: 2, mostWaiting: 3 });
  const held = [hold(pool.anyone), hold(pool.anyone)];
  await Promise.all(held.map(({ begun }) => begun));
  const order: number[] = [];
  const queued = [0, 1, 2].map((at) => pool.anyone(async () => order.push(at)));
  await assert.rejects(pool.anyone(async () => assert.fail('ran')), isBusy);
  assert.deepEqual(order, []);
  held[0]?.letGo();
  await Promise.all(queued);
  assert.deepEqual(order, [0, 1, 2]);
  assert.equal(await hash(pool.anyone), wanted, 'there is room again');
  held[1]?.letGo();
});

test('one thread is kept for those who are known; they may use the others as well', async () => {
  const pool = usePool({ threads: 1, mostWaiting: 1 });
  const stranger = hold(pool.anyone);
  await stranger.begun;
  const next = hold(pool.anyone);
  await assert.rejects(pool.anyone(async () => assert.fail('ran')), isBusy);
  let over = false;
  stranger.done.then(() => (over = true), () => (over = true));
  assert.equal(await hash(pool.known), wanted, 'although strangers are refused');
  assert.equal(over, false, 'it did not wait for the end of a turn');
  const known = hold(pool.known);
  await known.begun;
  const waiting = pool.known(async () => 'ran');
  await assert.rejects(pool.known(async () => assert.fail('ran')), isBusy, 'their queue is bounded as well');
  stranger.letGo();
  await next.begun;
  next.letGo();
  assert.equal(await waiting, 'ran', 'on the thread of the strangers, of whom none waits');
  known.letGo();
});

test('who waits too long is refused, and takes no turn later', async () => {
  const pool = usePool({ threads: 1, longestWaitMs: 20 });
  const held = hold(pool.anyone);
  await held.begun;
  await assert.rejects(pool.anyone(async () => assert.fail('ran')), isBusy);
  held.letGo();
  assert.equal(await hash(pool.anyone), wanted);
});

test('a thread that dies fails its task alone', async () => {
  const pool = usePool({ threads: 1 });
  await assert.rejects(pool.anyone((derive) => derive({ ...task, memory: -1 })), /memory/);
  assert.equal(await hash(pool.anyone), wanted);
});

test('what does not end in time is given up, its thread replaced, and what is left of it derives nothing', { timeout: 180_000 }, async () => {
  // Long enough for a thread to start on a slow machine.
  const pool = usePool({ threads: 1, longestTurnMs: 15_000 });
  const resumed = Promise.withResolvers<void>();
  const late = Promise.withResolvers<unknown>();
  await assert.rejects(pool.anyone(async (derive) => {
    await derive(task);
    await resumed.promise;
    await derive(task).then(late.resolve, late.reject);
  }), { code: 'unavailable', headers: { 'retry-after': '5' } });
  assert.equal(await hash(pool.anyone), wanted);
  resumed.resolve();
  await assert.rejects(late.promise, /turn at hashing is over/);
  assert.equal(await hash(pool.anyone), wanted);
});

test('its end refuses those who wait, and those who come', async () => {
  const pool = createHashPool({ threads: 1 });
  const held = hold(pool.anyone);
  await held.begun;
  const waiting = assert.rejects(pool.anyone(async () => assert.fail('ran')), /have ended/);
  await pool.close();
  await waiting;
  await assert.rejects(hash(pool.known), /have ended/);
  held.letGo();
  await held.done;
});
