// Tests who may come to the console: invited, given another role, reset, removed; that an admin is always left; links that open
// once; and the way back for a forgotten password, which says nothing about who is known.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { lockWaits } from '../../../test/lock-waits.ts';
import { until } from '../../../test/until.ts';
import { addOperator, createVisitor, goodPassword, signIn, type Visitor } from '../../../test/visitor.ts';
import { sealedAs } from '../../access/sealed-as.ts';
import { sendForgotten } from '../../operators/links.ts';

const { service } = await useConsole();
const { db, url } = service;
const boss = 'boss@trust.example';
let admin: Visitor;

beforeEach(async () => {
  await db`delete from console_account`;
  await db`delete from console_rule`;
  await db`delete from wrong_try`;
  await db`delete from audit_event`;
  await db`delete from outbox where estab = ''`;
  await addOperator(db, boss);
  admin = await signIn(url, boss);
  await admin.open('/console/operators');
});

const at = (name: string, verb = '') => `/console/operators/${encodeURIComponent(name)}${verb}`;
const mails = async () =>
  (await db<{ to: string; text: string }[]>`
    select payload ->> 'to' as to, convert_from(body, 'utf8')::jsonb ->> 'text' as text from outbox where estab = '' and kind = 'mail' order by seq`);
const linkIn = (text = '') => /https?:\/\/[^/]+(\/console\/operators\/invited\/[\w-]{43})\n/.exec(text)?.[1] ?? '';
const trail = async () =>
  (await db<{ line: string }[]>`select concat_ws(' ', actor, action, subject, outcome) as line from audit_event order by number`).map((one) => one.line);

async function invite(email: string, role = 'viewer', name = 'Eve'): Promise<string> {
  const sent = await admin.send('/console/operators/invite', { name, email, role });
  assert.equal(sent.status, 303, sent.text);
  return linkIn((await mails()).at(-1)?.text);
}

test('whoever is invited gets a mail, chooses a password by its link, and is signed in with the role', async () => {
  const link = await invite('Eve@Trust.example', 'viewer', 'Eve <Adams>');
  const [mail] = await mails();
  assert.equal(mail?.to, 'Eve@Trust.example');
  assert.match(mail.text, /Dear Eve <Adams>,[^]*by Operator boss@trust\.example, as viewer[^]*once, within 7 days/);
  const list = await admin.open('/console/operators');
  assert.match(list.text, /Eve &#60;Adams&#62;[^]*eve@trust\.example[^]*Viewer[^]*Invited/);
  const eve = createVisitor(url);
  const page = await eve.open(link);
  assert.deepEqual([page.status, page.headers.get('referrer-policy'), page.headers.get('cache-control')], [200, 'no-referrer', 'no-store']);
  assert.match(page.text, /Eve &#60;Adams&#62;/);
  for (const [password, repeated] of [['short', 'short'], [goodPassword, 'x'], ['password1234', 'password1234'], ['eve-adams-1234', 'eve-adams-1234']] as const)
    assert.equal((await eve.send(link, { password, repeated })).status, 422, password);
  assert.equal((await eve.send(link, { password: goodPassword, repeated: goodPassword })).location, '/console');
  assert.equal((await eve.open('/console/operators')).status, 200);
  assert.equal((await eve.send('/console/operators/invite', { name: 'x', email: 'x@x.example', role: 'viewer' })).status, 403);
  assert.doesNotMatch((await eve.open('/console/operators')).text, /id="invite"|id="rule"/);
  assert.doesNotMatch((await eve.open(at(boss))).text, /-form"/);
  assert.equal((await createVisitor(url).open(link)).status, 404, 'it opens once');
  assert.deepEqual((await trail()).filter((line) => /operator add|choose/.test(line)), [
    `${boss} operator add Eve@Trust.example done`, 'eve@trust.example choose password done', 'eve@trust.example operator add x@x.example refused',
  ]);
});

test('one link used by five at once makes one password', async () => {
  const link = await invite('eve@trust.example');
  const five = await Promise.all(Array.from({ length: 5 }, async () => {
    const one = createVisitor(url);
    await one.open(link);
    return one;
  }));
  const answers = await Promise.all(five.map((one, at2) => one.send(link, { password: `${goodPassword} ${at2}`, repeated: `${goodPassword} ${at2}` })));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [303, 404, 404, 404, 404]);
  const winner = answers.findIndex(({ status }) => status === 303);
  assert.ok((await signIn(url, 'eve@trust.example', `${goodPassword} ${winner}`)).cookies.has('schoolbell_console'));
});

test('a link ends after seven days, with a new one, and with the account; one that is wrong is counted', async () => {
  const first = await invite('eve@trust.example');
  const [days] = await db<{ days: number }[]>`select extract(epoch from expires_at - created_at)::int / 86400 as days from console_link`;
  assert.equal(days?.days, 7);
  await admin.open(at('eve@trust.example'));
  assert.equal((await admin.send(at('eve@trust.example', '/invite'))).status, 303);
  const second = linkIn((await mails()).at(-1)?.text);
  assert.notEqual(first, second);
  assert.equal((await createVisitor(url).open(first)).status, 404);
  assert.equal((await createVisitor(url).open(second)).status, 200);
  await db`update console_link set expires_at = now()`;
  assert.equal((await createVisitor(url).open(second)).status, 404);
  await db`insert into wrong_try (kind, client, address) select 'link', '', '127.0.0.1' from generate_series(1, 20)`;
  const limited = await createVisitor(url).open(second);
  assert.deepEqual([limited.status, limited.headers.has('retry-after')], [429, true]);
  await db`delete from wrong_try`;
  const chosen = await invite('zoe@trust.example');
  const zoe = createVisitor(url);
  await zoe.open(chosen);
  await zoe.send(chosen, { password: goodPassword, repeated: goodPassword });
  assert.equal((await admin.send(at('zoe@trust.example', '/invite'))).status, 409, 'who has a password needs no invitation');
});

test('what is wrong with an invitation is said beside what was typed', async () => {
  const bad: [Record<string, string>, number, RegExp][] = [
    [{ name: '', email: 'a@b.example', role: 'viewer' }, 400, /A name has 1 to 200/],
    [{ name: 'A', email: 'nonsense', role: 'viewer' }, 400, /not an e-mail address/],
    [{ name: 'A', email: `${'a'.repeat(255)}@b.example`, role: 'viewer' }, 400, /not an e-mail address/],
    [{ name: 'A', email: 'a@b.example', role: 'owner' }, 400, /A role is admin or viewer/],
    [{ name: 'A', email: boss.toUpperCase(), role: 'viewer' }, 409, /an operator already/],
  ];
  for (const [fields, status, why] of bad) {
    const refused = await admin.send('/console/operators/invite', fields);
    assert.equal(refused.status, status);
    assert.match(refused.text, why);
    assert.ok(refused.text.includes(`value="${fields.name}"`));
  }
  assert.deepEqual(await mails(), []);
});

test('a role holds at once: sessions end, also of somebody whose name has slashes and signs', async () => {
  const name = 'a/b%2f<x>@trust.example';
  await addOperator(db, name);
  const other = await signIn(url, name);
  const page = await admin.open(at(name));
  assert.equal(page.status, 200);
  assert.doesNotMatch(page.text, /<x>/);
  for (const role of ['nonsense', `${'x'.repeat(19)}\u{1f600}`]) assert.equal((await admin.send(at(name, '/role'), { role })).status, 400);
  assert.equal((await admin.send(at(name, '/role'), { role: 'admin' })).status, 409, 'the same again changes nothing, and says so');
  assert.equal((await other.open('/console')).status, 200);
  assert.equal((await admin.send(at(name, '/role'), { role: 'viewer' })).location, `${at(name)}?done=operators-name-role`);
  assert.match((await other.open('/console')).location ?? '', /sign-in/);
  assert.ok((await trail()).includes(`${boss} operator edit ${name} done`));
});

test('whoever is removed is out at once, with links and sessions', async () => {
  await addOperator(db, 'eve@trust.example', 'viewer');
  const eve = await signIn(url, 'eve@trust.example');
  assert.equal((await admin.send(at('eve@trust.example', '/remove'))).location, '/console/operators?done=operators-name-remove');
  assert.match((await eve.open('/console')).location ?? '', /sign-in/);
  assert.equal((await admin.open(at('eve@trust.example'))).status, 404);
  assert.equal((await admin.send(at('eve@trust.example', '/remove'))).status, 404);
  assert.ok((await trail()).includes(`${boss} operator remove eve@trust.example done`));
});

test('the last admin who can sign in stays admin and stays, whoever is only invited or a viewer', async () => {
  await addOperator(db, 'eve@trust.example', 'viewer');
  await invite('new@trust.example', 'admin');
  await admin.open(at(boss));
  for (const [verb, fields] of [['/role', { role: 'viewer' }], ['/remove', {}]] as const) {
    const refused = await admin.send(at(boss, verb), fields);
    assert.deepEqual([refused.status, /last admin who can sign in/.test(refused.text)], [409, true]);
  }
  await addOperator(db, 'second@trust.example');
  const second = await signIn(url, 'second@trust.example');
  await second.open('/console/operators');
  // Both have begun before either can go on.
  const held = await db.reserve();
  await held`begin`;
  await held`select from console_account for update`;
  const sent = Promise.all([admin.send(at('second@trust.example', '/remove')), second.send(at(boss, '/remove'))]);
  await until('both wait', async () => {
    const waiting = await lockWaits(db);
    return waiting.length === 2;
  });
  await held`commit`;
  held.release();
  const both = await sent;
  assert.equal(both.filter(({ status, location }) => status === 303 && location?.includes('done=')).length, 1, 'of two who remove each other one is left');
  const [left] = await db<{ count: number }[]>`select count(*)::int as count from console_account where role = 'admin' and password_hash is not null`;
  assert.equal(left?.count, 1);
});

test('admin cannot be removed or made a viewer while a setting or a file rules it; then it can', async () => {
  await addOperator(db, 'admin');
  assert.equal((await admin.send(at('admin', '/role'), { role: 'viewer' })).status, 303, 'neither rules it here');
  const ruled = await service.join({ ADMIN_PASSWORD: 'a password that is set' });
  const there = await signIn(ruled.url, boss);
  const page = await there.open(at('admin'));
  assert.match(page.text, /cannot be removed/);
  assert.doesNotMatch(page.text, /id="remove-form"|id="role-form"/);
  for (const [verb, fields] of [['/role', { role: 'admin' }], ['/remove', {}]] as const) {
    const refused = await there.send(at('admin', verb), fields);
    assert.deepEqual([refused.status, /ADMIN_PASSWORD/.test(refused.text)], [409, true]);
  }
  assert.equal((await admin.send(at('admin', '/remove'))).status, 303);
});

test('a second factor is reset for somebody else, whose sessions end, and never for oneself', async () => {
  await addOperator(db, 'eve@trust.example', 'viewer');
  await db`update console_account set sealed_totp = ${service.seal.seal('ABCDEFGH', sealedAs.secondFactor('eve'))}, recovery_hashes = '{"\\x00"}'`;
  const eve = await signIn(url, 'eve@trust.example');
  assert.equal((await admin.send(at('eve@trust.example', '/reset-second-factor'))).status, 303);
  assert.match((await eve.open('/console/second-factor')).location ?? '', /sign-in/);
  assert.equal((await admin.send(at('eve@trust.example', '/reset-second-factor'))).status, 409);
  const own = await admin.send(at(boss.toUpperCase(), '/reset-second-factor'));
  assert.deepEqual([own.status, /page of your account/.test(own.text)], [409, true]);
  const [row] = await db<{ on: boolean }[]>`select sealed_totp is not null as on from console_account where sign_in_name = ${boss}`;
  assert.equal(row?.on, true);
});

test('more than fifty operators are pages by key', async () => {
  await db`insert into console_account (sign_in_name, name, role, created_by)
    select 'op' || lpad(n::text, 3, '0') || '@x.example', 'Op ' || n, 'viewer', 'test' from generate_series(1, 60) n`;
  const first = await admin.open('/console/operators');
  assert.equal((first.text.match(/<tr role="row"><td/g) ?? []).length, 50);
  const next = /href="([^"]+)" rel="next"/.exec(first.text)?.[1]?.replaceAll('&#38;', '&') ?? '';
  const second = await admin.open(next);
  assert.equal((second.text.match(/<tr role="row"><td/g) ?? []).length, 11);
  assert.match(second.text, /First page/);
  assert.equal((await admin.open('/console/operators?after=%F0%9F%94%94')).status, 200);
});

test('a forgotten password: the same answer for all, a link by mail to who is known, which opens once and ends all sessions', async () => {
  await service.work();
  await addOperator(db, 'eve@trust.example', 'viewer');
  const eve = await signIn(url, 'eve@trust.example');
  const asker = createVisitor(url);
  await asker.open('/console/forgotten');
  const answers = new Set<string>();
  const asked = ['nobody@trust.example', 'admin', '', `${'x'.repeat(299)}\u{1f600}`, ' EVE@trust.example '];
  for (const email of asked) answers.add((await asker.send('/console/forgotten', { email })).text);
  assert.equal(answers.size, 1);
  await until('all are answered', async () => (await db`select from outbox where estab = '' and kind = 'operator-link' and state = 'done'`).length === 5);
  const [mail, ...more] = await mails();
  assert.deepEqual([mail?.to, more], ['eve@trust.example', []]);
  assert.match(mail?.text ?? '', /within one hour/);
  assert.deepEqual(await db`select from outbox where estab = '' and kind = 'operator-link' and payload <> '{}'`, [], 'whoever was asked about is not kept');
  const link = linkIn(mail?.text);
  const back = createVisitor(url);
  assert.match((await back.open(link)).text, /Choose a new password/);
  assert.equal((await eve.open('/console')).status, 200);
  await back.open(link);
  assert.equal((await back.send(link, { password: 'something new and long', repeated: 'something new and long' })).status, 303);
  assert.match((await eve.open('/console')).location ?? '', /sign-in/);
  assert.ok((await signIn(url, 'eve@trust.example', 'something new and long')).cookies.has('schoolbell_console'));
  await db`delete from wrong_try`;
  for (let time = 0; time < 20; time += 1) await asker.send('/console/forgotten', { email: 'nobody@trust.example' });
  assert.equal((await asker.send('/console/forgotten', { email: 'nobody@trust.example' })).status, 429);
});

test('a new password does not get around a second factor, nor around the lock of wrong codes', async () => {
  const id = await addOperator(db, 'eve@trust.example', 'viewer');
  await db`update console_account set sealed_totp = ${service.seal.seal('ABCDEFGH', sealedAs.secondFactor('eve'))}, wrong_tries = 10,
    locked_until = now() + interval '10 minutes'
    where id = ${id}`;
  const link = await db.begin((tx) => sendForgotten(tx, url, { id, name: 'Eve', email: 'eve@trust.example' }));
  const eve = createVisitor(url);
  const { pathname } = new URL(link);
  await eve.open(pathname);
  assert.equal((await eve.send(pathname, { password: goodPassword, repeated: goodPassword })).location, '/console/second-factor');
  assert.equal((await eve.open('/console')).location, '/console/second-factor');
  const [row] = await db<{ locked: boolean }[]>`select locked_until > now() as locked from console_account where id = ${id}`;
  assert.equal(row?.locked, true);
});

test('cut off before its commit, choosing a password has used up no link, set no password and ended no session', async () => {
  const id = await addOperator(db, 'eve@trust.example', 'viewer');
  const eve = await signIn(url, 'eve@trust.example');
  const { pathname } = new URL(await db.begin((tx) => sendForgotten(tx, url, { id, name: 'Eve', email: 'eve@trust.example' })));
  const back = createVisitor(url);
  await back.open(pathname);
  const given = { password: 'something new and long', repeated: 'something new and long' };
  await db.unsafe(`create function fail() returns trigger language plpgsql as $$ begin raise exception 'died'; end $$`);
  await db.unsafe('create trigger fail before insert on console_session for each row execute function fail()');
  try {
    assert.equal((await back.send(pathname, given)).status, 500);
  } finally {
    await db.unsafe('drop function fail cascade');
  }
  assert.equal((await eve.open('/console')).status, 200);
  assert.ok((await signIn(url, 'eve@trust.example')).cookies.has('schoolbell_console'));
  await back.open(pathname);
  assert.equal((await back.send(pathname, given)).status, 303);
});
