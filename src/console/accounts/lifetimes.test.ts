// Tests how long what opens the console is good for, as it is kept and not only as the browser is told: a session, a link, a lock, a
// known browser, a code; and that the links of before end with the password.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { codeAt } from '../../../test/totp.ts';
import { until } from '../../../test/until.ts';
import { addOperator, createVisitor, goodPassword, signIn } from '../../../test/visitor.ts';
import { sendForgotten, sendInvitation } from '../../operators/links.ts';
import { countWrong } from '../../operators/lock-account.ts';

let clock = Date.parse('2026-11-16T08:00:10Z');
const { service } = await useConsole({}, { now: () => clock });
const { db, url } = service;
const name = 'ada@trust.example';
const other = 'another horse that nobody rides';
const dayMs = 86_400_000;
let id = '';

beforeEach(async () => {
  clock += 600_000;
  await db`delete from console_account`;
  await db`delete from wrong_try`;
  await db`delete from outbox where estab = ''`;
  id = await addOperator(db, name);
});

/** From now on, by the clock of the database; a slow machine may take a few minutes from the question to the answer. */
function assertLeft(minutes: number | undefined, expected: number): void {
  assert.ok(minutes !== undefined && minutes > expected - 5 && minutes <= expected, `${minutes} minutes, not ${expected}`);
}

async function tryPassword(cookies = new Map<string, string>(), password = goodPassword): Promise<number> {
  const visitor = createVisitor(url, cookies);
  await visitor.open('/console/sign-in');
  return (await visitor.send('/console/sign-in', { name, password })).status;
}

test('a session ends after twelve hours', async () => {
  await signIn(url, name);
  const [session] = await db<{ left: number }[]>`select extract(epoch from expires_at - now())::float8 / 60 as left from console_session`;
  assertLeft(session?.left, 12 * 60);
});

test('a link for who has forgotten the password ends after an hour', async () => {
  await service.work();
  const asker = createVisitor(url);
  await asker.open('/console/forgotten');
  assert.equal((await asker.send('/console/forgotten', { email: name })).status, 200);
  const links = () => db<{ left: number }[]>`select extract(epoch from expires_at - now())::float8 / 60 as left from console_link where account = ${id}`;
  await until('the link is sent', async () => (await links()).length === 1);
  assertLeft((await links())[0]?.left, 60);
});

test('a lock ends after fifteen minutes', async () => {
  for (let at = 0; at < 10; at += 1) assert.equal(await tryPassword(new Map(), 'wrong'), 401);
  const [lock] = await db<{ left: number }[]>`select extract(epoch from locked_until - now())::float8 / 60 as left from console_account`;
  assertLeft(lock?.left, 15);
});

test('a lock that was set before the clock was set back does not last longer than a lock lasts', async () => {
  await db`update console_account set wrong_tries = 10, locked_until = now() + interval '15 minutes'`;
  assert.equal(await tryPassword(new Map()), 401);
  await db`update console_account set wrong_tries = 10, locked_until = now() + interval '195 minutes'`;
  assert.equal(await tryPassword(new Map()), 303);
});

test('a wrong try whose transaction began before the lock does not end it', async () => {
  await db.begin(async (earlier) => {
    await earlier`select now()`;
    // As set by a transaction that began a second later.
    await db`update console_account set wrong_tries = 10, locked_until = now() + interval '15 minutes 1 second'`;
    await countWrong(earlier, id, '127.0.0.1');
  });
  assert.equal(await tryPassword(), 401);
});

test('a browser is known for 180 days', async () => {
  const { cookies } = await signIn(url, name);
  const known = () => new Map([['schoolbell_known', cookies.get('schoolbell_known') ?? '']]);
  await db`update console_account set wrong_tries = 10, locked_until = now() + interval '15 minutes'`;
  const began = clock;
  clock = began + 180 * dayMs - 60_000;
  assert.equal(await tryPassword(known()), 303);
  await db`update console_account set wrong_tries = 10, locked_until = now() + interval '15 minutes'`;
  clock = began + 180 * dayMs + 60_000;
  assert.equal(await tryPassword(known()), 401);
});

test('the code that set a second factor up opens nothing besides', async () => {
  const visitor = await signIn(url, name);
  const { text } = await visitor.open('/console/account/second-factor');
  const secret = /id="secret">([^<]+)</.exec(text)?.[1]?.replaceAll(' ', '') ?? '';
  const sealed = /name="sealed" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const code = codeAt(secret, clock);
  assert.equal((await visitor.send('/console/account/second-factor/on', { sealed, code })).status, 200);
  const elsewhere = await signIn(url, name);
  await elsewhere.open('/console/second-factor');
  assert.equal((await elsewhere.send('/console/second-factor', { code })).status, 422);
  clock += 30_000;
  assert.equal((await elsewhere.send('/console/second-factor', { code: codeAt(secret, clock) })).status, 303, 'the next one does');
});

test('a password that is chosen or changed ends every other link that would set one', async () => {
  const own = { id, name: 'Ada', email: name };
  const stranger = { id: await addOperator(db, 'eve@trust.example'), name: 'Eve', email: 'eve@trust.example' };
  const send = async (to = own) => (await db.begin((tx) => sendForgotten(tx, url, to))).slice(url.length);
  const statuses = async (links: string[]) => Promise.all(links.map(async (link) => (await createVisitor(url).open(link)).status));
  const invited = (await db.begin((tx) => sendInvitation(tx, url, { ...own, role: 'admin', by: 'test' }))).slice(url.length);
  const [first, second, ofEve] = [await send(), await send(), await send(stranger)];
  assert.deepEqual(await statuses([first, second, invited, ofEve]), [200, 200, 200, 200]);
  const visitor = createVisitor(url);
  await visitor.open(first);
  assert.equal((await visitor.send(first, { password: other, repeated: other })).status, 303);
  assert.deepEqual(await statuses([first, second, invited, ofEve]), [404, 404, 404, 200]);
  const third = await send();
  await visitor.open('/console/account');
  const changed = await visitor.send('/console/account/password', { present: other, password: goodPassword, repeated: goodPassword });
  assert.equal(changed.status, 303);
  assert.deepEqual(await statuses([third, ofEve]), [404, 200]);
});
