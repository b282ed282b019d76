// Covers waits for data as rows, without a worker and with time passed in: what ends one and when, that there is one
// callback whatever dies or runs at the same time, what is answered directly, and the cap.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { earlier } from '../../test/earlier.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { until } from '../../test/until.ts';
import { attendanceCsv, smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { useService } from '../../test/service.ts';
import { changeState } from '../access/authorisations.ts';
import { readDatabases } from '../collection/component-databases.ts';
import { setConnector } from '../collection/connector-settings.ts';
import { mostOpenWaits, sweepWaits } from './availability.ts';
import { recordCollected } from '../collection/fetch-outcome.ts';

type Status = {
  DBStatus: Record<string, unknown>[];
  Estab: string;
  Endpoint: string;
  RequestId: string | null;
  AllOK: boolean;
  TimedOut: boolean;
  Message: string | null;
  ExceptionType: string | null;
  ExceptionMessage: string | null;
};

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db } = service;
const receiver = 'http://127.0.0.1:9999';
const marks = { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,') } };
let schools = 0;

/** A school with everything, and an application; `demo`: it can be asked again. */
async function newSchool({ scopes, demo = true }: { scopes?: string; demo?: boolean } = {}) {
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab, smallPackage({}, marks));
  if (demo) {
    await db`update establishment set connector = 'demo' where estab = ${estab}`;
    await db`update component_database set expires_at = now() + interval '20 minutes' where estab = ${estab}`;
  }
  const client = await service.addClient(`app${schools}`, [estab], scopes);
  const get = async (path: string) => {
    const response = await client.s(estab, path);
    return { status: response.status, headers: response.headers, body: (await response.json()) as Status };
  };
  const ask = (path: string, url: string = `${receiver}/cb?estab=${estab}`) =>
    get(`${path}${path.includes('?') ? '&' : '?'}callbackUrl=${encodeURIComponent(url)}`);
  return { estab, rp: client.rp, get, ask };
}

const callsOf = async (estab: string) =>
  (await db<{ body: Buffer; url: string }[]>`select body, payload ->> 'url' as url from outbox where estab = ${estab} and kind = 'call' order by seq`).map(
    ({ body, url }) => ({ url, body: JSON.parse(body.toString()) as Status }),
  );
const collectionsOf = async (estab: string) =>
  (
    await db<
      { database: string; state: string }[]
    >`select payload ->> 'database' as database, state from outbox where estab = ${estab} and kind = 'collect' order by seq`
  ).map(({ database, state }) => `${database} ${state}`);
const openOf = async (estab: string) => (await db`select from availability_wait where estab = ${estab} and done_at is null`).length;
const expire = (estab: string, name: string) =>
  db`update component_database set expires_at = now() - interval '1 second' where estab = ${estab} and name = ${name}`;
/** As if a collection had ended so. */
const ended = (estab: string, name: string, status = 'OK', message: string | null = null) =>
  db`update component_database set status = ${status}, message = ${message}, refreshing_since = null, expires_at = now() + interval '20 minutes'
      where estab = ${estab} and name = ${name}`;
/** The first whole millisecond that is not before it. */
const deadlineOf = async (estab: string) =>
  (
    await db<{ at: Date }[]>`select date_trunc('milliseconds', deadline_at) + interval '1 millisecond' as at from availability_wait where estab = ${estab}`
  )[0]?.at.getTime() ?? 0;
const sweepAt = (ms: number) => sweepWaits(db, { at: new Date(ms) });

test('data that is ready is told at once, and the answer is the same object', async () => {
  const { estab, ask } = await newSchool();
  const { status, body } = await ask('AttendanceForDate?date=2026-11-12');
  assert.equal(status, 202);
  assert.deepEqual(Object.keys(body), [
    'DBStatus', 'Estab', 'Endpoint', 'RequestId', 'AllOK', 'TimedOut', 'Message', 'ExceptionType', 'ExceptionMessage', 'InnerException',
  ]);
  assert.deepEqual(
    [body.Estab, body.Endpoint, body.AllOK, body.TimedOut, body.Message, body.ExceptionMessage, body.DBStatus.map((one) => one.Status)],
    [estab, 'AttendanceForDate', true, false, null, null, ['OK', 'OK']],
  );
  assert.match(body.RequestId ?? '', /^[0-9a-f-]{36}$/);
  assert.deepEqual(await callsOf(estab), [{ url: `${receiver}/cb?estab=${estab}`, body }]);
  assert.deepEqual([await openOf(estab), await collectionsOf(estab)], [0, []]);
});

test('a collection that ends while somebody looks whether it has is not followed by another', async () => {
  const { estab, ask } = await newSchool();
  await expire(estab, 'SchoolData');
  await ask('Students');
  let looking: Promise<number> | undefined;
  await db.begin(async (tx) => {
    await recordCollected(tx, estab, 'SchoolData', { rowCount: 1, changed: false });
    looking = sweepWaits(db, { estab });
    await until('whoever looks stands at the lock', async () =>
      (await lockWaits(db)).length > 0);
  });
  assert.equal(await looking, 0);
  assert.equal(await sweepWaits(db, { estab }), 1);
  assert.deepEqual(await collectionsOf(estab), ['SchoolData waiting']);
  const [database] = await readDatabases(db, estab, ['SchoolData']);
  assert.deepEqual([database?.status, database?.refreshing], ['OK', false]);
});

test('never ready: nothing until ten minutes after the request, then once, with TimedOut', async () => {
  const { estab, ask } = await newSchool();
  await expire(estab, 'SchoolData');
  const asked = Date.now();
  const { body } = await ask('Students');
  assert.deepEqual([body.AllOK, body.DBStatus[0]?.Status], [false, 'Expired']);
  const deadline = await deadlineOf(estab);
  assert.ok(deadline >= asked + 599_000 && deadline <= Date.now() + 601_000);
  for (const before of [599_000, 300_000, 1000, 2]) assert.equal(await sweepAt(deadline - before), 0, `${before} ms before`);
  assert.deepEqual(await callsOf(estab), []);
  const [next] = await db<{ late: boolean }[]>`select next_check_at > deadline_at as late from availability_wait where estab = ${estab}`;
  assert.equal(next?.late, false);
  assert.equal(await sweepAt(deadline), 1);
  const [call, ...more] = await callsOf(estab);
  assert.deepEqual(
    [call?.body.TimedOut, call?.body.AllOK, call?.body.RequestId, call?.body.DBStatus[0]?.Status, more],
    [true, false, body.RequestId, 'Expired', []],
  );
  assert.match(call?.body.Message ?? '', /^Not ready within 10 minutes: SchoolData is Expired.*can be requested directly/);
  await ended(estab, 'SchoolData');
  assert.equal(await sweepAt(deadline + 60_000), 0);
  assert.equal((await callsOf(estab)).length, 1);
});

test('ready just before the deadline is ready; an error is told as one, even at the deadline', async () => {
  for (const [status, expected] of [['OK', [true, false]], ['Error', [false, false]]] as const) {
    const { estab, ask } = await newSchool();
    await expire(estab, 'SchoolData');
    await ask('Students');
    const deadline = await deadlineOf(estab);
    assert.equal(await sweepAt(deadline - 4), 0);
    await ended(estab, 'SchoolData', status);
    assert.equal(await sweepWaits(db, { estab, at: new Date(status === 'OK' ? deadline - 2 : deadline) }), 1);
    assert.deepEqual((await callsOf(estab)).map(({ body }) => [body.AllOK, body.TimedOut]), [expected]);
    assert.equal(await sweepAt(deadline + 1000), 0);
  }
});

test('every needed database counts: one that fails later ends the wait with how it stands, and so does one that was OK', async () => {
  const { estab, ask } = await newSchool();
  await expire(estab, 'Attendance');
  await ask('AttendanceForDate?date=2026-11-12');
  assert.equal(await sweepWaits(db, { estab }), 0);
  await ended(estab, 'SchoolData', 'Timeout', 'the MIS did not answer');
  assert.equal(await sweepWaits(db, { estab }), 1);
  const [call] = await callsOf(estab);
  assert.deepEqual([call?.body.AllOK, call?.body.TimedOut, call?.body.DBStatus.map((one) => one.Status)], [false, false, ['Timeout', 'Expired']]);
  assert.match(call?.body.Message ?? '', /SchoolData is Timeout \(the MIS did not answer\)/);
});

test('a database that expires while another one is waited for is refreshed too', async () => {
  const { estab, ask } = await newSchool();
  await expire(estab, 'Attendance');
  await ask('AttendanceForDate?date=2026-11-12');
  await expire(estab, 'SchoolData');
  await ended(estab, 'Attendance');
  await sweepWaits(db, { estab });
  assert.deepEqual(await collectionsOf(estab), ['Attendance waiting', 'SchoolData waiting']);
});

test('held, failed before, and not installed: told at once, or after one more try where that may help', async () => {
  const held = await newSchool({ demo: false });
  await service.load(held.estab, smallPackage({ users: [...smallSchool.users, ...Array.from({ length: 60 }, (_, at) => user(`n${at}`, 'student'))] }));
  assert.equal((await service.load(held.estab, smallPackage())).outcome, 'held');
  const paused = await held.ask('Students');
  const [call] = await callsOf(held.estab);
  assert.deepEqual([paused.status, call?.body.AllOK, call?.body.DBStatus[0]?.Status], [202, false, 'Paused']);
  assert.match(String(call?.body.DBStatus[0]?.Message), /waits for approval/);
  assert.deepEqual([await collectionsOf(held.estab), await openOf(held.estab)], [[], 0]);

  await service.addSchool('Bare', smallPackage());
  const bare = await service.addClient('bare', ['Bare']);
  assert.equal((await bare.s('Bare', `AttendanceForDate?date=2026-11-12&callbackUrl=${encodeURIComponent(receiver)}`)).status, 202);
  assert.deepEqual((await callsOf('Bare')).map(({ body }) => body.DBStatus.map((one) => one.Status)), [['OK', 'NotInstalled']]);

  const failed = await newSchool();
  await ended(failed.estab, 'SchoolData', 'Error', 'offline');
  assert.equal((await failed.ask('Students')).body.DBStatus[0]?.Status, 'Updating');
  assert.deepEqual([await collectionsOf(failed.estab), await callsOf(failed.estab)], [['SchoolData waiting'], []]);
});

test('whatever is wrong with the request itself is told to the callbackUrl, once', async () => {
  const { estab, ask } = await newSchool();
  await expire(estab, 'SchoolData');
  const faults: readonly [path: string, words: RegExp][] = [
    ['AttendanceForDate', /date is missing/],
    ['AttendanceForDate?date=2026-02-30', /^date/],
    ['Students?page=0', /^page/],
    ['Students?id=p1', /"id" is not a parameter of Students.*percent-encode/],
    ['Students?pageSize=1&pageSize=2', /2 times/],
  ];
  for (const [path, words] of faults) {
    const { status, body } = await ask(path);
    assert.deepEqual([status, body.AllOK, body.TimedOut, body.ExceptionType], [202, false, false, 'invalid_request'], path);
    assert.match(body.ExceptionMessage ?? '', words);
    const call = (await callsOf(estab)).at(-1);
    assert.deepEqual(call?.body, body, path);
  }
  assert.deepEqual([(await callsOf(estab)).length, await openOf(estab), await collectionsOf(estab)], [faults.length, 0, []]);
});

test('two waits for the same thing: one collection, one callback each', async () => {
  const { estab, ask } = await newSchool();
  await expire(estab, 'SchoolData');
  const answers = await Promise.all(['one', 'two'].map((id) => ask('Students', `${receiver}/cb?id=${id}`)));
  assert.deepEqual(await collectionsOf(estab), ['SchoolData waiting']);
  await ended(estab, 'SchoolData');
  assert.equal(await sweepWaits(db, { estab }), 2);
  const calls = await callsOf(estab);
  assert.deepEqual(calls.map(({ url }) => url).sort(), [`${receiver}/cb?id=one`, `${receiver}/cb?id=two`]);
  assert.deepEqual(calls.map(({ body }) => body.RequestId).sort(), answers.map(({ body }) => body.RequestId).sort());
});

test('five sweepers at once end each wait once', async () => {
  const { estab, ask } = await newSchool();
  await expire(estab, 'SchoolData');
  for (let at = 0; at < 6; at += 1) await ask('Students', `${receiver}/cb?id=${at}`);
  await ended(estab, 'SchoolData');
  const counts = await Promise.all(Array.from({ length: 5 }, () => sweepWaits(db, { estab })));
  assert.equal(counts.reduce((sum, count) => sum + count, 0), 6);
  assert.equal(new Set((await callsOf(estab)).map(({ url }) => url)).size, 6);
  assert.equal((await callsOf(estab)).length, 6);
});

test('killed between ending the wait and the commit: nothing has happened, and the next sweep does it once', async () => {
  const { estab, ask } = await newSchool();
  await ask('AttendanceCodes');
  await expire(estab, 'SchoolData');
  await ask('Students');
  await ended(estab, 'SchoolData');
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const lock = db.begin(async (tx) => {
    await tx`select from lane where key = ${`one-off app${schools} ${receiver}`} for update`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  let isDead = false;
  const dying = assert.rejects(sweepWaits(db, { estab })).finally(() => (isDead = true));
  const stuck = () =>
    db<{ pid: number }[]>`select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into lane%'`;
  // It has ended the wait and is about to put the call into the outbox; what lost its connection is tried once more.
  await until('it dies', async () => {
    for (const { pid } of await stuck()) await db`select pg_terminate_backend(${pid}::int)`;
    return isDead;
  });
  await dying;
  release.resolve();
  await lock;
  assert.deepEqual([await openOf(estab), (await callsOf(estab)).length], [1, 1]);
  assert.equal(await sweepWaits(db, { estab }), 1);
  assert.deepEqual([await openOf(estab), (await callsOf(estab)).length], [0, 2]);
});

test('refusals that are answered directly: no token, no scope, no more authorisation, a callbackUrl that cannot be called', async () => {
  const { estab, rp, ask } = await newSchool({ scopes: 'School' });
  const bare = await fetch(`${service.url}/api/v1/SchoolInfo?callbackUrl=${encodeURIComponent(receiver)}`);
  assert.equal(bare.status, 401);
  assert.equal((await ask('Students')).status, 403);
  assert.equal((await ask('School/Other/SchoolInfo')).status, 403);
  for (const url of [
    'http://10.0.0.1/cb', 'http://169.254.169.254/latest', 'ftp://127.0.0.1/cb', 'javascript:alert(1)', 'not a url', '/cb', '',
    'http://user:secret@127.0.0.1/cb', 'http://127.0.0.1:22/cb', 'http://[::1]:9999/',
  ]) {
    const { status, body } = await ask('SchoolInfo', url);
    assert.equal(status, 400, url);
    assert.match(body.ExceptionMessage ?? '', /callbackUrl/, url);
  }
  const { status, body } = await ask(`SchoolInfo?CALLBACKURL=${encodeURIComponent(receiver)}`);
  assert.deepEqual([status, body.ExceptionMessage], [400, 'callbackUrl is given 2 times; give it once.']);
  await changeState(db, { rp, estab, from: ['Approved'], to: 'Revoked' });
  assert.equal((await ask('SchoolInfo')).status, 403);
  assert.deepEqual([await callsOf(estab), await openOf(estab)], [[], 0]);
});

test('as many open waits as an application may have, over all its schools, and then a clear refusal', async () => {
  const { estab, rp, ask, get } = await newSchool();
  const insert = (count: number) => db`
    insert into availability_wait (estab, rp, endpoint, databases, callback_url, deadline_at, next_check_at)
    select ${estab}, ${rp}, 'Students', '{SchoolData}', ${receiver}, now() + interval '10 minutes', now() + interval '10 minutes'
      from generate_series(1, ${count}::int)`;
  await insert(mostOpenWaits - 1);
  await expire(estab, 'SchoolData');
  assert.deepEqual((await Promise.all([ask('Students'), ask('Students'), ask('Students')])).map(({ status }) => status).sort(), [202, 429, 429]);
  const refused = await ask('Students');
  assert.deepEqual([refused.status, Number(refused.headers.get('retry-after')) > 0], [429, true]);
  assert.match(refused.body.ExceptionMessage ?? '', new RegExp(`has ${mostOpenWaits} requests with a callbackUrl open.*without callbackUrl`));
  assert.equal((await get('Students')).status, 200);
  await db`update availability_wait set done_at = now() where estab = ${estab} and id in (select id from availability_wait
      where estab = ${estab} and done_at is null limit 1)`;
  assert.equal((await ask('Students')).status, 202);
  await db`delete from availability_wait where estab = ${estab}`;
});

test('a read refreshes what has expired, once; data that was only uploaded never expires', async () => {
  const { estab, get } = await newSchool();
  await expire(estab, 'SchoolData');
  for (let at = 0; at < 3; at += 1) assert.equal((await get('Students')).status, 200);
  assert.deepEqual(await collectionsOf(estab), ['SchoolData waiting']);
  const uploaded = await newSchool({ demo: false });
  await db`update component_database set updated_at = ${earlier(db, 'updated_at', '30 days')} where estab = ${uploaded.estab}`;
  assert.equal((await uploaded.get('AttendanceForDate?date=2026-11-12')).status, 200);
  assert.deepEqual(await collectionsOf(uploaded.estab), []);
});

test('a read does not hurry what has failed and is tried again on its schedule', async () => {
  const { estab, get } = await newSchool();
  await ended(estab, 'SchoolData', 'Error', 'offline');
  assert.equal((await get('Students')).status, 200);
  assert.deepEqual(await collectionsOf(estab), []);
});

test('a school that is connected and not collected yet waits for its first collection', async () => {
  await service.addSchool('New');
  const client = await service.addClient('new', ['New']);
  await db.begin((tx) => setConnector(tx, service.seal, 'New', { kind: 'demo' }));
  assert.equal((await client.s('New', 'Students')).status, 409);
  const waiting = await client.s('New', `Students?callbackUrl=${encodeURIComponent(receiver)}`);
  assert.deepEqual([waiting.status, ((await waiting.json()) as Status).DBStatus[0]?.Status], [202, 'Updating']);
  assert.deepEqual([await collectionsOf('New'), await callsOf('New')], [['SchoolData waiting', 'Attendance waiting'], []]);
});
