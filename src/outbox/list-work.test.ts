// Covers the lists of durable work at the edges of their keys, and that no plan of theirs reads the calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
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

test('the indexes without the calls are what finds them', async () => {
  const byKind = await db`
    explain (costs off) select id from outbox o where o.kind <> 'call' and o.kind = 'collect' and o.state = 'failed'
    order by o.created_at desc, o.id desc limit 51`;
  assert.match(JSON.stringify(byKind), /Index (?:Only )?Scan Backward using outbox_work/);
  const bySchool = await db`
    explain (costs off) select id from outbox o where o.kind <> 'call' and o.estab = 's0' order by o.created_at desc, o.id desc limit 51`;
  assert.match(JSON.stringify(bySchool), /Index (?:Only )?Scan Backward using outbox_school_work/);
});
