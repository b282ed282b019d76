// Tests that a worker begins no call when others may have taken its work over: not after its lease, and not when it has not reached the database
// for some seconds.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { useDelivering, useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { connect } from '../db/connect.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { createDelivery } from '../notifications/deliver.ts';
import { createLeases } from './leases.ts';
import { unseenMs } from './sessions.ts';
import type { Outcome } from './settle.ts';
import { startWorker } from './worker.ts';

const database = await useDatabase();
const { db, seal, addSchool, send } = await useDelivering({ worker: false, database });
const receiver = await useReceiver();
const outbound = createOutbound(parseAllowList(['127.0.0.0/8']));
const delivery = createDelivery(db, seal, outbound, '1.2.3');
/** The worker's own connections are of the serving role, which can be kept out of the database. */
const own = connect(database.servingUrl ?? database.url, { max: 4, name: 'cut off' });
const letIn = async (isLetIn: boolean) => {
  const [named] = await db<{ name: string }[]>`select current_database() as name`;
  await db.unsafe(`alter database ${named?.name} connection limit ${isLetIn ? -1 : 0}`);
};
const endSessions = () =>
  db`select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'schoolbell cut off%' and datname = current_database()`;

let elapsed = 0;
let gate = Promise.withResolvers<void>();
let begun: { isHeld: () => boolean; ended: Promise<Outcome> } | undefined;
const worker = await startWorker({
  db: own,
  handlers: {
    call: {
      longestSeconds: 20,
      run(work, isHeld = () => assert.fail('a worker says whether it holds the work')) {
        const ended = gate.promise.then(() => delivery.run(work, isHeld));
        begun = { isHeld, ended };
        return ended;
      },
    },
  },
  log: { warn() {}, error() {} },
  pollMs: 50,
  elapsedMs: () => elapsed,
});
after(async () => {
  gate.resolve();
  await worker.stop();
  await outbound.close();
  await own.end({ timeout: 1 });
});

async function beginCall(): Promise<{ isHeld: () => boolean; ended: Promise<Outcome> }> {
  [gate, begun] = [Promise.withResolvers(), undefined];
  receiver.arrivals.length = 0;
  await send(await addSchool(), `${receiver.origin}/call`);
  await until('the worker has claimed it', () => begun !== undefined);
  return begun ?? assert.fail();
}

test('a healthy worker begins a call however long ago it claimed the work, as long as it renews its lease', async () => {
  const { isHeld, ended } = await beginCall();
  elapsed += unseenMs;
  await until('it has seen the database again', isHeld);
  gate.resolve();
  assert.equal((await ended).success, true);
  assert.equal(receiver.arrivals.length, 1);
});

test('a worker whose sessions have ended, and that cannot get new ones, begins no call after some seconds; another attempt makes it', async () => {
  const { isHeld, ended } = await beginCall();
  await letIn(false);
  await endSessions();
  elapsed += unseenMs - 1;
  assert.equal(isHeld(), true, 'nobody may take it over yet');
  elapsed += 1;
  assert.equal(isHeld(), false);
  gate.resolve();
  const { state, errorClass } = await ended;
  assert.deepEqual([state, errorClass, receiver.arrivals.length], ['waiting', 'unexpected', 0]);
  await letIn(true);
  await until('it is called', () => receiver.arrivals.length === 1);
});

test('a worker that loses its sessions and gets new ones goes on', async () => {
  const { isHeld } = await beginCall();
  await endSessions();
  elapsed += unseenMs;
  await until('it has seen the database again', isHeld);
  gate.resolve();
  await until('it is called', () => receiver.arrivals.length === 1);
});

test('a worker that reaches the database begins no call after a lease that it did not renew', async () => {
  await worker.stop();
  const leases = createLeases(db, 30, () => elapsed);
  await send(await addSchool(), `${receiver.origin}/call`);
  await leases.refreshSession();
  const [work] = await leases.claim(1, false);
  assert.ok(work);
  elapsed += 29_999;
  await leases.refreshSession();
  assert.equal(leases.isHeld(work), true);
  elapsed += 1;
  await leases.refreshSession();
  assert.equal(leases.isHeld(work), false);
  await leases.renew();
  assert.equal(leases.isHeld(work), true);
});

test('every answered statement of the worker proves its session, by the time at which the statement was sent', async () => {
  await send(await addSchool(), `${receiver.origin}/call`);
  const leases = createLeases(db, 30, () => elapsed);
  const [work] = await leases.claim(1, false);
  assert.ok(work);
  elapsed += unseenMs - 1;
  await leases.whileSeen(async () => void (elapsed += 1));
  assert.equal(leases.isHeld(work), true);
  elapsed += unseenMs - 1;
  assert.equal(leases.isHeld(work), false);
});
