// Covers marks that are refused at once where a callback was given: told there as an outcome, readable later, the same
// for the same key, and all of it or nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { date, mark, student, useWriteback, type Answer, type WritingSchool } from '../../test/writeback.ts';

const { db, addSchool } = await useWriteback();
const receiver = await useReceiver();
const told = (trackingId: string) => receiver.arrivals.filter(({ url }) => url.includes(trackingId));
const callback = [{ Method: 'POST', Url: `${receiver.origin}/a?x=1` }];
const key = (idempotencyKey: string) => ({ 'idempotency-key': idempotencyKey });
const stored = async ({ estab }: WritingSchool) => [
  (await db`select from writeback where estab = ${estab}`).length,
  (await db`select from writeback_mark where estab = ${estab}`).length,
  (await db`select from outbox where estab = ${estab} and kind in ('writeback', 'call')`).length,
];
const faulty = [mark(0, 'I'), mark(1, 'H'), { ...mark(2), StudentId: 'nobody', Date: 'today' }];

test('each callback is told Rejected, the answer carries the TrackingId, and the outcome can be read', async () => {
  const school = await addSchool();
  await school.post([mark(0, '/')]);
  const refused = await school.post(faulty, { callback: [...callback, { Method: 'POST', Url: `${receiver.origin}/b` }] });
  assert.deepEqual(
    [refused.status, refused.ExceptionType, refused.Errors.map(({ Index, Field, Code }) => [Index, Field, Code])],
    [400, 'invalid_marks', [[1, 'Mark', 'MarkNotValidForDate'], [2, 'StudentId', 'UnknownStudent'], [2, 'Date', 'InvalidDate']]],
  );
  await until('both are told', () => told(refused.TrackingId).length === 2);
  const added = `trackingid=${refused.TrackingId}&completed=False`;
  assert.deepEqual(told(refused.TrackingId).map(({ url }) => url).toSorted(), [`/a?x=1&${added}`, `/b?${added}`]);
  const read = await school.outcome(refused.TrackingId);
  for (const { method, body } of told(refused.TrackingId)) {
    const posted = JSON.parse(String(body)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(posted)) assert.deepEqual(read[name as keyof Answer], value, name);
    assert.deepEqual([method, posted.Status], ['POST', 'Rejected']);
  }
  const { Status, Attempts, Total, Written, Unchanged, Failed, Message } = read;
  assert.deepEqual([Status, Attempts, Total, Written, Unchanged, Failed], ['Rejected', 0, 3, 0, 0, 3]);
  assert.match(String(Message), /^3 faults in the marks; nothing was written/);
  assert.ok(read.CompletedAt !== null && read.CompletedAt === read.SubmittedAt);
  const { Message: good, ...first } = read.Marks[0] ?? assert.fail();
  assert.match(String(good), /nothing was written/);
  assert.deepEqual(first, {
    Index: 0, StudentId: student(0), Date: date, Session: 'AM', Mark: 'I', PreviousMark: '/', Result: 'Failed', Code: 'NotWritten',
  });
  assert.deepEqual(
    read.Marks.slice(1).map((one) => [one.StudentId, one.Date, one.Result, one.Code, one.Message]),
    [
      [student(1), date, 'Failed', 'MarkNotValidForDate', (refused.Errors[0] as { Message?: string }).Message],
      ['nobody', 'today', 'Failed', 'UnknownStudent', (refused.Errors[1] as { Message?: string }).Message],
    ],
  );
  assert.deepEqual([await school.kept(), (await school.work()).filter(({ kind }) => kind === 'writeback').length], [{ 's0000 AM': '/' }, 1]);
  assert.deepEqual((await school.post([mark(0, 'I'), mark(1)])).Status, 'Completed', 'nobody waits for what was refused');
});

test('with mode=partial it is told when no mark at all is right', async () => {
  const school = await addSchool();
  const { status, TrackingId } = await school.post(faulty.slice(1), { callback, query: '?mode=partial' });
  await until('it is told', () => told(TrackingId).length === 1);
  assert.deepEqual([status, (await school.outcome(TrackingId)).Failed], [400, 2]);
});

test('the same key answers the same, whatever has become of the school since, and calls nobody again', async () => {
  const school = await addSchool();
  const ask = () => school.post(faulty, { callback, headers: key('k1') });
  const first = await ask();
  await until('it is told', () => told(first.TrackingId).length === 1);
  const before = await stored(school);
  // Somebody has this id now, so that the marks would be judged otherwise.
  await db`update roster_user set sourced_id = 'nobody' where estab = ${school.estab} and sourced_id = ${student(4)}`;
  const again = await ask();
  assert.deepEqual([again, first.status], [first, 400]);
  const judged = await school.post(faulty, { callback, headers: key('k1'), query: '?validateOnly=true' });
  assert.deepEqual([judged.status, judged.Errors.length, judged.TrackingId], [400, 2, undefined], 'judged anew, and nothing kept');
  const other = await school.post([mark(0)], { callback, headers: key('k1') });
  assert.deepEqual([other.status, String(other.ExceptionMessage).includes(first.TrackingId)], [409, true]);
  assert.deepEqual([await stored(school), told(first.TrackingId).length], [before, 1]);
  await db`update writeback set submitted_at = now() - interval '25 hours' where tracking_id = ${first.TrackingId}`;
  const nextDay = await ask();
  assert.deepEqual([nextDay.status, nextDay.TrackingId === first.TrackingId], [400, false]);
});

test('equal requests at the same moment are one with a key, and each its own without', async () => {
  const school = await addSchool();
  const ask = (headers: Record<string, string>) => Promise.all(Array.from({ length: 6 }, () => school.post(faulty, { callback, headers })));
  const keyed = await ask(key('moment'));
  assert.deepEqual([new Set(keyed.map(({ TrackingId }) => TrackingId)).size, new Set(keyed.map(({ status }) => status))], [1, new Set([400])]);
  assert.deepEqual(await stored(school), [1, 3, 1]);
  const bare = await ask({});
  assert.deepEqual([new Set(bare.map(({ TrackingId }) => TrackingId)).size, await stored(school)], [6, [7, 21, 7]]);
});

test('nothing is kept without a callback, of what is only judged, or where the call cannot be kept', async () => {
  const school = await addSchool();
  const bare = await school.post(faulty, { headers: key('bare') });
  const judged = await school.post(faulty, { callback, query: '?validateOnly=true' });
  const unusable = await school.post(faulty, { callback: { Url: 'http://10.0.0.1/' } });
  for (const answer of [bare, judged, unusable]) assert.deepEqual([answer.status, answer.TrackingId], [400, undefined]);
  await db.unsafe(`create function break_call() returns trigger language plpgsql as $$ begin raise 'no call'; end $$`);
  await db.unsafe('create trigger break_call before insert on outbox for each row execute function break_call()');
  try {
    assert.equal((await school.post(faulty, { callback })).status, 500);
  } finally {
    await db.unsafe('drop trigger break_call on outbox');
  }
  assert.deepEqual(await stored(school), [0, 0, 0]);
});

test('what is far too long, and cut within a character, is kept as far as it tells which mark is meant', async () => {
  const school = await addSchool();
  for (const at of [59, 60, 254, 255]) {
    const StudentId = `${'x'.repeat(at)}${'😀'.repeat(2000)}`;
    const { status, TrackingId } = await school.post([{ ...mark(0), StudentId, Mark: StudentId }], { callback });
    const [kept] = (await school.outcome(TrackingId)).Marks;
    assert.deepEqual([status, kept?.StudentId.length, kept?.Mark?.length, kept?.StudentId.startsWith('x'.repeat(at))], [400, 255, 255, true]);
  }
});
