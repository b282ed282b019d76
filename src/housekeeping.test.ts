// Covers chores that are done once for all processes, however many there are, which die and fail.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDatabase } from '../test/database.ts';
import { inTurn } from './housekeeping.ts';

const { db } = await useDatabase();
const everyMs = 3_600_000;
let done = 0;
const chore = { name: 'sweeping', everyMs, run: async () => (done += 1) };
const pass = (minutes: number) => db`update chore set last_at = last_at - make_interval(mins => ${minutes})`;

beforeEach(async () => {
  await db`truncate chore`;
  done = 0;
});

test('of many processes that find it due at once, one does it, and none again within the hour', async () => {
  const atOnce = () => Promise.all(Array.from({ length: 8 }, () => inTurn(db, chore)));
  await atOnce();
  assert.equal(done, 1);
  await pass(59);
  await atOnce();
  assert.equal(done, 1);
  await pass(1);
  await atOnce();
  assert.equal(done, 2);
});

test('chores do not wait for one another', async () => {
  await inTurn(db, chore);
  await inTurn(db, { ...chore, name: 'mopping' });
  assert.equal(done, 2);
});

test('a process that never comes back from it keeps others from it for no longer than its time', async () => {
  const begun = Promise.withResolvers<void>();
  void inTurn(db, {
    ...chore,
    run() {
      begun.resolve();
      return Promise.withResolvers<never>().promise;
    },
  });
  await begun.promise;
  await inTurn(db, chore);
  assert.equal(done, 0);
  await pass(60);
  await inTurn(db, chore);
  assert.equal(done, 1);
});

test('what failed says so and is tried again after five minutes', async () => {
  await assert.rejects(inTurn(db, { ...chore, run: () => Promise.reject(new Error('no broom')) }), /no broom/);
  await pass(4);
  await inTurn(db, chore);
  assert.equal(done, 0);
  await pass(1);
  await inTurn(db, chore);
  assert.equal(done, 1);
});
