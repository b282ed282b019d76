// What becomes of an import that is held when something else comes between: a newer package, a process that is stopped, a
// change of source.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { beforeEach, test } from 'node:test';
import { zip } from '../../test/onboarding.ts';
import { useService } from '../../test/service.ts';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { makeUploadToken } from '../access/upload-tokens.ts';
import { setConnector } from './connector-settings.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import type { ImportKind } from './connector.ts';
import { approveHeld, discardHeld, findHeld } from './held.ts';
import { importRoster } from './import.ts';
import { takeUpload } from './uploads.ts';

const service = await useService();
const { db, seal, dataDir, url } = service;
let count = 0;
let estab = '';

beforeEach(async () => {
  estab = `H${(count += 1)}`;
  await service.addSchool(estab, pupils(60));
});

const pupils = (number: number) =>
  smallPackage({ users: [...smallSchool.users, ...Array.from({ length: number }, (_, at) => user(`x${at}`, 'student'))] });
const take = async (number: number) => takeUpload(db, estab, Readable.from([Buffer.from(await zip(pupils(number)))]), { dataDir });
const load = (number: number, how: { kind: ImportKind; upload?: string; approved?: string; meanwhile?: () => Promise<unknown> }) =>
  importRoster(db, async () => (await how.meanwhile?.(), openCsvSource(pupils(number))), {
    estab, dataDir, partial: false, force: false, shrinkLimitPercent: 20, kind: how.kind, upload: how.upload, approved: how.approved,
  });
const packages = async () => (await db<{ id: string }[]>`select id from upload where estab = ${estab}`).map(({ id }) => id);
const decisions = async () =>
  (await db<{ decision: string | null }[]>`select decision from import_run where estab = ${estab} and outcome = 'held' order by finished_at`).map(
    ({ decision }) => decision,
  );
/** Of an import that a person has looked at: the one that waits. */
const seen = async () => (await findHeld(db, estab))?.id ?? 'none';
const approve = async () => db.begin(async (tx) => approveHeld(tx, estab, await seen()));
const losses = async () => (await db`select from import_loss where estab = ${estab}`).length;

test('a package that came while one before it was read, which is held: nobody decides about that one, and the newer one is kept', async () => {
  const first = await take(5);
  let second = '';
  assert.equal((await load(5, { kind: 'upload', upload: first, meanwhile: async () => (second = await take(6)) })).outcome, 'held');
  assert.equal(await findHeld(db, estab), undefined, 'it will be replaced in a moment');
  await assert.rejects(discardHeld(db, estab, await seen()), /No import of H\d+ waits for approval/);
  assert.deepEqual(await packages(), [second]);
  // The worker takes up the newer one.
  await db`update outbox set state = 'running', claim = gen_random_uuid(), lease_until = now() + interval '1 hour' where estab = ${estab} and kind = 'collect'`;
  assert.equal((await load(6, { kind: 'upload', upload: second })).outcome, 'held');
  assert.deepEqual([await packages(), await decisions()], [[second], ['replaced', null]]);
  assert.equal((await approve()).upload, second);
});

test('an approval whose import was stopped before it ended can be given again, or taken back', async () => {
  const id = await take(5);
  await db`update outbox set state = 'done', settled_at = now() where estab = ${estab}`;
  await load(5, { kind: 'upload', upload: id });
  const { approved } = await approve();
  assert.deepEqual(await approve(), { approved, upload: id });
  await discardHeld(db, estab, await seen());
  assert.deepEqual([await decisions(), await packages(), await losses(), await findHeld(db, estab)], [['discarded'], [], 0, undefined]);
});

test('what was approved and imported does not wait again while the next one that is held is not to be seen yet', async () => {
  await load(5, { kind: 'provider' });
  const { approved } = await approve();
  assert.equal((await load(5, { kind: 'provider', approved })).outcome, 'done');
  // As in the moment in which the coordinator has committed, and the school's node not yet.
  await db`update component_database set status = 'Paused' where estab = ${estab} and name = 'SchoolData'`;
  assert.equal(await findHeld(db, estab), undefined);
  await assert.rejects(approve(), /No import of H\d+ waits for approval/);
});

test('who leaves a source is not asked about what came from it', async () => {
  await load(5, { kind: 'provider' });
  assert.ok((await losses()) > 0);
  await db.begin((tx) => setConnector(tx, seal, estab, { kind: 'csv', folder: undefined }));
  assert.deepEqual([await decisions(), await losses()], [['replaced'], 0]);
});

test('what a folder or a provider has held is approved as that, whatever package lies about', async () => {
  await take(4);
  await db`update outbox set state = 'done', settled_at = now() where estab = ${estab}`;
  await load(5, { kind: 'folder' });
  const held = await findHeld(db, estab);
  assert.deepEqual(await approve(), { approved: held?.id });
});

test('a job is told whether what was held waits for a person or is being imported', async () => {
  const token = await makeUploadToken(db, estab, 'school');
  const send = async () => {
    const body = Uint8Array.from(await zip(pupils(60)));
    const response = await fetch(`${url}/api/v1/School/${estab}/Roster`, { method: 'PUT', headers: { authorization: `Bearer ${token}` }, body });
    return [response.status, ((await response.json()) as { ExceptionMessage: string }).ExceptionMessage] as const;
  };
  await load(5, { kind: 'upload' });
  assert.match(String(await send()), /^409,An earlier upload waits for approval \(import [0-9a-f-]{36}\)/);
  await db`update component_database set refreshing_since = now() where estab = ${estab}`;
  assert.match(String(await send()), /^409,A package that was held is being imported at this moment.*Send it again/);
});
