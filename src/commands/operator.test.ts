// Tests the commands on operators, which do what the pages of the console do.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { testSecretKey } from '../../test/service.ts';
import { useConsole } from '../../test/console.ts';
import { addOperator, createVisitor, goodPassword, signIn } from '../../test/visitor.ts';

const { service: { db, url, databaseUrl } } = await useConsole();
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-operator-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: folder, PUBLIC_URL: url };
const { run, schoolbell, json, assertFails } = useCommands(settings);
type Line = { signInName: string; name: string; role: string; invited: boolean; hasSecondFactor: boolean };

test('add mails and prints a link that works once; list, edit and remove see the same operator as the pages', async () => {
  assert.match((await schoolbell('operator list')).out, /nobody yet: set ADMIN_PASSWORD/);
  const added = await json<{ link: string; role: string }>('operator add --role admin --email Eve@Trust.example --name', 'Eve Adams');
  assert.equal(added.role, 'admin');
  const [mail] = await db<{ to: string; text: string }[]>`
    select payload ->> 'to' as to, convert_from(body, 'utf8')::jsonb ->> 'text' as text from outbox where estab = '' and kind = 'mail'`;
  assert.equal(mail?.to, 'Eve@Trust.example');
  assert.ok(mail.text.includes(added.link));
  await assertFails(/an operator already/, 'operator add --email eve@trust.example --name Eve');
  const again = await schoolbell('operator invite eve@trust.example');
  const link = /^http.*$/m.exec(again.out)?.[0] ?? '';
  const eve = createVisitor(url);
  assert.equal((await eve.open(new URL(added.link).pathname)).status, 404);
  await eve.open(new URL(link).pathname);
  assert.equal((await eve.send(new URL(link).pathname, { password: goodPassword, repeated: goodPassword })).location, '/console');
  const [line] = await json<Line[]>('operator list');
  assert.deepEqual([line?.signInName, line?.name, line?.role, line?.invited, line?.hasSecondFactor], ['eve@trust.example', 'Eve Adams', 'admin', false, false]);
  const [heading = '', row = ''] = (await schoolbell('operator list')).out.split('\n');
  assert.match(heading, /^SIGNS IN AS +NAME +ROLE +SECOND FACTOR +LAST SIGNED IN$/);
  assert.match(row, /^eve@trust\.example +Eve Adams +admin +off +2\d/);
});

test('a role and the second factor are changed, and the last admin stays', async () => {
  await assertFails(/last admin who can sign in/, 'operator edit --role viewer eve@trust.example');
  await assertFails(/last admin who can sign in/, 'operator remove --yes eve@trust.example');
  await assertFails(/last admin who can sign in/, 'operator edit --name Evelyn --role viewer eve@trust.example');
  assert.deepEqual((await json<Line[]>('operator list')).map(({ name }) => name), ['Eve Adams'], 'of what is refused in part nothing is done');
  await addOperator(db, 'boss@trust.example');
  const eve = await signIn(url, 'eve@trust.example');
  const edited = await run(['operator', 'edit', '--role', 'viewer', 'Eve Adams']);
  assert.match(edited.out, /^eve@trust\.example \(Eve Adams\) is viewer, with the second factor off$/m);
  assert.match((await eve.open('/console')).location ?? '', /sign-in/);
  await assertFails(/has no second factor/, 'operator edit --reset-second-factor eve@trust.example');
  await db`update console_account set sealed_totp = '\\x00' where sign_in_name = 'eve@trust.example'`;
  assert.match((await schoolbell('operator edit --reset-second-factor eve@trust.example')).out, /second factor off/);
  await assertFails(/give --name, --role, --reset-second-factor or several of them/, 'operator edit eve@trust.example');
  assert.match((await run(['operator', 'edit', '--name', 'Eve Bell', 'eve@trust.example'])).out, /^eve@trust\.example \(Eve Bell\) is viewer/m);
  await assertFails(/A role is admin or viewer/, 'operator edit --role owner eve@trust.example');
  await assertFails(/There is no operator zoe/, 'operator edit --role viewer zoe');
});

test('whether all need a second factor', async () => {
  assert.deepEqual(await json('operator second-factor'), { required: false });
  assert.deepEqual(await json('operator second-factor --required yes'), { required: true });
  assert.match((await schoolbell('operator second-factor --required no')).out, /up to each operator/);
  await assertFails(/yes or no/, 'operator second-factor --required perhaps');
});

test('remove by address or by name, which asks where somebody is there; admin stays while a setting rules it', async () => {
  await addOperator(db, 'admin', 'viewer');
  const ruled = { ...settings, ADMIN_PASSWORD: 'a password that is set' };
  const refused = await run(['operator', 'remove', '--yes', 'admin'], ruled);
  assert.deepEqual([refused.code, /ADMIN_PASSWORD/.test(refused.err)], [1, true]);
  assert.match((await schoolbell('operator remove --dry-run eve@trust.example')).out, /would go/);
  const asked = await run(['operator', 'remove', 'Eve Bell'], settings, async () => 'no');
  assert.deepEqual([asked.code, /nothing was changed/.test(asked.err)], [1, true]);
  await db`update console_account set name = 'Same' where sign_in_name in ('admin', 'boss@trust.example')`;
  await assertFails(/Several operators are called Same/, 'operator remove Same');
  await assertFails(/repeat with --yes/, 'operator remove eve@trust.example');
  assert.deepEqual(await json('operator remove --yes', 'Eve Bell'), { signInName: 'eve@trust.example', removed: true });
  assert.deepEqual(await json('operator remove --yes admin'), { signInName: 'admin', removed: true });
  await assertFails(/There is no operator eve@trust\.example/, 'operator remove eve@trust.example');
  await json('operator add --role viewer --email zoe@trust.example --name', 'Zoe');
  assert.deepEqual(await json('operator remove zoe@trust.example'), { signInName: 'zoe@trust.example', removed: true }, 'only invited');
});
