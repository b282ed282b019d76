// Unlocking and resetting the login of a school, by command and in the console: what each does, its mail and its entries in the audit log.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useCommands } from '../../test/commands.ts';
import { enter } from '../../test/console.ts';
import { sessionCookie, signIn, useIdentity } from '../../test/identity.ts';
import { testSecretKey } from '../../test/service.ts';

const identity = await useIdentity();
const { db, url, answer, makeRegistered, service } = identity;
const settings = { DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir, PUBLIC_URL: url };
const { schoolbell, json, assertFails } = useCommands(settings);
const [admin, viewer] = [await enter(service, 'admin'), await enter(service, 'viewer')];
const password = 'seven green lanterns';
const { Id: id } = await makeRegistered('Given s1', password);

beforeEach(async () => {
  await db`truncate audit_event, identity_audit`;
  await answer('ResetPassword', { query: { username: 's1', password, UnlockLogin: 'true' } });
  await db`delete from outbox where kind = 'mail'`;
  await db`delete from identity_audit`;
});

const lock = () => db`update login set wrong_tries = 10, locked_until = now() + interval '15 minutes' where presence_id = ${id}`;
const tryPassword = async () => (await signIn(url, 'one', 's1', password)).status;
const operations = async () => (await db<{ operation: string }[]>`
  select operation from identity_audit where presence_id = ${id} and operation like '%Login' order by number`).map(({ operation }) => operation);
const trail = async () => (await db`select action, via, outcome, estab, subject, detail from audit_event where action like 'login %' order by number`)
  .map((one) => ({ ...one }));
const mails = () => db<{ to: string }[]>`select payload ->> 'to' as to from outbox where kind = 'mail' and estab = 'one'`;
const account = async (cookie: string) => (await fetch(`${url}/account`, { headers: { cookie }, redirect: 'manual' })).status;

test('login unlock ends a lock, so that the right password works again; the audit log names nobody by what was typed', async () => {
  await lock();
  assert.equal(await tryPassword(), 401, 'the right password is refused');
  const done = await json<{ estab: string; user: string; wasLocked: boolean }>('login unlock --estab one --user S1');
  assert.deepEqual(done, { estab: 'one', user: 's1', wasLocked: true });
  assert.equal(await tryPassword(), 303);
  assert.deepEqual(await operations(), ['UnlockLogin']);
  assert.deepEqual(await trail(), [
    { action: 'login unlock', via: 'command line', outcome: 'done', estab: 'one', subject: 'users/s1', detail: { user: 'given' } },
  ]);
  assert.equal((await json<{ wasLocked: boolean }>('login unlock --estab one --user s1@school.example')).wasLocked, false);
  assert.equal((await mails()).length, 0);
});

test('login reset also ends the sessions and mails a link, with which a new password is chosen', async () => {
  const cookie = sessionCookie(await signIn(url, 'one', 's1', password));
  assert.equal(await account(cookie), 200);
  await lock();
  const { to, link } = await json<{ to: string; link: string }>('login reset --estab one --user s1');
  assert.equal(to, 's1@school.example');
  assert.deepEqual((await mails()).map((one) => one.to), [to]);
  assert.notEqual(await account(cookie), 200, 'the session has ended');
  assert.equal(await tryPassword(), 303, 'the lock has ended, and the password works until the link is used');
  assert.equal((await fetch(link)).status, 200);
  assert.deepEqual(await operations(), ['ResetLogin']);
  assert.deepEqual((await trail()).map(({ action, outcome, subject }) => [action, outcome, subject]), [['login reset', 'done', 'users/s1']]);
  assert.match((await schoolbell('login reset --estab one --user s1')).out, /e-mail is not set up, so nothing was mailed to s1@school\.example/);
});

test('a person without an address gets no mail, and the link is printed', async () => {
  await db`update roster_user set email = null where estab = 'one' and sourced_id = 's1'`;
  try {
    const { to, link } = await json<{ to: string | null; link: string }>('login reset --estab one --user s1');
    assert.equal(to, null);
    assert.equal((await fetch(link)).status, 200);
    assert.equal((await mails()).length, 0);
  } finally {
    await db`update roster_user set email = 's1@school.example' where estab = 'one' and sourced_id = 's1'`;
  }
});

test('an unknown school, user or login of another school is refused, and nothing is changed', async () => {
  await lock();
  await assertFails(/no establishment none/, 'login unlock --estab none --user s1');
  await assertFails(/no such user with a login at one/, 'login unlock --estab one --user nobody');
  await assertFails(/no such user with a login at two/, 'login reset --estab two --user s1');
  assert.equal(await tryPassword(), 401);
});

test('the console lists logins, unlocks and resets one, and records both; a viewer has no button', async () => {
  const page = '/console/schools/one/logins';
  await lock();
  const shown = (await admin.get(`${page}?state=locked`)).text;
  assert.match(shown, /id="logins"[^]*s1[^]*badge bad">Locked/);
  assert.doesNotMatch((await viewer.get(page)).text, /<form[^>]*\/(?:unlock|reset)"/);
  assert.equal((await viewer.post(`${page}/unlock`, { login: id })).status, 403);
  assert.equal((await admin.post(`${page}/unlock`, { login: 'nobody' })).status, 404);
  assert.equal((await admin.post(`${page}/unlock`, { login: id })).location, `${page}?done=schools-estab-logins-unlock`);
  assert.equal(await tryPassword(), 303);
  assert.match((await admin.get(`${page}?state=locked`)).text, /No login matches/);
  const reset = await admin.post(`${page}/reset`, { login: id });
  assert.equal(reset.status, 200);
  assert.match(reset.text, /E-mail is not set up/);
  const [, link = ''] = /id="link" value="([^"]+)"/.exec(reset.text) ?? [];
  assert.equal((await fetch(link)).status, 200);
  assert.deepEqual(await operations(), ['UnlockLogin', 'ResetLogin']);
  assert.deepEqual((await trail()).filter(({ outcome }) => outcome === 'done').map(({ action, via, subject }) => [action, via, subject]), [
    ['login unlock', 'console', 'users/s1'], ['login reset', 'console', 'users/s1'],
  ]);
});

test('the sign-in page names who can unlock a login', async () => {
  await lock();
  const response = await signIn(url, 'one', 's1', password);
  assert.match(await response.text(), /locked for 15 minutes[^]*the operator of this service unlocks it for your school/);
});
