// The schedule of retries: its delays and their spread, where it ends, and what a Retry-After header does to it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRetryDelay, parseRetryAfter, retryDelays } from './schedule.ts';

const hour = 3600;
const day = 24 * hour;
const delays = [5, 30, 120, 600, 1800, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];
const middle = () => 0.5;
const near = (actual: number | undefined, expected: number) =>
  assert.ok(actual !== undefined && Math.abs(actual - expected) < 1e-6 * expected, `${actual} is not ${expected}`);

test('eleven delays follow the first attempt: 5 s, 30 s, 2 m, 10 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h', () => {
  assert.deepEqual([...retryDelays], delays);
  for (const [at, delay] of delays.entries()) near(findRetryDelay(at + 1, undefined, middle), delay);
});

test('each delay is spread by a fifth to either side, and no further', () => {
  for (const [at, delay] of delays.entries()) {
    near(findRetryDelay(at + 1, undefined, () => 0), delay * 0.8);
    near(findRetryDelay(at + 1, undefined, () => 1 - Number.EPSILON), delay * 1.2);
  }
  const drawn = Array.from({ length: 2000 }, () => findRetryDelay(2, undefined) ?? 0);
  assert.ok(drawn.every((seconds) => seconds >= 24 && seconds <= 36), 'all within a fifth of 30 s');
  assert.ok(Math.min(...drawn) < 25.5 && Math.max(...drawn) > 34.5, 'the whole width is used');
  assert.ok(new Set(drawn).size > 1900, 'what failed together does not return together');
});

test('the twelfth failed attempt is the last, whatever the receiver asks for', () => {
  assert.notEqual(findRetryDelay(11, undefined), undefined);
  for (const asked of [undefined, 0, 60, day]) {
    assert.equal(findRetryDelay(12, asked), undefined);
    assert.equal(findRetryDelay(13, asked), undefined);
  }
});

const now = Date.parse('2026-11-15T12:00:00Z');
const httpDate = (offsetSeconds: number) => new Date(now + offsetSeconds * 1000).toUTCString();
const forms: readonly [header: string | undefined, seconds: number | undefined][] = [
  [undefined, undefined],
  ['', undefined],
  ['0', 0],
  ['1', 1],
  [' 120 ', 120],
  ['120.6', 120.6],
  [String(day), day],
  [String(day + 1), day],
  ['99999999999999999999999999', day],
  [httpDate(-3600), undefined],
  [httpDate(0), undefined],
  [httpDate(90), 90],
  [httpDate(2 * day), day],
  [httpDate(3653 * day), day],
  ['Sunday, 15-Nov-26 12:02:00 GMT', 120],
  ['-1', undefined],
  ['abc', undefined],
  ['1e99', undefined],
  ['0x10', undefined],
  ['1 second', undefined],
  ['12:30', undefined],
  ['2026', 2026],
  ['2026-11-15T13:00:00Z', undefined],
  ['Infinity', undefined],
  ['NaN', undefined],
];
for (const [header, seconds] of forms) {
  test(`Retry-After ${header === undefined ? 'absent' : `"${header}"`} asks for ${seconds === undefined ? 'nothing' : `${seconds} s`}`, () => {
    const asked = parseRetryAfter(header, now);
    if (seconds === undefined) assert.equal(asked, undefined);
    else assert.ok(asked !== undefined && Math.abs(asked - seconds) < 1e-6, `${asked}`);
  });
}

test('what is asked for lengthens the wait up to a day and never shortens it', () => {
  near(findRetryDelay(1, 120.6, middle), 120.6);
  near(findRetryDelay(1, 0, middle), 5);
  near(findRetryDelay(1, 1, middle), 5);
  near(findRetryDelay(6, 60, middle), 2 * hour);
  near(findRetryDelay(1, day, middle), day);
  near(findRetryDelay(1, 10 * day, middle), day);
  near(findRetryDelay(11, day, () => 0), day);
});
