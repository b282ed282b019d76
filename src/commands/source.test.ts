// Covers the commands on a school's source and its imports: what is shown, a source that is tried before it is saved, none at
// all, the demo of one school, and who would go with what is held.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runProcess, useCommands } from '../../test/commands.ts';
import { useFakeProvider } from '../../test/fake-provider.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';
import { openConnector } from '../collection/connector-settings.ts';
import { parseAllowList } from '../http/address-guard.ts';
import { createOutbound } from '../http/outbound.ts';

const service = await useService();
const { db } = service;
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, OUTBOUND_ALLOW: '127.0.0.0/8' };
const { run, schoolbell, json, assertFails } = useCommands(settings);
const connectorOf = async (estab: string) => (await db`select connector from establishment where estab = ${estab}`)[0]?.connector;

type Source = { source: Record<string, string>; databases: { name: string; status: string }[]; collections: { state: string }[]; found?: string };

test('a source is tried with --test, before it is saved and later; its secret is never printed, and kept for its address', async () => {
  const fake = await useFakeProvider();
  await service.addSchool('tried');
  const edit = (url: string, more = '') => `school edit --estab tried --connector oneroster --url ${url} --client-id id ${more}`.trim();
  await assertFails(/client id and secret|401/, edit(fake.url, '--client-secret wrong --test'));
  assert.equal(await connectorOf('tried'), null);
  const edited = await json<{ found: string }>(edit(fake.url, '--client-secret secret --test'));
  assert.ok(edited.found.endsWith(`; its tokens are from ${fake.url}/token`), edited.found);
  await json(edit(fake.url, '--scope None --test'));
  assert.equal(new URLSearchParams(fake.logins.at(-1)?.body).has('scope'), false);
  assert.equal((await json<Source>('school source --estab tried')).source.scope, 'none');
  await json(edit(fake.url, '--oneroster-version 1.1 --scope mis:read --test'));
  assert.deepEqual(fake.logins.map(({ body }) => new URLSearchParams(body).get('scope')).at(-1), 'mis:read');
  await assertFails(/type the client secret again/, edit('http://127.0.0.1:9/ims/oneroster/v1p1'));
  const shown = await json<Source>('school source --estab tried --test');
  assert.deepEqual(shown.source, { kind: 'oneroster', url: fake.url, version: '1.1', scope: 'mis:read', clientId: 'id' });
  assert.match(shown.found ?? '', /^the provider answers in OneRoster 1\.1, with 1 orgs.*; its tokens are from http.*\/token$/);
  assert.equal(shown.collections[0]?.state, 'waiting');
  const { out } = await schoolbell('school source --estab tried');
  assert.match(out, /^kind +oneroster$[^]*^SchoolData +Updating/m);
  const other = `school source --estab tried --connector oneroster --url ${fake.url} --client-id`;
  assert.match((await json<Source>(`${other} id --client-secret secret --test`)).found ?? '', /^the provider answers/);
  await assertFails(/client id and secret|401/, `${other} other --client-secret wrong --test`);
  await assertFails(/only tried here, with --test/, `${other} other --client-secret wrong`);
  assert.deepEqual((await json<Source>('school source --estab tried')).source, shown.source, 'what is only tried is not saved');
  fake.stop();
  await assertFails(/./, 'school source --estab tried --test');
});

test('a client secret comes from a file, from standard input or from the environment, and one on the command line gets a warning', async () => {
  const fake = await useFakeProvider();
  await service.addSchool('secret');
  const trial = `school source --estab secret --connector oneroster --url ${fake.url} --client-id id --test`;
  const file = join(service.dataDir, 'client-secret');
  writeFileSync(file, '  secret \r\nsecond line\n', { mode: 0o600 });
  const fromFile = await schoolbell(`${trial} --client-secret-file`, file);
  assert.deepEqual([fromFile.code, fromFile.err], [0, '']);
  const fromInput = await runProcess(service.dataDir, settings, [...trial.split(' '), '--client-secret-file', '-'], { input: 'secret\n' });
  assert.deepEqual([fromInput.code, fromInput.err], [0, '']);
  const fromEnvironment = await run(trial.split(' '), { ...settings, SOURCE_CLIENT_SECRET: 'secret' });
  assert.deepEqual([fromEnvironment.code, fromEnvironment.err], [0, '']);
  assert.equal(fake.logins.length, 3);

  const { code, err } = await schoolbell(`${trial} --client-secret secret`);
  assert.equal(code, 0);
  assert.match(err, /^schoolbell: warning: .*--client-secret .*--client-secret-file.*\n$/);
  await assertFails(/^schoolbell: warning: .*\n.*client id and secret|401/, `${trial} --client-secret wrong`);

  await assertFails(/--client-secret-file .*no such file/, `${trial} --client-secret-file`, join(service.dataDir, 'nowhere'));
  writeFileSync(file, '\nsecret\n');
  await assertFails(/first line.* is empty/, `${trial} --client-secret-file`, file);
  await assertFails(/either --client-secret or --client-secret-file/, `${trial} --client-secret secret --client-secret-file`, file);
  await assertFails(/--client-secret-file does not go with/, 'school source --estab secret --connector csv --test --client-secret-file', file);
});

test('what a provider was told to be holds when it is read', async () => {
  const fake = await useFakeProvider();
  fake.root = '/api/roster';
  await service.addSchool('told');
  await json(`school edit --estab told --connector oneroster --url ${fake.url} --client-id id --client-secret secret --oneroster-version 1.2 --scope mis:read`);
  const outbound = createOutbound(parseAllowList(['127.0.0.0/8']));
  const connector = await openConnector({ db, mis: db, seal: service.seal, outbound, dataDir: service.dataDir }, 'told');
  const reading = await connector?.openRoster({ full: true });
  await outbound.close();
  assert.deepEqual([fake.discovered, new URLSearchParams(fake.logins[0]?.body).get('scope')], [[], 'mis:read']);
  await db`update connector_setting set state = ${db.json(reading?.state?.() as never)} where estab = 'told'`;
  const told = { kind: 'oneroster', url: fake.url, clientId: 'id' };
  assert.deepEqual((await json<Source>('school source --estab told')).source, {
    ...told,
    version: '1.2',
    scope: 'mis:read',
    foundTokenUrl: `${fake.url}/token`,
  });
  await db`update connector_setting set settings = settings - 'version' - 'scope' where estab = 'told'`;
  assert.deepEqual((await json<Source>('school source --estab told')).source, {
    ...told,
    foundVersion: '1.2',
    foundTokenUrl: `${fake.url}/token`,
  });
});

test('a school that is disconnected keeps what it has', async () => {
  await service.addSchool('left', smallPackage());
  await json('school edit --estab left --connector none');
  assert.equal(await connectorOf('left'), null);
  const { source, databases } = await json<Source>('school source --estab left');
  assert.deepEqual([source, databases[0]?.status], [{ kind: 'none' }, 'OK']);
  await assertFails(/--url does not go with --connector none/, 'school edit --estab left --connector none --url https://mis.example');
  assert.equal((await json<{ connector: string | null }>('school add --estab fresh --name Fresh --email a@b.example --connector none')).connector, null);
});

test('the demo of one school is told how to behave', async () => {
  for (const estab of ['demo-1', 'demo-2']) {
    await service.addSchool(estab);
    await json(`school edit --estab ${estab} --connector demo`);
  }
  assert.equal((await json<{ schools: number }>('demo mode offline --estab demo-1')).schools, 1);
  const modes = await db`select settings ->> 'mode' as mode from connector_setting where estab like 'demo-%' order by estab`;
  assert.deepEqual(modes.map(({ mode }) => mode), ['offline', 'normal']);
  await assertFails(/there is no demo school/, 'demo mode slow --estab left');
});

test('imports are listed and shown, and who would go with the one that is held', async () => {
  const pupils = Array.from({ length: 60 }, (_, at) => user(`x${at}`, 'student', { familyName: `Nr${at}` }));
  await service.addSchool('held', smallPackage({ users: [...smallSchool.users, ...pupils] }));
  await assertFails(/no import of held waits for approval/, 'import held --estab held');
  await service.load('held', smallPackage({ users: [user('w', 'wizard')] }));
  await service.load('held', smallPackage());
  const listed = await json<{ id: string; outcome: string }[]>('import list --estab held');
  assert.deepEqual(listed.map(({ outcome }) => outcome), ['held', 'refused', 'done']);
  assert.equal((await json<unknown[]>(`import list --estab held --before ${listed[1]?.id}`)).length, 1);
  assert.match((await schoolbell(`import show --estab held ${listed[1]?.id}`)).out, /^outcome +refused$[^]*users\.csv +role +must be one of/m);
  assert.match((await schoolbell(`import show --estab held --problems ${listed[1]?.id}`)).out, /^File,Line,Column[^]*^users\.csv,2,role,wizard,/m);
  assert.equal((await json<{ value: string }[]>(`import show --estab held --problems ${listed[1]?.id}`))[0]?.value, 'wizard');
  await assertFails(/not known any more/, `import show --estab tried ${listed[1]?.id}`);
  assert.match((await schoolbell('import held --estab held')).out, /60 of 64 student users \(93\.8 %\) would be deleted$[^]*^users +student +60$/m);
  type Held = { leaving: { sourcedId: string; name: string }[] };
  const found = await json<Held>('import held --estab held --collection users --role student --search NR5');
  assert.deepEqual(found.leaving.map(({ sourcedId }) => sourcedId), ['x5', 'x50', 'x51', 'x52', 'x53', 'x54', 'x55', 'x56', 'x57', 'x58', 'x59']);
  assert.equal((await json<Held>('import held --estab held --collection users --after x58')).leaving.length, 5);
  await assertFails(/no such collection/, 'import held --estab held --collection toString');
});
