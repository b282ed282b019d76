// Each encrypted value belongs to one row and one purpose: a value that was copied to another row decrypts nowhere.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useReceiver } from '../../test/delivery.ts';
import { until } from '../../test/until.ts';
import { useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';
import { addApplication } from '../access/applications.ts';
import { setConnector } from '../collection/connector-settings.ts';
import { readConfig } from '../config.ts';
import { approve } from '../onboarding/approve.ts';
import { keyCommands } from './keys.ts';

const receiver = await useReceiver();
const service = await useService({ OUTBOUND_ALLOW: '127.0.0.0/8' });
const { db, seal, url } = service;
for (const rp of ['red', 'blue']) {
  await addApplication(db, seal, { rp, name: rp, callbackUrl: `${receiver.origin}/${rp}`, scopes: 'School,Student', redirectUris: [] });
}
for (const estab of ['one', 'two']) {
  await service.addSchool(estab, smallPackage());
  const credentials = { clientId: estab, clientSecret: `secret of ${estab}` };
  await db.begin((tx) => setConnector(tx, seal, estab, { kind: 'oneroster', url: 'https://mis.example', tokenUrl: undefined, ...credentials }));
}

async function listUnreadable(): Promise<string[]> {
  const command = keyCommands.find(({ name }) => name === 'keys reseal');
  const outcome = await command?.run({ db, seal, config: readConfig({}) }, { options: {}, positionals: [] });
  assert.ok(outcome);
  return (outcome.data as { unopened: string[] }).unopened;
}

test('connector credentials that were copied to another school are unreadable', async () => {
  const [own] = await db<{ sealed: Buffer }[]>`select sealed_credentials as sealed from connector_setting where estab = 'one'`;
  await db`update connector_setting set sealed_credentials = (select sealed_credentials from connector_setting where estab = 'two') where estab = 'one'`;
  assert.deepEqual(await listUnreadable(), ['the connector credentials of one']);
  await db`update connector_setting set sealed_credentials = ${own?.sealed ?? null} where estab = 'one'`;
  assert.deepEqual(await listUnreadable(), []);
});

test('a signing secret that was copied to another application signs nothing there', async () => {
  await db`
    update application_secret set sealed = (select sealed from application_secret where rp = 'blue' and kind = 'signing')
    where rp = 'red' and kind = 'signing'`;
  for (const rp of ['red', 'blue']) await approve({ db, seal, publicUrl: url }, { estab: 'one', rp, actor: 'operator' });
  await service.work();
  await until('the event of the untouched application arrives', () => receiver.arrivals.some(({ url: path }) => path === '/blue'));
  await until('the other event was tried', async () => (await db`select from outbox where rp = 'red' and kind = 'call' and attempts > 0`).length > 0);
  assert.deepEqual(receiver.arrivals.map(({ url: path }) => path), ['/blue']);
});

test('a school secret that was copied to another purpose is unreadable', async () => {
  await db`update connector_setting set sealed_credentials =
    (select sealed from school_secret where rp = 'red' and estab = 'one' and sealed is not null) where estab = 'two'`;
  assert.ok((await listUnreadable()).includes('the connector credentials of two'));
});
