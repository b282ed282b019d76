// Registering again while events are under way, end to end: nothing that changed is lost to the new address, nothing
// that the old one answers is held against it, and nobody waits for anybody for ever.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { until } from '../../test/until.ts';
import { announceChange } from './announce.ts';

const delivering = await useDelivering();
const { db, change, register, rows, hurry, settled, retried } = delivering;
const receiver = await useReceiver();
const url = (path: string) => `${receiver.origin}${path}`;
let school: School;
let id = '';

beforeEach(async () => {
  await delivering.clear();
  school = await delivering.addSchool();
  id = await register(school, url('/old'));
  receiver.arrivals = [];
  receiver.answer = () => 200;
});

const lane = async () =>
  (
    await db<
      { failures: number; disabled: boolean; open: boolean; failing: boolean }[]
    >`select failures, disabled_at is not null as disabled, open_until is not null as open, failing_since is not null as failing from lane
        where key = ${`webhook ${id}`}`
  )[0];
const well = { failures: 0, disabled: false, open: false, failing: false };

/** A call to the old address that has arrived and waits for its answer. */
async function callUnderWay(count = 1): Promise<(status: number) => Promise<void>> {
  const released = Promise.withResolvers<number>();
  receiver.answer = ({ url, method }) => (url === '/old' && method === 'GET' ? released.promise : 200);
  for (let time = 0; time < count; time += 1) {
    await change(school.estab);
    await hurry(school.estab);
    await until('it has arrived', () => receiver.arrivals.length === time + 1);
  }
  return async (status) => {
    released.resolve(status);
    await until('it is settled', async () => (await rows(school.estab)).every(({ state }) => state !== 'running'));
  };
}

for (const [what, act, expected] of [
  ['the URL is replaced', () => register(school, url('/new')), 'GET /new'],
  ['only the method changes', () => register(school, url('/old'), { Method: 'POST' }), 'POST /old'],
] as const) {
  for (const status of [500, 302]) {
    test(`${what} while a call is under way that ends with ${status}: the new registration is told, under the same id`, async () => {
      const end = await callUnderWay();
      await act();
      await end(status);
      await retried(school.estab);
      assert.deepEqual(receiver.arrivals.map(({ method, url }) => `${method} ${url}`), ['GET /old', expected]);
      assert.equal(receiver.arrivals[0]?.id, receiver.arrivals[1]?.id);
      assert.deepEqual((await rows(school.estab)).map(({ state }) => state), ['done']);
      if (expected.startsWith('POST')) assert.deepEqual(JSON.parse(String(receiver.arrivals[1]?.body)), { Estab: school.estab, DatabaseName: 'SchoolData' });
    });
  }
}

test('the URL is replaced while a call is under way that succeeds: nothing more is to be told', async () => {
  const end = await callUnderWay();
  await register(school, url('/new'));
  await end(200);
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map((one) => one.url), ['/old']);
});

test('a late 410 of the old address does not disable the new registration', async () => {
  const end = await callUnderWay();
  await register(school, url('/new'));
  await end(410);
  assert.deepEqual(await lane(), well);
  await change(school.estab);
  await settled(school.estab);
  assert.equal(receiver.arrivals.at(-1)?.url, '/new');
});

test('an event that the old address answers with a late 410 goes on to the new one', async () => {
  const end = await callUnderWay();
  await register(school, url('/new'));
  await end(410);
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map((one) => one.url), ['/old', '/new']);
});

test('late failures of the old address neither count against the new registration nor open its breaker', async () => {
  const end = await callUnderWay(4);
  await db`update lane set failures = 4, failing_since = now() - interval '200 hours'`;
  await register(school, url('/new'));
  assert.deepEqual(await lane(), well, 'a new start');
  await end(500);
  assert.deepEqual(await lane(), well, 'and still one after the answers to the old');
});

test('registering again while a transaction announces a change: the new address is told, once, and not the old', async () => {
  let registering: Promise<string> = Promise.resolve('');
  await db.begin(async (tx) => {
    await announceChange(tx, school.estab, 'SchoolData');
    await tx`update outbox set due_at = now() + interval '1 hour' where estab = ${school.estab} and state = 'waiting'`;
    registering = register(school, url('/new'));
    await until(
      'the registration waits',
      async () => (await lockWaits(db)).length > 0,
    );
  });
  await registering;
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map((one) => one.url), ['/new']);
});

test('a change announced while a registration is being replaced goes to the new address', async () => {
  let announcing: Promise<unknown> = Promise.resolve();
  await db.begin(async (tx) => {
    await tx`update webhook set url = ${url('/new')} where id = ${id}`;
    announcing = change(school.estab);
    await until(
      'the announcement waits',
      async () => (await lockWaits(db)).length > 0,
    );
  });
  await announcing;
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map((one) => one.url), ['/new']);
});

test('a first registration while a transaction has announced and not yet committed waits for it: who reads then, reads the change', async () => {
  await school.api('DELETE', `/${id}`);
  let registered = false;
  let registering: Promise<unknown> = Promise.resolve();
  await db.begin(async (tx) => {
    await announceChange(tx, school.estab, 'SchoolData');
    registering = register(school, url('/new')).then(() => (registered = true));
    await pause(200);
    assert.equal(registered, false);
  });
  await registering;
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals, []);
});

test('an event that failed for good at the old address is told to the new one', async () => {
  receiver.answer = ({ url }) => (url === '/old' ? 410 : 200);
  await change(school.estab);
  await settled(school.estab);
  await register(school, url('/new'));
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map((one) => one.url), ['/old', '/new']);
});

test('registering while changes are announced, again and again: no deadlock, no error, and the last change is told to the last address', async () => {
  receiver.answer = () => (Math.random() < 0.3 ? 500 : 200);
  const ending = new AbortController();
  const errors: unknown[] = [];
  const loop = async (act: (turn: number) => Promise<unknown>) => {
    for (let turn = 0; !ending.signal.aborted; turn += 1) await act(turn).catch((error: unknown) => errors.push(error));
  };
  const loops = [
    ...[0, 1, 2].map((at) => loop((turn) => register(school, url(`/${at}/${turn}`), { Method: turn % 2 ? 'GET' : 'POST' }))),
    ...[0, 1, 2].map(() => loop(() => change(school.estab))),
    loop(() => hurry(school.estab)),
    loop(() => school.api('POST', `/${id}/Test`).then((response) => response.text())),
  ];
  await new Promise((resolve) => setTimeout(resolve, 3000));
  ending.abort();
  await Promise.all(loops);
  assert.deepEqual(errors, []);
  assert.deepEqual(delivering.errors, [], 'the worker met none either');
  receiver.answer = () => 200;
  await register(school, url('/last'));
  await change(school.estab);
  await settled(school.estab);
  await settled(school.estab);
  assert.equal(receiver.arrivals.at(-1)?.url, '/last');
  assert.equal((await rows(school.estab)).filter(({ state }) => state === 'waiting' || state === 'running').length, 0);
});
