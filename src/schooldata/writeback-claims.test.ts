// Tests that a worker writes no marks to the MIS when another worker may have taken the writeback over.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { claimInTurn } from '../../test/claim.ts';
import { mark, useWriteback } from '../../test/writeback.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';
import { createWriteback } from './write-back.ts';

const { service, db, addSchool } = await useWriteback({ work: false });
const outbound = createOutbound(parseAllowList([]));
after(() => outbound.close());

test('a worker that may have lost the work does not call the MIS; the next attempt does', async () => {
  const school = await addSchool();
  const { TrackingId } = await school.post([mark(0)], { callback: { Url: 'http://127.0.0.1:9999/' } });
  const [work] = await claimInTurn(db, 30, 1);
  assert.ok(work);
  const writeback = createWriteback({ db, mis: db, seal: service.seal, outbound, dataDir: service.dataDir });
  const outcome = await writeback.run(work, () => false);
  assert.deepEqual([outcome.state, outcome.errorClass, await school.kept()], ['waiting', 'unexpected', {}]);
  assert.equal((await school.outcome(TrackingId)).Status, 'Pending');
  assert.equal((await writeback.run(work, () => true)).state, 'done');
  assert.deepEqual([(await school.outcome(TrackingId)).Status, Object.keys(await school.kept()).length], ['Completed', 1]);
});
