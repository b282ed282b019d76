// Covers a writeback when something is in the way: an MIS that is offline, slow, broken or rejecting, the same request
// again or at the same moment, an authorisation that ends, readers in between, and many marks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { changeState } from '../access/authorisations.ts';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { mark, useWriteback, type Answer } from '../../test/writeback.ts';

const { db, addSchool } = await useWriteback();
const numbers = ({ Total, Written, Unchanged, Failed }: Answer) => [Total, Written, Unchanged, Failed];
const receiver = await useReceiver();
const callback = [{ Method: 'POST', Url: `${receiver.origin}/done?x=1` }];
const told = (trackingId: string) => receiver.arrivals.filter(({ url }) => url.includes(trackingId));
const key = (idempotencyKey: string) => ({ 'idempotency-key': idempotencyKey });

async function requireTold(trackingId: string, completed: 'True' | 'False'): Promise<Answer> {
  await until('the outcome is told', () => told(trackingId).length > 0);
  const [arrival] = told(trackingId);
  assert.equal(arrival?.url, `/done?x=1&trackingid=${trackingId}&completed=${completed}`);
  return JSON.parse(String(arrival?.body)) as Answer;
}

// ---- An MIS that is slow ------------------------------------------------------------------------------------------

/** It takes twenty seconds, which the other tests need not wait for. */
const slow = await addSchool();
let slowAnswer: Promise<Answer> | undefined;

test('a slow MIS holds up no other school, and the outcome comes back all the same', async () => {
  const other = await addSchool();
  await slow.set('slow');
  slowAnswer = slow.post([mark(0)]);
  await until('it is under way', async () => (await slow.work())[0]?.state === 'running');
  assert.equal((await other.post([mark(0)])).Status, 'Completed');
  const [work] = await slow.work();
  assert.deepEqual([work?.state, await slow.kept()], ['running', {}], 'still under way');
  // It is waited for at the end of the file.
});

// ---- An MIS that misbehaves ---------------------------------------------------------------------------------------

test('a rejecting MIS writes nothing, or with mode=partial the rest', async () => {
  const school = await addSchool();
  await school.post([mark(0, '/')]);
  await school.set('rejecting');
  const whole = await school.post([mark(0), mark(1), mark(2)]);
  assert.deepEqual([whole.status, whole.Status, whole.ExceptionType, numbers(whole)], [200, 'Rejected', 'writeback_failed', [3, 0, 0, 3]]);
  assert.deepEqual(whole.Marks.map(({ Code, PreviousMark }) => [Code, PreviousMark]), [['RegisterClosed', '/'], ['NotWritten', null], ['NotWritten', null]]);
  assert.deepEqual([await school.shown(), await school.kept(), (await school.history()).length], [{ 's0000 AM': '/' }, { 's0000 AM': '/' }, 1]);

  const partial = await school.post([mark(0), mark(1), mark(2, 'H'), mark(3)], { query: '?mode=partial', callback });
  const posted = await requireTold(partial.TrackingId, 'True');
  assert.deepEqual([posted.Status, numbers(posted)], ['Completed', [4, 2, 0, 2]]);
  assert.deepEqual(posted.Marks.map(({ Code, Result }) => Code ?? Result), ['RegisterClosed', 'Written', 'MarkNotValidForDate', 'Written']);
  const expected = { 's0000 AM': '/', 's0001 AM': 'I', 's0003 AM': 'I' };
  assert.deepEqual([await school.shown(), await school.kept()], [expected, expected]);
});

test('what a broken MIS cannot take has failed at once', async () => {
  const school = await addSchool();
  await school.set('broken');
  const { TrackingId } = await school.post([mark(0), mark(1)], { callback });
  const posted = await requireTold(TrackingId, 'False');
  assert.deepEqual([posted.Status, posted.Attempts, numbers(posted)], ['Failed', 1, [2, 0, 0, 2]]);
  assert.match(String(posted.Message), /could not make sense/);
  assert.ok(posted.Marks.every(({ Result, Code }) => Result === 'Failed' && Code === 'Failed'));
  const direct = await school.post([mark(0), mark(1)]);
  assert.deepEqual([direct.status, direct.Status], [200, 'Failed']);
  assert.match(String(direct.ExceptionMessage), /^Failed: /);
  assert.equal(
    (await db`select from component_database where estab = ${school.estab} and name = 'Attendance'`).length,
    0,
    'a school that had no attendance has none now',
  );
});

test('an MIS that is offline is tried every five minutes; when it is back, the marks are written', async () => {
  const school = await addSchool();
  await school.set('offline');
  const { TrackingId, status } = await school.post([mark(0)], { callback });
  assert.equal(status, 202);
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await until('it was tried', async () => (await school.work())[0]?.attempts === attempt);
    const [work] = await school.work();
    assert.ok(work?.state === 'waiting' && Number(work.dueIn) > 299 && Number(work.dueIn) <= 300, JSON.stringify(work));
    const pending = await school.outcome(TrackingId);
    assert.deepEqual([pending.Status, pending.Attempts, pending.CompletedAt, pending.Marks[0]?.Result], ['Pending', attempt, null, 'Pending']);
    if (attempt < 3) await school.hurry();
  }
  assert.equal(told(TrackingId).length, 0);
  await school.set('normal');
  await school.hurry();
  const posted = await requireTold(TrackingId, 'True');
  assert.deepEqual([posted.Status, posted.Attempts, numbers(posted)], ['Completed', 4, [1, 1, 0, 0]]);
});

test('after an hour it has timed out, and was tried at the end of the hour', async () => {
  const school = await addSchool();
  await school.set('offline');
  const { TrackingId } = await school.post([mark(0), mark(1)], { callback });
  await until('it was tried', async () => (await school.work())[0]?.attempts === 1);
  const [hour] = await db`select extract(epoch from deadline_at - submitted_at)::int as seconds from writeback where tracking_id = ${TrackingId}`;
  assert.equal(hour?.seconds, 3600);
  await db`update writeback set deadline_at = now() + interval '100 seconds' where tracking_id = ${TrackingId}`;
  await school.hurry();
  await until('it was tried again', async () => (await school.work())[0]?.attempts === 2);
  const [work] = await school.work();
  assert.ok(Number(work?.dueIn) > 40 && Number(work?.dueIn) <= 100, 'the last try is when the hour ends');
  await db`update writeback set deadline_at = now() where tracking_id = ${TrackingId}`;
  await school.hurry();
  const posted = await requireTold(TrackingId, 'False');
  assert.deepEqual([posted.Status, posted.Attempts, numbers(posted)], ['TimedOut', 3, [2, 0, 0, 2]]);
  assert.match(String(posted.Message), /hour.*cannot be reached/);
  await school.set('normal');
  await school.hurry();
  assert.deepEqual([(await school.outcome(TrackingId)).Status, await school.kept(), (await school.work())[0]?.state], ['TimedOut', {}, 'failed']);
});

test('a deadline that was set before the clock was set back is an hour away at most, and ends the writeback', async () => {
  const school = await addSchool();
  await school.set('offline');
  const { TrackingId } = await school.post([mark(0)], { callback });
  await until('it was tried', async () => (await school.work())[0]?.attempts === 1);
  const left = async () => Number((await db`
    select extract(epoch from deadline_at - now())::float8 as seconds from writeback where tracking_id = ${TrackingId}`)[0]?.seconds);
  await db`update writeback set deadline_at = now() + interval '5 hours' where tracking_id = ${TrackingId}`;
  await school.hurry();
  await until('it was tried again', async () => (await school.work())[0]?.attempts === 2);
  assert.ok((await left()) > 3_500 && (await left()) <= 3_600, `${await left()} seconds`);
  await db`update writeback set deadline_at = deadline_at - interval '1 hour' where tracking_id = ${TrackingId}`;
  await school.hurry();
  assert.equal((await requireTold(TrackingId, 'False')).Status, 'TimedOut');
});

// ---- The same again -----------------------------------------------------------------------------------------------

test('the same Idempotency-Key is the same writeback for a day, and with another body a conflict', async () => {
  const school = await addSchool();
  await school.set('offline');
  const first = await school.post([mark(0)], { headers: key('k1'), callback });
  const again = await school.post([mark(0)], { headers: key('k1'), callback });
  assert.deepEqual([again.status, again.TrackingId], [202, first.TrackingId]);
  await school.set('normal');
  await until('it was tried', async () => (await school.work())[0]?.attempts === 1);
  await school.hurry();
  await school.ended(first.TrackingId);
  assert.equal((await school.post([mark(0)], { headers: key('k1'), callback })).TrackingId, first.TrackingId, 'also when it is completed');
  for (const other of [
    school.post([mark(0, 'N')], { headers: key('k1'), callback }),
    school.post([mark(0)], { headers: key('k1'), callback, query: '?mode=partial' }),
  ]) {
    const conflict = await other;
    assert.deepEqual([conflict.status, String(conflict.ExceptionMessage).includes(first.TrackingId)], [409, true]);
  }
  const direct = await school.post([mark(1)], { headers: key('k2') });
  const repeated = await school.post([mark(1)], { headers: key('k2') });
  assert.deepEqual(
    [repeated.status, repeated.TrackingId, numbers(repeated)],
    [200, direct.TrackingId, [1, 1, 0, 0]],
    'without a callback the outcome comes back again',
  );
  assert.equal((await school.post([mark(0)], { headers: key('k1'), query: '?validateOnly=true' })).Valid, 1);

  await db`update writeback set submitted_at = now() - interval '23 hours 59 minutes' where tracking_id = ${direct.TrackingId}`;
  assert.equal((await school.post([mark(1)], { headers: key('k2') })).TrackingId, direct.TrackingId);
  await db`update writeback set submitted_at = now() - interval '24 hours 1 minute' where tracking_id = ${direct.TrackingId}`;
  const free = await school.post([mark(1, 'N')], { headers: key('k2') });
  assert.deepEqual([free.status, free.Written, free.TrackingId === direct.TrackingId], [200, 1, false]);
  const { status } = await (await addSchool()).post([mark(1, '/')], { headers: key('k1') });
  assert.equal(status, 200, 'a key is of one application at one school');
});

test('without a key, an equal body joins one that is pending and none that has ended', async () => {
  const school = await addSchool();
  await school.set('offline');
  const first = await school.post([mark(0)], { callback });
  const joined = await school.post([mark(0)], { callback });
  const keyed = await school.post([mark(0)], { callback, headers: key('own') });
  assert.deepEqual([joined.status, joined.TrackingId === first.TrackingId, keyed.TrackingId === first.TrackingId], [202, true, false]);
  await until('both were tried', async () => (await school.work()).filter(({ attempts }) => attempts === 1).length === 2);
  await school.set('normal');
  await school.hurry();
  await school.ended(first.TrackingId);
  const later = await school.post([mark(0)], { callback });
  assert.notEqual(later.TrackingId, first.TrackingId);
  assert.deepEqual(numbers(await school.ended(later.TrackingId)), [1, 0, 1, 0]);
  await until('each is told once', () => [first, later].every(({ TrackingId }) => told(TrackingId).length === 1));
});

test('equal requests at the same moment are one writeback', async () => {
  const school = await addSchool();
  for (const headers of [{}, key('moment')]) {
    await school.set('offline');
    const answers = await Promise.all(Array.from({ length: 8 }, () => school.post([mark(0), mark(1)], { callback, headers })));
    assert.deepEqual([new Set(answers.map(({ TrackingId }) => TrackingId)).size, new Set(answers.map(({ status }) => status))], [1, new Set([202])]);
  }
  assert.equal((await school.work()).length, 2);
});

// ---- In between ---------------------------------------------------------------------------------------------------

for (const [state, scopes] of [['Revoked', undefined], ['Approved', ['School', 'Attendance']]] as const) {
  test(`an application that the school no longer lets enter marks (${scopes ? 'scope taken away' : state}) writes none that were pending`, async () => {
    const school = await addSchool();
    await school.set('offline');
    const { TrackingId } = await school.post([mark(0)], { callback });
    await until('it was tried', async () => (await school.work())[0]?.attempts === 1);
    const who = { rp: school.client.rp, estab: school.estab };
    if (scopes) await db`update authorisation set scopes = ${[...scopes]} where estab = ${who.estab} and rp = ${who.rp}`;
    else await changeState(db, { ...who, from: ['Approved'], to: state });
    await school.set('normal');
    await school.hurry();
    await until(
      'it has ended',
      async () => (await db`select from writeback where tracking_id = ${TrackingId} and status = 'Failed' and message like '%no longer lets%'`).length === 1,
    );
    assert.deepEqual([await school.kept(), await school.history()], [{}, []]);
    if (scopes) await requireTold(TrackingId, 'False');
  });
}

test('a reader sees none of 2,000 marks or all', async () => {
  const school = await addSchool({ students: 2000 });
  const everybody = (code: string) => Array.from({ length: 2000 }, (_, at) => mark(at, code));
  assert.equal((await school.post(everybody('/'))).Written, 2000);
  let reading = true;
  const seen = new Set<string>();
  const read = async () => {
    for (let last = false; !last; await pause(5)) {
      last = !reading;
      seen.add(JSON.stringify(Object.entries(Object.groupBy(await school.register(), ({ Mark }) => Mark)).map(([code, rows]) => [code, rows?.length])));
    }
  };
  const readers = [read(), read()];
  await until('somebody has read', () => seen.size === 1);
  const answer = await school.post(everybody('I'));
  reading = false;
  await Promise.all(readers);
  assert.deepEqual([numbers(answer), [...seen]], [[2000, 2000, 0, 0], ['[["/",2000]]', '[["I",2000]]']]);
});

test('5,000 marks are taken and written', async () => {
  const school = await addSchool({ students: 2500 });
  const { TrackingId } = await school.post(Array.from({ length: 2500 }, (_, at) => [mark(at), mark(at, 'I', { Session: 'PM' })]).flat(), { callback });
  const posted = await requireTold(TrackingId, 'True');
  assert.deepEqual([posted.Status, numbers(posted)], ['Completed', [5000, 5000, 0, 0]]);
  assert.deepEqual([(await school.history()).length, (await school.register()).length, Object.keys(await school.kept()).length], [5000, 5000, 5000]);
});

test('the slow MIS has been waited for', { timeout: 120_000 }, async () => {
  const first = (await slowAnswer) ?? assert.fail();
  // On a slow machine the time that a request waits may be over.
  const answer = first.status === 202 ? await slow.ended(first.TrackingId) : first;
  assert.deepEqual([answer.status, answer.Status, answer.Attempts, numbers(answer)], [200, 'Completed', 1, [1, 1, 0, 0]]);
  assert.ok(Date.parse(answer.CompletedAt ?? '') - Date.parse(answer.SubmittedAt) > 19_000);
});
