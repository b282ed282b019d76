// Covers the lists of durable work at the edges of their keys, and that no plan of theirs reads the calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import type { Tx } from '../db/connect.ts';
import { countOpenWork, listWork, listWorkKinds, parseWorkKey, renderWorkKey, workStates } from './list-work.ts';

const { db } = await useDatabase();
await db`insert into lane (key, width, lasting) values ('a', 1, false)`;
await db`
  insert into outbox (estab, id, kind, lane, payload, state, due_at, created_at)
  select 's' || n % 10, 'msg_' || n, case when n % 10 = 0 then 'collect' when n % 10 = 1 then 'mail' else 'call' end, 'a', '{}',
    case when n % 100 = 0 then 'failed' else 'done' end, now(), timestamptz '2026-11-01T00:00:00.000001Z' + n % 7 * interval '1 microsecond'
  from generate_series(1, 20000) n`;
await db.unsafe('analyze outbox');

test('a key survives its way through an address, and what is none is no key', () => {
  const key = { micros: '1793491200000001', id: 'msg_a-_9' };
  assert.deepEqual(parseWorkKey(renderWorkKey(key)), key);
  for (const text of ['', '1', '.x', '1.', "1.a'b", '99999999999999999.x', '-1.x']) assert.equal(parseWorkKey(text), undefined, text);
});

test('pages by key have each row once, although many were put there in the same microsecond', async () => {
  for (const estab of [undefined, 's0']) {
    const seen: string[] = [];
    let before;
    for (;;) {
      const page = await listWork(db, { kinds: ['collect', 'mail'], states: workStates, estab, before, most: 300 });
      seen.push(...page.map(({ id }) => id));
      before = page.at(-1)?.key;
      if (page.length < 300) break;
    }
    assert.deepEqual([seen.length, new Set(seen).size], estab === undefined ? [4000, 4000] : [2000, 2000]);
  }
});

test('kinds are those that there are, and what is open is counted no further than asked', async () => {
  assert.deepEqual(await listWorkKinds(db), ['collect', 'mail']);
  const counts = await countOpenWork(db, ['collect', 'mail'], 150);
  assert.deepEqual(counts.filter(({ count }) => count > 0), [{ kind: 'collect', state: 'failed', count: 150 }]);
});

for (const [estab, index] of [[undefined, 'outbox_work'], ['s0', 'outbox_school_work']] as const) {
  test(`${index}, which is without the calls, is what finds them`, async () => {
    const scans = async (tx: Tx) => {
      const [used] = await tx<{ ofIndex: number; ofTable: number }[]>`
        select pg_stat_get_xact_numscans(${index}::regclass)::int as "ofIndex", pg_stat_get_xact_numscans('outbox'::regclass)::int as "ofTable"`;
      return used ?? assert.fail('nothing is counted');
    };
    const [before, after] = await db.begin(async (tx) => [
      await scans(tx),
      await listWork(tx, { kinds: ['collect', 'mail'], states: workStates, estab, most: 51 }).then(() => scans(tx)),
    ]);
    assert.deepEqual([after.ofIndex > before.ofIndex, after.ofTable - before.ofTable], [true, 0]);
  });
}
