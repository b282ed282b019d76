// Tests what an operator has begun while something ended their session: a second factor, a password or a removal that is committed
// before theirs ends it too, and nothing of it is done.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { lockWaits } from '../../../test/lock-waits.ts';
import { codeAt } from '../../../test/totp.ts';
import { until } from '../../../test/until.ts';
import { addOperator, goodPassword, signIn, type Seen, type Visitor } from '../../../test/visitor.ts';
import { sealedAs } from '../../access/sealed-as.ts';
import type { Sql, Tx } from '../../db/connect.ts';

const clock = Date.parse('2026-11-16T08:00:10Z');
const { service: { db, url, seal } } = await useConsole({}, { now: () => clock });
const name = 'ada@trust.example';
const secret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
const factorPath = '/console/account/second-factor';
let id = '';

beforeEach(async () => {
  await db`delete from console_account`;
  await db`delete from wrong_try`;
  await db`delete from audit_event`;
  id = await addOperator(db, name);
  await addOperator(db, 'other@trust.example');
  await addOperator(db, 'third@trust.example');
});

/** What is sent reaches the account while this is not yet committed. */
async function meanwhile(change: (tx: Tx) => Promise<unknown>, send: () => Promise<Seen>): Promise<Seen> {
  const sent = await db.begin(async (tx) => {
    await change(tx);
    let answered = false;
    const sending = send().finally(() => (answered = true));
    const waits = async () => answered || (await lockWaits(db)).length > 0;
    await until('it waits for the account', waits);
    return { sending };
  });
  return sent.sending;
}

async function switchOn(tx: Tx): Promise<void> {
  await tx`update console_account set sealed_totp = ${seal.seal(secret, sealedAs.secondFactor(id))} where id = ${id}`;
  await tx`delete from console_session where account = ${id}`;
}

async function assertSignedOut(seen: Seen, visitor: Visitor): Promise<void> {
  assert.equal(seen.status, 403);
  assert.match(seen.text, /You were signed out meanwhile, and nothing was changed/);
  assert.deepEqual(await db`select from console_session where account = ${id}`, []);
  assert.match((await visitor.open('/console')).location ?? '', /sign-in/);
}

const stateOf = async (sql: Sql = db) => (await sql<{ state: string }[]>`select a::text as state from console_account a where id = ${id}`)[0]?.state;

test('a second factor that is switched on ends a change of the password, of the codes and of itself that is under way', async () => {
  const other = 'another horse entirely';
  const changes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    '/console/account/password': { present: goodPassword, password: other, repeated: other },
    [`${factorPath}/off`]: { 'off-proof': goodPassword },
    [`${factorPath}/renew`]: { 'renew-proof': goodPassword },
  };
  for (const [path, fields] of Object.entries(changes)) {
    const visitor = await signIn(url, name);
    await visitor.open('/console/account');
    let set: string | undefined;
    const seen = await meanwhile(async (tx) => {
      await switchOn(tx);
      set = await stateOf(tx);
    }, () => visitor.send(path, fields));
    await assertSignedOut(seen, visitor);
    assert.equal(await stateOf(), set, path);
    await db`update console_account set sealed_totp = null where id = ${id}`;
  }
});

test('sessions that end end setting up a second factor, and showing it, which takes no code', async () => {
  const setting = await signIn(url, name);
  const page = await setting.open(factorPath);
  const own = /id="secret">([^<]+)</.exec(page.text)?.[1]?.replaceAll(' ', '') ?? '';
  const sealed = /name="sealed" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const end = async (tx: Tx) => {
    await tx`select from console_account where id = ${id} for update`;
    await tx`delete from console_session where account = ${id}`;
  };
  await assertSignedOut(await meanwhile(end, () => setting.send(`${factorPath}/on`, { sealed, code: codeAt(own, clock) })), setting);
  assert.deepEqual(await db`select from console_account where id = ${id} and sealed_totp is not null`, []);
  await db.begin(switchOn);
  const showing = await signIn(url, name);
  await showing.open('/console/second-factor');
  await assertSignedOut(await meanwhile(end, () => showing.send('/console/second-factor', { code: codeAt(secret, clock) })), showing);
  assert.deepEqual(await db`select from console_account where id = ${id} and totp_step is not null`, []);
});

test('an admin who is removed or loses the role changes and invites nobody, and no rule, also where others are left', async () => {
  const [other, third] = ['/console/operators/other%40trust.example', '/console/operators/third%40trust.example'];
  const changes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    [`${other}/role`]: { role: 'viewer' },
    [`${other}/reset-second-factor`]: {},
    [`${other}/remove`]: {},
    [`${third}/invite`]: {},
    '/console/operators/invite': { name: 'New', email: 'new@trust.example', role: 'admin' },
    '/console/operators/rule': { required: 'yes' },
    '/console/account/rename': { name: 'Another' },
  };
  await db`update console_account set sealed_totp = ${seal.seal(secret, sealedAs.secondFactor('other'))} where sign_in_name = 'other@trust.example'`;
  await db`update console_account set password_hash = null where sign_in_name = 'third@trust.example'`;
  for (const [path, fields] of Object.entries(changes)) {
    const visitor = await signIn(url, name);
    await visitor.open('/console/account');
    let left: unknown;
    const lose = async (tx: Tx) => {
      await tx`update console_account set role = 'viewer' where id = ${id}`;
      await tx`delete from console_session where account = ${id}`;
      left = await readOperators(tx);
    };
    await assertSignedOut(await meanwhile(lose, () => visitor.send(path, fields)), visitor);
    assert.deepEqual(await readOperators(), left, path);
    await db`update console_account set role = 'admin'`;
  }
});

const readOperators = async (sql: Sql = db) =>
  sql<{ line: string }[]>`
    select a::text as line from console_account a union all select l::text from console_link l union all select r::text from console_rule r order by line`;
