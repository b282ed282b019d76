// By keyboard alone, in a real browser, on a desk and on a phone: why a delivery failed is found, and it is sent again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openLook } from '../../../test/accessibility.ts';
import { enter } from '../../../test/console.ts';
import { useDelivering, useReceiver } from '../../../test/delivery.ts';
import { chooseByArrow } from '../../../test/keyboard.ts';

const delivering = await useDelivering();
const { service, db, change, register, settled, rows } = delivering;
const admin = await enter(service, 'admin');
const receiver = await useReceiver();

const focused = (page: Page) =>
  page.evaluate(`[document.activeElement?.name ?? '', document.activeElement?.textContent?.trim() ?? ''].join(' ').trim()`) as Promise<string>;

/** By Tab alone; whoever cannot get there is stuck. */
async function tabTo(page: Page, words: RegExp): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    if (words.test(await focused(page))) return;
  }
  assert.fail(`${String(words)} is not reached by Tab at ${page.url()}`);
}

for (const width of ['desk', 'phone'] as const)
  test(`on a ${width}: narrowed to what failed, opened, understood, replayed, and seen to arrive without looking again`, async () => {
    await delivering.clear();
    const school = await delivering.addSchool();
    await register(school, `${receiver.origin}/hook`);
    receiver.answer = (_, response) => void response.writeHead(404).end('<h1>No such page</h1>');
    await change(school.estab);
    await settled(school.estab);
    await db`update outbox set state = 'failed', settled_at = now() where state = 'waiting' and kind = 'call'`;
    receiver.answer = () => 200;
    const { origin } = new URL(service.url);
    const { page, complaints } = await openLook({ width, scheme: 'light' });
    const cut = admin.cookie.indexOf('=');
    await page.context().addCookies([{ name: admin.cookie.slice(0, cut), value: admin.cookie.slice(cut + 1), url: origin }]);

    await page.goto(`${origin}/console`);
    await tabTo(page, /^Deliveries$/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/deliveries$/);
    await tabTo(page, /^state /);
    await chooseByArrow(page, 'failed');
    await tabTo(page, /^Show$/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/state=failed/);
    await tabTo(page, /^Database event$/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/console\/deliveries\/msg_/);
    assert.match(await page.locator('#why').innerText(), /The receiver answered 404\.\s+The path is not known there/);
    assert.match(await page.locator('#answer-1').innerText(), /<h1>No such page<\/h1>/);
    await tabTo(page, /Replay this delivery/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/done=deliveries-id-replay/);
    await page.locator('#outcome', { hasText: 'Delivered' }).waitFor();
    assert.deepEqual((await rows(school.estab)).map(({ state, attempts }) => [state, attempts]), [['done', 2]]);
    assert.deepEqual(complaints, []);
  });
