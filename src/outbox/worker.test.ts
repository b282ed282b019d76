// The worker, on a real database with handlers of the tests' own: what one piece of work does to the others, what
// happens to what it holds, and how it ends.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { useDatabase } from '../../test/database.ts';
import { until } from '../../test/until.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import type { ClaimedWork } from './claim.ts';
import { enqueue, type Lane } from './enqueue.ts';
import type { Outcome } from './settle.ts';
import { startWorker, type Worker, type WorkerOptions } from './worker.ts';

const { db } = await useDatabase();
const success: Outcome = { success: true, state: 'done', detail: {} };
const failure: Outcome = { success: false, state: 'waiting', delaySeconds: 3600, errorClass: 'status_500', detail: {} };

let worker: Worker | undefined;
let warnings: object[] = [];
let taken: ClaimedWork[] = [];
/** What hangs ends with its test, however that ends. */
let hanging = Promise.withResolvers<Outcome>();

beforeEach(async () => {
  await db`truncate outbox, outbox_attempt, lane`;
  [warnings, taken, ended, hanging] = [[], [], 0, Promise.withResolvers<Outcome>()];
});
afterEach(async () => {
  hanging.resolve(success);
  await worker?.stop();
});

async function start(run: (work: ClaimedWork) => Promise<Outcome>, more: Partial<WorkerOptions> = {}): Promise<void> {
  const handler = { longestSeconds: 1, run: (work: ClaimedWork) => (taken.push(work), run(work).finally(() => (ended += 1))) };
  worker = await startWorker({
    db, handlers: { call: handler }, log: { warn: (details, message) => void warnings.push({ ...details, message }), error() {} }, pollMs: 30,
    ...more,
  });
}
const put = (key: string, more: Partial<Lane> & { kind?: string } = {}) => {
  const { kind = 'call', ...lane } = more;
  return db.begin((tx) => enqueue(tx, { estab: 'S1', rp: null, kind, lane: { key, host: null, width: 4, lasting: true, ...lane }, payload: {}, body: null }));
};
type Row = { state: string; attempts: number; counted: number; claim: string | null };
const row = async (lane: string) => (await db<Row[]>`select state, attempts, attempts - forgiven as counted, claim from outbox where lane = ${lane}`)[0];
/** Seconds from the last attempt until the next. */
const waitOf = async (lane: string, attempt: number) => (await db<{ wait: number }[]>`
  select extract(epoch from next_at - at)::float8 as wait from outbox_attempt a join outbox o using (estab, id)
  where o.lane = ${lane} and number = ${attempt}`)[0]?.wait ?? 0;
/** How many have begun and not ended. */
let ended = 0;
const running = () => taken.length - ended;
const is = (lane: string, state: string) => async () => (await row(lane))?.state === state;

// ---- One and the others -------------------------------------------------------------------------------------------

test('300 pieces of work that hang, each on a host of its own, leave room: another is begun at once', async () => {
  await start((work) => (work.lane === 'well' ? Promise.resolve(success) : hanging.promise));
  await db`insert into lane (key, host, width, lasting) select 'hanging ' || n, 'host' || n, 4, true from generate_series(1, 300) n`;
  await db`insert into outbox (estab, id, kind, lane, payload, due_at) select 'S1', 'hanging ' || n, 'call', 'hanging ' || n, '{}', now()
      from generate_series(1, 300) n`;
  await db`update lane set next_at = now()`;
  await until('all of them are under way', () => taken.length === 300);
  await put('well', { host: 'well.example' });
  await until('the other is done', is('well', 'done'));
  assert.equal(running(), 300, 'and the others hang');
  hanging.resolve(success);
  await until('they end', async () => (await db`select from outbox where state <> 'done'`).length === 0);
});

test('with 300 under way, lanes that have failed lately wait until there is room; healthy ones do not', async () => {
  await start((work) => (work.lane.startsWith('hanging') ? hanging.promise : Promise.resolve(success)));
  await db`insert into lane (key, width, lasting) select 'hanging ' || n, 4, true from generate_series(1, 300) n`;
  await db`insert into outbox (estab, id, kind, lane, payload, due_at) select 'S1', 'hanging ' || n, 'call', 'hanging ' || n, '{}', now()
      from generate_series(1, 300) n`;
  await db`update lane set next_at = now()`;
  await until('all of them are under way', () => taken.length === 300);
  await db`insert into lane (key, width, lasting, failures) values ('failing', 4, true, 1)`;
  await put('failing');
  await put('well');
  await until('the healthy one is done', is('well', 'done'));
  assert.deepEqual([(await row('failing'))?.state, running()], ['waiting', 300]);
  hanging.resolve(success);
  await until('then the other is', is('failing', 'done'));
});

test('work under which the database went away is tried again in a moment, and nobody is alarmed; what failed otherwise takes longer', async () => {
  await start(async (work) => {
    throw work.lane === 'gone' ? new DatabaseUnavailable('lost', 'the connection to the database ended') : new Error('broken');
  });
  await Promise.all([put('gone'), put('broken')]);
  await until('both were tried', async () => ((await row('gone'))?.attempts ?? 0) > 0 && ((await row('broken'))?.attempts ?? 0) > 0);
  assert.ok((await waitOf('gone', 1)) < 1, String(await waitOf('gone', 1)));
  assert.ok((await waitOf('broken', 1)) >= 4, String(await waitOf('broken', 1)));
  assert.match(JSON.stringify(warnings), /the database went away under work/);
});

test('a lane that somebody holds for long stops neither the calls nor the settling of others', async () => {
  await start(async () => success);
  await db`insert into lane (key, width, lasting) values ('held', 4, true)`;
  const held = Promise.withResolvers<void>();
  await put('held');
  await until('it is done', is('held', 'done'));
  // Under way when the lane is locked, so that its outcome cannot be written.
  await db`update outbox set state = 'waiting', settled_at = null, due_at = now() where lane = 'held'`;
  await worker?.stop();
  const [begun, locked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await start(async (work) => {
    if (work.lane === 'held') {
      begun.resolve();
      await locked.promise;
    }
    return success;
  });
  await db`update lane set next_at = now() where key = 'held'`;
  await begun.promise;
  const locking = db.begin(async (tx) => {
    await tx`select from lane where key = 'held' for update`;
    locked.resolve();
    await held.promise;
  });
  try {
    await locked.promise;
    await pause(200);
    for (let at = 0; at < 5; at += 1) {
      await put(`free ${at}`);
      await until('another is settled', is(`free ${at}`, 'done'));
    }
    assert.equal((await row('held'))?.state, 'running');
  } finally {
    held.resolve();
    await locking;
  }
  await until('then it is settled too', is('held', 'done'));
  assert.equal(taken.filter((work) => work.lane === 'held').length, 2, 'once by each worker, and not again');
});

test('work whose row and lane were removed while it was under way, as when its school is removed, stops no other', async () => {
  await start((work) => (work.lane === 'removed' ? hanging.promise : Promise.resolve(success)));
  await put('removed');
  await until('it is under way', () => taken.length === 1);
  await db`delete from outbox`;
  await db`delete from lane`;
  hanging.resolve(success);
  await pause(100);
  await put('well');
  await until('the other is done', is('well', 'done'));
});

test('work that throws, or that nobody knows how to do, is our own fault: it waits longer each time, costs no attempt and stops no other', async () => {
  await start(async (work) => {
    if (work.lane === 'well') return success;
    throw new Error('a slip of ours');
  });
  await put('throws');
  await put('stranger', { kind: 'stranger' });
  await put('well');
  const waits: number[] = [];
  for (let time = 1; time <= 9; time += 1) {
    for (const lane of ['throws', 'stranger'])
      await until('it waits again', async () => Number((await row(lane))?.attempts) >= time && (await row(lane))?.state === 'waiting');
    waits.push(await waitOf('throws', time));
    await db`update outbox set due_at = now() where state = 'waiting'`;
    await db`update lane set next_at = now() where key in ('throws', 'stranger')`;
  }
  const schedule = [5, 10, 20, 40, 80, 160, 320, 640, 900];
  for (const [at, expected] of schedule.entries()) assert.ok(Number(waits[at]) > expected * 0.79 && Number(waits[at]) < expected * 1.21, `${waits.join(', ')}`);
  assert.equal((await row('throws'))?.counted, 0);
  const [lane] = await db`select failures, failing_since, open_until from lane where key = 'throws'`;
  assert.deepEqual({ ...lane }, { failures: 0, failing_since: null, open_until: null });
  assert.equal((await row('well'))?.state, 'done');
  const [logged] =
    await db`select error_class, detail ->> 'message' as message from outbox_attempt a join outbox o using (estab, id) where o.lane = 'throws' limit 1`;
  assert.deepEqual({ ...logged }, { error_class: 'unexpected', message: 'a slip of ours' });
});

test('an outcome that cannot be stored does not keep those beside it, and is stored without its details', async () => {
  await start(async (work) => (work.lane === 'odd' ? { ...success, detail: { message: 'a\0b' }, response: Buffer.from('x') } : success));
  await put('odd');
  for (let at = 0; at < 3; at += 1) await put(`well ${at}`);
  for (let at = 0; at < 3; at += 1) await until('the others are done', is(`well ${at}`, 'done'));
  await until('it is done', is('odd', 'done'));
  const [logged] = await db`select detail ->> 'message' as message from outbox_attempt a join outbox o using (estab, id) where o.lane = 'odd'`;
  assert.match(String(logged?.message), /could not be stored/);
  assert.equal(taken.length, 4, 'and nothing was done twice');
});

// ---- What it holds ------------------------------------------------------------------------------------------------

test('a lease that ended while the database was away frees nothing that the worker still holds', async () => {
  await start((work) => (work.lane === 'own' ? hanging.promise : Promise.resolve(success)));
  await put('own');
  await until('it is under way', () => taken.length === 1);
  await db`update outbox set lease_until = now() - interval '1 hour'`;
  // Another worker's, whose lease has ended too: once this is freed, the round that spared the first is over.
  await db`insert into lane (key, width, lasting) values ('other', 4, true)`;
  await db`insert into outbox (estab, id, kind, lane, payload, due_at, state, claim, lease_until)
      values ('S1', 'other', 'call', 'other', '{}', now(), 'running', gen_random_uuid(), now() - interval '1 second')`;
  await until('the other is done', is('other', 'done'));
  assert.equal((await row('own'))?.state, 'running');
  hanging.resolve(success);
  await until('it is done', is('own', 'done'));
  assert.deepEqual([taken.filter((work) => work.lane === 'own').length, (await row('own'))?.attempts], [1, 1]);
});

test('leases of what is under way are renewed', async () => {
  await start(() => hanging.promise, { leaseSeconds: 7 });
  await put('long');
  await until('it is under way', () => taken.length === 1);
  // A lease that ends in an hour is not taken for one that has ended; to renew it shortens it.
  await db`update outbox set lease_until = now() + interval '1 hour'`;
  await until('its lease is renewed', async () => (await db`select from outbox where lease_until < now() + interval '8 seconds'`).length === 1);
  hanging.resolve(success);
});

// ---- Ends ---------------------------------------------------------------------------------------------------------

test('a lane that ends is logged with the reason, and what waits in it is failed at once', async () => {
  await start(async (work) => (work.lane === 'gone' ? { ...failure, state: 'failed', disableLane: 'the receiver answered 410 Gone' } : failure));
  await db`insert into lane (key, width, lasting, next_at, failures, failing_since)
      values ('dead', 1, true, null, 9, now() - interval '121 hours'), ('resting', 1, true, null, 9, now() - interval '119 hours'), ('gone', 1, true, null,
      0, null)`;
  for (const key of ['dead', 'resting', 'gone'])
    await db`insert into outbox (estab, id, kind, lane, payload, due_at)
        select 'S1', ${key} || n, 'call', ${key}, '{}', now() + make_interval(hours => n - 1) from generate_series(1, 3) n`;
  await db`update lane set next_at = now()`;
  await until('they have failed', async () => (await db`select from outbox_attempt`).length === 3);
  const count = async (lane: string) =>
    (await db`select state, count(*)::int from outbox where lane = ${lane} group by 1`).map(({ state, count }) => [state as string, count as number]);
  assert.deepEqual([await count('dead'), await count('gone'), await count('resting')], [[['failed', 3]], [['failed', 3]], [['waiting', 3]]]);
  await until('both are logged', () => warnings.length === 2);
  assert.deepEqual(warnings.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)), [
    { kind: 'call', estab: 'S1', lane: 'dead', id: 'dead1', reason: 'five days of nothing but failures', message: 'disabled: nothing more is sent there' },
    { kind: 'call', estab: 'S1', lane: 'gone', id: 'gone1', reason: 'the receiver answered 410 Gone', message: 'disabled: nothing more is sent there' },
  ]);
});

test('stop() waits for what is under way, settles it, and takes nothing more', async () => {
  await start(() => hanging.promise);
  for (let at = 0; at < 20; at += 1) await put(`lane ${at}`);
  await until('all are under way', () => taken.length === 20);
  let stopped = false;
  const stopping = worker?.stop().then(() => (stopped = true));
  await put('late');
  await pause(100);
  assert.equal(stopped, false);
  hanging.resolve(success);
  await stopping;
  assert.deepEqual([(await db`select from outbox where state = 'done'`).length, (await row('late'))?.state, taken.length], [20, 'waiting', 20]);
});

async function takenOver(lane: string): Promise<void> {
  await start(async () => success);
  await until('another does it', is(lane, 'done'));
}

test('what is still under way when the time of the end is over is cut, and handed to another under the same id, without costing an attempt', async () => {
  let wasCut = 0;
  await start(() => hanging.promise, {
    longestEndMs: 100,
    cut: async () => {
      wasCut += 1;
      assert.equal((await row('long'))?.state, 'running', 'it is handed back when nothing of it can happen any more');
      hanging.resolve(failure);
    },
  });
  await put('long');
  await until('it is under way', () => taken.length === 1);
  await worker?.stop();
  assert.deepEqual([wasCut, { ...(await row('long')) }], [1, { state: 'waiting', attempts: 1, counted: 0, claim: null }]);
  const [lane] = await db`select failures, failing_since, open_until from lane where key = 'long'`;
  assert.deepEqual({ ...lane }, { failures: 0, failing_since: null, open_until: null }, 'and nobody is blamed for it');
  await takenOver('long');
  assert.deepEqual([new Set(taken.map(({ id }) => id)).size, taken.length, (await row('long'))?.counted], [1, 2, 1]);
  assert.deepEqual((await db`select error_class from outbox_attempt order by number`).map((one) => one.error_class as string | null), ['handed_back', null]);
});

test('what cannot be cut is not handed back, since it may still happen: its lease has to end', async () => {
  const call = { longestSeconds: 1, run: (work: ClaimedWork) => (taken.push(work), hanging.promise) };
  const mail = { ...call, isUncuttable: true } as const;
  await start(() => hanging.promise, { longestEndMs: 100, handlers: { mail, call } });
  await put('cut');
  await put('posted', { kind: 'mail' });
  await until('both are under way', () => taken.length === 2);
  await worker?.stop();
  assert.deepEqual([(await row('cut'))?.state, (await row('posted'))?.state], ['waiting', 'running']);
  const [posted] = await db`select claim = ${taken.find(({ kind }) => kind === 'mail')?.claim ?? ''} as held, lease_until > now() as leased from outbox
    where lane = 'posted'`;
  assert.deepEqual({ ...posted }, { held: true, leased: true });
});

test('what was claimed while the worker was told to stop is not begun, and handed back as if nothing had been', async () => {
  let stopped: Promise<void> | undefined;
  const onStatement = (message: unknown) => {
    if ((message as { text: string }).text.includes("set state = 'running'")) stopped ??= worker?.stop();
  };
  await start(async () => success, { pollMs: 60_000 });
  await pause(100);
  subscribe('schoolbell:statement', onStatement);
  await put('late');
  await until('it is told to stop', () => stopped !== undefined).finally(() => unsubscribe('schoolbell:statement', onStatement));
  await stopped;
  assert.deepEqual([taken.length, { ...(await row('late')) }], [0, { state: 'waiting', attempts: 0, counted: 0, claim: null }]);
  await takenOver('late');
  assert.equal((await row('late'))?.attempts, 1);
});

test('an outcome whose lane is busy while the worker stops is written all the same, and nothing is done twice', async () => {
  await start(() => hanging.promise);
  await put('busy');
  await until('it is under way', () => taken.length === 1);
  const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const locking = db.begin(async (tx) => {
    await tx`select from lane where key = 'busy' for update`;
    locked.resolve();
    await free.promise;
  });
  await locked.promise;
  const stopping = worker?.stop();
  hanging.resolve(success);
  await pause(300).then(free.resolve);
  await Promise.all([locking, stopping]);
  assert.deepEqual([(await row('busy'))?.state, taken.length], ['done', 1]);
});
