// The end of a worker in the midst of a merge and of a call: nothing of either happens later, and another does both at once.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { useReceiver } from '../test/delivery.ts';
import { testSecretKey, useService } from '../test/service.ts';
import { smallPackage } from '../test/small-school.ts';
import { until } from '../test/until.ts';
import { setConnector } from './collection/connector-settings.ts';
import { readConfig } from './config.ts';
import { connect, type Db } from './db/connect.ts';
import type { PoolPolicy } from './db/policies.ts';
import { enqueue } from './outbox/enqueue.ts';
import { createWorkPools, startWork } from './work.ts';

const estab = 'S1';
const service = await useService();
const { db, seal, app } = service;
const receiver = await useReceiver();
await service.addSchool(estab);
await service.addClient('app', [estab]);

const env = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, OUTBOUND_ALLOW: '127.0.0.0/8' };
const opened: Db[] = [];
const open = (policy: PoolPolicy) => {
  const pool = connect(service.databaseUrl, policy);
  opened.push(pool);
  return pool;
};
after(() => Promise.all(opened.map((pool) => pool.end({ timeout: 5 }))));
const work = () => startWork({ pools: createWorkPools(open), seal, config: readConfig(env), log: app.log, longestEndMs: 300 });
const states = async () => Object.fromEntries((await db<{ kind: string; state: string; counted: number }[]>`
  select kind, state, attempts - forgiven as counted from outbox where payload ->> 'database' = 'SchoolData' or payload ->> 'event' = 'example'`)
  .map(({ kind, state, counted }) => [kind, [state, counted]]));

test('a merge and a call that are cut at the end leave nothing, and are done by another at once', async () => {
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  for (const file of smallPackage().files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
  await db.begin((tx) => setConnector(tx, seal, estab, { kind: 'csv', folder }));
  const url = `${receiver.origin}/hangs`;
  const lane = { key: url, host: null, width: 1, lasting: false };
  await db.begin((tx) => enqueue(tx, { estab, rp: 'app', kind: 'call', lane, payload: { event: 'example', method: 'GET', url }, body: null }));
  let cut = 0;
  receiver.answer = (_, response) => void response.once('close', () => (cut += 1));

  await db.begin(async (tx) => {
    await tx`select from roster where estab = ${estab} for update`;
    const stop = await work();
    const merging = () => db`
      select from pg_stat_activity where datname = current_database() and state = 'active' and query like 'select version from roster %'`;
    await until('the merge waits and the receiver is called', async () => (await merging()).length > 0 && receiver.arrivals.length === 1);
    await stop();
  });
  assert.deepEqual([await states(), cut], [{ collect: ['waiting', 0], call: ['waiting', 0] }, 1]);
  const versions = () => db<{ version: number }[]>`select version from roster where estab = ${estab}`;
  assert.equal((await versions())[0]?.version, 0, 'what had begun comes to nothing');

  receiver.answer = () => 200;
  const begun = performance.now();
  const stop = await work();
  await until('both are done', async () => Object.values(await states()).every(([state]) => state === 'done'), states);
  assert.ok(performance.now() - begun < 15_000, 'long before a lease would have ended');
  await stop();
  assert.deepEqual([(await versions())[0]?.version, new Set(receiver.arrivals.map(({ id }) => id)).size, receiver.arrivals.length], [1, 1, 2]);
  assert.equal((await db`select from import_run where estab = ${estab}`).length, 1);
});
