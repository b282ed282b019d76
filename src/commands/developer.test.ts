// Tests the commands on developers of applications, which do what the page of an application does.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { useConsole } from '../../test/console.ts';
import { testSecretKey } from '../../test/service.ts';
import { addOperator, createVisitor, goodPassword } from '../../test/visitor.ts';

const { service } = await useConsole();
const { db, url, databaseUrl } = service;
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-developer-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: folder, PUBLIC_URL: url };
const { schoolbell, json, assertFails } = useCommands(settings);
for (const rp of ['one', 'two']) await service.addClient(rp, []);
type Line = { rp: string; signInName: string; name: string; invited: boolean };

test('a developer is invited to one application, then to another, and seen by no command on operators', async () => {
  assert.match((await schoolbell('developer list')).out, /nobody yet: invite somebody with: developer add/);
  await assertFails(/there is no application none/, 'developer add --rp none --email dev@app.example --name Dev');
  const added = await schoolbell('developer add --rp one --email Dev@App.example --name Dev');
  assert.match(added.out, /invited Dev \(dev@app\.example\) as a developer of one; e-mail is not set up, [^.]*hand the link on\. The link opens once/);
  const link = new URL(/^http.*$/m.exec(added.out)?.[0] ?? '').pathname;
  const dev = createVisitor(url);
  await dev.open(link);
  assert.equal((await dev.send(link, { password: goodPassword, repeated: goodPassword })).location, '/console');
  assert.equal((await dev.open('/console')).location, '/console/applications/one');
  const again = await schoolbell('developer add --rp two --email dev@app.example --name Dev');
  assert.match(again.out, /is a developer of two as well, and their password stays; e-mail is not set up/);
  await assertFails(/is a developer of this application already/, 'developer add --rp two --email dev@app.example --name Dev');
  assert.deepEqual((await json<Line[]>('developer list')).map(({ rp, signInName, invited }) => [rp, signInName, invited]),
    [['one', 'dev@app.example', false], ['two', 'dev@app.example', false]]);
  const { out } = await schoolbell('developer list --rp two');
  assert.match(out, /^RP +SIGNS IN AS +NAME +SECOND FACTOR +LAST SIGNED IN\ntwo +dev@app\.example +Dev +off +2\d/);
  assert.match((await schoolbell('operator list')).out, /nobody yet/);
  for (const command of ['operator edit --role admin dev@app.example', 'operator remove --yes dev@app.example', 'operator invite dev@app.example'])
    await assertFails(/is a developer of an application, and no operator/, command);
  await assertFails(/There is no operator Dev/, 'operator edit --role admin Dev');
  await assertFails(/is a developer of an application, and no operator/, 'operator add --email dev@app.example --name Dev');
});

test('an operator is not made a developer', async () => {
  await addOperator(db, 'boss@trust.example');
  await assertFails(/is an operator, who sees every application already/, 'developer add --rp one --email boss@trust.example --name Boss');
});

test('one who is removed from the last of their applications has no account any more', async () => {
  await assertFails(/is no developer of one/, 'developer remove --rp one nobody@app.example');
  assert.match((await schoolbell('developer remove --rp one --dry-run dev@app.example')).out, /what Dev sees of one; their account stays, for 1 more/);
  await assertFails(/--yes/, 'developer remove --rp one dev@app.example');
  assert.match((await schoolbell('developer remove --rp one --yes DEV@app.example')).out, /^removed dev@app\.example from one$/m);
  assert.match((await schoolbell('developer remove --rp two --dry-run dev@app.example')).out, /the account of Dev/);
  assert.match((await schoolbell('developer remove --rp two --yes dev@app.example')).out, /^removed dev@app\.example from two, and their account$/m);
  assert.deepEqual(await db`select from console_account where role = 'developer'`, []);
  const lines = await db<{ line: string }[]>`
    select concat_ws(' ', action, rp, subject, outcome) as line from audit_event where action = 'developer remove' and outcome = 'done' order by number`;
  assert.deepEqual(lines.map(({ line }) => line), ['developer remove one DEV@app.example done', 'developer remove two dev@app.example done']);
});
