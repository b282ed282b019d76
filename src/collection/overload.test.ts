// Tests that fetches beyond the connections of their pool wait for one another, and that slowness is reported as slowness.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { connect } from '../db/connect.ts';
import { policies } from '../db/policies.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { startWorker } from '../outbox/worker.ts';
import { createCollecting } from './collect.ts';
import { collectKind, requestCollection } from './component-databases.ts';
import { setConnector } from './connector-settings.ts';

const service = await useService();
const { db } = service;
const outbound = createOutbound(parseAllowList([]));
after(() => outbound.close());

test('sixteen fetches on eight connections: each is imported in the end, none fails, and the operator is not paged', async () => {
  const estabs = Array.from({ length: 16 }, (_, at) => `S${at}`);
  for (const estab of estabs) {
    const folder = mkdtempSync(join(service.dataDir, 'folder-'));
    for (const file of smallPackage().files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
    await service.addSchool(estab);
    await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'csv', folder }));
    await db.begin((tx) => requestCollection(tx, estab, 'SchoolData'));
  }
  // Limits that are a hundredth of the usual ones.
  const collections = connect(service.databaseUrl, { ...policies.collections, connectionMs: 300, awayMs: 600 });
  const outbox = connect(service.databaseUrl, policies.outbox);
  const lines: { level: string; message: string }[] = [];
  const log = {
    warn: (_: object, message: string) => void lines.push({ level: 'warn', message }),
    error: (_: object, message: string) => void lines.push({ level: 'error', message }),
  };
  const parts = { db: collections, mis: collections, seal: service.seal, outbound, dataDir: service.dataDir };
  const collecting = createCollecting(parts, { shrinkLimitPercent: 20, mergeWaitMs: 1_000 });

  // Half of the schools are slow: somebody else holds their rosters, so that their merges keep their connections.
  const slow = Promise.withResolvers<void>();
  const holding = db.begin(async (tx) => {
    await tx`select from roster where estab = any(${estabs.slice(0, 8)}) for update`;
    await slow.promise;
  });
  const worker = await startWorker({ db: outbox, handlers: { [collectKind]: collecting }, log });
  const handedBack = async () =>
    db<{ message: string; forgiven: number }[]>`
      select a.detail ->> 'message' as message, o.forgiven from outbox_attempt a join outbox o using (estab, id) where not a.success`;
  try {
    await until('merges without a turn hand their claim back', async () => (await handedBack()).length > 0);
    for (const { message, forgiven } of await handedBack()) {
      assert.match(message, /busy for 1 s/);
      assert.ok(forgiven > 0);
    }
    const { waiting } = collections.load();
    assert.equal(waiting, 0, 'nothing waits for a connection of the pool');
  } finally {
    slow.resolve();
    await holding;
  }
  await db`update outbox set due_at = now() where state = 'waiting'`;
  await db`update lane set next_at = now() where key in (select lane from outbox where state = 'waiting')`;
  await until('all schools are imported', async () => {
    await db`update lane set next_at = now() where key in (select lane from outbox where state = 'waiting')`;
    await db`update outbox set due_at = now() where state = 'waiting'`;
    return (await db`select from roster where version = 1`).length === estabs.length;
  });
  await worker.stop();
  assert.deepEqual(lines, []);
  assert.equal((await db`select from component_database where status <> 'OK' and name = 'SchoolData'`).length, 0);
  await Promise.all([collections.end({ timeout: 5 }), outbox.end({ timeout: 5 })]);
});
