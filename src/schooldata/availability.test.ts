// Covers data availability from end to end: real HTTP, a worker with its chores, the demo MIS and a real receiver.
// Collections are held back by closing their lane, and go on when it is opened.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { verifyWebhook } from '../../client/verify-webhook.js';
import { useReceiver, type Arrival } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { smallPackage } from '../../test/small-school.ts';
import { freePort } from '../../test/free-port.ts';
import { useService } from '../../test/service.ts';
import { changeState } from '../access/authorisations.ts';
import { readDatabases } from '../collection/component-databases.ts';
import { setConnector, setDemoMode } from '../collection/connector-settings.ts';
import { outboxChannel } from '../outbox/enqueue.ts';
import { sweepWaits } from './availability.ts';

type Status = {
  DBStatus: { DatabaseName: string; Status: string; Message: string | null }[];
  RequestId: string;
  AllOK: boolean;
  TimedOut: boolean;
  Message: string | null;
  ExceptionMessage: string | null;
};

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db } = service;
const estab = 'D1';
await service.addSchool(estab);
await service.addSchool('Small', smallPackage());
await service.work();
const receiver = await useReceiver();
const client = await service.addClient('app', [estab, 'Small']);
let cases = 0;

/** Asks with a callbackUrl of its own; arrivals are those that came to it. */
async function ask(path: string, { of = estab, target = receiver }: { of?: string; target?: { origin: string; arrivals: Arrival[] } } = {}) {
  const mine = `/cb?estab=${of}&id=${(cases += 1)}`;
  const response = await client.s(of, `${path}${path.includes('?') ? '&' : '?'}callbackUrl=${encodeURIComponent(`${target.origin}${mine}`)}`);
  const body = (await response.json()) as Status;
  assert.equal(response.status, 202, JSON.stringify(body));
  const arrivals = () => target.arrivals.filter(({ url }) => url === mine);
  return { body, arrivals, told: async () => {
    await until(`the callback of ${path}`, () => arrivals().length > 0, () => readDatabases(db, of));
    return JSON.parse(String(arrivals()[0]?.body)) as Status;
  } };
}

const laneOf = (name: string) => `collect ${estab} ${name}`;
async function holdBack(...names: string[]): Promise<void> {
  for (const name of names)
    await db`insert into lane (key, host, width, lasting, disabled_at) values (${laneOf(name)}, null, 1, false, now())
        on conflict (key) do update set disabled_at = now()`;
}
async function letGo(...names: string[]): Promise<void> {
  await db`update lane set disabled_at = null, next_at = now() where key = any(${names.map(laneOf)})`;
  await db`select pg_notify(${outboxChannel}, '')`;
}
const expire = (...names: string[]) =>
  db`update component_database set expires_at = now() - interval '1 second' where estab = ${estab} and name = any(${names})`;
const collections = async () => (await db`select from outbox where estab = ${estab} and kind = 'collect'`).length;
const areOk = async () => (await readDatabases(db, estab)).every(({ status }) => status === 'OK');
const allOk = () => until('everything is collected', areOk, () => readDatabases(db, estab));
const statuses = (body: Status) => body.DBStatus.map(({ DatabaseName, Status }) => `${DatabaseName} ${Status}`);
const both = ['SchoolData', 'Attendance'];
const day = 'AttendanceForDate?date=2026-11-12';
/** Long enough for a second callback that should not be to arrive: sweeps are at every status change and each second. */
const noMore = () => new Promise((resolve) => setTimeout(resolve, 1200));

test('a school that was just connected: told when roster and attendance have been collected for the first time', async () => {
  await holdBack(...both);
  await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'demo' }));
  const waiting = await ask(day);
  assert.deepEqual([statuses(waiting.body), waiting.body.AllOK], [['SchoolData Updating', 'Attendance Updating'], false]);
  await letGo('SchoolData');
  await until('the roster is there', async () => (await readDatabases(db, estab))[0]?.status === 'OK', () => readDatabases(db, estab));
  await noMore();
  assert.equal(waiting.arrivals().length, 0);
  await letGo('Attendance');
  const told = await waiting.told();
  assert.deepEqual([statuses(told), told.AllOK, told.TimedOut, told.RequestId], [['SchoolData OK', 'Attendance OK'], true, false, waiting.body.RequestId]);
  const marks = (await (await client.s(estab, day)).json()) as { AttendanceForDate: unknown[] };
  assert.ok(marks.AttendanceForDate.length > 1000);
});

test('ready at once: one callback, signed, under the name of the service, and no collection', async () => {
  const before = await collections();
  const fresh = await ask(day);
  assert.deepEqual([statuses(fresh.body), fresh.body.AllOK], [['SchoolData OK', 'Attendance OK'], true]);
  assert.deepEqual(await fresh.told(), fresh.body);
  const [arrival] = fresh.arrivals();
  assert.ok(arrival);
  assert.deepEqual([arrival.method, arrival.headers['content-type']], ['POST', 'application/json']);
  assert.match(String(arrival.headers['user-agent']), /^Schoolbell\//);
  assert.equal(verifyWebhook(arrival.headers, arrival.body, client.signingSecret), arrival.id);
  await noMore();
  assert.deepEqual([fresh.arrivals().length, await collections()], [1, before]);
});

test('ready later: one callback for each of those who wait, one collection for all', async () => {
  const before = await collections();
  await holdBack('SchoolData');
  await expire('SchoolData');
  const [one, two] = [await ask('Students'), await ask('Groups')];
  assert.deepEqual([statuses(one.body), statuses(two.body)], [['SchoolData Expired'], ['SchoolData Expired']]);
  assert.equal((await client.s(estab, 'Students?pageSize=1')).status, 200);
  await letGo('SchoolData');
  assert.deepEqual([(await one.told()).AllOK, (await two.told()).AllOK], [true, true]);
  await noMore();
  assert.deepEqual([one.arrivals().length, two.arrivals().length, await collections()], [1, 1, before + 1]);
});

test('never ready: after ten minutes one callback that says so, and none when the data comes after all', async () => {
  await holdBack('SchoolData');
  await expire('SchoolData');
  const waiting = await ask('Students');
  const at = (seconds: number) => new Date(Date.now() + seconds * 1000);
  await sweepWaits(db, { at: at(590) });
  await noMore();
  assert.equal(waiting.arrivals().length, 0);
  await db`update availability_wait set next_check_at = now() + interval '1 hour' where id = ${waiting.body.RequestId}`;
  assert.equal(await sweepWaits(db, { at: at(3601) }), 1);
  const told = await waiting.told();
  assert.deepEqual([told.AllOK, told.TimedOut, statuses(told)], [false, true, ['SchoolData Expired']]);
  await letGo('SchoolData');
  await allOk();
  await noMore();
  assert.equal(waiting.arrivals().length, 1);
});

for (const [mode, words] of [['offline', /cannot be reached/], ['broken', /cannot be read/]] as const) {
  test(`an MIS that is ${mode}: one callback at once with Error and its words, and the old data is still served`, async () => {
    await setDemoMode(db, mode);
    await expire(...both);
    const waiting = await ask(day);
    const told = await waiting.told();
    assert.deepEqual([told.AllOK, told.TimedOut, told.ExceptionMessage], [false, false, null]);
    assert.ok(told.DBStatus.some(({ Status, Message }) => Status === 'Error' && words.test(Message ?? '')), JSON.stringify(told));
    assert.match(told.Message ?? '', /can be requested directly/);
    assert.equal((await client.s(estab, 'SchoolInfo')).status, 200);
    assert.ok((((await (await client.s(estab, day)).json()) as { AttendanceForDate: unknown[] }).AttendanceForDate.length) > 1000);
    await setDemoMode(db, 'normal');
    const again = await ask(day);
    assert.equal((await again.told()).AllOK, true);
    await noMore();
    assert.deepEqual([waiting.arrivals().length, again.arrivals().length], [1, 1]);
  });
}

test('not installed, and faults of the request itself: at once', async () => {
  const absent = await ask(day, { of: 'Small' });
  assert.deepEqual(statuses(await absent.told()), ['SchoolData OK', 'Attendance NotInstalled']);
  const faulty = await ask('AttendanceForDateRange?dateFrom=2026-11-12&dateTo=2026-11-11');
  assert.deepEqual([(await faulty.told()).ExceptionMessage, (await faulty.told()).AllOK], ['dateTo is before dateFrom.', false]);
});

test('the callbackUrl is called as it is after one decoding', async () => {
  const path = '/cb/a%2Fb;x=1?estab=3281102&id=a%20b%2Bc%26d&empty=&utf=%C3%A9&again=%2525&q=a+b&date=1';
  const response = await client.s('Small', `SchoolInfo?callbackUrl=${encodeURIComponent(`${receiver.origin}${path}`)}`);
  assert.equal(response.status, 202);
  await until('it arrives', () => receiver.arrivals.some(({ url }) => url.startsWith('/cb/a')));
  assert.deepEqual(receiver.arrivals.filter(({ url }) => url.startsWith('/cb/a')).map(({ url }) => url), [path]);
});

test('a receiver that is down when the moment comes: one accepted delivery, every try under one id, each signed', async () => {
  const port = await freePort();
  const late = { origin: `http://127.0.0.1:${port}`, arrivals: [] as Arrival[] };
  const waiting = await ask('SchoolInfo', { of: 'Small', target: late });
  const tries = async () =>
    await db<
      { id: string; success: boolean; class: string | null }[]
    >`select a.id, a.success, a.error_class as class from outbox_attempt a join outbox o using (estab, id)
        where o.lane = ${`one-off app ${late.origin}`} order by a.number`;
  const hurry = async (count: number) => {
    await until(`${count} tries`, async () => (await tries()).length >= count, tries);
    await db`update outbox set due_at = now() where lane = ${`one-off app ${late.origin}`} and state = 'waiting'`;
    await db`update lane set next_at = now() where key = ${`one-off app ${late.origin}`}`;
    await db`select pg_notify(${outboxChannel}, '')`;
  };
  await until('a first try', async () => (await tries()).length === 1, tries);
  const answers = [503, 200];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    late.arrivals.push({
      method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks),
      id: String(request.headers['webhook-id']), at: 0,
    });
    response.writeHead(answers.shift() ?? 200).end();
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  try {
    await hurry(1);
    await hurry(2);
    await until('three tries', async () => (await tries()).length === 3, tries);
    await noMore();
    assert.deepEqual((await tries()).map(({ success, class: kind }) => [success, kind !== null]), [[false, true], [false, true], [true, false]]);
    assert.deepEqual(new Set([...(await tries()).map(({ id }) => id), ...late.arrivals.map(({ id }) => id)]).size, 1);
    assert.equal(late.arrivals.length, 2);
    for (const { headers, body } of late.arrivals) verifyWebhook(headers, body, client.signingSecret);
    assert.deepEqual(new Set(late.arrivals.map(({ body }) => String(body))), new Set([JSON.stringify(waiting.body)]));
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('an application whose authorisation was revoked meanwhile gets nothing', async () => {
  const other = await service.addClient('other', [estab]);
  await holdBack('SchoolData');
  await expire('SchoolData');
  const response = await other.s(estab, `Students?callbackUrl=${encodeURIComponent(`${receiver.origin}/revoked`)}`);
  assert.equal(response.status, 202);
  await changeState(db, { rp: 'other', estab, from: ['Approved'], to: 'Revoked' });
  await letGo('SchoolData');
  const hasEnded = async () => (await db`select from availability_wait where rp = 'other' and done_at is not null`).length === 1;
  await until('the wait has ended', hasEnded, () => readDatabases(db, estab));
  await until('its call is settled', async () => (await db`select from outbox where rp = 'other' and state = 'cancelled'`).length === 1);
  assert.equal(receiver.arrivals.filter(({ url }) => url === '/revoked').length, 0);
});
