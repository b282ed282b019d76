// Covers what failed and is done again all at once: whatever changes until a lane is held is judged as it stands then, and a batch
// is not all.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { until } from '../../test/until.ts';
import type { Tx } from '../db/connect.ts';
import { replayFailedSince } from './replay.ts';

const { db } = await useDatabase();
const since = new Date(Date.now() - 3_600_000);
const replayAll = () => replayFailedSince(db, 'call', { since, rps: ['app'], most: 10_000 });

beforeEach(async () => {
  await db`delete from outbox`;
  await db`delete from lane`;
  await db`insert into lane (key, width, lasting) values ('a', 1, false)`;
});

const fail = (count: number) => db`
  insert into outbox (estab, id, rp, kind, lane, topic, payload, state, attempts, due_at, settled_at)
  select 's', 'msg_' || n, 'app', 'call', 'a', 'topic ' || n, '{}', 'failed', 12, now(), now() from generate_series(1, ${count}::int) n`;

/** Asked for while this is done by one who holds the lane. */
async function meanwhile(change: (tx: Tx) => Promise<unknown>): Promise<string[]> {
  let replaying: Promise<string[]> | undefined;
  await db.begin(async (tx) => {
    await tx`select from lane where key = 'a' for update`;
    await change(tx);
    replaying = replayAll();
    await until('it waits for the lane', async () =>
      (await lockWaits(db)).length > 0);
  });
  return (await replaying) ?? [];
}

test('what failed is left alone in a lane that ends meanwhile', async () => {
  await fail(1);
  assert.deepEqual(await meanwhile(async (tx) => tx`update lane set disabled_at = now(), disabled_why = 'gone'`), []);
});

test('what failed is left alone if something newer is said meanwhile', async () => {
  await fail(2);
  const replayed = await meanwhile(async (tx) => tx`
    insert into outbox (estab, id, rp, kind, lane, topic, payload, due_at) values ('s', 'msg_new', 'app', 'call', 'a', 'topic 1', '{}', now())`);
  assert.deepEqual(replayed, ['msg_2']);
});

test('more than are done at once are all done', async () => {
  await fail(1_001);
  assert.equal((await replayAll()).length, 1_001);
  assert.equal((await db`select from outbox where state = 'waiting'`).length, 1_001);
});
