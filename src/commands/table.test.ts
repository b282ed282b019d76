// Covers how lists look: headings, columns, times with their zone, and that nothing in a cell steers a terminal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderPairs, renderTable, renderTime, type Column } from './table.ts';

type Row = { name: string; count: number; note: string | null };
const columns: readonly Column<Row>[] = [
  { title: 'Name', of: ({ name }) => name, most: 10 },
  { title: 'Records', of: ({ count }) => count, right: true },
  { title: 'Note', of: ({ note }) => note },
];

test('columns stand in line under their headings, numbers to the right, without tabs', () => {
  assert.deepEqual(
    renderTable([{ name: 'Hill', count: 12_345, note: null }, { name: 'Zürich Süd', count: 7, note: 'held' }], columns, 'none'),
    ['NAME        RECORDS  NOTE', 'Hill         12,345', 'Zürich Süd        7  held'],
  );
});

test('a long cell is cut, but in the last column; a column with nothing in it is left out; without rows there is a sentence', () => {
  const long = 'word '.repeat(60).trim();
  const [, row] = renderTable([{ name: 'A very long name indeed', count: 1, note: long }], columns, 'none');
  assert.equal(row, `A very lo…        1  ${long}`);
  assert.deepEqual(renderTable([{ name: 'A', count: 1, note: null }], columns, 'none'), ['NAME  RECORDS', 'A           1']);
  assert.deepEqual(renderTable([], columns, 'no schools yet'), ['no schools yet']);
});

test('control characters and turned writing become blanks', () => {
  const [, row] = renderTable([{ name: 'a\u001b[31m\tb', count: 1, note: 'x\r\ny\u202Ez' }], columns, 'none');
  assert.equal(row, 'a [31m b        1  x y z');
});

test('times are of the zone, by its name on that day', () => {
  const times: [iso: string, zone: string, expected: string][] = [
    ['2026-11-16T09:30:05.123Z', 'Europe/London', '2026-11-16 09:30:05 GMT'],
    ['2026-07-01T23:30:00Z', 'Europe/London', '2026-07-02 00:30:00 BST'],
    ['2026-07-01T12:00:00Z', 'Asia/Kolkata', '2026-07-01 17:30:00 GMT+5:30'],
    ['2026-07-01T00:00:00Z', 'UTC', '2026-07-01 00:00:00 UTC'],
  ];
  for (const [iso, zone, expected] of times) assert.equal(renderTime(new Date(iso), zone), expected);
  const at = new Date();
  assert.equal(renderPairs({ at })[0], `at  ${renderTime(at, Intl.DateTimeFormat().resolvedOptions().timeZone)}`);
});

test('pairs stand in line', () => {
  assert.deepEqual(renderPairs({ rp: 'app', clientSecret: 'sb_client_x', live: true, nothing: null }), [
    'rp            app', 'clientSecret  sb_client_x', 'live          yes', 'nothing',
  ]);
});
