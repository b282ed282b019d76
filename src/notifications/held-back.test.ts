// Registrations that are held back, end to end and through the commands: paused, without the scope, disabled, with a
// secret that cannot be opened. Whatever they miss is told when that ends, once; nobody else notices.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { until } from '../../test/until.ts';
import { announceChange } from './announce.ts';

let skew = 0;
const delivering = await useDelivering({ now: () => Date.now() + skew });
const { db, change, register, rows, hurry, settled, retried, run } = delivering;
const receiver = await useReceiver();
let school: School;
let id = '';

beforeEach(async () => {
  await delivering.clear();
  school = await delivering.addSchool();
  id = await register(school, `${receiver.origin}/hook`);
  receiver.arrivals = [];
  receiver.answer = () => 200;
  delivering.warnings.length = 0;
  skew = 0;
});

const pair = () => ({ rp: school.rp, estab: school.estab });
const message = async () => ((await (await school.api('GET')).json()) as { Message: string | null }).Message;

/** Its event goes out when it is hurried: the two seconds that it waits may be over before the next step. */
const changeLater = () => db.begin(async (tx) => {
  await announceChange(tx, school.estab, 'SchoolData');
  await tx`update outbox set due_at = now() + interval '1 hour' where estab = ${school.estab} and state = 'waiting'`;
});

const holds: readonly [what: string, hold: () => Promise<unknown>, free: () => Promise<unknown>][] = [
  ['paused and resumed', () => run('pause', pair()), () => run('resume', pair())],
  [
    'without the scope and authorised again',
    () => run('authorise', { ...pair(), scopes: 'Identity' }),
    () => run('authorise', { ...pair(), scopes: 'School' }),
  ],
  ['revoked and authorised again', () => run('revoke', pair()), () => run('authorise', { ...pair(), scopes: 'School,Identity' })],
];
for (const [what, hold, free] of holds) {
  test(`${what}: changes meanwhile are one event afterwards`, async () => {
    await hold();
    for (let time = 0; time < 3; time += 1) await change(school.estab);
    assert.deepEqual(await rows(school.estab), []);
    await free();
    await settled(school.estab);
    assert.equal(receiver.arrivals.length, 1);
    assert.deepEqual((await rows(school.estab)).map(({ state }) => state), ['done']);
  });

  test(`${what}: an event that was waiting is told afterwards`, async () => {
    await changeLater();
    await hold();
    await settled(school.estab);
    assert.deepEqual([receiver.arrivals.length, (await rows(school.estab)).map(({ state }) => state)], [0, ['cancelled']]);
    await free();
    await settled(school.estab);
    assert.equal(receiver.arrivals.length, 1);
  });

  test(`${what} with no change meanwhile: nothing is told`, async () => {
    await change(school.estab);
    await settled(school.estab);
    await hold();
    await free();
    await settled(school.estab);
    assert.equal(receiver.arrivals.length, 1);
  });
}

test('resumed at the moment when a call finds it paused: the event is told', async () => {
  await changeLater();
  // A pause stops what waits; this is one whose call was claimed just before.
  await db`update authorisation set state = 'Paused' where estab = ${school.estab}`;
  // Whoever holds the registration for a moment lets the resume come between the call's finding and its note.
  let resuming: Promise<unknown> = Promise.resolve();
  await db.begin(async (tx) => {
    await tx`select from webhook where id = ${id} for share`;
    await hurry(school.estab);
    await until(
      'the note waits',
      async () => (await lockWaits(db)).length > 0,
    );
    resuming = run('resume', pair());
  });
  await resuming;
  await settled(school.estab);
  await settled(school.estab);
  assert.equal(receiver.arrivals.length, 1);
});

test('resumed and moved while a call is judged once more: it goes where it is wanted now', async () => {
  await changeLater();
  await db`update authorisation set state = 'Paused' where estab = ${school.estab}`;
  await db.begin(async (tx) => {
    await tx`select from authorisation where estab = ${school.estab} for update`;
    await hurry(school.estab);
    await until('it is judged', async () => (await lockWaits(db)).length > 0);
    await tx`update webhook set url = ${`${receiver.origin}/moved`} where estab = ${school.estab} and id = ${id}`;
    await tx`update authorisation set state = 'Approved' where estab = ${school.estab}`;
  });
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map(({ url }) => url), ['/moved']);
});

test('a call that is judged once more keeps no other waiting', async () => {
  const others = [await delivering.addSchool(), await delivering.addSchool()];
  for (const other of others) await register(other, `${receiver.origin}/other`);
  for (const { estab } of [school, ...others]) await db.begin(async (tx) => {
    await announceChange(tx, estab, 'SchoolData');
    await tx`update outbox set due_at = now() + interval '1 hour' where estab = ${estab} and state = 'waiting'`;
  });
  await db`update authorisation set state = 'Paused' where estab = ${school.estab}`;
  await db.begin(async (tx) => {
    await tx`select from webhook where id = ${id} for share`;
    // All of them are claimed together.
    await db.begin(async (due) => {
      await due`select from lane order by key for update`;
      await due`update outbox set due_at = now() - interval '1 minute' where estab = ${school.estab} and state = 'waiting'`;
      for (const { estab } of others) await due`update outbox set due_at = now() where estab = ${estab} and state = 'waiting'`;
      await due`update lane set next_at = now() where next_at is not null`;
    });
    await until('the others are called', () => receiver.arrivals.length === others.length);
  });
  await settled(school.estab);
  assert.deepEqual((await rows(school.estab)).map(({ state }) => state), ['cancelled']);
});

test('two transactions at once that announce to a registration that is held back end in no deadlock', async () => {
  await run('pause', pair());
  let other: Promise<unknown> = Promise.resolve();
  await db.begin(async (tx) => {
    await tx`select from webhook where id = ${id} for no key update`;
    other = change(school.estab).catch((error: unknown) => error);
    await until(
      'the other waits',
      async () => (await lockWaits(db)).length > 0,
    );
    await announceChange(tx, school.estab, 'SchoolData');
  });
  assert.equal(await other, undefined);
});

// ---- Gone ---------------------------------------------------------------------------------------------------------

test('410: the registration is disabled, what waits fails, its list says so, and Test opens it again', async () => {
  receiver.answer = () => 410;
  // It waits; the test is called at once.
  await changeLater();
  await school.api('POST', `/${id}/Test`);
  await until('the lane has ended', async () => (await db`select from lane where disabled_at is not null`).length === 1);
  assert.deepEqual((await rows(school.estab)).map(({ state, errorClass }) => [state, errorClass]), [['failed', null], ['failed', 'status_410']]);
  assert.equal(await message(), `${id}: the receiver answered 410 Gone. Send a test or register again to resume.`);
  await until('it is logged', () => delivering.warnings.some(({ details }) => details.lane === `webhook ${id}` && /410/.test(String(details.reason))));
  await change(school.estab);
  assert.equal((await rows(school.estab)).length, 2, 'a change makes nothing while it is disabled');
  receiver.answer = () => 200;
  assert.equal((await school.api('POST', `/${id}/Test`)).status, 202);
  await settled(school.estab);
  assert.deepEqual([receiver.arrivals.slice(1).some(({ headers }) => headers['schoolbell-test'] === 'true'), await message()], [true, null]);
  await change(school.estab);
  await settled(school.estab);
  assert.equal(receiver.arrivals.at(-1)?.headers['schoolbell-test'], undefined, 'and events go on');
});

test('a change that was missed while disabled is told when a test opens the registration again', async () => {
  receiver.answer = () => 410;
  await change(school.estab);
  await settled(school.estab);
  await change(school.estab);
  receiver.answer = () => 200;
  await school.api('POST', `/${id}/Test`);
  await settled(school.estab);
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.slice(1).map(({ headers }) => headers['schoolbell-test']).toSorted(), ['true', undefined]);
});

test('a resumed authorisation does not tell a disabled registration what it missed: that waits until it is opened', async () => {
  receiver.answer = () => 410;
  await change(school.estab);
  await settled(school.estab);
  await change(school.estab);
  await run('pause', pair());
  await run('resume', pair());
  assert.deepEqual((await rows(school.estab)).map(({ state }) => state), ['failed']);
  receiver.answer = () => 200;
  await school.api('POST', `/${id}/Test`);
  await settled(school.estab);
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.slice(1).map(({ headers }) => headers['schoolbell-test']).toSorted(), ['true', undefined]);
});

test('a change at the very moment when the registration is disabled waits for nobody, and is told when it opens again', async () => {
  await change(school.estab);
  await settled(school.estab);
  let changing: Promise<unknown> = Promise.resolve();
  await db.begin(async (tx) => {
    await tx`update lane set disabled_at = now(), disabled_why = 'the receiver answered 410 Gone' where key = ${`webhook ${id}`}`;
    changing = change(school.estab);
    await until(
      'the change waits for the lane',
      async () => (await lockWaits(db)).length > 0,
    );
  });
  await changing;
  assert.deepEqual((await rows(school.estab)).map(({ state }) => state), ['done'], 'nothing waits in a lane that takes no work');
  await school.api('POST', `/${id}/Test`);
  await settled(school.estab);
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.slice(1).map(({ headers }) => headers['schoolbell-test']).toSorted(), ['true', undefined]);
});

test('registering again after 410 opens it, and tells what was missed', async () => {
  receiver.answer = () => 410;
  await change(school.estab);
  await settled(school.estab);
  await change(school.estab);
  receiver.answer = () => 200;
  await register(school, `${receiver.origin}/hook`);
  assert.equal(await message(), null);
  await settled(school.estab);
  assert.equal(receiver.arrivals.length, 2);
});

test('a breaker that is open stands in the list too', async () => {
  await change(school.estab);
  await db`update lane set open_until = now() + interval '5 minutes'`;
  assert.match((await message()) ?? '', new RegExp(`^${id}: paused until \\d\\d:\\d\\d:\\d\\dZ after repeated failures`));
});

// ---- Tests, secrets, clocks ---------------------------------------------------------------------------------------

test('a test event says that it is one, is tried once, and is not retried', async () => {
  receiver.answer = () => 503;
  await school.api('POST', `/${id}/Test`);
  await settled(school.estab);
  await settled(school.estab);
  assert.deepEqual(
    [receiver.arrivals.map(({ headers }) => headers['schoolbell-test']), (await rows(school.estab)).map(({ state, attempts }) => [state, attempts])],
    [['true'], [['failed', 1]]],
  );
  receiver.answer = () => 200;
  await change(school.estab);
  await settled(school.estab);
  assert.equal(receiver.arrivals.at(-1)?.headers['schoolbell-test'], undefined);
});

test('one application whose secret cannot be opened stops no other; it waits longer each time and spends no attempts', async () => {
  const others: School[] = [];
  for (let at = 0; at < 6; at += 1) others.push(await delivering.addSchool());
  for (const other of others) await register(other, `${receiver.origin}/${other.estab}`);
  const [kept] = await db`select sealed from application_secret where rp = ${school.rp} and kind = 'signing'`;
  await db`update application_secret set sealed = '\\x00112233' where rp = ${school.rp} and kind = 'signing'`;
  const waits: number[] = [];
  for (let time = 1; time <= 3; time += 1) {
    for (const one of [school, ...others]) if (one !== school || time === 1) await change(one.estab);
    await db`update outbox set due_at = now() where state = 'waiting' and attempts < ${time}`;
    await db`update lane set next_at = now()`;
    for (const other of others)
      await until('the others are told', async () => (await rows(other.estab)).filter(({ state }) => state === 'done').length === time);
    await until('it waits again', async () => Number((await rows(school.estab))[0]?.attempts) >= time);
    const [row] = await rows(school.estab);
    assert.deepEqual([row?.state, row?.errorClass], ['waiting', 'unexpected']);
    waits.push(row?.dueIn ?? 0);
  }
  for (const other of others) assert.deepEqual((await rows(other.estab)).map(({ attempts }) => attempts), [1, 1, 1], 'at the first attempt');
  assert.ok(Number(waits[1]) > Number(waits[0]) * 1.2 && Number(waits[2]) > Number(waits[1]) * 1.2, waits.join(', '));
  await db`update application_secret set sealed = ${kept?.sealed as Buffer} where rp = ${school.rp} and kind = 'signing'`;
  await retried(school.estab);
  assert.equal(receiver.arrivals.filter((one) => one.url === '/hook').length, 1);
});

test("webhook-timestamp is the database's time, whatever the worker's clock says", async () => {
  for (const seconds of [-600, 0, 600]) {
    skew = seconds * 1000;
    await change(school.estab);
    await settled(school.estab);
    const [clock] = await db<{ now: number }[]>`select extract(epoch from clock_timestamp())::float8 as now`;
    const stamp = Number(receiver.arrivals.at(-1)?.headers['webhook-timestamp']);
    assert.ok(Math.abs(stamp - Number(clock?.now)) < 120, `${stamp} at ${clock?.now}`);
  }
  assert.equal(receiver.arrivals.length, 3);
});
