// What is kept of answers, and for how long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lately } from './lately.ts';

test('what is asked again is found once, until too much was asked; a refusal is made anew', () => {
  const asked: string[] = [];
  const find = lately((text) => {
    asked.push(text);
    if (text === 'bad') throw new Error(text);
    return text === 'a';
  }, 2);
  assert.deepEqual(['a', 'b', 'a', 'b'].map(find), [true, false, true, false]);
  assert.deepEqual(asked.splice(0), ['a', 'b']);
  for (let time = 0; time < 2; time += 1) assert.throws(() => find('bad'));
  assert.deepEqual(asked.splice(0), ['bad', 'bad']);
  assert.deepEqual(['c', 'a', 'c'].map(find), [false, true, false]);
  assert.deepEqual(asked, ['c', 'a']);
});
