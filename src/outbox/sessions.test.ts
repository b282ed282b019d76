// Tests that the work of a process that died or stands still goes on: a death is noticed by the end of its database sessions, and a process that
// stands still loses its session when its lease is over.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { useDatabase } from '../../test/database.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallSchool } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { requestCollection } from '../collection/component-databases.ts';
import { setConnector } from '../collection/connector-settings.ts';
import { connect } from '../db/connect.ts';
import { processTag } from '../db/pool.ts';
import { claimWork, holdsClaim, reclaimExpired } from './claim.ts';
import { enqueue } from './enqueue.ts';
import { createDeathWatch, findOwnSession, markTransaction } from './sessions.ts';
import { startWorker } from './worker.ts';

const database = await useDatabase();
const service = await useService({}, { database });
const { db } = service;
const children = new Set<ChildProcess>();
after(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Starts a fetch of a school in a process of its own, and returns that process when it has killed or stopped itself. */
async function fetchAndLose(estab: string, before: string, signal: 'SIGKILL' | 'SIGSTOP'): Promise<ChildProcess> {
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  for (const [name, file] of csvPackage(smallSchool).files) writeFileSync(join(folder, name), await buffer(await file.open()));
  await service.addSchool(estab);
  await db.begin(async (tx) => {
    await setConnector(tx, service.seal, estab, { kind: 'csv', folder });
    await requestCollection(tx, estab, 'SchoolData');
  });
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../test/fetch-worker.ts'), '--before', before, '--signal', signal], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      DATABASE_URL: database.servingUrl ?? database.url, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    },
  });
  children.add(child);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  if (signal === 'SIGKILL') await new Promise((resolve) => child.once('close', resolve));
  return child;
}

const versionOf = async (estab: string) => (await db<{ version: number }[]>`select version from roster where estab = ${estab}`)[0]?.version;
const leaseOf = async (estab: string) =>
  (await db<{ until: Date }[]>`select lease_until as until from outbox where estab = ${estab} and state = 'running'`)[0]?.until
  ?? assert.fail('it is not leased');

for (const before of ['for no key update', 'insert into roster_version'])
  test(`an import whose process is killed before "${before}" goes on before its lease is over`, async () => {
    const estab = `killed-${before.length}`;
    await fetchAndLose(estab, before, 'SIGKILL');
    const lease = await leaseOf(estab);
    await service.work();
    await until('another worker imports', async () => (await versionOf(estab)) === 1);
    const [lost] = await db<{ at: Date; kind: string }[]>`
      select a.at, a.error_class as kind from outbox_attempt a join outbox o using (estab, id) where o.estab = ${estab} order by number limit 1`;
    assert.equal(lost?.kind, 'worker_lost');
    assert.ok(lost.at < lease, `${lost.at.toISOString()} is before ${lease.toISOString()}`);
    await service.rest();
  });

for (const before of ['insert into "roster_user"', 'insert into roster_version'])
  test(`an import whose process stops before "${before}" goes on elsewhere when its lease is over, and the process writes nothing afterwards`, async () => {
    const estab = `stopped-${before.length}`;
    const child = await fetchAndLose(estab, before, 'SIGSTOP');
    // Later it holds the row itself, and its lease has to end by itself.
    if (!before.includes('version')) await db`update outbox set lease_until = now() where estab = ${estab} and state = 'running'`;
    await service.work();
    await until('another worker imports', async () => (await versionOf(estab)) === 1);
    child.kill('SIGCONT');
    const [runs] = await db<{ count: number }[]>`select count(*)::int from import_run where estab = ${estab}`;
    assert.equal(runs?.count, 1);
    const exited = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await exited;
    assert.equal(await versionOf(estab), 1);
    await service.rest();
  });

test('only a process without any session on the same server counts as dead', async () => {
  await db`delete from outbox`;
  await db.begin((tx) => enqueue(tx, {
    estab: 'S', rp: null, kind: 'other', lane: { key: 'watched', host: null, width: 1, lasting: true }, payload: {}, body: null,
  }));
  const worker = await startWorker({ db, handlers: {}, log: { warn: () => {}, error: () => {} }, pollMs: 3_600_000 });
  const own = (await findOwnSession(db)) ?? assert.fail('a worker has a session');
  await worker.stop();
  await db`update outbox set state = 'waiting', due_at = now()`;
  await db`update lane set next_at = now()`;
  const [work] = await claimWork(db, 60, 1, false, own);
  assert.ok(work);

  let elapsed = 0;
  const watch = createDeathWatch(db, () => elapsed);
  /** Looks every second, as a worker does, or as seldom as a worker whose statements take long. */
  const look = async (times: number, everyMs = 1_000) => {
    let dead: string[] = [];
    for (let time = 0; time < times; time += 1) {
      elapsed += everyMs;
      dead = await watch();
    }
    return dead;
  };
  assert.deepEqual(await look(10), [], 'its process has other sessions');
  await db`update outbox set claimed_by = 'ended0000'`;
  assert.deepEqual([await look(6), await look(3)], [[], [work.claim]]);
  assert.deepEqual([await look(1, 60_000), await look(6), await look(1)], [[], [], [work.claim]], 'the observer stood still, and counts anew');
  await db`update outbox set claimed_by = ${processTag}`;
  assert.deepEqual(await look(1), [], 'it has sessions again');
  await db`update outbox set claimed_by = 'ended0000'`;
  assert.deepEqual([await look(4, 2_000), await look(1, 2_000)], [[], [work.claim]], 'with slow looks it is noticed within ten seconds, too');
  await db`update outbox set session_pid = pg_backend_pid() from pg_stat_activity a where a.pid = pg_backend_pid()`;
  assert.deepEqual(await look(10), [work.claim], 'another session has its pid');
  await db`update outbox set session_server_started_at = session_server_started_at - interval '1 hour'`;
  assert.deepEqual(await look(10), [], 'after a failover the lease is the bound');
  await db`update outbox set session_pid = null, session_started_at = null, session_server_started_at = null`;
  assert.deepEqual(await look(10), [], 'without a session the lease is the bound');
});

test('a worker that sleeps long between looks for work frees the work of an ended one all the same', async () => {
  await db`delete from outbox`;
  await db.begin((tx) => enqueue(tx, {
    estab: 'S', rp: null, kind: 'other', lane: { key: 'left', host: null, width: 1, lasting: true }, payload: {}, body: null,
  }));
  let elapsed = 0;
  // Each look at the clock is a second later, so that nothing has to be waited for.
  const worker = await startWorker({
    db, handlers: {}, log: { warn: () => {}, error: () => {} }, pollMs: 3_600_000, elapsedMs: () => (elapsed += 1_000),
  });
  await db`update outbox set state = 'running', claim = gen_random_uuid(), lease_until = now() + interval '1 hour', claimed_by = 'ended0000',
    session_pid = 1, session_started_at = now(), session_server_started_at = pg_postmaster_start_time()`;
  const lost = async () => (await db`select from outbox_attempt join outbox using (estab, id) where lane = 'left' and error_class = 'worker_lost'`).length;
  await until('it is freed', async () => (await lost()) === 1);
  await worker.stop();
});

test('a transaction under a claim is not ended when the lease of other work of the same batch is over', async () => {
  await db`delete from outbox`;
  await db.begin(async (tx) => {
    for (const key of ['healthy', 'lost'])
      await enqueue(tx, { estab: 'S', rp: null, kind: 'other', lane: { key, host: null, width: 1, lasting: true }, payload: {}, body: null });
  });
  const batch = await claimWork(db, 60, 2);
  assert.equal(batch.length, 2);
  const own = connect(database.servingUrl ?? database.url, { max: 1, name: 'merging' });
  const healthy = batch.find(({ lane }) => lane === 'healthy') ?? assert.fail();
  await own.begin(async (tx) => {
    await markTransaction(tx, healthy);
    await db`update outbox set lease_until = now() - interval '1 second' where lane = 'lost'`;
    assert.equal(await reclaimExpired(db), 1);
    assert.equal(await holdsClaim(tx, healthy), true);
  });
  await own.end();
});
