// Covers how many rows tables have, about: by statistics, and counted where there are none. What Citus spreads is covered beside `distribute`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useEmptyDatabases } from '../../test/empty-database.ts';
import { estimateRows } from './estimate-rows.ts';

const databases = await useEmptyDatabases();

test('statistics say how many there are; what has none yet is counted', async () => {
  const db = databases.open(await databases.make());
  for (const [table, rows] of [['known', 1_000], ['fresh', 7], ['empty', 0]] as const)
    await db.unsafe(`create table ${table} with (autovacuum_enabled = false) as select n from generate_series(1, ${rows}) n`);
  await db`analyze known`;
  await db`insert into known select 1`;
  const found = await estimateRows(db, ['known', 'fresh', 'empty', 'not_there'], new Map());
  assert.deepEqual([...found].toSorted(), [['empty', 0], ['fresh', 7], ['known', 1_000]]);
});
