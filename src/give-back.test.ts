// Tests that memory is given back: when, and how much of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import { giveBack, isWorthIt, notePassing } from './give-back.ts';

const mebibyte = 1024 ** 2;

test('memory is given back when it is quiet, and when there is much more of it than the last time', () => {
  const before = 130 * mebibyte;
  for (const [busyShare, bytes, worth] of [
    [0, 146 * mebibyte, true],
    [0.04, 300 * mebibyte, true],
    [0.05, 300 * mebibyte, false],
    [0, 145 * mebibyte, false],
    [0, 100 * mebibyte, false],
  ] as const)
    assert.equal(isWorthIt({ busyShare, bytes, before }), worth, `${busyShare} ${bytes / mebibyte}`);
  assert.equal(isWorthIt({ busyShare: 0, bytes: 900 * mebibyte, before: Infinity }), false, 'while it is being given back');
});

test('what nobody holds any more goes back to the system, the room for what is new included', async () => {
  let held: string[][] | undefined = [];
  for (let at = 0; at < 300_000; at += 1) held.push([`${at}`, `${at + 1}`, `${at + 2}`]);
  const full = getHeapStatistics();
  assert.ok(full.total_heap_size > 48 * mebibyte, `${full.total_heap_size}`);
  held = undefined;
  await giveBack();
  const left = getHeapStatistics();
  assert.ok(full.total_heap_size - left.total_heap_size > 32 * mebibyte, `${left.total_heap_size} of ${full.total_heap_size}`);
  assert.ok(left.total_heap_size < left.used_heap_size + 8 * mebibyte, `${left.total_heap_size} for ${left.used_heap_size}`);
  assert.equal('gc' in globalThis, false, 'nobody else can call it');
});

test('buffers that are used once do not pile up', () => {
  const most = Math.max(
    ...Array.from({ length: 192 }, () => {
      const { length } = Buffer.alloc(mebibyte / 4, 1);
      notePassing(length);
      return process.memoryUsage().arrayBuffers;
    }),
  );
  assert.ok(most < 16 * mebibyte, `${most}`);
});
