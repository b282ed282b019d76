// The command replay, on real deliveries: one by its id, all that failed since a time, all that were never sent; what
// each leaves alone, and what it says about that.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useDelivering, useReceiver, type School } from '../../test/delivery.ts';
import type { Tx } from '../db/connect.ts';
import { announceChange } from '../notifications/announce.ts';

const delivering = await useDelivering();
const { db, change, register, rows, settled, run } = delivering;
const receiver = await useReceiver();
const past = new Date(Date.now() - 3_600_000).toISOString();
let school: School;
let id = '';

beforeEach(async () => {
  await delivering.clear();
  await newSchool();
  receiver.arrivals = [];
  receiver.answer = () => 200;
});

async function newSchool(): Promise<void> {
  school = await delivering.addSchool();
  id = await register(school, `${receiver.origin}/hook`);
}

const pair = () => ({ rp: school.rp, estab: school.estab });
const states = async () => (await rows(school.estab)).map(({ state }) => state);
const endLane = () =>
  db`update lane set disabled_at = now(), disabled_why = 'the receiver answered 410 Gone', failures = 9, openings = 3, failing_since = now(),
      warned_at = now(), open_until = now() + interval '1 hour'`;

/** Events, one after the other, that ended like this. */
async function told(count: number, state = 'failed'): Promise<string[]> {
  for (let time = 0; time < count; time += 1) {
    await change(school.estab);
    await settled(school.estab);
  }
  await db`update outbox set state = ${state}, attempts = 12, settled_at = now() where estab = ${school.estab}`;
  receiver.arrivals = [];
  return (await rows(school.estab)).map((row) => row.id);
}

// ---- All missing --------------------------------------------------------------------------------------------------

test('--missing with nothing missed sends nothing, also right after a change, a delivery and a pause without one', async () => {
  assert.deepEqual((await run('replay', { missing: true })).data, { announced: 0 });
  await change(school.estab);
  assert.deepEqual((await run('replay', { missing: true })).data, { announced: 0 });
  await settled(school.estab);
  await run('pause', pair());
  await run('resume', pair());
  const { data, lines } = await run('replay', { missing: true });
  assert.deepEqual([data, lines], [{ announced: 0 }, ['0 events will be sent']]);
  assert.deepEqual(await states(), ['done']);
});

test('--missing passes over what is still held back: paused, or disabled', async () => {
  await told(1, 'done');
  await endLane();
  await change(school.estab);
  assert.deepEqual((await run('replay', { missing: true })).data, { announced: 0 });
  assert.deepEqual(await states(), ['done']);
  await db`update lane set disabled_at = null, open_until = null`;
  await run('pause', pair());
  assert.deepEqual((await run('replay', { missing: true })).data, { announced: 0 });
  await db`update authorisation set state = 'Approved' where estab = ${school.estab}`;
  assert.deepEqual([(await run('replay', { missing: true })).data, (await run('replay', { missing: true })).data], [{ announced: 1 }, { announced: 0 }]);
  await settled(school.estab);
  assert.equal(receiver.arrivals.length, 1);
});

// ---- All failed since ---------------------------------------------------------------------------------------------

test('--failed-since takes the newest of each registration only', async () => {
  const ids = await told(3);
  assert.deepEqual((await run('replay', { 'failed-since': past })).data, { replayed: [ids[2]], left: [] });
  await settled(school.estab);
  assert.deepEqual([receiver.arrivals.map((one) => one.id), await states()], [[ids[2]], ['failed', 'failed', 'done']]);
});

test('--failed-since takes none when something newer was said, waits, or was cancelled', async () => {
  for (const newer of ['done', 'waiting', 'running', 'superseded', 'cancelled']) {
    await newSchool();
    const ids = await told(2);
    await db`update outbox set state = ${newer}, due_at = now() + interval '1 hour', lease_until = now() + interval '1 hour' where id = ${ids[1] ?? ''}`;
    assert.deepEqual((await run('replay', { 'failed-since': past })).data, { replayed: [], left: [] }, newer);
  }
});

test('--failed-since leaves lanes that have ended alone, and names them with the reason and the number', async () => {
  await told(2);
  await endLane();
  const other = await delivering.addSchool();
  await register(other, `${receiver.origin}/other`);
  await change(other.estab);
  await settled(other.estab);
  await db`update outbox set state = 'failed', attempts = 12, settled_at = now() where estab = ${other.estab}`;
  const [row] = await rows(other.estab);
  const { data, lines } = await run('replay', { 'failed-since': past });
  assert.deepEqual(data, { replayed: [row?.id], left: [{ key: `webhook ${id}`, why: 'the receiver answered 410 Gone', failed: 2 }] });
  assert.equal(lines.length, 2);
  assert.match(lines[1] ?? '', new RegExp(`2 of webhook ${id}.*disabled.*410 Gone.*by its id`));
  assert.deepEqual(await states(), ['failed', 'failed']);
});

test('--failed-since looks at when it failed', async () => {
  const ids = await told(1);
  await db`update outbox set settled_at = now() - interval '2 hours'`;
  assert.deepEqual((await run('replay', { 'failed-since': past })).data, { replayed: [], left: [] });
  await db`update outbox set settled_at = now()`;
  assert.deepEqual((await run('replay', { 'failed-since': past })).data, { replayed: ids, left: [] });
});

// ---- One ----------------------------------------------------------------------------------------------------------

test('one by its id is refused while the authorisation is paused or revoked, and stays as it was', async () => {
  const [one = ''] = await told(1);
  for (const [command, state] of [['pause', 'Paused'], ['revoke', 'Revoked']] as const) {
    await run(command, pair());
    await assert.rejects(run('replay', {}, one), new RegExp(`not authorised at ${school.estab} \\(${state}\\)`));
  }
  assert.deepEqual(await states(), ['failed']);
});

test('one by its id is refused when its registration was removed, and stays as it was', async () => {
  const [one = ''] = await told(1);
  await school.api('DELETE', `/${id}`);
  await assert.rejects(run('replay', {}, one), /registration was removed/);
  await register(school, `${receiver.origin}/new`);
  await assert.rejects(run('replay', {}, one), /registration was removed/, 'a new registration is another one');
  assert.equal((await db`select from outbox where id = ${one} and state = 'failed'`).length, 1);
});

test('one by its id opens a lane that has ended, with a new start and a fresh schedule under the same id', async () => {
  const [one = ''] = await told(1);
  await endLane();
  receiver.answer = () => 500;
  assert.deepEqual((await run('replay', {}, one)).data, { replayed: [one] });
  await settled(school.estab);
  assert.deepEqual([receiver.arrivals.map((arrival) => arrival.id), await states()], [[one], ['waiting']]);
  const [lane] = await db`select openings, warned_at, open_until, disabled_at, disabled_why from lane`;
  assert.deepEqual({ ...lane }, { openings: 0, warned_at: null, open_until: null, disabled_at: null, disabled_why: null });
  const [row] = await rows(school.estab);
  assert.ok(Number(row?.dueIn) > 3 && Number(row?.dueIn) < 7, `the first delay of the schedule: ${row?.dueIn} s`);
});

test('one by its id goes to where its registration points now', async () => {
  const [one = ''] = await told(1, 'done');
  await register(school, `${receiver.origin}/new`, { Method: 'POST' });
  await run('replay', {}, one);
  await settled(school.estab);
  assert.deepEqual(receiver.arrivals.map((arrival) => [arrival.id, arrival.method, arrival.url]), [[one, 'POST', '/new']]);
});

test('one by its id is refused while it is being delivered, when it is unknown, and when it never went out and a newer one waits', async () => {
  // In one transaction: the worker must not be faster.
  const changeAnd = (then: (tx: Tx) => PromiseLike<unknown>) => db.begin(async (tx) => {
    await announceChange(tx, school.estab, 'SchoolData');
    await then(tx);
  });
  await changeAnd((tx) => tx`update outbox set state = 'cancelled', settled_at = now()`);
  const [cancelled = ''] = (await rows(school.estab)).map((row) => row.id);
  await changeAnd((tx) => tx`update outbox set due_at = now() + interval '1 hour' where state = 'waiting'`);
  await assert.rejects(run('replay', {}, cancelled), /newer event.*waiting already/);
  await db`update outbox set state = 'running', lease_until = now() + interval '1 hour' where state = 'waiting'`;
  const running = (await rows(school.estab)).find(({ state }) => state === 'running')?.id ?? '';
  await assert.rejects(run('replay', {}, running), /being delivered right now/);
  await assert.rejects(run('replay', {}, 'msg_unknown'), /no delivery msg_unknown/);
});

test('what is asked for must be one thing, and a time a time', async () => {
  for (const [options, ...ids] of [[{}], [{ missing: true }, 'msg_x'], [{ missing: true, 'failed-since': past }], [{}, 'msg_x', 'msg_y']] as const)
    await assert.rejects(run('replay', options, ...ids), /give one of/);
  await assert.rejects(run('replay', { 'failed-since': 'yesterday' }), /not a time such as/);
});
