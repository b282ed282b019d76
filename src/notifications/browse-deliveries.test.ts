// Going through deliveries by key: each once and newest first, whatever is asked for, and by a look back that ends.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { browseDeliveries, type Browsing } from './browse-deliveries.ts';

const { db } = await useDatabase();
const total = 5_200;

type Row = { id: string; estab: string; rp: string; event: string; lane: string; state: string; at: number };
let all: Row[] = [];

before(async () => {
  await db`insert into lane (key, width, lasting) values ('webhook x', 4, true), ('callback app0', 4, true), ('mail', 4, false)`;
  // Three at each instant, to the microsecond, and mails among them.
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, state, due_at, created_at, settled_at)
    select 's' || n % 3, 'msg_' || lpad(n::text, 5, '0'), 'app' || n % 4, case when n % 10 = 9 then 'mail' else 'call' end,
      case when n % 400 = 0 then 'callback app0' when n % 10 = 9 then 'mail' else 'webhook x' end,
      jsonb_build_object('event', case when n % 400 = 0 then 'authentication' else 'database' end, 'url', 'http://x'),
      case when n % 50 = 1 then 'failed' else 'done' end, now(), timestamptz '2026-11-01T00:00:00Z' + make_interval(secs => n / 3 * 0.000001), now()
    from generate_series(1, ${total}) n`;
  all = (
    await db<Row[]>`
      select id, estab, rp, payload ->> 'event' as event, lane, state, (extract(epoch from created_at) * 1000000)::float8 as at
      from outbox where kind = 'call' order by created_at desc, id desc`
  ).map((row) => ({ ...row }));
});

async function walk(asked: Omit<Browsing, 'most'>, most: number): Promise<{ ids: string[]; pages: number; looks: number }> {
  const ids: string[] = [];
  let [pages, looks, next] = [0, 0, undefined as string | undefined];
  do {
    const page = await browseDeliveries(db, { ...asked, before: next, most });
    assert.ok(page.deliveries.length <= most);
    ids.push(...page.deliveries.map(({ id }) => id));
    [pages, looks, next] = [pages + 1, looks + (page.lookedBack ? 1 : 0), page.next];
    assert.ok(pages < 300, 'it ends');
  } while (next !== undefined);
  return { ids, pages, looks };
}

const since = new Date('2026-11-01T00:00:00.001Z');
for (const [name, asked, holds] of [
  ['everything', {}, () => true],
  ['a state', { state: 'failed' }, (row) => row.state === 'failed'],
  ['a state that none is in', { state: 'running' }, () => false],
  ['an application', { rp: 'app1' }, (row) => row.rp === 'app1'],
  ['a school', { estab: 's2' }, (row) => row.estab === 's2'],
  ['an application at a school', { estab: 's1', rp: 'app3', state: 'failed' }, (row) => row.estab === 's1' && row.rp === 'app3' && row.state === 'failed'],
  ['a kind', { event: 'authentication' }, (row) => row.event === 'authentication'],
  ['a kind in a state', { event: 'authentication', state: 'done' }, (row) => row.event === 'authentication'],
  ['a kind of an application', { event: 'authentication', rp: 'app0' }, (row) => row.event === 'authentication'],
  ['a target of which there are few', { lane: 'callback app0' }, (row) => row.lane === 'callback app0'],
  ['a target of which there are many', { lane: 'webhook x', rp: 'app2' }, (row) => row.lane === 'webhook x' && row.rp === 'app2'],
  ['since', { since, state: 'done' }, (row) => row.state === 'done' && row.at >= since.getTime() * 1000],
  ['until', { until: since }, (row) => row.at < since.getTime() * 1000],
  ['an application that is not there', { rp: 'nobody' }, () => false],
  ['a school that is not there', { estab: 'nobody' }, () => false],
] as const satisfies readonly (readonly [string, Omit<Browsing, 'most'>, (row: Row) => boolean])[]) {
  test(`${name}: each once, newest first, over all pages`, async () => {
    const { ids } = await walk(asked, 97);
    assert.deepEqual(ids, all.filter(holds).map(({ id }) => id));
  });
}

test('what is rare is looked for among so many; the page then says how far it has looked', async () => {
  const { ids, pages, looks } = await walk({ event: 'authentication' }, 50);
  assert.deepEqual([ids.length, pages, looks], [13, 3, 2]);
  const first = await browseDeliveries(db, { event: 'authentication', most: 50 });
  assert.equal(first.lookedBack?.toISOString().slice(0, 19), '2026-11-01T00:00:00');
  const full = await browseDeliveries(db, { event: 'authentication', most: 3 });
  assert.deepEqual([full.deliveries.length, full.lookedBack], [3, undefined], 'a page that is full says nothing of it');
});

test('a place that is none is the first page, and nothing fails', async () => {
  const first = (await browseDeliveries(db, { most: 2 })).deliveries.map(({ id }) => id);
  for (const before of ['', 'x', '2026-11-01T00:00:00Z', "2026-11-01T00:00:00.000000Z,'", '2026-99-99T00:00:00.000000Z,msg_1', 'infinity,x'])
    assert.deepEqual((await browseDeliveries(db, { most: 2, before })).deliveries.map(({ id }) => id), first, before);
});

test('with more applications than stretches can be merged, all are found all the same', async () => {
  await db.begin(async (tx) => {
    await tx`
      insert into outbox (estab, id, rp, kind, lane, payload, state, due_at, created_at)
      select 's9', 'many_' || n, 'many' || n, 'call', 'webhook x', '{}', 'waiting', now(), timestamptz '2026-12-01' + make_interval(secs => n)
      from generate_series(1, 160) n`;
    const ids: string[] = [];
    for (let next: string | undefined, pages = 0; pages === 0 || next !== undefined; pages += 1) {
      const page = await browseDeliveries(tx, { estab: 's9', before: next, most: 50 });
      ids.push(...page.deliveries.map(({ id }) => id));
      next = page.next;
    }
    assert.equal(new Set(ids).size, 160);
    assert.equal(ids.length, 160);
    await tx`delete from outbox where estab = 's9'`;
  });
});
