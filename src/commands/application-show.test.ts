// Covers the commands that show one application, and the one that ends an old secret.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { managementToken } from '../../test/onboarding.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallPackage } from '../../test/small-school.ts';

const service = await useService();
const { db, url } = service;
const { schoolbell, json, assertFails } = useCommands({
  DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, PUBLIC_URL: url,
});
for (const estab of ['s1', 's2', 's3']) await service.addSchool(estab, smallPackage());
const app = await service.addClient('shown', ['s1', 's2']);
await service.addClient('other', ['s3']);

test('application show, application schools and application list --words', async () => {
  await json('pause --rp shown --estab s2');
  await json('rotate --rp shown --secret signing');
  const shown = await json<{ schools: unknown; targets: { callback: { state: string } }; secrets: { kind: string; validUntil: string | null }[] }>(
    'application show --rp shown');
  assert.deepEqual(shown.schools, { live: 0, waiting: 1, paused: 1, asked: 0 });
  assert.equal(shown.targets.callback.state, 'ok');
  assert.deepEqual(shown.secrets.map(({ kind, validUntil }) => [kind, validUntil === null]), [
    ['client', true], ['management', true], ['signing', true], ['signing', false],
  ]);
  const { out } = await schoolbell('application show --rp shown');
  assert.match(out, /schools +0 live, 1 not live yet, 1 paused, 0 asked[^]*SECRET +MADE +REPLACED, ENDS\n/);
  assert.doesNotMatch(out + JSON.stringify(shown), /sb_client_|sb_mgmt_|whsec_/);
  const estabs = async (more: string) => (await json<{ estab: string }[]>(`application schools --rp shown${more}`)).map(({ estab }) => estab);
  assert.deepEqual([await estabs(''), await estabs(' --state Paused'), await estabs(' --words S1')], [['s1', 's2'], ['s2'], ['s1']]);
  assert.deepEqual((await json<{ rp: string }[]>('application list --words OTH')).map(({ rp }) => rp), ['other']);
  await assertFails(/--state "Gone": must be one of Live/, 'application schools --rp shown --state Gone');
  for (const command of ['application show', 'application schools', 'requests']) await assertFails(/no application nobody/, `${command} --rp nobody`);
});

test('requests lists what was kept of an application, by answer', async () => {
  for (const path of ['/users', '/users/nobody']) await (await app.b('s1', path)).text();
  await service.lines.write();
  const all = await json<{ number: string; status: number }[]>('requests --rp shown');
  assert.equal(all[0]?.status, 404);
  assert.deepEqual((await json<{ status: number }[]>('requests --rp shown --answer refused')).map(({ status }) => status), [404]);
  assert.equal((await json<unknown[]>(`requests --rp shown --before ${all[0]?.number}`)).length, all.length - 1);
  assert.match((await schoolbell('requests --rp shown')).out, /^NUMBER[^]*GET \/ims\/oneroster\/v1p1\/users\/:sourcedId\n/);
  await assertFails(/--answer "odd": must be one of fine, refused, failed/, 'requests --rp shown --answer odd');
  await assertFails(/--before "x": not a number of a request/, 'requests --rp shown --before x');
});

test('rotate --end-old ends what was replaced, and nothing else', async () => {
  const { managementSecret } = await json<{ managementSecret: string }>('rotate --rp shown --secret management --keep-old 24h');
  const opens = async () => Promise.all([app.managementSecret, managementSecret].map(async (secret) => (await managementToken(url, 'shown', secret)) !== null));
  assert.deepEqual(await opens(), [true, true]);
  assert.deepEqual(await json('rotate --rp shown --secret management --end-old'), { rp: 'shown', secret: 'management', ended: 1 });
  assert.deepEqual(await opens(), [false, true]);
  assert.match((await schoolbell('rotate --rp shown --secret management --end-old')).out, /there was no old one/);
  await json('rotate --rp shown --estab s1 --secret school --keep-old 1h');
  assert.deepEqual(await json('rotate --rp shown --estab s1 --secret school --end-old'), { rp: 'shown', estab: 's1', secret: 'school', ended: 1 });
  assert.equal((await db`select from school_secret where estab = 's1' and rp = 'shown'`).length, 1);
  await assertFails(/--keep-old does not go with --end-old/, 'rotate --rp shown --secret client --end-old --keep-old 1h');
  await assertFails(/no application nobody/, 'rotate --rp nobody --secret client --end-old');
});
