// Tests that a fetch whose work another worker has taken over records nothing: neither a failure over the result of its successor, nor any other end.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { claimInTurn } from '../../test/claim.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { lockWaits } from '../../test/lock-waits.ts';
import { useService } from '../../test/service.ts';
import { attendanceCsv, smallSchool, user } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { connect, type Db } from '../db/connect.ts';
import { policies } from '../db/policies.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { reclaimExpired, type ClaimedWork } from '../outbox/claim.ts';
import { createCollecting } from './collect.ts';
import { installDatabases, requestCollection } from './component-databases.ts';
import { setConnector } from './connector-settings.ts';
import type { DatabaseName } from './connector.ts';

const service = await useService();
const { db, dataDir } = service;
const outbound = createOutbound(parseAllowList([]));
const collections = connect(service.databaseUrl, { ...policies.collections, name: 'lost collections' });
after(() => Promise.all([outbound.close(), collections.end({ timeout: 1 })]));

async function folderOf({ files }: ReturnType<typeof csvPackage>): Promise<string> {
  const folder = mkdtempSync(join(dataDir, 'folder-'));
  for (const [name, file] of files) writeFileSync(join(folder, name), await buffer(await file.open()));
  return folder;
}

/** Lets every reading find that a newer one was merged before it. */
const overtaken: Db = new Proxy(collections, {
  get: (target, name) => (name !== 'begin' ? Reflect.get(target, name) as unknown : async (...given: Parameters<Db['begin']>) => {
    await db`update reading set started = started + 1, roster_merged = started + 1`;
    return target.begin(...given);
  }),
});

type Ending = { name: string; database?: DatabaseName; folder: string; connector?: null; on?: Db };
const endings: Ending[] = [
  { name: 'unreachable', folder: join(dataDir, 'missing') },
  { name: 'refused', folder: await folderOf(csvPackage({ ...smallSchool, users: [user('', 'student')] })) },
  { name: 'nothing', folder: dataDir, connector: null },
  { name: 'overtaken', folder: await folderOf(csvPackage(smallSchool)), on: overtaken },
  { name: 'marks', database: 'Attendance', folder: await folderOf(csvPackage(smallSchool, { raw: { 'attendance.csv': attendanceCsv('p1,never,AM,N,,') } })) },
];

async function begin({ name, database = 'SchoolData', folder, connector, on = collections }: Ending) {
  const estab = `${name}-${crypto.randomUUID().slice(0, 8)}`;
  await service.addSchool(estab, csvPackage(smallSchool));
  await db.begin(async (tx) => {
    await setConnector(tx, service.seal, estab, { kind: 'csv', folder });
    await installDatabases(tx, estab, [database]);
    await tx`update component_database set refreshing_since = null where estab = ${estab}`;
    await tx`delete from outbox`;
    await requestCollection(tx, estab, database);
    if (connector === null) await tx`update establishment set connector = null where estab = ${estab}`;
  });
  const [work] = await claimInTurn(db, 600, 1);
  assert.ok(work);
  const handler = createCollecting({ db: on, mis: on, seal: service.seal, outbound, dataDir }, { shrinkLimitPercent: 20 });
  const run = (claimed: ClaimedWork) => handler.run(claimed).then(({ state }) => state, (error: unknown) => error);
  /** Without the progress, which is only shown. */
  const recorded = async () =>
    (await db`select * from component_database where estab = ${estab} order by name`).map((row) => ({ ...row, progress: undefined }));
  return { estab, work, run, recorded };
}

for (const ending of endings) {
  test(`${ending.name}: a worker that lost its work before it ended records nothing`, async () => {
    const { work, run, recorded } = await begin(ending);
    const before = await recorded();
    await db`update outbox set claim = gen_random_uuid() where id = ${work.id}`;
    await run(work);
    assert.deepEqual(await recorded(), before);
    await db`update outbox set claim = ${work.claim} where id = ${work.id}`;
    await run(work);
    assert.notDeepEqual(await recorded(), before, 'the worker that holds it does');
  });

  test(`${ending.name}: a worker that stands still while it records its end loses its session with its lease`, async () => {
    const { estab, work, run, recorded } = await begin(ending);
    const before = await recorded();
    const ended = await db.begin(async (tx) => {
      await tx`select from component_database where estab = ${estab} for update`;
      const running = run(work);
      const waiting = async () => (await lockWaits(db, '%component_database%')).filter(({ query }) => !query.includes('set progress'));
      await until('it waits for the status', async () => (await waiting()).length > 0);
      const sessions = (await waiting()).map(({ pid }) => pid);
      await db`update outbox set lease_until = now() - interval '1 second' where id = ${work.id}`;
      await reclaimExpired(db);
      await until('its session is ended', async () => (await db`select from pg_stat_activity where pid = any(${sessions})`).length === 0, () => '', 10);
      return { running };
    });
    await ended.running;
    assert.deepEqual(await recorded(), before);
  });
}
