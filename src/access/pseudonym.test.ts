// Covers the trace of a person who is named no more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPseudonym } from './pseudonym.ts';

test('a trace is the same for the same person of the same school, and says nothing without the key', () => {
  const [one, other] = [createPseudonym(['a key', 'an older key']), createPseudonym(['another key'])];
  assert.match(one('s1', 'p-1'), /^gone-[0-9a-f]{32}$/);
  assert.equal(one('s1', 'p-1'), createPseudonym(['a key'])('s1', 'p-1'));
  assert.equal(new Set([one('s1', 'p-1'), one('s2', 'p-1'), one('s1', 'p-2'), one('s1p', '-1'), other('s1', 'p-1')]).size, 5);
  assert.throws(() => createPseudonym([]), /needs a key/);
});
