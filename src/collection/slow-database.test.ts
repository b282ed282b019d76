// A fetch whose merge the database is always too slow for: it is tried again soon, at growing intervals, and is then recorded as a failure.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { connect } from '../db/connect.ts';
import { policies } from '../db/policies.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { claimWork } from '../outbox/claim.ts';
import { replayWork } from '../outbox/replay.ts';
import { settleWork, type Outcome } from '../outbox/settle.ts';
import { createCollecting } from './collect.ts';
import { requestCollection } from './component-databases.ts';
import { setConnector } from './connector-settings.ts';

const service = await useService();
const { db } = service;
const outbound = createOutbound(parseAllowList([]));
after(() => outbound.close());

test('slowness is tried again at growing intervals, and becomes a failure that is recorded', async () => {
  const folder = mkdtempSync(join(service.dataDir, 'folder-'));
  for (const file of smallPackage().files.values()) writeFileSync(join(folder, file.name), await buffer(await file.open()));
  await service.addSchool('slow');
  await db.begin(async (tx) => {
    await setConnector(tx, service.seal, 'slow', { kind: 'csv', folder });
    await requestCollection(tx, 'slow', 'SchoolData');
  });
  const collections = connect(service.databaseUrl, { ...policies.collections, lockMs: 100 });
  const parts = { db: collections, mis: collections, seal: service.seal, outbound, dataDir: service.dataDir };
  const collecting = createCollecting(parts, { shrinkLimitPercent: 20 });
  const claim = async () => (await claimWork(db, 600, 1))[0] ?? assert.fail('nothing to claim');
  let work = await claim();
  /** Settles the work with this outcome, and claims it again at once. */
  async function settle(outcome: Outcome): Promise<void> {
    await settleWork(db, [{ work, outcome }]);
    await db`update outbox set due_at = now()`;
    await db`update lane set next_at = now(), open_until = null`;
    work = await claim();
  }
  /** Fetches once and expects that the database is found too slow, and when the next try is due. */
  async function fetchSlowly(seconds: number): Promise<void> {
    const outcome = await collecting.run(work, () => true);
    assert.deepEqual([outcome.state, outcome.errorClass, outcome.alarming], ['waiting', 'slow', undefined]);
    assert.ok(Math.abs((outcome.delaySeconds ?? 0) - seconds) <= seconds * 0.2, `${outcome.delaySeconds}, expected ${seconds}`);
    await settle(outcome);
    assert.equal(work.attempts, attempts);
  }
  let attempts = 0;
  const recorded = async () => (await db`select status, failing_since is not null as failing from component_database where estab = 'slow'`)[0];
  const end = Promise.withResolvers<void>();
  const holding = db.begin(async (tx) => {
    await tx`select from roster where estab = 'slow' for update`;
    await end.promise;
  });
  try {
    // It has waited for something else of ours for long, such as the roster.
    for (let time = 0; time < 8; time += 1) await settle({ success: false, state: 'waiting', errorClass: 'unexpected', detail: {} });
    for (const seconds of [15, 30, 60, 120, 240, 480]) await fetchSlowly(seconds);
    assert.deepEqual(await recorded(), { status: 'NoData', failing: false });
    const outcome = await collecting.run(work, () => true);
    assert.deepEqual([outcome.state, outcome.errorClass, outcome.alarming], ['waiting', 'mis', true]);
    assert.match(String(outcome.detail.message), /the database is too slow/);
    assert.deepEqual(await recorded(), { status: 'Timeout', failing: true });
    attempts = 1;
    await settle(outcome);
    await fetchSlowly(15);
    // Tries before a replay do not count either.
    await settleWork(db, [{ work, outcome: { ...outcome, state: 'failed' } }]);
    await db.begin((tx) => replayWork(tx, tx`o.estab = 'slow' and o.id = ${work.id}`));
    attempts = 0;
    work = await claim();
    await fetchSlowly(15);
  } finally {
    end.resolve();
    await holding;
    await collections.end({ timeout: 5 });
  }
});
