// Tests an operator's own page: name, password, sessions; and that of `admin`, whose password is a setting.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { addOperator, createVisitor, goodPassword, signIn, type Seen } from '../../../test/visitor.ts';

const { service: { db, url } } = await useConsole();
const name = 'ada@trust.example';
const other = 'another horse that nobody rides';

beforeEach(async () => {
  await db`delete from console_account`;
  await db`delete from wrong_try`;
  await db`delete from audit_event`;
  await addOperator(db, name, 'viewer');
});

test('a viewer changes their own name, which is text whatever it is', async () => {
  const visitor = await signIn(url, name);
  await visitor.open('/console/account');
  assert.equal((await visitor.send('/console/account/rename', { name: ' <b>Ada</b> & Co ' })).location, '/console/account?done=account-rename');
  const { text } = await visitor.open('/console/account?done=account-rename');
  assert.match(text, /Your name is saved/);
  assert.match(text, /&#60;b&#62;Ada&#60;\/b&#62; &#38; Co/);
  assert.doesNotMatch(text, /<b>Ada/);
  for (const bad of ['', '  ', 'x'.repeat(201), 'a\nb']) {
    const refused = await visitor.send('/console/account/rename', { name: bad });
    assert.deepEqual([refused.status, /role="alert"/.test(refused.text)], [400, true]);
  }
});

test('a password is changed by who knows the present one, and only into a good one', async () => {
  const visitor = await signIn(url, name);
  const { text: page } = await visitor.open('/console/account');
  const [, whose = ''] = page.match(/<input type="hidden" name="(\w+)" value="ada@trust\.example" autocomplete="username">/) ?? [];
  const change = (present: string, password: string, repeated = password) =>
    visitor.send('/console/account/password', { [whose]: name, present, password, repeated });
  const refused: [present: string, password: string, repeated: string, why: RegExp][] = [
    ['wrong', other, other, /present password is wrong/],
    [goodPassword, other, `${other}x`, /not the same/],
    [goodPassword, 'short', 'short', /at least 12/],
    [goodPassword, 'password1234', 'password1234', /commonest/],
    [goodPassword, goodPassword, goodPassword, /password that you have/],
    [goodPassword, 'ada-trust-example', 'ada-trust-example', /must not be the name/],
  ];
  for (const [present, password, repeated, why] of refused) {
    const answer = await change(present, password, repeated);
    assert.equal(answer.status, 422);
    assert.match(answer.text, why);
    assert.match(answer.text, /id="name" name="name" value="Operator ada@trust\.example"/, 'their name is still their name');
    for (const secret of [present, password]) assert.ok(!answer.text.includes(`value="${secret}"`), 'no password comes back');
  }
  const trail = await db<{ all: string }[]>`select e::text as all from audit_event e`;
  for (const { all } of trail) assert.doesNotMatch(all, /horse/);
  const [elsewhere, before] = [await signIn(url, name), visitor.twin()];
  assert.equal((await change(goodPassword, other)).status, 303);
  assert.equal((await visitor.open('/console/account')).status, 200);
  for (const one of [elsewhere, before]) assert.match((await one.open('/console/account')).location ?? '', /sign-in/);
  assert.equal((await signIn(url, name)).cookies.has('schoolbell_console'), false);
  assert.equal((await signIn(url, name, other)).cookies.has('schoolbell_console'), true);
});

test('wrong present passwords count as wrong tries, and lock', async () => {
  const visitor = await signIn(url, name);
  await visitor.open('/console/account');
  for (let at = 0; at < 10; at += 1) await visitor.send('/console/account/password', { present: 'x', password: other, repeated: other });
  assert.equal((await visitor.send('/console/account/password', { present: goodPassword, password: other, repeated: other })).status, 422);
  const [row] = await db<{ locked: boolean }[]>`select locked_until > now() as locked from console_account where sign_in_name = ${name}`;
  assert.equal(row?.locked, true);
  let limited: Seen | undefined;
  for (let at = 0; at < 10 && limited?.status !== 429; at += 1)
    limited = await visitor.send('/console/account/password', { present: 'x', password: other, repeated: other });
  assert.deepEqual([limited?.status, limited?.headers.has('retry-after')], [429, true]);
  assert.match(limited?.text ?? '', /id="problem"[^]*Too many[^]*id="password-form"/, 'what can be mended by waiting is said where it was asked for');
});

test('one sees where one is signed in, and signs out everywhere else', async () => {
  const [visitor, elsewhere] = [await signIn(url, name), await signIn(url, name)];
  await addOperator(db, 'other@trust.example');
  const stranger = await signIn(url, 'other@trust.example');
  await db`update console_session set address = '2001:db8::7' where ctid = (select ctid from console_session order by created_at desc offset 1 limit 1)`;
  const { text } = await visitor.open('/console/account');
  assert.match(text, /2001:db8::7/);
  assert.equal((text.match(/This one/g) ?? []).length, 1);
  assert.equal((text.match(/<time /g) ?? []).length, 2, 'and not those of others');
  assert.equal((await visitor.send('/console/account/end-others')).status, 303);
  assert.match((await elsewhere.open('/console/account')).location ?? '', /sign-in/);
  for (const one of [visitor, stranger]) assert.equal((await one.open('/console/account')).status, 200);
});

test('admin reads where its password is kept, and cannot change it here', async () => {
  await addOperator(db, 'admin');
  const visitor = await signIn(url, 'admin');
  const { text } = await visitor.open('/console/account');
  assert.match(text, /ADMIN_PASSWORD/);
  assert.match(text, /admin\.password/);
  assert.doesNotMatch(text, /id="password-form"/);
  assert.equal((await visitor.send('/console/account/password', { present: goodPassword, password: other, repeated: other })).status, 409);
});

test('without a session there is no account', async () => {
  assert.match((await createVisitor(url).open('/console/account')).location ?? '', /sign-in/);
});
