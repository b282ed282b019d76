// Covers what the log says of failures that repeat, as on a full disk, and that the worker backs off meanwhile.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { useDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { EnvironmentFault } from '../environment-fault.ts';
import { enqueue } from './enqueue.ts';
import type { Outcome } from './settle.ts';
import { backOffAfter, createTroubleLog } from '../db/trouble-log.ts';
import { startWorker } from './worker.ts';

const { db } = await useDatabase();
type Line = { level: string; message: string; err?: unknown; failures?: number };
let lines: Line[] = [];
beforeEach(() => (lines = []));
const log = {
  warn: (details: object, message: string) => void lines.push({ ...details, level: 'warn', message }),
  error: (details: object, message: string) => void lines.push({ ...details, level: 'error', message }),
};
const fault = (code: string) => Object.assign(new Error('No space left on device'), { code, severity: 'ERROR' });
const diskFull = '53100';
const away = '57P03';
/** What is thrown when a file does not fit into DATA_DIR. */
const noRoom = (code: string) => new EnvironmentFault('DATA_DIR /data: the disk is full', { code });

test('the first failure is logged with its error, the next ones as a count once a minute, and the end', () => {
  const clock = { now: 0 };
  const troubles = createTroubleLog(log, () => clock.now);
  for (clock.now = 0; clock.now <= 60_000; clock.now += 500) troubles.failed('reading', fault(away));
  assert.deepEqual(lines.map(({ err, failures }) => [err !== undefined, failures]), [[true, undefined], [false, 120]]);
  troubles.worked('reading');
  troubles.worked('reading');
  assert.deepEqual(lines.slice(2).map(({ level, failures }) => [level, failures]), [['warn', 0]]);
});

test('a part that has not failed for five minutes ends its series with the count, and its next failure is logged with its error', ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const troubles = createTroubleLog(log, () => 0);
  const fail = () => troubles.failed('work failed', fault(diskFull));
  for (let time = 0; time < 3; time += 1) {
    fail();
    mock.timers.tick(299_999);
  }
  assert.equal(lines.length, 1, 'one series');
  mock.timers.tick(1);
  assert.deepEqual(lines.slice(1), [{ level: 'warn', message: 'work failed: no failure in the last 5 minutes', failures: 2 }]);
  fail();
  assert.deepEqual(lines.map(({ err }) => err !== undefined), [true, false, true]);
  troubles.worked('work failed');
  mock.timers.tick(300_000);
  assert.equal(lines.length, 4, 'a series ends once');
});

test('successes and failures that alternate on a nearly full disk are one series, which ends after five quiet minutes', ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const troubles = createTroubleLog(log, () => 0);
  for (let time = 0; time < 100; time += 1) {
    for (const error of [fault(diskFull), noRoom('ENOSPC')]) troubles.failed('outcomes', error);
    troubles.worked('outcomes');
  }
  assert.deepEqual(lines.map(({ err }) => err !== undefined), [true, true]);
  mock.timers.tick(300_000);
  assert.deepEqual(lines.slice(2).map(({ level, failures }) => [level, failures]), [['warn', 99], ['warn', 99]]);
});

test('another fault is logged by itself, but not each time if two faults alternate; a fault that is not of the database is logged each time', () => {
  const troubles = createTroubleLog(log, () => 0);
  for (const code of [diskFull, away, diskFull, away]) troubles.failed('reading', fault(code));
  for (let time = 0; time < 2; time += 1) troubles.failed('reading', new TypeError('a mistake'));
  assert.equal(lines.filter(({ err }) => err !== undefined).length, 4);
  troubles.worked('reading');
  assert.deepEqual(lines.slice(4).map(({ level, failures }) => [level, failures]), [['warn', 1]], 'only the series of the full disk goes on');
});

test('on a full disk the pauses grow, and end at a limit; other faults have the usual pause', () => {
  for (const error of [fault(diskFull), noRoom('ENOSPC'), noRoom('EDQUOT')])
    assert.deepEqual([1, 2, 3, 50].map((failures) => backOffAfter(error, failures, 10)), [500, 1_000, 2_000, 30_000], error.code);
  assert.equal(backOffAfter(fault(away), 50, 10), 10);
});

test('a worker whose database is on a full disk logs the first error and a count, tries ever less often, and goes on when there is room', async () => {
  await db.begin((tx) =>
    enqueue(tx, { estab: 'S1', rp: null, kind: 'call', lane: { key: 'a', host: null, width: 4, lasting: true }, payload: {}, body: null }));
  await db.unsafe(`create sequence tries; create function refuse() returns trigger language plpgsql as $$ begin
    perform nextval('tries'); raise exception 'could not extend file: No space left on device' using errcode = '${diskFull}'; end $$`);
  await db.unsafe('create trigger refuse before update on lane for each statement execute function refuse()');
  const tries = async () => (await db<{ n: number }[]>`select last_value::int as n from tries`)[0]?.n ?? 0;
  let done = 0;
  const run = async (): Promise<Outcome> => {
    done += 1;
    return { success: true, state: 'done', detail: {} };
  };
  const worker = await startWorker({ db, handlers: { call: { longestSeconds: 1, run } }, log, pollMs: 10 });
  after(() => worker.stop());
  const begun = performance.now();
  await until('it has tried four times', async () => (await tries()) >= 4);
  assert.ok(performance.now() - begun >= 500 + 1_000, 'with ever longer pauses');
  const errors = lines.filter(({ level }) => level === 'error');
  const kinds = new Set(errors.map(({ message }) => message));
  assert.equal(errors.length, kinds.size, errors.map(({ message }) => message).join('\n'));
  await db.unsafe('drop trigger refuse on lane');
  await until('the work is done', () => done === 1);
});

test('forty pieces of work that find DATA_DIR full, or not writable: the log has the first error of each kind', async () => {
  await db.unsafe('truncate outbox cascade');
  for (let at = 0; at < 40; at += 1)
    await db.begin((tx) =>
      enqueue(tx, { estab: `S${at}`, rp: null, kind: 'call', lane: { key: `l${at}`, host: null, width: 1, lasting: true }, payload: {}, body: null }));
  const full = [noRoom('ENOSPC'), noRoom('EACCES'), Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })];
  let tries = 0;
  const run = (): Promise<Outcome> => Promise.reject(full[(tries += 1) % full.length] ?? assert.fail());
  const worker = await startWorker({ db, handlers: { call: { longestSeconds: 1, run } }, log, pollMs: 10 });
  await until('all were tried', async () => (await db`select from outbox where state = 'waiting' and attempts > 0`).length === 40);
  await worker.stop();
  assert.deepEqual(lines.map(({ level, err }) => [level, (err as { code: string }).code]).toSorted(), [['error', 'EACCES'], ['error', 'ENOSPC']]);
});
