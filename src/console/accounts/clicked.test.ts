// Each action on one's own account and on those of other operators, done by its form in a real browser.
import assert from 'node:assert/strict';
import { openPage } from '../../../test/browser.ts';
import { clickEach, phone, useHands } from '../../../test/clicked.ts';
import { useConsole } from '../../../test/console.ts';
import { codeAt } from '../../../test/totp.ts';
import { addOperator, goodPassword, signIn } from '../../../test/visitor.ts';
import { sealedAs } from '../../access/sealed-as.ts';

const clock = Date.parse('2026-11-16T08:00:10Z');
const { service: { db, url, seal } } = await useConsole({}, { now: () => clock });
const [ada, bob, eve] = ['ada@trust.example', 'bob@trust.example', 'eve@trust.example'] as const;
const own = await addOperator(db, ada);
await addOperator(db, bob, 'viewer');
const opened = await openPage(phone);
const { page, open, send, read } = useHands(url, opened);
const cookie = (await signIn(url, ada)).cookies.get('schoolbell_console') ?? '';
await page.context().addCookies([{ name: 'schoolbell_console', value: cookie, url }]);
const [account, factor, operators] = ['/console/account', '/console/account/second-factor', '/console/operators'];
const pageOf = (name: string) => `${operators}/${encodeURIComponent(name)}`;
const otherPassword = 'another horse that nobody rides';
const known = async (name: string) =>
  (await db<{ role: string; factor: boolean; name: string }[]>`
    select role, name, sealed_totp is not null as factor from console_account where sign_in_name = ${name}`)[0];
const giveFactor = (name: string) => db`
  update console_account set sealed_totp = ${seal.seal('JBSWY3DPEHPK3PXP', sealedAs.secondFactor(name))} where sign_in_name = ${name}`;
const mails = async () => (await db`select from outbox where kind = 'mail'`).length;
const recoveryCodes = async () => (await db<{ hashes: Buffer[] }[]>`select recovery_hashes as hashes from console_account where id = ${own}`)[0]?.hashes ?? [];

clickEach('accounts', db, opened, {
  async '/console/account/rename'() {
    await open(account);
    await send('rename', { Name: 'Ada Lovelace' });
    assert.equal(await read('.who a'), 'Ada Lovelace');
    return [{ detail: { name: 'Ada Lovelace', before: `Operator ${ada}` } }];
  },
  async '/console/account/password'() {
    await open(account);
    await send('password-form', { 'Present password': goodPassword, 'New password': otherPassword, 'The same again': otherPassword });
    assert.equal((await signIn(url, ada)).cookies.has('schoolbell_console'), false, 'the old one opens nothing');
    assert.equal((await signIn(url, ada, otherPassword)).cookies.has('schoolbell_console'), true);
    return [{}];
  },
  async '/console/account/end-others'() {
    const elsewhere = await signIn(url, ada, otherPassword);
    await open(account);
    await send('end-others');
    assert.match((await elsewhere.open(account)).location ?? '', /sign-in/);
    assert.equal(await page.locator('#sessions tbody tr').count(), 1);
    return [{}];
  },
  async '/console/account/second-factor/on'() {
    await open(account);
    await page.locator(`main a[href="${factor}"]`).click();
    await send('enrol', { Code: codeAt((await read('#secret')).replaceAll(' ', ''), clock) });
    assert.equal((await read('#recovery-codes')).split(' ').length, 10);
    assert.equal((await known(ada))?.factor, true);
    return [{}];
  },
  async '/console/account/second-factor/renew'() {
    const before = await recoveryCodes();
    await open(factor);
    await send('renew', { 'A code, or your password': otherPassword });
    assert.equal((await read('#recovery-codes')).split(' ').length, 10);
    assert.notDeepEqual(await recoveryCodes(), before);
    return [{}];
  },
  async '/console/account/second-factor/off'() {
    await open(factor);
    await send('off', { 'A code, or your password': otherPassword });
    assert.equal((await known(ada))?.factor, false);
    return [{}];
  },
  async '/console/operators/invite'() {
    await open(operators);
    await send('invite', { Name: 'Eve', 'E-mail address': eve, Role: 'admin' });
    assert.deepEqual({ ...(await known(eve)) }, { role: 'admin', name: 'Eve', factor: false });
    assert.equal(await mails(), 1);
    assert.equal(await read('h1 .badge'), 'Invited');
    return [{ subject: eve, detail: { role: 'admin' } }];
  },
  async '/console/operators/rule'() {
    await giveFactor(ada);
    const required = async () => (await db<{ required: boolean }[]>`select required from console_rule`)[0]?.required ?? false;
    for (const expected of [true, false]) {
      await open(operators);
      await send('rule');
      assert.equal(await required(), expected);
      assert.equal(await read('#rule-title .badge'), expected ? 'Required' : 'Up to each');
    }
    return [{ detail: { required: true } }, { detail: { required: false } }];
  },
  async '/console/operators/:name/invite'() {
    await open(pageOf(eve));
    await send('invite-form');
    assert.equal(await mails(), 2);
    return [{ subject: eve }];
  },
  async '/console/operators/:name/role'() {
    await open(pageOf(bob));
    await send('role-form', { Role: 'admin' });
    assert.equal((await known(bob))?.role, 'admin');
    return [{ subject: bob, detail: { role: 'admin' } }];
  },
  async '/console/operators/:name/reset-second-factor'() {
    await giveFactor(bob);
    await open(pageOf(bob));
    await send('reset-second-factor-form');
    assert.equal((await known(bob))?.factor, false);
    return [{ subject: bob, detail: { resetSecondFactor: true } }];
  },
  async '/console/operators/:name/remove'() {
    await open(pageOf(bob));
    await send('remove-form');
    assert.equal(await known(bob), undefined);
    assert.doesNotMatch(await read('#operators'), /bob@/);
    return [{ subject: bob }];
  },
});
