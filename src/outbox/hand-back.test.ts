// Handing claimed work back, on a real database: fenced by its claim, in its lane's order, and told to those who could do it.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { claimInTurn } from '../../test/claim.ts';
import { useDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { enqueue, enqueueCoalesced, outboxChannel, type Lane } from './enqueue.ts';
import { handBack, handBackInTime } from './hand-back.ts';

const { db } = await useDatabase();
const begun = { begun: true } as const;

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane`;
});

const lane: Lane = { key: 'a', host: null, width: 2, lasting: true };
const work = { estab: 'S1', rp: null, kind: 'call', lane, payload: {}, body: null };
const put = () => db.begin((tx) => enqueue(tx, work));
const change = () => db.begin((tx) => enqueueCoalesced(tx, work, 'topic'));
const claim = () => claimInTurn(db, 60, 64);
const passTime = async () => {
  await db`update outbox set due_at = due_at - interval '1 minute', created_at = created_at - interval '1 minute'`;
  await db`update lane set next_at = next_at - interval '1 minute'`;
};
const states = async () => (await db<{ state: string }[]>`select state from outbox order by seq, created_at, id`).map(({ state }) => state);

test('a lane that was full has a turn again at once, whoever listens is told, and its order stays', async () => {
  const ids = [await put(), await put(), await put()];
  const held = await claim();
  assert.deepEqual([held.map(({ id }) => id), (await claim()).length], [ids.slice(0, 2), 0]);
  let told = 0;
  const { unlisten } = await db.listen(outboxChannel, () => (told += 1));
  assert.deepEqual(await handBack(db, held, { begun: false }), []);
  assert.deepEqual((await claim()).map(({ id }) => id), ids.slice(0, 2));
  await until('it is told', () => told > 0);
  await unlisten();
});

test('what another has taken over, or that is settled, is left alone', async () => {
  await put();
  const [first] = await claim();
  assert.ok(first);
  await handBack(db, [first], begun);
  const [second] = await claim();
  assert.deepEqual(await handBack(db, [first], begun), []);
  const [row] = await db`select state, claim, attempts from outbox`;
  assert.deepEqual({ ...row }, { state: 'running', claim: second?.claim, attempts: 1 });
  await db`update outbox set state = 'done', claim = null`;
  await handBack(db, [second ?? first], begun);
  assert.deepEqual(await states(), ['done']);
});

test('where something newer was said meanwhile, there is nothing left to say', async () => {
  for (const how of [{ begun: false }, begun]) {
    await db`truncate outbox, outbox_attempt, lane`;
    await change();
    await passTime();
    const held = await claim();
    await change();
    assert.deepEqual(await handBack(db, held, how), []);
    assert.deepEqual(await states(), ['superseded', 'waiting']);
  }
});

test('what somebody is just committing is waited for, and then found to be no longer its own', async () => {
  await put();
  const held = await claim();
  const locked = Promise.withResolvers<void>();
  const merging = db.begin(async (tx) => {
    await tx`select from outbox where claim = ${held[0]?.claim ?? ''} for update`;
    assert.deepEqual((await handBack(db, held, begun)).map(({ id }) => id), held.map(({ id }) => id));
    locked.resolve();
    await tx`select pg_sleep(0.3)`;
    await tx`update outbox set state = 'done', claim = null`;
  });
  await locked.promise;
  await handBackInTime(db, held, begun);
  await merging;
  assert.deepEqual([await states(), (await db`select from outbox_attempt`).length], [['done'], 0]);
});

test('a lane that is paused stays so', async () => {
  await put();
  const held = await claim();
  await db`update lane set paused_at = now(), next_at = null`;
  await handBack(db, held, begun);
  assert.deepEqual([await states(), (await claim()).length], [['waiting'], 0]);
});
