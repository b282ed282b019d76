// Covers writebacks whose worker, a real process, is killed: at every step between taking the work and saying what
// became of it, also several times. The marks are written once, and the outcome is one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { mark, student, useWriteback, type WritingSchool } from '../../test/writeback.ts';
import { steps } from '../../test/writeback-worker.ts';

const { service, db, addSchool } = await useWriteback({ work: false });
const receiver = await useReceiver();
const { NODE_COMPILE_CACHE } = process.env;
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: 'a key for tests that is long enough', DATA_DIR: service.dataDir };
const env = { ...settings, OUTBOUND_ALLOW: '127.0.0.0/8', NODE_COMPILE_CACHE };

type Step = (typeof steps)[number];
const children = new Set<ReturnType<typeof launch>>();
afterEach(() => {
  for (const { child } of children) child.kill('SIGKILL');
});

function launch(step: Step | 'never', estab: string) {
  const worker = join(import.meta.dirname, '../../test/writeback-worker.ts');
  const child = spawn(process.execPath, [worker, '--step', step, '--estab', estab], { stdio: ['ignore', 'pipe', 'inherit'], env });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (said += piece));
  const launched = { child, said: () => said, ended: new Promise<string>((resolve) => child.once('close', (code, signal) => resolve(String(signal ?? code)))) };
  children.add(launched);
  void launched.ended.then(() => children.delete(launched));
  return launched;
}

/** The worker dies at the step, and its lease ends. Answers the work that it had in its hands. */
async function lose(step: Step, estab: string): Promise<number> {
  const worker = launch(step, estab);
  assert.equal(await worker.ended, 'SIGKILL', worker.said());
  const [left, ...more] =
    await db`update outbox set lease_until = now() - interval '1 second' where estab = ${estab} and kind = 'writeback' and state = 'running' returning id`;
  assert.ok(left !== undefined && more.length === 0, `died at ${step} with the work in its hands`);
  return left['id'] as number;
}

/** Which transaction wrote each row of the MIS. */
const writers = async ({ estab }: WritingSchool) => [
  ...(await db`select student_id as id, session, xmin::text as writer from demo_mark where estab = ${estab} order by student_id, session`),
];
const count = async (table: string, estab: string) => (await db`select from ${db(table)} where estab = ${estab}`).length;

const rounds: Step[][] = [...steps.map((step) => [step]), ['answered', 'finishing', 'answered', 'finished']];

for (const round of rounds) {
  test(`killed when ${round.join(', then when ')}: written once, told under one id`, async () => {
    const school = await addSchool();
    const { estab } = school;
    const url = `${receiver.origin}/${estab}`;
    const { TrackingId, status } = await school.post([mark(0, '/'), mark(1), mark(1, 'I', { Session: 'PM' })], { callback: [{ Method: 'POST', Url: url }] });
    assert.equal(status, 202);
    let written: object[] = [];
    for (const step of round) {
      await lose(step, estab);
      const now = await writers(school);
      assert.deepEqual(
        [now.length, (await school.outcome(TrackingId)).Status],
        [steps.indexOf(step) <= steps.indexOf('writing') ? 0 : 3, step === 'finished' ? 'Completed' : 'Pending'],
        step,
      );
      if (written.length > 0) assert.deepEqual(now, written, 'the MIS was not written to again');
      written = now;
      const registered = await count('attendance_mark', estab);
      assert.equal(registered, step === 'finished' ? 3 : 0, 'all of it shows, or nothing');
    }
    const worker = launch('never', estab);
    await until('all is done', async () => (await school.work()).every(({ state }) => state === 'done'), async () => [worker.said(), await school.work()]);
    if (written.length > 0) assert.deepEqual(await writers(school), written);
    const outcome = await school.outcome(TrackingId);
    assert.deepEqual([outcome.Status, outcome.Total, outcome.Written], ['Completed', 3, 3]);
    assert.deepEqual(await school.kept(), { 's0000 AM': '/', 's0001 AM': 'I', 's0001 PM': 'I' });
    assert.deepEqual(await school.shown(), await school.kept());
    assert.deepEqual(
      (await school.history()).map(({ id, session, trackingId }) => [id, session, trackingId]),
      [
        [student(0), 'AM', TrackingId],
        [student(1), 'AM', TrackingId],
        [student(1), 'PM', TrackingId],
      ],
    );
    assert.deepEqual([await count('attendance_version', estab), await count('demo_write', estab)], [1, 1]);
    const arrivals = receiver.arrivals.filter((arrival) => arrival.url.startsWith(`/${estab}`));
    assert.deepEqual(
      [arrivals.length, arrivals[0]?.url, (await school.work()).filter(({ kind }) => kind === 'call').length],
      [1, `/${estab}?trackingid=${TrackingId}&completed=True`, 1],
    );
  });
}

for (const step of steps) {
  test(`killed when ${step}: a later mark of the same pupil comes after it all the same, one of another waits for nobody`, async () => {
    const school = await addSchool();
    const first = await school.post([mark(0, 'N'), mark(1, 'N')], { callback: { Url: `${receiver.origin}/first` } });
    const lost = await lose(step, school.estab);
    // What was lost is found a lease later at the earliest.
    await db`update outbox set lease_until = now() + interval '1 hour' where id = ${lost}`;
    const later = await school.post([mark(1, '/')], { callback: { Url: `${receiver.origin}/later` } });
    const other = await school.post([mark(2, 'I')], { callback: { Url: `${receiver.origin}/other` } });
    const worker = launch('never', school.estab);
    assert.equal((await school.ended(other.TrackingId)).Status, 'Completed', worker.said());
    const ended = step === 'finished';
    if (ended) assert.equal((await school.ended(later.TrackingId)).Status, 'Completed');
    else {
      const waits = () => db`select from outbox where estab = ${school.estab} and state = 'waiting' and waits_for = ${`writeback ${first.TrackingId}`}`;
      await until('the later one waits', async () => (await waits()).length === 1, () => school.work());
    }
    // That row alone: the worker holds others of this school, several at a time and in an order of its own.
    await db`update outbox set lease_until = now() where id = ${lost}`;
    assert.deepEqual([(await school.ended(later.TrackingId)).Status, (await school.outcome(first.TrackingId)).Status], ['Completed', 'Completed']);
    const expected = { 's0000 AM': 'N', 's0001 AM': '/', 's0002 AM': 'I' };
    assert.deepEqual([await school.shown(), await school.kept()], [expected, expected]);
    assert.deepEqual(
      (await school.history()).filter(({ id }) => id === student(1)).map(({ mark: entered, previous }) => [entered, previous]),
      [['N', null], ['/', 'N']],
    );
  });
}

test('a file of marks that was written before the worker died is not written again', async () => {
  const school = await addSchool({ connector: 'csv' });
  const { TrackingId } = await school.post([mark(0, '/')], { callback: { Url: `${receiver.origin}/file` } });
  await lose('answered', school.estab);
  const folder = join(service.dataDir, 'writeback', school.estab);
  const before = statSync(join(folder, `${TrackingId}.csv`));
  launch('never', school.estab);
  assert.equal((await school.ended(TrackingId)).Status, 'Completed');
  const after = statSync(join(folder, `${TrackingId}.csv`));
  assert.deepEqual([readdirSync(folder), after.ino, after.mtimeMs], [[`${TrackingId}.csv`], before.ino, before.mtimeMs]);
});

test('a worker that lost its lease to another changes nothing, whatever the MIS told it', async () => {
  const school = await addSchool();
  const { TrackingId } = await school.post([mark(0)], { callback: { Url: `${receiver.origin}/lost` } });
  const mis = await db.reserve();
  await mis`begin`;
  await mis`lock table demo_write in exclusive mode`;
  const worker = launch('never', school.estab);
  await until(
    'the MIS takes its time',
    async () => (await db`select from pg_stat_activity where application_name like 'schoolbell lost mis %' and wait_event_type = 'Lock'`).length === 1,
    () => worker.said(),
  );
  await db`update outbox set claim = gen_random_uuid(), lease_until = now() + interval '1 minute' where estab = ${school.estab}`;
  await mis`commit`;
  mis.release();
  await until('the MIS has answered', async () => (await count('demo_write', school.estab)) === 1, () => worker.said());
  await pause(500);
  assert.deepEqual(
    [(await school.outcome(TrackingId)).Status, await count('attendance_mark', school.estab), (await school.work()).map(({ kind, state }) => [kind, state])],
    ['Pending', 0, [['writeback', 'running']]],
  );
});
