// Covers who waits for whom: writebacks of the same pupil, date and session keep their order whatever comes in between,
// all others go side by side, and whatever waits for an MIS or for an earlier one is woken, not found by chance.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installDatabases, requestCollection } from '../collection/component-databases.ts';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { mark, student, useWriteback, type Given, type WritingSchool } from '../../test/writeback.ts';

const { service, db, addSchool, open } = await useWriteback();
// A second process, as it were: what one finds out, the other acts upon.
await service.work();
const receiver = await useReceiver();
const callback = { Url: `${receiver.origin}/done` };

/** Each with a key of its own: an equal body would join one that is pending. */
const send = async (school: WritingSchool, marks: Given[]) =>
  (await school.post(marks, { callback, headers: { 'idempotency-key': crypto.randomUUID() } })).TrackingId;
const find = async (school: WritingSchool, trackingId: string) => (await school.work()).find((work) => work.trackingId === trackingId);
const waitsFor = async (trackingId: string) =>
  (await db`select waits_for from outbox where payload ->> 'trackingId' = ${trackingId} and state = 'waiting'`)[0]?.waits_for as string | undefined;

/** They were tried, the MIS was away, and their next try is in five minutes; then the MIS is back. */
async function sendInVain(school: WritingSchool, ...all: Given[][]): Promise<string[]> {
  await school.set('offline');
  const ids: string[] = [];
  for (const marks of all) ids.push(await send(school, marks));
  for (const id of ids) await until('it waits for the MIS', async () => (await waitsFor(id)) === 'mis', () => school.work());
  for (const id of ids) assert.ok(Number((await find(school, id))?.dueIn) > 299);
  await school.set('normal');
  return ids;
}

test('a mark that waits for the MIS holds up nobody else, and when the MIS answers, all that wait are tried at once', async () => {
  const school = await addSchool({ students: 12 });
  const ids = await sendInVain(school, ...Array.from({ length: 10 }, (_, at) => [mark(at)]));
  const [another, sameDay] = [await school.post([mark(10)]), await school.post([mark(0, 'I', { Session: 'PM' })])];
  for (const answer of [another, sameDay]) assert.deepEqual([answer.status, answer.Status, answer.Attempts], [200, 'Completed', 1]);
  for (const id of ids) {
    const ended = await school.ended(id);
    assert.deepEqual([ended.Status, ended.Attempts], ['Completed', 2]);
  }
  assert.equal(Object.keys(await school.kept()).length, 12);
});

test('a collection that reaches the MIS wakes them too', async () => {
  const school = await addSchool();
  const [id = ''] = await sendInVain(school, [mark(0)]);
  await db.begin(async (tx) => {
    await installDatabases(tx, school.estab, ['Attendance']);
    await requestCollection(tx, school.estab, 'Attendance');
  });
  const ended = await school.ended(id);
  assert.deepEqual([ended.Status, ended.Attempts], ['Completed', 2]);
});

test('an MIS that is still away wakes nobody', async () => {
  const school = await addSchool();
  const [first = ''] = await sendInVain(school, [mark(0)]);
  for (const mode of ['offline', 'broken'] as const) {
    await school.set(mode);
    const id = await send(school, [mark(1)]);
    await until('it was tried', async () => (await find(school, id))?.attempts === 1);
  }
  assert.deepEqual([(await school.outcome(first)).Attempts, Number((await find(school, first))?.dueIn) > 299], [1, true]);
});

test('marks of the same pupil and session keep their order, whoever entered them and whatever else is in the call', async () => {
  const school = await addSchool();
  const other = open(school.estab, await service.addClient('other', [school.estab]));
  const [first = ''] = await sendInVain(school, [mark(0, 'N'), mark(1, 'N')]);
  const second = await send(other, [mark(1, 'L'), mark(2, 'L')]);
  const third = await send(school, [mark(2, '/')]);
  await until('the second waits for the first', async () => (await waitsFor(second)) === `writeback ${first}`);
  await until('the third for the second', async () => (await waitsFor(third)) === `writeback ${second}`);
  assert.deepEqual([(await other.outcome(second)).Attempts, await school.kept()], [0, {}]);
  assert.equal((await school.post([mark(3)])).Status, 'Completed');
  assert.equal((await school.ended(third)).Status, 'Completed');
  assert.deepEqual([(await other.outcome(second)).Status, (await school.outcome(first)).Status], ['Completed', 'Completed']);
  const expected = { 's0000 AM': 'N', 's0001 AM': 'L', 's0002 AM': '/', 's0003 AM': 'I' };
  assert.deepEqual([await school.shown(), await school.kept()], [expected, expected]);
  const written = (await school.history()).filter(({ id }) => id === student(1) || id === student(2));
  assert.deepEqual(written.map(({ id, mark: entered, previous }) => [id, entered, previous]), [
    [student(1), 'N', null],
    [student(1), 'L', 'N'],
    [student(2), 'L', null],
    [student(2), '/', 'L'],
  ]);
});

test('the next one is woken too when the first was in vain', async () => {
  const school = await addSchool();
  const [first = ''] = await sendInVain(school, [mark(0, 'N')]);
  const second = await send(school, [mark(0, '/')]);
  await until('the second waits', async () => (await waitsFor(second)) === `writeback ${first}`);
  await school.set('offline');
  await db`update writeback set deadline_at = now() where tracking_id = ${first}`;
  await db`update outbox set due_at = now() where payload ->> 'trackingId' = ${first}`;
  await db`update lane set next_at = now() where key = ${`writeback ${school.estab}`}`;
  assert.equal((await school.ended(first)).Status, 'TimedOut');
  await until('the second was tried', async () => (await waitsFor(second)) === 'mis', () => school.work());
  assert.equal((await school.outcome(second)).Attempts, 1);
});

test('one that was asked for earlier, but came when a later one had begun, comes after it; nobody waits in a circle', async () => {
  const school = await addSchool();
  const [begun = ''] = await sendInVain(school, [mark(0, 'N')]);
  await db`update writeback set submitted_at = now() + interval '1 minute' where tracking_id = ${begun}`;
  const late = await send(school, [mark(0, '/')]);
  await until('it waits', async () => (await waitsFor(late)) === `writeback ${begun}`);
  await school.hurry();
  assert.deepEqual([(await school.ended(begun)).Status, (await school.ended(late)).Marks[0]?.PreviousMark], ['Completed', 'N']);
});

test('four at a time are written to an MIS that takes its time, and no two of one pupil and session', async () => {
  const school = await addSchool({ students: 8 });
  const mis = await db.reserve();
  await mis`begin`;
  await mis`lock table demo_write in exclusive mode`;
  const first = await send(school, [mark(0, 'N')]);
  await until('it is under way', async () => (await find(school, first))?.state === 'running');
  const ids = [first, await send(school, [mark(0, '/')])];
  for (let at = 1; at < 8; at += 1) ids.push(await send(school, [mark(at)]));
  const underWay = async () => (await db`select from writeback where estab = ${school.estab} and attempts > 0`).length;
  await until('four are under way', async () => (await underWay()) === 4, () => school.work());
  assert.equal((await school.outcome(ids[1] ?? '')).Attempts, 0);
  assert.equal((await school.work()).filter(({ state }) => state === 'running').length, 4);
  await mis`commit`;
  mis.release();
  for (const id of ids) assert.equal((await school.ended(id)).Status, 'Completed');
  assert.deepEqual([(await school.shown())['s0000 AM'], await school.shown()], ['/', await school.kept()]);
});

test('whatever comes and goes, the last mark that was asked for is the one that stands, there and here', { timeout: 180_000 }, async () => {
  const school = await addSchool({ students: 4 });
  const codes = ['/', 'I', 'N', 'L', 'M', 'B'];
  // A sequence of its own, the same in every run.
  let seed = 7;
  const pick = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const expected: Record<string, string> = {};
  const ids: string[] = [];
  for (let count = 0; count < 60; count += 1) {
    if (pick(4) === 0) await school.set(pick(2) === 0 ? 'offline' : 'normal');
    const pupils = new Set([pick(4), pick(4)]);
    const marks = [...pupils].map((at) => mark(at, codes[pick(codes.length)]));
    for (const { StudentId, Mark } of marks) expected[`${String(StudentId)} AM`] = String(Mark);
    ids.push(await send(school, marks));
  }
  await school.set('normal');
  assert.equal((await school.post([mark(0, 'I', { Session: 'PM' })])).Status, 'Completed');
  expected['s0000 PM'] = 'I';
  for (const id of ids) assert.equal((await school.ended(id)).Status, 'Completed');
  const sorted = Object.fromEntries(Object.entries(expected).toSorted());
  assert.deepEqual([await school.kept(), await school.shown()], [sorted, sorted]);
  const [versions] = await db`select count(*)::int as count, max(version) as newest from attendance_version where estab = ${school.estab}`;
  assert.equal(versions?.count, versions?.newest, 'one version per change');
});
