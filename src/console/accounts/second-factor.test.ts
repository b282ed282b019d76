// Tests the second factor through the door: set up, asked for, each code taken once however many send it at once, wrong ones
// counted and locked like passwords, recovery codes, and what is required of everybody.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { addOperator, createVisitor, goodPassword, signIn, type Seen, type Visitor } from '../../../test/visitor.ts';
import { scanText } from '../../../test/scan-code.ts';
import { codeAt, wrongCodes } from '../../../test/totp.ts';
import { createSeal } from '../../access/seal.ts';
import { sealedAs } from '../../access/sealed-as.ts';

let clock = Date.parse('2026-11-16T08:00:10Z');
const { service: { db, url, seal } } = await useConsole({}, { now: () => clock });
const name = 'ada@trust.example';
const factorPath = '/console/account/second-factor';
let id = '';

beforeEach(async () => {
  clock += 600_000;
  await db`delete from console_account`;
  await db`delete from console_rule`;
  await db`delete from wrong_try`;
  await db`delete from audit_event`;
  id = await addOperator(db, name);
  await addOperator(db, 'other@trust.example');
});

const secretIn = ({ text }: Seen) => /id="secret">([^<]+)</.exec(text)?.[1]?.replaceAll(' ', '') ?? '';
const sealedIn = ({ text }: Seen) => /name="sealed" value="([^"]+)"/.exec(text)?.[1] ?? '';
const codesIn = ({ text }: Seen) => /id="recovery-codes"><code>([^<]+)</.exec(text)?.[1]?.split('\n') ?? [];
const codeOf = (secret: string, at = clock) => codeAt(secret, at);
const lines = async () => (await db<{ action: string; outcome: string }[]>`select action, outcome from audit_event order by number`).map((one) => one.action);

async function enrol(visitor: Visitor): Promise<{ secret: string; codes: string[]; page: Seen }> {
  const page = await visitor.open(factorPath);
  const secret = secretIn(page);
  const done = await visitor.send(`${factorPath}/on`, { sealed: sealedIn(page), code: codeOf(secret) });
  assert.equal(done.status, 200, done.text);
  return { secret, codes: codesIn(done), page: done };
}

const wrongTries = async () => {
  const [row] = await db<{ tries: number; locked: boolean }[]>`
    select wrong_tries as tries, locked_until > now() is true as locked from console_account where id = ${id}`;
  return row;
};

test('it is set up by a QR code or its text, counts after a right code, ends other sessions and renews this one', async () => {
  const [visitor, elsewhere] = [await signIn(url, name), await signIn(url, name)];
  const page = await visitor.open(factorPath);
  const secret = secretIn(page);
  assert.match(secret, /^[A-Z2-7]{32}$/);
  const said = (await scanText(Buffer.from(/<svg[^]*?<\/svg>/.exec(page.text)?.[0] ?? '')))?.text ?? '';
  assert.equal(new URL(said).searchParams.get('secret'), secret);
  assert.match(said, /^otpauth:\/\/totp\/Schoolbell%20127\.0\.0\.1:ada%40trust\.example\?/);
  const wrong = await visitor.send(`${factorPath}/on`, { sealed: sealedIn(page), code: '000000' });
  assert.equal(wrong.status, 422);
  assert.equal(secretIn(wrong), secret, 'the secret stays while the first code is mistyped');
  assert.deepEqual(await db`select from console_account where sealed_totp is not null`, []);
  const key = visitor.cookies.get('schoolbell_console');
  const done = await visitor.send(`${factorPath}/on`, { sealed: sealedIn(wrong), code: ` ${codeOf(secret).slice(0, 3)} ${codeOf(secret).slice(3)}` });
  assert.equal(done.status, 200);
  assert.equal(new Set(codesIn(done).filter((code) => /^([a-hjkmnp-z2-9]{4}-){3}[a-hjkmnp-z2-9]{4}$/.test(code))).size, 10);
  assert.notEqual(visitor.cookies.get('schoolbell_console'), key);
  assert.equal((await visitor.send('/console/account/rename', { name: 'Ada' })).status, 303, 'the forms of that page are those of the new session');
  assert.equal((await elsewhere.open('/console/account')).location, '/console/sign-in?to=%2Fconsole%2Faccount');
  const [kept] = await db<{ sealed: Buffer; hashes: Buffer[]; all: string }[]>`
    select sealed_totp as sealed, recovery_hashes as hashes, a::text as all from console_account a where id = ${id}`;
  assert.equal(seal.open(kept?.sealed ?? Buffer.alloc(0), sealedAs.secondFactor(id)), secret);
  assert.equal(kept?.hashes.length, 10);
  for (const code of [secret, ...codesIn(done)]) assert.ok(!kept.all.includes(code), 'nothing is kept as it is');
  assert.ok((await lines()).includes('switch second factor on'));
});

test('a secret of another account, of another key or of an hour ago is not taken, nor anything else that is sealed', async () => {
  const visitor = await signIn(url, name);
  const page = await visitor.open(factorPath);
  const others = await (await signIn(url, 'other@trust.example')).open(factorPath);
  const secret = secretIn(page);
  const pending = JSON.stringify({ secret, until: clock + 60_000 });
  const foreign = createSeal(['another key that is quite long enough']).seal(pending, sealedAs.pendingSecondFactor(id)).toString('base64url');
  const otherPurpose = seal.seal(pending, sealedAs.secondFactor(id)).toString('base64url');
  const tries = [[sealedIn(others), secretIn(others)], [foreign, secret], [otherPurpose, secret], ['', '']];
  for (const [sealed = '', tried = ''] of tries) {
    const refused = await visitor.send(`${factorPath}/on`, { sealed, code: tried === '' ? '123456' : codeOf(tried) });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /grown old/);
  }
  clock += 61 * 60_000;
  assert.equal((await visitor.send(`${factorPath}/on`, { sealed: sealedIn(page), code: codeOf(secret) })).status, 400);
  assert.deepEqual(await db`select from console_account where sealed_totp is not null`, []);
});

test('after the password it is asked for, nothing opens before, and the session is another one afterwards', async () => {
  const { secret } = await enrol(await signIn(url, name));
  clock += 60_000;
  const visitor = createVisitor(url);
  await visitor.open('/console/sign-in?to=/console/operators');
  const signedIn = await visitor.send('/console/sign-in', { name, password: goodPassword, to: '/console/operators' });
  assert.equal(signedIn.location, '/console/second-factor?to=%2Fconsole%2Foperators');
  assert.equal((await visitor.open('/console/operators')).location, '/console/second-factor');
  const half = visitor.cookies.get('schoolbell_console') ?? '';
  const [before] = await db<{ at: Date }[]>`select last_signed_in as at from console_account where id = ${id}`;
  const asked = await visitor.open(signedIn.location ?? '');
  assert.match(asked.text, /six digits that your app shows/);
  assert.doesNotMatch(asked.text, /<nav|id="secret"/);
  const stolen = visitor.twin();
  assert.equal((await visitor.send('/console/second-factor', { token: 'wrong', code: codeOf(secret) })).status, 403);
  await visitor.open('/console/second-factor');
  const proven = await visitor.send('/console/second-factor', { code: codeOf(secret), to: '/console/operators' });
  assert.deepEqual([proven.status, proven.location], [303, '/console/operators']);
  assert.match(proven.headers.getSetCookie()[0] ?? '', /^schoolbell_console=[\w-]{43}; Path=\/console; Max-Age=43200; HttpOnly; SameSite=Lax$/);
  assert.notEqual(visitor.cookies.get('schoolbell_console'), half);
  assert.equal((await visitor.open('/console/operators')).status, 200);
  assert.match((await stolen.open('/console/operators')).location ?? '', /^\/console\/sign-in/, 'what was known before the code opens nothing');
  const [after] = await db<{ at: Date }[]>`select last_signed_in as at from console_account where id = ${id}`;
  assert.ok((after?.at ?? 0) > (before?.at ?? 0));
  assert.deepEqual((await lines()).slice(-2), ['sign in', 'show second factor']);
});

test('codes of the step before and the one behind are taken, of those beyond not, and none twice', async () => {
  const { secret } = await enrol(await signIn(url, name));
  for (const [steps, taken] of [[-2, false], [-1, true], [0, true], [1, true], [2, false]] as const) {
    clock += 300_000;
    const visitor = await signIn(url, name);
    await visitor.open('/console/second-factor');
    const given = await visitor.send('/console/second-factor', { code: codeOf(secret, clock + steps * 30_000) });
    assert.equal(given.status, taken ? 303 : 422, String(steps));
  }
  const again = await signIn(url, name);
  await again.open('/console/second-factor');
  assert.equal((await again.send('/console/second-factor', { code: codeOf(secret, clock + 30_000) })).status, 303);
  const earlier = await signIn(url, name);
  await earlier.open('/console/second-factor');
  assert.equal((await earlier.send('/console/second-factor', { code: codeOf(secret) })).status, 422, 'nor one of an earlier step than one that was taken');
});

test('one code sent by ten browsers at once opens one of them; the same with a recovery code', async () => {
  const { secret, codes } = await enrol(await signIn(url, name));
  clock += 60_000;
  for (const code of [codeOf(secret), codes[3] ?? '']) {
    const visitors = await Promise.all(Array.from({ length: 5 }, () => signIn(url, name)));
    for (const one of visitors) await one.open('/console/second-factor');
    const twins = visitors.flatMap((one) => [one.twin(), one.twin()]);
    const given = await Promise.all(twins.map((one) => one.send('/console/second-factor', { code })));
    assert.deepEqual(given.map(({ status }) => status).toSorted(), [303, ...Array.from({ length: 9 }, () => 422)]);
    await db`delete from wrong_try`;
    await db`update console_account set wrong_tries = 0, locked_until = null`;
  }
  const [left] = await db<{ left: number }[]>`select cardinality(recovery_hashes) as left from console_account where id = ${id}`;
  assert.equal(left?.left, 9);
});

test('a recovery code opens once, however it is typed; another account has no use for it', async () => {
  const { codes } = await enrol(await signIn(url, name));
  await enrol(await signIn(url, 'other@trust.example'));
  const stranger = await signIn(url, 'other@trust.example');
  await stranger.open('/console/second-factor');
  assert.equal((await stranger.send('/console/second-factor', { code: codes[0] ?? '' })).status, 422);
  for (const expected of [303, 422]) {
    const visitor = await signIn(url, name);
    await visitor.open('/console/second-factor');
    assert.equal((await visitor.send('/console/second-factor', { code: ` ${codes[0]?.toUpperCase().replaceAll('-', ' ')} ` })).status, expected);
  }
  for (const code of ['', ' ', '12345', '1234567', 'é'.repeat(5000), '<script>']) {
    const visitor = await signIn(url, name);
    await visitor.open('/console/second-factor');
    assert.equal((await visitor.send('/console/second-factor', { code })).status, 422, code);
  }
});

test('ten wrong codes lock the account, signing in again and a right password do not help, and the trail says so', async () => {
  const { secret } = await enrol(await signIn(url, name));
  clock += 60_000;
  for (const [at, code] of wrongCodes(secret, clock, 10).entries()) {
    const visitor = await signIn(url, name);
    await visitor.open('/console/second-factor');
    const given = await visitor.send('/console/second-factor', { code });
    assert.equal(given.status, 422);
    assert.deepEqual(await wrongTries(), { tries: at + 1, locked: at === 9 });
  }
  assert.equal((await lines()).filter((action) => action === 'lock after wrong tries').length, 1);
  const visitor = await signIn(url, name);
  assert.equal(visitor.cookies.get('schoolbell_console'), undefined, 'the password opens nothing while it is locked');
  await db`update console_account set locked_until = now() - interval '1 second' where id = ${id}`;
  const later = await signIn(url, name);
  await later.open('/console/second-factor');
  assert.equal((await later.send('/console/second-factor', { code: codeOf(secret) })).status, 303);
  assert.deepEqual(await wrongTries(), { tries: 0, locked: false });
});

test('a session that was half open before the lock cannot guess on, not even many times at once', async () => {
  const { secret } = await enrol(await signIn(url, name));
  clock += 60_000;
  const visitor = await signIn(url, name);
  await visitor.open('/console/second-factor');
  const guesses = await Promise.all(wrongCodes(secret, clock, 20).map((code) => visitor.twin().send('/console/second-factor', { code })));
  assert.deepEqual([422, 429].map((status) => guesses.filter((one) => one.status === status).length), [15, 5]);
  const limited = guesses.find(({ status }) => status === 429);
  assert.equal(limited?.headers.has('retry-after'), true);
  assert.match(limited?.text ?? '', /wrong passwords or codes/);
  assert.equal((await wrongTries())?.locked, true);
  await db`delete from wrong_try`;
  assert.equal((await visitor.twin().send('/console/second-factor', { code: codeOf(secret) })).status, 422, 'a right code comes too late');
});

test('a lock that a stranger brings about does not keep its owner from showing a code in a browser that is known', async () => {
  const owner = await signIn(url, name);
  const { secret } = await enrol(owner);
  const stranger = await signIn(url, name);
  await stranger.open('/console/second-factor');
  for (const code of wrongCodes(secret, clock, 10)) await stranger.send('/console/second-factor', { code });
  assert.equal((await wrongTries())?.locked, true);
  clock += 60_000;
  assert.equal((await stranger.send('/console/second-factor', { code: codeOf(secret) })).status, 422, 'who is half in is not known');
  await owner.open('/console/account');
  await owner.send('/console/sign-out');
  await owner.open('/console/sign-in');
  assert.equal((await owner.send('/console/sign-in', { name, password: goodPassword })).location, '/console/second-factor?to=%2Fconsole');
  await owner.open('/console/second-factor');
  for (const code of wrongCodes(secret, clock, 9)) assert.equal((await owner.send('/console/second-factor', { code })).status, 422);
  const late = owner.twin();
  assert.equal((await owner.send('/console/second-factor', { code: codeOf(secret) })).status, 303);
  assert.match((await late.open('/console')).location ?? '', /sign-in/);
});

test('what is required of all holds at once for sessions that are open, and is set up before anything else', async () => {
  const [admin, viewer] = [await signIn(url, 'other@trust.example'), await signIn(url, name)];
  await enrol(admin);
  await db`update console_account set role = 'viewer' where id = ${id}`;
  await admin.open('/console/operators');
  const changed = await admin.send('/console/operators/rule', { required: 'yes' });
  assert.equal(changed.status, 303);
  assert.match((await admin.open(changed.location ?? '')).text, /Everybody needs a second factor now\./);
  assert.equal((await viewer.open('/console')).location, '/console/second-factor');
  assert.equal((await viewer.send('/console/account/rename', { name: 'x' })).location, '/console/second-factor');
  assert.equal((await admin.open('/console/operators')).status, 200);
  const fresh = createVisitor(url);
  await fresh.open('/console/sign-in');
  const sent = await fresh.send('/console/sign-in', { name, password: goodPassword });
  assert.equal(sent.location, '/console/second-factor?to=%2Fconsole');
  const page = await fresh.open(sent.location ?? '');
  assert.match(page.text, /An admin requires a second factor/);
  assert.equal((await fresh.send('/console/second-factor', { code: '', sealed: '' })).status, 400, 'there is no way around');
  const done = await fresh.send('/console/second-factor', { code: codeOf(secretIn(page)), sealed: sealedIn(page) });
  assert.equal(codesIn(done).length, 10);
  assert.equal((await fresh.open('/console')).status, 200);
  const { text } = await fresh.open(factorPath);
  assert.match(text, /cannot be switched off/);
  const refused = await fresh.send(`${factorPath}/off`, { 'off-proof': goodPassword });
  assert.deepEqual([refused.status, /An admin requires/.test(refused.text)], [409, true]);
});

test('new recovery codes take the place of the old, and it is switched off: with a code or the password, never without', async () => {
  const visitor = await signIn(url, name);
  await visitor.open(factorPath);
  const none = await visitor.send(`${factorPath}/renew`, { 'renew-proof': goodPassword });
  assert.deepEqual([none.status, codesIn(none)], [409, []], 'codes of no second factor');
  const { secret, codes } = await enrol(visitor);
  await visitor.open(factorPath);
  for (const proof of ['', 'not the password', '000000']) {
    for (const verb of ['renew', 'off']) {
      const refused = await visitor.send(`${factorPath}/${verb}`, { [`${verb}-proof`]: proof });
      assert.deepEqual([refused.status, /neither a code/.test(refused.text)], [422, true], `${verb} ${proof}`);
    }
  }
  assert.equal((await wrongTries())?.tries, 6, 'each is counted');
  const renewed = await visitor.send(`${factorPath}/renew`, { 'renew-proof': codes[0] ?? '' });
  assert.equal(codesIn(renewed).length, 10);
  assert.deepEqual(codesIn(renewed).filter((one) => codes.includes(one)), []);
  await visitor.open(factorPath);
  assert.equal((await visitor.send(`${factorPath}/off`, { 'off-proof': codes[1] ?? '' })).status, 422, 'an old code');
  clock += 60_000;
  const elsewhere = await signIn(url, name);
  await elsewhere.open('/console/second-factor');
  assert.equal((await elsewhere.send('/console/second-factor', { code: codeOf(secret) })).status, 303);
  clock += 60_000;
  assert.equal((await visitor.send(`${factorPath}/off`, { 'off-proof': codeOf(secret) })).status, 303);
  assert.match((await elsewhere.open('/console')).location ?? '', /sign-in/, 'other sessions end');
  assert.equal((await visitor.open('/console')).status, 200);
  const [row] = await db`select sealed_totp, totp_step, recovery_hashes from console_account where id = ${id}`;
  assert.deepEqual({ ...row }, { sealed_totp: null, totp_step: null, recovery_hashes: [] });
  assert.deepEqual((await lines()).filter((one) => one.includes('switch') || one.includes('recovery')).length, 11);
});

test('cut off at any step nothing is half done: a code that was taken has opened a session, or was not taken', async () => {
  const { secret, codes } = await enrol(await signIn(url, name));
  clock += 60_000;
  const visitor = await signIn(url, name);
  await visitor.open('/console/second-factor');
  // What comes last in the transaction fails: as if the process had died before its commit.
  await db.unsafe(`create function fail() returns trigger language plpgsql as $$ begin raise exception 'died'; end $$`);
  await db.unsafe('create trigger fail before insert on console_session for each row execute function fail()');
  try {
    for (const code of [codeOf(secret), codes[0] ?? '']) assert.equal((await visitor.twin().send('/console/second-factor', { code })).status, 500);
  } finally {
    await db.unsafe('drop function fail cascade');
  }
  const [row] = await db<{ left: number; sessions: number }[]>`select cardinality(recovery_hashes) as left,
    (select count(*)::int from console_session s where s.account = a.id and not proven) as sessions from console_account a where id = ${id}`;
  assert.deepEqual({ ...row }, { left: 10, sessions: 1 });
  assert.equal((await visitor.send('/console/second-factor', { code: codeOf(secret) })).status, 303);
});
