// Tests coming to the console and leaving it: cookies, sessions that are never somebody else's choice, limits and the lock, where
// one is sent, what the trail says, and what there is to read where there is no console yet.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { addOperator, createVisitor, goodPassword, signIn, type Visitor } from '../../../test/visitor.ts';
import { sealedAs, type SealedAs } from '../../access/sealed-as.ts';
import { markOf } from '../../operators/known-browser.ts';

const { service: { db, url, join, seal } } = await useConsole();
const name = 'ada@trust.example';
let id = '';

beforeEach(async () => {
  await db`delete from console_account`;
  await db`delete from wrong_try`;
  await db`delete from audit_event`;
  id = await addOperator(db, name);
});

const trail = async () =>
  (await db<{ line: string }[]>`select concat_ws(' ', actor, action, outcome, address) as line from audit_event order by number`).map((one) => one.line);

test('a right password opens a session: one cookie for the console alone, that no script reads and no other site sends', async () => {
  const visitor = createVisitor(url);
  visitor.cookies.set('schoolbell_console', 'chosen-by-somebody-else');
  await visitor.open('/console/sign-in');
  const signedIn = await visitor.send('/console/sign-in', { name: ' Ada@Trust.example ', password: goodPassword });
  assert.deepEqual([signedIn.status, signedIn.location], [303, '/console']);
  const cookie = signedIn.headers.getSetCookie().find((one) => one.startsWith('schoolbell_console=')) ?? '';
  assert.match(cookie, /^schoolbell_console=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Lax$/);
  assert.notEqual(visitor.cookies.get('schoolbell_console'), 'chosen-by-somebody-else');
  assert.equal((await visitor.open('/console')).status, 200);
  assert.deepEqual(await trail(), [`${name} sign in done 127.0.0.1`]);
  const [row] = await db<{ signed: boolean }[]>`select last_signed_in > now() - interval '1 minute' as signed from console_account where id = ${id}`;
  assert.equal(row?.signed, true);
  const secure = await join({ PUBLIC_URL: 'https://bell.example' });
  const other = createVisitor(secure.url);
  await other.open('/console/sign-in');
  const answer = await other.send('/console/sign-in', { name, password: goodPassword });
  assert.match(answer.headers.get('set-cookie') ?? '', /; HttpOnly; SameSite=Lax; Secure$/);
});

test('signing in again ends the session that the browser had; signing out ends this one and is in the trail', async () => {
  const visitor = await signIn(url, name);
  const before = visitor.twin();
  await visitor.open('/console/forgotten');
  assert.equal((await visitor.send('/console/sign-in', { name, password: goodPassword })).status, 303);
  assert.match((await before.open('/console')).location ?? '', /sign-in/);
  await visitor.open('/console');
  assert.equal((await visitor.send('/console/sign-out', { token: 'wrong' })).status, 403);
  assert.equal((await visitor.open('/console')).status, 200);
  const left = visitor.twin();
  const out = await visitor.send('/console/sign-out');
  assert.deepEqual([out.status, out.location, visitor.cookies.has('schoolbell_console')], [303, '/console/sign-in', false]);
  assert.match((await left.open('/console')).location ?? '', /sign-in/);
  assert.equal((await trail()).at(-1), `${name} sign out done 127.0.0.1`);
  assert.equal((await createVisitor(url).send('/console/sign-out')).status, 303);
});

test('wrong passwords: one answer for somebody, nobody and a locked account; ten lock it, which the trail says', async () => {
  const visitor = createVisitor(url);
  await visitor.open('/console/sign-in');
  const texts = new Set<string>();
  const wrong = async (who: string, password = 'wrong') => {
    const answer = await visitor.send('/console/sign-in', { name: who, password });
    assert.equal(answer.status, 401);
    texts.add(answer.text.replaceAll(who, '').replaceAll(/&#\d+;/g, ''));
  };
  for (let at = 0; at < 10; at += 1) await wrong(name);
  await wrong(name, goodPassword);
  await wrong('nobody@trust.example');
  await wrong('');
  assert.equal(texts.size, 1);
  assert.deepEqual(await trail(), [`${name} lock after wrong tries done 127.0.0.1`]);
  await db`update console_account set locked_until = now()`;
  assert.equal((await visitor.send('/console/sign-in', { name, password: goodPassword })).status, 303);
});

test('whoever keeps an account locked does not keep its owner out of a browser that they have signed in with before', async () => {
  const owner = await signIn(url, name);
  assert.match(owner.cookies.get('schoolbell_known') ?? '', /^[\w-]{100,}$/);
  await owner.open('/console/account');
  await owner.send('/console/sign-out');
  await db`update console_account set wrong_tries = 10, locked_until = now() + interval '15 minutes'`;
  await db`insert into wrong_try (kind, client, address) select 'console', ${name}, '127.0.0.1' from generate_series(1, 30)`;
  const again = async (visitor: Visitor, password = goodPassword) => {
    await visitor.open('/console/sign-in');
    return (await visitor.send('/console/sign-in', { name, password })).status;
  };
  assert.equal(await again(createVisitor(url)), 429);
  for (let at = 0; at < 9; at += 1) assert.equal(await again(owner, 'wrong'), 401);
  const [row] = await db<{ tries: number }[]>`select wrong_tries as tries from console_account where id = ${id}`;
  assert.equal(row?.tries, 10, 'its wrong tries lock nobody else out');
  assert.equal(await again(owner.twin()), 303);
  assert.equal(await again(owner, 'wrong'), 401);
  assert.equal(await again(owner), 429, 'it has a limit of its own');
});

test('a browser is known for one account with one password, and for nobody who made it up', async () => {
  await addOperator(db, 'other@trust.example');
  const [owner, stranger] = [await signIn(url, name), await signIn(url, 'other@trust.example')];
  const knownOf = (visitor: Visitor) => visitor.cookies.get('schoolbell_known') ?? '';
  const [row] = await db<{ hash: string }[]>`select password_hash as hash from console_account where id = ${id}`;
  const sealed = (until: number, as: SealedAs = sealedAs.knownBrowser()) =>
    seal.seal(JSON.stringify({ mark: markOf(id, row?.hash ?? ''), until }), as).toString('base64url');
  const otherPurpose = sealed(Date.now() + 60_000, sealedAs.secondFactor(id));
  const status = async (known: string, password = goodPassword) => {
    await db`delete from wrong_try`;
    await db`update console_account set wrong_tries = 10, locked_until = now() + interval '15 minutes'`;
    const visitor = createVisitor(url, new Map([['schoolbell_known', known]]));
    await visitor.open('/console/sign-in');
    return (await visitor.send('/console/sign-in', { name, password })).status;
  };
  const strange = [knownOf(stranger), `${knownOf(owner).slice(0, -4)}AAAA`, 'x', sealed(Date.now() - 1), otherPurpose];
  for (const known of strange) assert.equal(await status(known), 401, known);
  const before = knownOf(owner);
  for (const known of [before, sealed(Date.now() + 60_000)]) assert.equal(await status(known), 303);
  await db`update console_account set wrong_tries = 0, locked_until = null`;
  await owner.open('/console/account');
  const other = 'another horse that nobody rides';
  assert.equal((await owner.send('/console/account/password', { present: goodPassword, password: other, repeated: other })).status, 303);
  assert.equal(await status(before, other), 401, 'with another password it is strange again');
  assert.equal(await status(knownOf(owner), other), 303);
});

test('too many wrong tries from an address are a pause, said on the page', async () => {
  await db`insert into wrong_try (kind, client, address) select 'console', 'x', '127.0.0.1' from generate_series(1, 30)`;
  const visitor = createVisitor(url);
  await visitor.open('/console/sign-in');
  const paused = await visitor.send('/console/sign-in', { name, password: goodPassword });
  assert.deepEqual([paused.status, paused.headers.has('retry-after')], [429, true]);
  assert.match(paused.text, /role="alert"[^]*Too many wrong passwords or codes/);
  assert.match(paused.text, /id="sign-in"/);
});

test('without the token of the page nothing is tried', async () => {
  const visitor = createVisitor(url);
  await visitor.open('/console/sign-in');
  assert.equal((await visitor.send('/console/sign-in', { token: 'x', name, password: goodPassword })).status, 403);
  assert.equal((await createVisitor(url).send('/console/sign-in', { name, password: goodPassword })).status, 403);
});

test('after signing in one goes to where one was going, within the console and nowhere else', async () => {
  const asked = await createVisitor(url).open('/console/account?x=1');
  assert.equal(asked.location, '/console/sign-in?to=%2Fconsole%2Faccount%3Fx%3D1');
  const places: [string, string][] = [
    ['/console/account?x=1', '/console/account?x=1'], ['https://evil.example/console', '/console'], ['//evil.example', '/console'],
    ['/console//evil', '/console//evil'], ['/consoles', '/console'], ['/console\\evil.example', '/console'], ['/console/\r\nset-cookie: a=b', '/console'],
    ['/school', '/console'], ['/console?to=<b>', '/console'], ['/console/../school', '/console'], ['/console/%2e%2E/school', '/console'],
    ['/console/x/..//evil.example', '/console//evil.example'], ['/console/..//evil.example', '/console'],
    ['/console/audit?before=operator~2026-11-16T08:00:00.123456Z~17!decision~1', '/console/audit?before=operator~2026-11-16T08:00:00.123456Z~17!decision~1'],
  ];
  for (const [to, expected] of places) {
    const visitor = createVisitor(url);
    await visitor.open(`/console/sign-in?to=${encodeURIComponent(to)}`);
    assert.equal((await visitor.send('/console/sign-in', { name, password: goodPassword, to })).location, expected, to);
    assert.equal((await visitor.open(`/console/sign-in?to=${encodeURIComponent(to)}`)).location, expected, to);
  }
});

test('a session of twelve hours ago, of a removed account or made up opens nothing', async () => {
  const visitor = await signIn(url, name);
  await db`update console_session set expires_at = now()`;
  assert.match((await visitor.open('/console')).location ?? '', /sign-in/);
  const removed = await signIn(url, name);
  await db`delete from console_account where id = ${id}`;
  await addOperator(db, 'other@trust.example');
  assert.match((await removed.open('/console')).location ?? '', /sign-in/);
});

test('where nobody may come yet, every address of the console says how to begin', async () => {
  await db`delete from console_account`;
  const visitor = createVisitor(url);
  for (const path of ['/console', '/console/sign-in', '/console/forgotten', '/console/operators']) {
    const answer = await visitor.open(path);
    assert.equal(answer.status, 404, path);
    assert.match(answer.text, /There is no console until ADMIN_PASSWORD is set[^]*at least 12 characters/);
    assert.match(answer.text, /href="\/"/);
  }
});
