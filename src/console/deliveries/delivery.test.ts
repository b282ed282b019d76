// The page of one delivery in a real browser: what can be done with it comes by itself once it has ended.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from '../../../test/browser.ts';
import { enter } from '../../../test/console.ts';
import { useDelivering, useReceiver } from '../../../test/delivery.ts';
import { until } from '../../../test/until.ts';

const { service, addSchool, send, rows } = await useDelivering();
const [name = '', value = ''] = (await enter(service, 'admin')).cookie.split('=');
const receiver = await useReceiver();

test('one that ends while its page is open gets its button there, and is not looked at again', async () => {
  const held = Promise.withResolvers<number>();
  receiver.answer = () => held.promise;
  const school = await addSchool();
  // Before it is sent: a browser may take as long to start as a receiver has to answer.
  const { page, complaints } = await openPage();
  await page.context().addCookies([{ name, value, url: service.url }]);
  const id = await send(school, `${receiver.origin}/held`);
  await until('it is under way', () => receiver.arrivals.length === 1);
  await page.goto(`${service.url}/console/deliveries/${id}`);
  await page.evaluate('window.opened = true');
  const again = page.getByRole('link', { name: 'Look again' });
  assert.deepEqual([await page.locator('#replay').count(), await again.count()], [0, 1], 'as long as it is sent');

  held.resolve(200);
  await page.locator('#outcome', { hasText: 'Delivered' }).waitFor();
  const button = page.getByRole('button', { name: 'Replay this delivery' });
  await button.waitFor();
  assert.deepEqual([await again.count(), await page.evaluate('window.opened')], [0, true], 'it was never loaded anew');
  assert.match((await page.textContent('#follow-words')) ?? '', /^It has ended\. Delivered$/);
  await button.click();
  await page.waitForURL(/done=deliveries-id-replay/);
  await until('it is sent again', () => receiver.arrivals.length === 2);
  await until('and settled', async () => (await rows(school.estab)).every(({ state }) => state === 'done'));
  assert.deepEqual(complaints, []);
});
