// Tests guessing from browsers that an operator is known by, or with what was copied out of one: however the cookie is spelled, and
// with however many of them, the tries are counted together, and the trail says that they were used up.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { lockWaits } from '../../../test/lock-waits.ts';
import { codeAt, wrongCodes } from '../../../test/totp.ts';
import { until } from '../../../test/until.ts';
import { addOperator, createVisitor, goodPassword, signIn, type Visitor } from '../../../test/visitor.ts';

let clock = Date.parse('2026-11-16T08:00:10Z');
const { service: { db, url } } = await useConsole({}, { now: () => clock });
const name = 'ada@trust.example';
const line = `${name} stop known browser after wrong tries done 127.0.0.1`;

beforeEach(async () => {
  clock += 600_000;
  await db`delete from console_account`;
  await db`delete from wrong_try`;
  await db`delete from audit_event`;
  await addOperator(db, name);
});

const knownOf = (visitor: Visitor) => visitor.cookies.get('schoolbell_known') ?? '';
const stops = async () =>
  (await db<{ line: string }[]>`select concat_ws(' ', actor, action, outcome, address) as line from audit_event where action like 'stop%'`)
    .map((one) => one.line);

async function tryPassword(known: string, password = 'wrong'): Promise<number> {
  const visitor = createVisitor(url, new Map([['schoolbell_known', known]]));
  await visitor.open('/console/sign-in');
  return (await visitor.send('/console/sign-in', { name, password })).status;
}

test('another spelling of the cookie is no known browser: its wrong tries lock the account like those of a stranger', async () => {
  const known = knownOf(await signIn(url, name));
  for (const spelled of [`.${known}`, `${known.slice(0, 9)}~${known.slice(9)}`, `${known}=`]) {
    await db`delete from wrong_try`;
    await db`update console_account set wrong_tries = 9, locked_until = null`;
    assert.equal(await tryPassword(spelled), 401);
    assert.equal(await tryPassword(spelled, goodPassword), 401, `${spelled.slice(0, 12)} is locked out`);
    assert.equal(await tryPassword(known, goodPassword), 303);
  }
});

test('a browser has ten wrong passwords, all that the account is known by have twenty; the trail says so once', async () => {
  const browsers = [knownOf(await signIn(url, name)), knownOf(await signIn(url, name)), knownOf(await signIn(url, name))];
  const [first = '', second = '', third = ''] = browsers;
  for (let at = 0; at < 9; at += 1) assert.equal(await tryPassword(first), 401);
  assert.deepEqual(await stops(), []);
  assert.equal(await tryPassword(first), 401);
  assert.deepEqual(await stops(), [line]);
  assert.equal(await tryPassword(first, goodPassword), 429);
  for (let at = 0; at < 10; at += 1) assert.equal(await tryPassword(second), 401);
  for (const known of browsers) assert.equal(await tryPassword(known, goodPassword), 429);
  assert.deepEqual(await stops(), [line]);
  assert.equal(await tryPassword('', goodPassword), 303, 'who is not known is not stopped by it');
  await db`update wrong_try set tried_at = now() - interval '11 minutes'`;
  await db`update audit_event set at = now() - interval '11 minutes'`;
  assert.equal(await tryPassword(third, goodPassword), 303);
  await db`update wrong_try set tried_at = now() where ctid <> (select min(ctid) from wrong_try)`;
  assert.equal(await tryPassword(third), 401);
  assert.deepEqual(await stops(), [line, line], 'later it is another line');
});

test('many at once get no further than the limit by as many as are hashed at once, and leave one line', async () => {
  const known = knownOf(await signIn(url, name));
  const statuses = await Promise.all(Array.from({ length: 24 }, () => tryPassword(known)));
  const tried = statuses.filter((status) => status === 401).length;
  assert.ok(tried >= 10 && tried < 16, String(tried));
  assert.deepEqual(await stops(), [line]);
});

test('of two wrong tries at once in two processes the second sees the first: that they are used up is not missed', async () => {
  const known = knownOf(await signIn(url, name));
  for (let at = 0; at < 8; at += 1) assert.equal(await tryPassword(known), 401);
  const { trying } = await db.begin(async (tx) => {
    await tx`select from console_account where sign_in_name = ${name} for no key update`;
    await tx`insert into wrong_try (kind, client, address) select kind, client, address from wrong_try limit 1`;
    let answered = false;
    const sent = { trying: tryPassword(known).finally(() => (answered = true)) };
    const waits = async () => answered || (await lockWaits(db)).length > 0;
    await until('the second waits for the first', waits);
    return sent;
  });
  assert.equal(await trying, 401);
  assert.deepEqual(await stops(), [line]);
});

test('six digits are guessed at no oftener, however the cookie is spelled and however often one signs in again', async () => {
  const owner = await signIn(url, name);
  const page = await owner.open('/console/account/second-factor');
  const secret = /id="secret">([^<]+)</.exec(page.text)?.[1]?.replaceAll(' ', '') ?? '';
  const sealed = /name="sealed" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  assert.equal((await owner.send('/console/account/second-factor/on', { sealed, code: codeAt(secret, clock) })).status, 200);
  const known = knownOf(owner);
  const guess = async (cookie: string, at: number) => {
    const visitor = await signIn(url, name);
    await visitor.open('/console/second-factor');
    visitor.cookies.set('schoolbell_known', cookie);
    return (await visitor.send('/console/second-factor', { code: wrongCodes(secret, clock, at + 1).at(-1) ?? '' })).status;
  };
  for (let at = 0; at < 10; at += 1) assert.equal(await guess(known, at), 422);
  assert.equal(await guess(known, 10), 429);
  assert.deepEqual(await stops(), [line]);
  for (let at = 0; at < 10; at += 1) assert.equal(await guess(`${'.'.repeat(at + 1)}${known}`, at), 422);
  const [row] = await db<{ locked: boolean }[]>`select locked_until > now() as locked from console_account`;
  assert.equal(row?.locked, true);
});
