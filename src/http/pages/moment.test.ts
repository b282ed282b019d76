// Tests how long ago something was, in words: before and ahead alike, and near to now.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderAgo } from './moment.ts';

const now = Date.parse('2026-11-16T08:00:00Z');

test('what was and what will be are told apart, a moment before and behind now as well', () => {
  const cases: [seconds: number, words: string][] = [
    [0, 'just now'], [-0.4, 'just now'], [0.4, 'just now'], [-4, 'just now'], [4, 'in a moment'], [1, 'in a moment'],
    [-5, '5 seconds ago'], [5, 'in 5 seconds'], [-60, '1 minute ago'], [119, 'in 1 minute'], [-7_200, '2 hours ago'], [86_400, 'in 1 day'],
    [-30 * 86_400, '17 Oct 2026'], [30 * 86_400, '16 Dec 2026'],
  ];
  for (const [seconds, words] of cases) {
    const { text } = renderAgo(new Date(now + seconds * 1000), now);
    assert.equal(/>([^<]+)<span/.exec(text)?.[1], words, `${seconds} s`);
  }
  assert.match(renderAgo(new Date(now), now).text, /title="2026-11-16 08:00:00 UTC"/);
  assert.match(renderAgo(null, now).text, />never</);
});
