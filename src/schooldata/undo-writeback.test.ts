// Covers what comes after a writeback, or in another order: taking it back, newer marks beside older ones, a collection
// that was under way, and how much of the database a large one costs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeState } from '../access/authorisations.ts';
import { collectMarks } from '../collection/collect.ts';
import type { MarkRow } from '../collection/mark.ts';
import { createRequireTarget } from '../notifications/inbox/require-target.ts';
import { claimWork } from '../outbox/claim.ts';
import { settleWork } from '../outbox/settle.ts';
import { createOutbound } from '../http/outbound.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { until } from '../../test/until.ts';
import { date, mark, student, useWriteback, type WritingSchool } from '../../test/writeback.ts';
import { undoWriteback } from './undo-writeback.ts';
import { submitMarks } from './submit-marks.ts';
import { createWriteback } from './write-back.ts';

const { service, db, addSchool } = await useWriteback({ work: false });
const collect = (estab: string, readMarks: () => AsyncGenerator<MarkRow[]>) =>
  collectMarks({ db, dataDir: service.dataDir }, { kind: 'demo', offers: ['Attendance'], openRoster: () => assert.fail('not asked for'), readMarks }, estab);
const refused = (message: RegExp) => (error: Error & { code?: string }) => error.code === 'conflict' && message.test(error.message);

test('many marks cost as many statements as a few, to take and to write', async () => {
  const school = await addSchool({ students: 600 });
  const handler = createWriteback({ db, mis: db, seal: service.seal, outbound: createOutbound(parseAllowList([])), dataDir: service.dataDir });
  const cost = async (students: number, code: string): Promise<number> => {
    const body = { Marks: Array.from({ length: students }, (_, at) => [mark(at, code), mark(at, code, { Session: 'PM' })]).flat() };
    const who = { rp: school.client.rp, estab: school.estab, scopes: [], expiresAt: new Date() };
    const heard = await heardStatements(async () => {
      const submitted = await submitMarks(
        db,
        who,
        { body, partial: false, validateOnly: false, idempotencyKey: undefined, callbackUrl: undefined },
        createRequireTarget(db, service.url, []),
        new Date(`${date}T15:00:00Z`),
      );
      const work = (await claimWork(db, 60, 1))[0] ?? assert.fail('nothing to do');
      const outcome = await handler.run(work);
      await settleWork(db, [{ work, outcome }]);
      assert.deepEqual([submitted.kind, outcome.state], ['taken', 'done']);
    });
    const sealed = heard.findIndex((text) => text.trimStart().startsWith('insert into attendance_version'));
    assert.equal(heard[sealed + 1], 'commit', 'the instant is taken last');
    return heard.length;
  };
  // The first mark of a school makes it one that has attendance.
  await cost(1, 'I');
  const few = await cost(2, 'N');
  const many = await cost(600, 'I');
  assert.ok(many === few && many < 60, `${many} for 1,200, ${few} for 4`);
  assert.equal((await school.history()).length, 2 + 4 + 1200);
});

test('the worker starts', () => service.work());

// ---- Taken back ---------------------------------------------------------------------------------------------------

async function undone(school: WritingSchool, trackingId: string) {
  const undo = await undoWriteback(db, trackingId);
  return { ...undo, outcome: await school.ended(undo.trackingId) };
}

test('the marks are as they were before, in the MIS too, as an amendment; one that was new is gone', async () => {
  const school = await addSchool();
  await school.post([mark(0, 'L', { Mins: 7, Notes: 'Bus' }), mark(1, '/')]);
  const { TrackingId } = await school.post([mark(0, 'I'), mark(1, '/'), mark(2, 'I')]);
  const since = (await school.register()).map(({ LastUpdated }) => LastUpdated).toSorted().at(-1) ?? '';
  const { marks, changedSince, undoOf, trackingId, outcome } = await undone(school, TrackingId);
  assert.deepEqual([marks, changedSince, undoOf], [2, 0, TrackingId]);
  assert.deepEqual(
    [outcome.Status, outcome.Total, outcome.Written, outcome.Marks.map(({ Mark, PreviousMark }) => [Mark, PreviousMark])],
    [
      'Completed',
      2,
      2,
      [
        ['L', 'I'],
        [null, 'I'],
      ],
    ],
  );
  const [late] = await school.register();
  assert.deepEqual([late?.Mark, late?.MinsLate, late?.Notes], ['L', 7, 'Bus']);
  assert.deepEqual(
    [await school.shown(), await school.kept()],
    [
      { 's0000 AM': 'L', 's0001 AM': '/' },
      { 's0000 AM': 'L', 's0001 AM': '/', 's0002 AM': null },
    ],
  );
  const delta = (await (await school.client.s(school.estab, `AttendanceForDate?date=${date}&updatedSince=${since}`)).json()) as Record<
    string,
    { Id: string; StudentId: string }[]
  >;
  assert.deepEqual([delta.AttendanceForDate?.map(({ StudentId }) => StudentId), delta.AttendanceForDate_deleted], [[student(0)], [`${student(2)}.${date}.AM`]]);
  const amended = { session: 'AM', rp: school.client.rp, trackingId, reason: `undo of ${TrackingId}` };
  assert.deepEqual((await school.history()).slice(-2), [
    { ...amended, id: student(0), mark: 'L', previous: 'I' },
    { ...amended, id: student(2), mark: null, previous: 'I' },
  ]);
  await assert.rejects(undoWriteback(db, TrackingId), refused(/taken back already by .*Completed/));

  const again = await undone(school, trackingId);
  assert.deepEqual(
    [again.outcome.Written, await school.shown()],
    [2, { 's0000 AM': 'I', 's0001 AM': '/', 's0002 AM': 'I' }],
    'an undo can itself be taken back',
  );
});

test('marks are counted as they come and go, without counting the others', async () => {
  const school = await addSchool();
  const count = async () => (await db`select row_count as count from component_database where estab = ${school.estab} and name = 'Attendance'`)[0]?.count;
  const { TrackingId } = await school.post([mark(0, 'I'), mark(1, '/'), mark(2, '/')]);
  assert.equal(await count(), 3);
  await school.post([mark(0, 'L'), mark(3, '/')]);
  assert.equal(await count(), 4, 'one was replaced, one is new');
  await school.post([mark(3, '/')]);
  assert.equal(await count(), 4, 'nothing is new');
  await db`update component_database set row_count = row_count + 1000 where estab = ${school.estab} and name = 'Attendance'`;
  await undone(school, TrackingId);
  assert.equal(await count(), 1002, 'two that were new are gone; the third was changed since');
});

test('what was changed since is left alone', async () => {
  const school = await addSchool();
  const { TrackingId } = await school.post([mark(0), mark(1)]);
  await school.post([mark(0, 'N')]);
  const { marks, changedSince } = await undone(school, TrackingId);
  assert.deepEqual([marks, changedSince, await school.shown()], [1, 1, { 's0000 AM': 'N' }]);
  const other = await school.post([mark(3)]);
  await school.post([mark(3, 'N')]);
  await school.post([mark(3, 'I')]);
  await assert.rejects(undoWriteback(db, other.TrackingId), refused(/every mark .* changed since/));
});

test('only what was written can be taken back, and not by two at once', async () => {
  const school = await addSchool();
  const first = await school.post([mark(0)]);
  const unchanged = await school.post([mark(0)]);
  await assert.rejects(undoWriteback(db, unchanged.TrackingId), refused(/changed nothing/));
  await school.set('rejecting');
  await assert.rejects(undoWriteback(db, (await school.post([mark(1)])).TrackingId), refused(/Rejected: there is nothing to take back/));
  await school.set('offline');
  const pending = await school.post([mark(2)], { callback: { Url: 'http://127.0.0.1:9999/' } });
  await assert.rejects(undoWriteback(db, pending.TrackingId), refused(/Pending/));
  for (const unknown of [crypto.randomUUID(), 'nonsense', '']) await assert.rejects(undoWriteback(db, unknown), { code: 'not_found' });
  const both = await Promise.allSettled([undoWriteback(db, first.TrackingId), undoWriteback(db, first.TrackingId.toUpperCase())]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
});

test('an undo whose time was over can be asked for again', async () => {
  const school = await addSchool();
  const { TrackingId } = await school.post([mark(0)]);
  await school.set('offline');
  const undo = await undoWriteback(db, TrackingId);
  await until('it was tried', async () => (await school.work()).at(-1)?.attempts === 1);
  await db`update writeback set deadline_at = now() where tracking_id = ${undo.trackingId}`;
  await school.hurry();
  assert.equal((await school.ended(undo.trackingId)).Status, 'TimedOut');
  await school.set('normal');
  assert.deepEqual([(await undone(school, TrackingId)).outcome.Status, await school.shown()], ['Completed', {}]);
});

test('what an application entered can be taken back when the school has thrown it out', async () => {
  const school = await addSchool();
  const { TrackingId } = await school.post([mark(0)]);
  await changeState(db, { rp: school.client.rp, estab: school.estab, from: ['Approved'], to: 'Revoked' });
  const { trackingId } = await undoWriteback(db, TrackingId);
  await until('it has ended', async () => (await db`select from writeback where tracking_id = ${trackingId} and status <> 'Pending'`).length === 1);
  assert.deepEqual(
    [...(await db`select status from writeback where tracking_id = ${trackingId}`), await school.kept()],
    [{ status: 'Completed' }, { 's0000 AM': null }],
  );
});

// ---- In another order ---------------------------------------------------------------------------------------------

/** Writes that the MIS was away for, and that wait to be tried again. */
async function waiting(school: WritingSchool, ask: () => Promise<string>): Promise<string> {
  await school.set('offline');
  const trackingId = await ask();
  await until('it was tried', async () => (await school.work()).find((work) => work.trackingId === trackingId)?.attempts === 1);
  await school.set('normal');
  return trackingId;
}
const callback = { Url: 'http://127.0.0.1:9999/' };

test('an older mark that waits for the MIS does not replace a newer one', async () => {
  const school = await addSchool();
  const older = await waiting(school, async () => (await school.post([mark(0, 'N')], { callback })).TrackingId);
  const newer = await school.post([mark(0, '/')], { callback });
  await until('it was tried or waits its turn', async () => (await school.outcome(newer.TrackingId)).Status === 'Completed', () => '', 2).catch(() => {});
  await school.hurry();
  await school.ended(older);
  await school.hurry();
  await school.ended(newer.TrackingId);
  assert.deepEqual([await school.shown(), await school.kept()], [{ 's0000 AM': '/' }, { 's0000 AM': '/' }]);
});

test('an undo leaves alone what is changed before it is written', async () => {
  const school = await addSchool();
  const { TrackingId } = await school.post([mark(0, 'I')]);
  const undo = await waiting(school, async () => (await undoWriteback(db, TrackingId)).trackingId);
  // A teacher enters something else in the MIS meanwhile, and it is collected.
  await collect(school.estab, async function* read() {
    yield [{ line: 1, studentId: student(0), date, session: 'AM', mark: 'L', minutesLate: 3, notes: undefined }];
  });
  await school.hurry();
  await school.ended(undo);
  assert.deepEqual(await school.shown(), { 's0000 AM': 'L' });
});

test('a collection that was under way when marks were written does not bring the old ones back', async () => {
  const school = await addSchool();
  await school.post([mark(0, '/')]);
  await collect(school.estab, async function* read() {
    yield [{ line: 1, studentId: student(0), date, session: 'AM', mark: '/', minutesLate: undefined, notes: undefined }];
    assert.equal((await school.post([mark(0, 'I')])).Status, 'Completed');
  });
  assert.deepEqual(await school.shown(), { 's0000 AM': 'I' });
});
