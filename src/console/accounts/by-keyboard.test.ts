// In a real browser, by keyboard alone: an operator signs in with password and second factor, and goes on to the console; and the
// demo's one click, as a browser sends it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireUsable, requireUsableInEveryLook } from '../../../test/accessibility.ts';
import { openPage } from '../../../test/browser.ts';
import { useConsole } from '../../../test/console.ts';
import { codeAt } from '../../../test/totp.ts';
import { addOperator, goodPassword } from '../../../test/visitor.ts';

let clock = Date.parse('2026-11-16T08:00:10Z');
const { service: { db, url } } = await useConsole({ DEMO: 'on', ADMIN_PASSWORD: 'a password that is set' }, { now: () => clock, demoEntry: 'token' });
await addOperator(db, 'ada@trust.example');
await addOperator(db, 'admin');

test('one click on the start page of the demo opens the console', async () => {
  const { page, complaints } = await openPage();
  await page.goto(`${url}/?entry=token`);
  await Promise.all([page.waitForURL(`${url}/console`), page.click('text=Open the console')]);
  assert.deepEqual([await page.textContent('h1'), await page.textContent('.who a'), complaints], ['Overview', 'Operator admin', []]);
});

test('password, setting up a second factor, and the next time its code: typed, and sent with Enter', async () => {
  await db`insert into console_rule (name, required) values ('second factor', true)`;
  const { page, complaints } = await openPage({ width: 390, height: 844 });
  const type = async (id: string, text: string) => {
    for (let tabs = 0; tabs < 40 && (await page.evaluate('document.activeElement?.id')) !== id; tabs += 1) await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement?.id'), id, `the keyboard reaches ${id}`);
    await page.keyboard.type(text);
  };
  const enter = () => Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
  const heading = () => page.textContent('h1');
  const signIn = async () => {
    await type('name', 'ada@trust.example');
    await type('password', goodPassword);
    await enter();
  };
  await page.goto(`${url}/console/account`);
  await signIn();
  assert.equal(await heading(), 'Set up a second factor');
  await requireUsable(page, 'setting up');
  await page.reload();
  const secret = ((await page.textContent('#secret')) ?? '').replaceAll(' ', '');
  await type('code', codeAt(secret, clock));
  await enter();
  assert.equal(await heading(), 'Your recovery codes');
  await requireUsable(page, 'recovery codes');
  clock += 60_000;
  await page.context().clearCookies();
  await page.goto(`${url}/console/account`);
  await signIn();
  assert.equal(await heading(), 'Your second factor');
  await requireUsableInEveryLook(page, 'second factor');
  await page.reload();
  await type('code', codeAt(secret, clock));
  await enter();
  assert.deepEqual([await heading(), new URL(page.url()).pathname], ['Your account', '/console/account']);
  await requireUsable(page, 'account');
  assert.deepEqual(complaints, []);
});
