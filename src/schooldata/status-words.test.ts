// Covers what is said of component databases where nothing was collected, where a collection is under way, and where
// data is uploaded: through HTTP, with a worker, a real receiver and the demo MIS.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { readDatabases } from '../collection/component-databases.ts';
import { setConnector, setDemoMode, type ConnectorSetup } from '../collection/connector-settings.ts';
import { takeUpload } from '../collection/uploads.ts';
import { zip } from '../../test/onboarding.ts';
import { sweepWaits } from './availability.ts';

type Status = { DBStatus: { DatabaseName: string; Status: string; Message: string | null }[]; AllOK: boolean; TimedOut: boolean; Message: string | null };

const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db } = service;
const estabs = ['Bare', 'Uploads', 'Demo', 'Small'];
for (const estab of estabs) await service.addSchool(estab, estab === 'Small' ? smallPackage() : undefined);
const connect = (estab: string, setup: ConnectorSetup) => db.begin((tx) => setConnector(tx, service.seal, estab, setup));
await connect('Uploads', { kind: 'csv', folder: undefined });
await service.work();
const receiver = await useReceiver();
const client = await service.addClient('app', estabs);
let calls = 0;

async function databases(estab: string): Promise<Status> {
  return (await (await client.s(estab, 'Databases')).json()) as Status;
}

async function ask(estab: string, path: string): Promise<{ body: Status; told: () => Promise<Status> }> {
  const mine = `/${(calls += 1)}`;
  const response = await client.s(estab, `${path}${path.includes('?') ? '&' : '?'}callbackUrl=${encodeURIComponent(receiver.origin + mine)}`);
  assert.equal(response.status, 202);
  const arrived = () => receiver.arrivals.filter(({ url }) => url === mine);
  return {
    body: (await response.json()) as Status,
    told: async () => {
      await until(`the callback of ${path}`, () => arrived().length > 0, () => databases(estab));
      return JSON.parse(String(arrived()[0]?.body)) as Status;
    },
  };
}

const standing = ({ DBStatus }: Status) => DBStatus.map(({ DatabaseName, Status }) => `${DatabaseName} ${Status}`);

test('where nothing was collected nobody is sent to what was collected before', async () => {
  const bare = await (await ask('Bare', 'Students')).told();
  assert.deepEqual(standing(bare), ['SchoolData NotInstalled']);
  assert.match(bare.Message ?? '', /Nothing of SchoolData was collected before\.$/);
  const small = await (await ask('Small', 'AttendanceForDate?date=2026-11-12')).told();
  assert.match(small.Message ?? '', /Attendance is NotInstalled .*Nothing of Attendance was collected before\.$/);
  assert.doesNotMatch(JSON.stringify([bare, small]), /requested directly/);
  assert.equal((await client.s('Bare', 'Students')).status, 409);
});

test('a school that uploads, and has not yet, has NoData: it is waited for, and not collected', async () => {
  const before = await databases('Uploads');
  assert.deepEqual(standing(before), ['SchoolData NoData', 'Attendance NotInstalled']);
  assert.match(before.DBStatus[0]?.Message ?? '', /nothing was collected or uploaded yet/);
  const refused = await client.s('Uploads', 'Students');
  assert.equal(refused.status, 409);
  assert.match(((await refused.json()) as { ExceptionMessage: string }).ExceptionMessage, /SchoolData is NoData \(nothing was collected or uploaded yet\)/);
  const [early, late] = [await ask('Uploads', 'Students'), await ask('Uploads', 'Students')];
  assert.deepEqual([standing(early.body), early.body.AllOK], [['SchoolData NoData'], false]);
  assert.equal((await db`select from outbox where estab = 'Uploads' and kind = 'collect'`).length, 0);
  await db`update availability_wait set deadline_at = now() where id = ${String((early.body as Status & { RequestId: string }).RequestId)}`;
  await sweepWaits(db, { estab: 'Uploads' });
  const told = await early.told();
  assert.deepEqual([standing(told), told.TimedOut], [['SchoolData NoData'], true]);
  await takeUpload(db, 'Uploads', (async function* () { yield await zip(smallPackage()); })(), { dataDir: service.dataDir });
  assert.deepEqual([standing(await late.told()), (await late.told()).AllOK], [['SchoolData OK'], true]);
});

test('a collection that is under way does not carry the words of the one that failed before', async () => {
  await setDemoMode(db, 'normal');
  await connect('Demo', { kind: 'demo' });
  await setDemoMode(db, 'offline');
  const failed = async () => (await readDatabases(db, 'Demo')).some(({ status, message }) => status === 'Error' && message !== null);
  await until('it has failed', failed, () => readDatabases(db, 'Demo'));
  await db`insert into lane (key, host, width, lasting, disabled_at) values ('collect Demo SchoolData', null, 1, false, now())
    on conflict (key) do update set disabled_at = now()`;
  await db`update component_database set status = 'Error', message = 'cannot be reached', refreshing_since = null where estab = 'Demo' and name = 'SchoolData'`;
  const waiting = await ask('Demo', 'Students');
  assert.deepEqual(waiting.body.DBStatus.map(({ Status, Message }) => [Status, Message]), [['Updating', null]]);
  assert.doesNotMatch(waiting.body.Message ?? '', /cannot be reached/);
});
