// Covers doing the same for many: what is begun, what is waited for, and what whoever asked is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atOnce } from './at-once.ts';

test('what came of each is in their order, and no more are under way than that', async () => {
  let [running, most] = [0, 0];
  const done = await atOnce(3, [5, 4, 3, 2, 1, 0], async (one, at) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < one; turn += 1) await Promise.resolve();
    running -= 1;
    return `${at} ${one}`;
  });
  assert.deepEqual([done, most], [['0 5', '1 4', '2 3', '3 2', '4 1', '5 0'], 3]);
  assert.deepEqual(await atOnce(3, [], async () => assert.fail('nothing is to be done')), []);
});

test('after a failure nothing more is begun, and what was under way is waited for', async () => {
  const begun: number[] = [];
  const slow = Promise.withResolvers<void>();
  let told = false;
  const asked = atOnce(2, [0, 1, 2, 3], async (one) => {
    begun.push(one);
    if (one === 1) throw new Error('the first');
    await slow.promise;
    throw new Error('a later one');
  });
  const rejected = assert.rejects(asked.finally(() => (told = true)), /the first/);
  await new Promise(setImmediate);
  assert.deepEqual([begun, told], [[0, 1], false]);
  slow.resolve();
  await rejected;
  assert.deepEqual(begun, [0, 1]);
});

test('when it is over nothing more is begun', async () => {
  const end = new AbortController();
  const begun: number[] = [];
  const asked = atOnce(1, [0, 1, 2], async (one) => {
    begun.push(one);
    if (one === 1) end.abort(new Error('nobody waits'));
  }, end.signal);
  await assert.rejects(asked, /nobody waits/);
  assert.deepEqual(begun, [0, 1]);
});
