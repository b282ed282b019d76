// Deliveries beside trouble, end to end: backlogs and hanging receivers, connections that are ended, breakers, a worker
// that is told to stop, and a form that must arrive byte for byte.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import { after, beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { verifyWebhook } from '../../client/verify-webhook.js';
import { useDelivering, useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { connect } from '../db/connect.ts';
import { outboundLimits } from '../http/outbound.ts';

const delivering = await useDelivering({ limits: { ...outboundLimits, totalMs: 600_000 }, worker: false });
const { db, send, rows, retried } = delivering;
const school = await delivering.addSchool();
const receiver = await useReceiver();
let worker = await delivering.start();
const well = `${receiver.origin}/well`;

/** Takes connections at any address and does not answer until they are released. */
const hung = new Set<Socket>();
let hangs = false;
const hanging = net.createServer((socket) => {
  hung.add(socket.on('error', () => {}).on('close', () => hung.delete(socket)).resume());
  if (!hangs) socket.resetAndDestroy();
});
await once(hanging.listen(0, '0.0.0.0'), 'listening');
const { port } = hanging.address() as AddressInfo;
const release = () => {
  hangs = false;
  hung.forEach((socket) => socket.resetAndDestroy());
};
after(() => {
  hanging.close();
  release();
});

beforeEach(async () => {
  release();
  await delivering.clear();
  receiver.arrivals = [];
  receiver.answer = () => 200;
  hangs = true;
});

/** Sent one after the other, each when the one before has arrived. */
async function arriveInTurn(count: number): Promise<void> {
  for (let time = 0; time < count; time += 1) {
    const id = await send(school, well);
    await until('it arrives', () => receiver.arrivals.some((one) => one.id === id));
  }
}

test('a receiver that hangs with 10,000 rows waiting keeps no other waiting', async () => {
  const url = `http://127.3.0.1:${port}/`;
  await db`insert into lane (key, host, width, lasting) values ('hanging', '127.3.0.1', 4, true)`;
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, due_at)
      select ${school.estab}, 'hanging ' || n, ${school.rp}, 'call', 'hanging', ${db.json({ event: 'example', method: 'GET', url })}, now() - interval '1 hour'
      from generate_series(1, 10000) n`;
  await db`update lane set next_at = now() where key = 'hanging'`;
  await until('it hangs', () => hung.size === 4);
  const [one, two, three, four] = hung;
  await arriveInTurn(20);
  assert.deepEqual([...hung], [one, two, three, four], 'it hung all the while');
});

test('300 calls that hang, each at an address of its own, leave another receiver what it had', async () => {
  await db`insert into lane (key, host, width, lasting) select 'hanging ' || n, '127.4.' || n / 250 || '.' || n % 250 + 1, 4, true
      from generate_series(1, 300) n`;
  await db`
    insert into outbox (estab, id, rp, kind, lane, payload, due_at)
    select ${school.estab}, l.key, ${school.rp}, 'call', l.key,
      jsonb_build_object('event', 'example', 'method', 'GET', 'url', 'http://' || l.host || ${`:${port}/`}::text), now() from lane l`;
  await db`update lane set next_at = now()`;
  await until('all hang', () => hung.size === 300, () => hung.size);
  await arriveInTurn(10);
  assert.equal(hung.size, 300, 'all hung all the while');
});

test('a form arrives byte for byte and verifies on the bytes that arrived, on every attempt', async () => {
  const form = new URLSearchParams([
    ['z', 'last first'],
    ['name', 'Zoë Müller-Ñandú'],
    ['emoji', '🎒👩‍🏫'],
    ['odd', '&=+%;/?#'],
    ['a', ''],
    ['a', '2'],
    ['', 'no name'],
    ['lines', 'a\r\nb'],
  ]).toString();
  const bodies = [Buffer.from(form), Buffer.from('é=ü&raw=%zz&+=+&&x'), Buffer.from([0x61, 0x3d, 0xff, 0x00, 0xfe])];
  for (const body of bodies) {
    receiver.arrivals = [];
    receiver.answer = () => (receiver.arrivals.length === 1 ? 500 : 200);
    const id = await send(school, well, { body, contentType: 'application/x-www-form-urlencoded' });
    await until('it was tried', async () => (await rows(school.estab)).some((row) => row.id === id && row.attempts >= 1));
    await retried(school.estab);
    assert.equal(receiver.arrivals.length, 2);
    for (const arrival of receiver.arrivals) {
      assert.deepEqual(
        [arrival.method, arrival.headers['content-type'], arrival.headers['content-length']],
        ['POST', 'application/x-www-form-urlencoded', String(body.length)],
      );
      assert.ok(arrival.body.equals(body), arrival.body.toString());
      assert.equal(verifyWebhook(arrival.headers, arrival.body, school.signingSecret), id);
      assert.throws(() => verifyWebhook(arrival.headers, Buffer.concat([arrival.body, Buffer.from('&')]), school.signingSecret));
    }
  }
});

test('a breaker opens after five failures, lets one probe through, opens for longer, and closes with the first success', async () => {
  receiver.answer = () => 500;
  const lane = { width: 1 };
  for (let time = 0; time < 8; time += 1) await send(school, well, { lane });
  const state = async () =>
    (
      await db<{ openings: number; pause: number }[]>`
        select openings, extract(epoch from open_until - (select max(at) from outbox_attempt))::float8 as pause from lane where key = ${well}`
    )[0];
  await until('it is open', async () => (await state())?.openings === 1);
  await pause(150);
  assert.equal(receiver.arrivals.length, 5, 'the sixth was not tried');
  assert.ok(Number((await state())?.pause) > 25);
  const passPause = async () => void (await db`update lane set open_until = now() - interval '1 millisecond', next_at = now() where key = ${well}`);
  await passPause();
  await until('the probe has failed', async () => (await state())?.openings === 2);
  await pause(150);
  assert.equal(receiver.arrivals.length, 6, 'one probe');
  assert.ok(Number((await state())?.pause) > 55, 'a longer pause');
  receiver.answer = () => 200;
  await passPause();
  await until('what waited goes out', () => receiver.arrivals.length >= 8);
  assert.deepEqual([(await state())?.openings, (await state())?.pause], [0, null]);
  await retried(school.estab);
  assert.ok((await rows(school.estab)).every((row) => row.state === 'done'));
});

test('every connection to the database is ended several times while events flow: each event arrives', async () => {
  const admin = connect(delivering.service.databaseUrl, { max: 1, name: 'executioner' });
  const sent: string[] = [];
  const ending = new AbortController();
  const flowing = (async () => {
    // The driver can leave a statement open for ever whose connection was cut off at the wrong moment.
    for (; !ending.signal.aborted; await pause(10))
      await Promise.race([
        send(school, well).then(
          (id) => sent.push(id),
          () => {},
        ),
        pause(1000, undefined, { ref: false }),
      ]);
  })();
  try {
    for (let time = 1; time <= 5; time += 1) {
      await until('events flow', () => sent.length >= time * 10);
      assert.ok(
        (await admin`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`).length > 0,
      );
    }
    await until('events flow again', () => sent.length >= 60);
    ending.abort();
    await flowing;
    const arrived = () => new Set(receiver.arrivals.map((one) => one.id));
    await until('all have arrived and are settled', async () => {
      // What was claimed by a statement whose answer was lost comes free when its lease ends; what the worker holds does not.
      await admin`update outbox set lease_until = now() - interval '1 second' where state = 'running' and lease_until > now() + interval '1 second'`;
      return sent.every((id) => arrived().has(id)) && (await admin`select from outbox where state <> 'done'`).length === 0;
    }, async () => [...(await admin`select state, attempts, count(*)::int from outbox group by 1, 2`)]);
  } finally {
    ending.abort();
    await admin.end({ timeout: 1 });
  }
});

test('a worker that is told to stop finishes the calls that are under way, settles them and begins no more', async () => {
  const held = Promise.withResolvers<number>();
  receiver.answer = () => held.promise;
  for (let time = 0; time < 4; time += 1) await send(school, well);
  await until('four are under way', () => receiver.arrivals.length === 4);
  const stopping = worker.stop();
  await send(school, well);
  await pause(100);
  held.resolve(200);
  await stopping;
  assert.deepEqual((await rows(school.estab)).map((row) => row.state), ['done', 'done', 'done', 'done', 'waiting']);
  assert.equal(receiver.arrivals.length, 4);
  worker = await delivering.start();
  await until('the next worker goes on', () => receiver.arrivals.length === 5);
});
