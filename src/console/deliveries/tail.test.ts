// The live tail in a real browser: what is sent while it is open appears by itself, on the page that was opened, until it is stopped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from '../../../test/browser.ts';
import { enter } from '../../../test/console.ts';
import { useDelivering, useReceiver } from '../../../test/delivery.ts';
import { until } from '../../../test/until.ts';
import { enqueueOneOff } from '../../notifications/one-off.ts';

const { service, db, addSchool, settled } = await useDelivering();
const [name = '', value = ''] = (await enter(service, 'viewer')).cookie.split('=');
const receiver = await useReceiver();

test('what is sent stands there by itself with what became of it, the newest first, and no more once it is stopped', async () => {
  const { estab, rp } = await addSchool();
  const sendOne = () => db.begin((tx) => enqueueOneOff(tx, { estab, rp, event: 'writeback', url: `${receiver.origin}/w`, body: {} }));
  const { page, complaints } = await openPage();
  await page.context().addCookies([{ name, value, url: service.url }]);
  await page.goto(`${service.url}/console/deliveries`);
  await page.getByRole('link', { name: 'Live tail' }).click();
  await page.locator('#tail').waitFor();
  await page.evaluate('window.opened = true');
  const at = await page.locator('#tail-at').innerText();
  const rowOf = (id: string) => page.locator('#latest tbody tr').filter({ has: page.locator(`a[href="/console/deliveries/${id}"]`) });
  const [first, second] = [await sendOne(), await sendOne()];
  await settled(estab);
  for (const id of [first, second]) await rowOf(id).locator('.badge.good').waitFor();
  assert.match((await page.locator('#latest tbody tr a').first().getAttribute('href')) ?? '', new RegExp(`${second}$`));
  assert.notEqual(await page.locator('#tail-at').innerText(), at, 'of when it is goes along');
  assert.equal(await page.evaluate('window.opened'), true, 'it was never loaded anew');
  await page.locator('main a[href*="stopped=yes"]').click();
  await page.waitForURL(/stopped=yes/);
  const third = await sendOne();
  assert.deepEqual([await page.locator('script').count(), await page.locator('[data-follow]').count(), await rowOf(third).count()], [0, 0, 0]);
  assert.equal(await rowOf(second).count(), 1);
  await page.getByRole('link', { name: 'Go on' }).click();
  await rowOf(third).waitFor();
  assert.deepEqual(complaints, []);
});

test('a click into the table holds nothing up; where a link has the focus, the rows and of when they are stay together', async () => {
  const { estab, rp } = await addSchool();
  const sendOne = () => db.begin((tx) => enqueueOneOff(tx, { estab, rp, event: 'writeback', url: `${receiver.origin}/click`, body: {} }));
  await sendOne();
  await settled(estab);
  // So narrow that the table scrolls, and too wide to be stacked.
  const { page, complaints } = await openPage({ width: 700, height: 900 });
  await page.context().addCookies([{ name, value, url: service.url }]);
  await page.goto(`${service.url}/console/deliveries/tail?rp=${rp}`);
  const [box, looked] = [`document.querySelector('#tail .scroll')`, page.locator('#tail-at')];
  const lookedAgain = () => page.waitForResponse((response) => response.url().includes('/tail'));
  const hasFocus = () => page.evaluate(`${box} === document.activeElement`);
  const scrolled = () => page.evaluate(`${box}.scrollLeft`);
  await page.locator('#latest caption').click();
  assert.equal(await hasFocus(), true, 'a click gives the box the focus');
  await page.evaluate(`${box}.scrollLeft = 40`);
  const second = await sendOne();
  await page.locator(`#to-${second}`).waitFor();
  assert.deepEqual([await hasFocus(), await scrolled()], [true, 40], 'the arrows go on to scroll it, from where it was');
  await until('it scrolls', async () => {
    await page.keyboard.press('ArrowLeft');
    return Number(await scrolled()) < 40;
  });

  await page.locator(`#to-${second}`).focus();
  const [before, third] = [await looked.innerText(), await sendOne()];
  for (const _ of [1, 2, 3]) await lookedAgain();
  assert.deepEqual([await page.locator(`#to-${third}`).count(), await looked.innerText()], [0, before]);
  await page.evaluate('document.activeElement.blur()');
  await page.locator(`#to-${third}`).waitFor();
  assert.notEqual(await looked.innerText(), before);
  assert.deepEqual(complaints, []);
});
