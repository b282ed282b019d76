// The search in a browser, by keyboard alone: what is found follows what is typed, a record is opened, a reference followed, and
// the way back leads to what was found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLook, requireUsable } from '../../../test/accessibility.ts';
import { useConsole } from '../../../test/console.ts';
import { smallPackage, smallSchool, user } from '../../../test/small-school.ts';

const estab = '3805141';
const { service, enter } = await useConsole();
const { url } = service;
const zoe = user('u-zoe', 'student', { givenName: 'Zoë', familyName: 'Öztürk', agentSourcedIds: 'a2' });
await service.addSchool(estab, smallPackage({ users: [...smallSchool.users, zoe] }));
const { cookie } = await enter('viewer');
const [name = '', value = ''] = cookie.split('=');
const cookies = [{ name, value, domain: '127.0.0.1', path: '/console', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' as const }];

test('search as one types, open, follow a reference and come back, by keyboard', async () => {
  const { page, complaints } = await openLook({ width: 'desk', scheme: 'light' }, cookies);
  await page.goto(`${url}/console/schools/${estab}/roster`);
  await requireUsable(page, 'search');
  const press = async (key: string, until: string) => {
    for (let at = 0; at < 40; at += 1) {
      if ((await page.evaluate('document.activeElement?.textContent?.trim() || document.activeElement?.id')) === until) return;
      await page.keyboard.press(key);
    }
    assert.fail(`the keyboard does not reach ${until}`);
  };
  await page.evaluate('document.activeElement?.blur()');
  await press('Tab', 'filter-q');
  await page.keyboard.type('ozt', { delay: 30 });
  await page.waitForURL(/\?q=ozt$/);
  await page.waitForSelector('#found a[href$="/u-zoe"]');
  assert.equal(await page.evaluate('document.activeElement.id'), 'filter-q', 'whoever types keeps the keyboard');
  assert.equal(await page.inputValue('#filter-q'), 'ozt');
  assert.equal(await page.textContent('#search-words'), '1 record found');
  await page.keyboard.type('zzz');
  await page.waitForSelector('#found .empty');
  for (let at = 0; at < 3; at += 1) await page.keyboard.press('Backspace');
  await page.waitForSelector('#found a[href$="/u-zoe"]');

  await press('Tab', 'Zoë Öztürk');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/users\/u-zoe$/);
  await press('Tab', 'Given a2 Family');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/users\/a2$/);
  await press('Tab', 'Zoë Öztürk');
  await page.goBack();
  await page.goBack();
  await page.waitForSelector('#found a[href$="/u-zoe"]');
  assert.equal(await page.inputValue('#filter-q'), 'ozt');
  assert.deepEqual(complaints, []);
});
