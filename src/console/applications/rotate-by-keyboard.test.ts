// In a real browser, by keyboard alone: a secret is found, replaced with an overlap that was chosen, copied, and never seen again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openLook, requireUsable } from '../../../test/accessibility.ts';
import { useConsole, type AtConsole } from '../../../test/console.ts';
import { chooseByArrow } from '../../../test/keyboard.ts';
import { managementToken } from '../../../test/onboarding.ts';

const { service, enter } = await useConsole();
const { db, url } = service;
const cookieOf = ({ cookie }: AtConsole) => {
  const [name = '', value = ''] = cookie.split('=');
  return { name, value, domain: '127.0.0.1', path: '/console', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' } as const;
};

/** What has the focus, as a person would call it. */
const focused = (page: Page) =>
  page.evaluate(`(({ activeElement: one }) => (one.labels?.[0] ?? one).innerText.trim().replaceAll(/\\s+/g, ' '))(document)`) as Promise<string>;

const selected = (page: Page) =>
  page.evaluate('(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)') as Promise<string>;

async function tabTo(page: Page, wanted: string): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab');
    const at = await focused(page);
    if (at === wanted) return;
    passed.push(at);
  }
  assert.fail(`"${wanted}" is not among what the keyboard reaches: ${passed.join(', ')}`);
}

async function enterAt(page: Page, wanted: string): Promise<void> {
  await tabTo(page, wanted);
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
}

for (const [role, width] of [['admin', 'phone'], ['admin', 'desk'], ['developer', 'phone']] as const) {
  test(`a secret is rotated by keyboard alone (${role}, ${width})`, async () => {
    const rp = `reads-${role}-${width}`;
    const app = await service.addClient(rp, []);
    const who = await enter(role, `${role}@${rp}`, role === 'developer' ? [rp] : []);
    const { page, complaints } = await openLook({ width, scheme: 'light' }, [cookieOf(who)]);
    await page.goto(`${url}/console`);
    if (role === 'admin') {
      await enterAt(page, 'Applications');
      await enterAt(page, `Application ${rp}`);
    }
    await enterAt(page, 'Replace the management secret');
    await tabTo(page, 'How long the old one goes on working');
    assert.equal(await page.evaluate('document.activeElement.value'), '24h');
    await chooseByArrow(page, '7d');
    await enterAt(page, 'Make a new secret');
    await tabTo(page, 'New management secret');
    const secret = await selected(page);
    assert.match(secret, /^sb_mgmt_[\w-]{43}$/, 'whoever comes by keyboard has all of it selected');
    await requireUsable(page, 'the secret that is shown once');
    const opens = async () => Promise.all([secret, app.managementSecret].map(async (one) => (await managementToken(url, rp, one)) !== null));
    assert.deepEqual(await opens(), [true, true]);
    const secrets = async () => (await db`select from application_secret where rp = ${rp} and kind = 'management'`).length;
    assert.equal(await secrets(), 2);

    await page.reload();
    assert.match(await page.innerText('#problem'), /nothing was changed now/, 'a reload replaces nothing');
    assert.ok(!(await page.content()).includes(secret), 'and does not show it again');
    assert.equal(await secrets(), 2);
    await enterAt(page, 'End the old one now');
    assert.match(await page.innerText('#notice'), /The old secret has ended/);
    assert.deepEqual(await opens(), [true, false]);
    await assert.rejects(page.goBack(), /ERR_CACHE_MISS/, 'nor does the browser keep the page');
    assert.deepEqual(complaints.filter((one) => !/409/.test(one)), []);
  });
}
