// Covers chores that are done once for all processes, however many there are, which die and fail.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { createNoting, inTurn, listChores } from './chores.ts';

const { db } = await useDatabase();
const everyMs = 3_600_000;
let done = 0;
const chore = { name: 'sweeping', everyMs, run: async () => (done += 1) };
const pass = (minutes: number) => db`update chore set last_at = last_at - make_interval(mins => ${minutes})`;
/** By the clock of the database, which is the one that counts. */
const now = async () => (await db<{ at: Date }[]>`select clock_timestamp() as at`)[0]?.at ?? new Date(0);

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

test('one of every minute, looked for every minute, is done every minute', async () => {
  const minutely = { ...chore, everyMs: 60_000 };
  await inTurn(db, minutely);
  for (const seconds of [55, 4, 59]) {
    await db`update chore set last_at = last_at - make_interval(secs => ${seconds})`;
    await inTurn(db, minutely);
  }
  assert.equal(done, 3);
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

test('of each run is kept how long it took, what was in its way, and when it is due again', async () => {
  const began = await now();
  await inTurn(db, chore);
  await assert.rejects(inTurn(db, { ...chore, name: 'mopping', run: () => Promise.reject(new Error('no <b>mop</b>')) }), /no <b>mop/);
  const [runs, ended] = [await listChores(db), await now()];
  const known = runs.map(({ name, trouble, everyMs: every }) => [name, trouble, every]);
  assert.deepEqual(known, [['mopping', 'no <b>mop</b>', everyMs], ['sweeping', null, everyMs]]);
  for (const { last, tookMs } of runs) {
    assert.ok(last >= began && last <= ended, 'when it ran, although one that failed is due earlier');
    assert.ok(tookMs !== null && tookMs >= 0);
  }
  for (const [at, minutes] of [5, 60].entries()) {
    const ran = (runs[at]?.next?.getTime() ?? 0) - minutes * 60_000;
    assert.ok(ran >= began.getTime() && ran <= ended.getTime(), `${runs[at]?.name} is due ${minutes} minutes after it ran`);
  }
});

test('one that is under way, or whose process was cut off, took no time yet', async () => {
  await inTurn(db, chore);
  await pass(60);
  void inTurn(db, { ...chore, run: () => Promise.withResolvers<never>().promise });
  await until('it has begun', async () => (await listChores(db))[0]?.tookMs === null);
});

test('what each process does is written down once a minute, and at once when it fails', async () => {
  let trouble: Error | undefined;
  const run = createNoting(db, { ...chore, everyMs: 1_000, run: () => (trouble ? Promise.reject(trouble) : Promise.resolve(done += 1)) });
  await run();
  await db`delete from chore`;
  await run();
  assert.deepEqual([done, await listChores(db)], [2, []]);
  trouble = new Error('no broom');
  await assert.rejects(run(), /no broom/);
  assert.equal((await listChores(db))[0]?.trouble, 'no broom');
});
