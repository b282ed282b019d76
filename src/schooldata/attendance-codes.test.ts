// Covers the code table: what is in use on either side of 19 August 2024, what replaces what, and what may be written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attendanceCodes, findCode } from './attendance-codes.ts';

const [before, after] = ['2024-08-18', '2024-08-19'];
const withdrawn = { H: 'C', J: 'J1', Y: 'Y1' };
const brought = { K: 'B', C1: 'C', C2: 'C', J1: 'J', Q: 'Y', Y1: 'Y', Y2: 'Y', Y3: 'Y', Y4: 'Y', Y5: 'Y', Y6: 'Y', Y7: 'Y' };
const kept = ['/', '\\', 'L', 'V', 'P', 'W', 'B', 'D', 'C', 'E', 'I', 'M', 'R', 'S', 'T', 'G', 'N', 'O', 'U', 'X', 'Z', '#', '-'];

test('codes that stayed are in use on any day', () => {
  for (const mark of kept) for (const date of ['2006-09-01', before, after, '2031-01-01']) assert.equal(findCode(mark, date)?.mark, mark, `${mark} on ${date}`);
});

test('withdrawn codes are in use up to 18 August 2024, and name their replacement', () => {
  for (const [mark, instead] of Object.entries(withdrawn)) {
    assert.equal(findCode(mark, before)?.instead, instead, mark);
    assert.equal(findCode(mark, after), undefined, mark);
    assert.ok(findCode(instead, after)?.writable, `${instead} instead of ${mark}`);
  }
});

test('new codes are in use from 19 August 2024, and name what was used before', () => {
  for (const [mark, instead] of Object.entries(brought)) {
    assert.equal(findCode(mark, after)?.instead, instead, mark);
    assert.equal(findCode(mark, before), undefined, mark);
    assert.ok(findCode(instead, before)?.writable, `${instead} instead of ${mark}`);
  }
});

test('the table is these codes, each once', () => {
  assert.deepEqual(attendanceCodes.map((code) => code.mark).sort(), [...kept, ...Object.keys(withdrawn), ...Object.keys(brought)].sort());
});

test('everything but #, Z and - is for applications to write', () => {
  assert.deepEqual(attendanceCodes.filter((code) => !code.writable).map((code) => code.mark), ['#', 'Z', '-']);
});

test('without a date a code is found whenever it was in use, and only as it is written', () => {
  assert.equal(findCode('H')?.validTo, before);
  assert.equal(findCode('Y7')?.validFrom, after);
  for (const mark of ['', 'h', 'F', ' /', 'Y8', 'C3', 'constructor']) assert.equal(findCode(mark), undefined, mark);
});
