// Covers deliveries by the hour: what was settled and tried in each, counted by however many processes at once, again when
// something came late, and as far back as nothing was counted.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { countDeliveryHours, readDeliveryHours } from './delivery-hours.ts';

const { db } = await useDatabase();
const hourMs = 3_600_000;
await db`insert into lane (key, width, lasting) values ('lane', 1, false)`;
let last = 0;
/** The one that it is, by the clock of the database, which counts by it. */
let hour = new Date();

async function settle(hoursAgo: number, { rp = 'app', state = 'done', kind = 'call', tries = 1 } = {}): Promise<void> {
  last += 1;
  const at = new Date(hour.getTime() - hoursAgo * hourMs);
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, due_at, state, settled_at)
    values ('s', ${`d${last}`}, ${rp}, ${kind}, 'lane', '{}', now(), ${state}, ${state === 'waiting' ? null : at})`;
  for (let number = 1; number <= tries; number += 1)
    await db`
      insert into outbox_attempt (estab, id, number, at, success, detail)
      values ('s', ${`d${last}`}, ${number}, ${at}, ${state === 'done' && number === tries}, '{}')`;
}
const read = async (rp?: string, by: 'hour' | 'day' = 'hour') =>
  (await readDeliveryHours(db, { rp, since: new Date(0), by })).map(({ at, delivered, failed, tries, failedTries }) => [
    (hour.getTime() - at.getTime()) / hourMs, delivered, failed, tries, failedTries,
  ]);
/** Which hour is the last one must not change meanwhile: a test that would see it turn waits until it has. */
const longestTestMs = 30_000;
const readClock = async () => (await db<{ at: Date }[]>`select clock_timestamp() as at`)[0]?.at.getTime() ?? 0;

beforeEach(async () => {
  await db`truncate delivery_hour, outbox cascade`;
  await until('no hour is about to turn', async () => {
    const now = await readClock();
    hour = new Date(now - (now % hourMs));
    return hour.getTime() + hourMs - now > longestTestMs;
  });
});

test('nothing is a count of nothing', async () => {
  await countDeliveryHours(db);
  assert.deepEqual(await read(), []);
});

test('calls are counted by the hour in which they were settled or tried, and by whose they are', async () => {
  for (const state of ['done', 'failed', 'cancelled', 'superseded', 'waiting']) await settle(3, { state });
  await settle(3, { tries: 3 });
  await settle(1, { rp: 'other' });
  await settle(1, { kind: 'mail' });
  await countDeliveryHours(db);
  assert.deepEqual(await read(), [[3, 2, 1, 8, 6], [1, 1, 0, 1, 0]]);
  assert.deepEqual([await read('app'), await read('other'), await read('nobody')], [[[3, 2, 1, 8, 6]], [[1, 1, 0, 1, 0]], []]);
  const days = await read(undefined, 'day');
  assert.equal(days.reduce((sum, [, delivered]) => sum + (delivered ?? 0), 0), 3);
});

test('several at once count nothing twice', async () => {
  for (let at = 0; at < 5; at += 1) await settle(0);
  const counted = await Promise.all(Array.from({ length: 6 }, () => countDeliveryHours(db)));
  assert.ok(counted.some((hours) => hours > 0));
  await Promise.all(Array.from({ length: 6 }, () => countDeliveryHours(db)));
  assert.deepEqual(await read(), [[0, 5, 0, 5, 0]]);
});

test('what comes late into the hour before is counted, and what was counted outlives what it was counted from', async () => {
  await settle(30);
  await settle(0);
  await countDeliveryHours(db);
  await settle(1);
  await db`delete from outbox where settled_at < now() - interval '20 hours'`;
  await countDeliveryHours(db);
  assert.deepEqual(await read(), [[30, 1, 0, 1, 0], [1, 1, 0, 1, 0], [0, 1, 0, 1, 0]]);
});

test('where nobody counted for long it goes back to where somebody did, or a fortnight', async () => {
  for (const hoursAgo of [400, 300, 200, 2]) await settle(hoursAgo);
  await countDeliveryHours(db);
  assert.deepEqual((await read()).map(([hours]) => hours), [300, 200, 2]);
});
