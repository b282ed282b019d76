// Every page of the console in a real browser, on a phone and on a desk, in the light and in the dark: everybody can use it, nothing
// runs out of the screen, the focus is seen, and the browser complains of nothing. And what is done there without a script.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeLook, leastRoom, openLook, requireUsable, requireUsableEverywhere } from '../../test/accessibility.ts';
import { openPage } from '../../test/browser.ts';
import { enter, type AtConsole } from '../../test/console.ts';
import { useConsoleSample } from '../../test/console-sample.ts';
import { pages } from './routes.ts';

const { service, admin, developer, examples, outside } = await useConsoleSample();
const { url } = service;
const sessionOf = ({ cookie }: AtConsole) => {
  const [name = '', value = ''] = cookie.split('=');
  return { name, value, url };
};
const session = sessionOf(admin);
/** Files to be kept. */
const notShown = new Set(['/console/schools/:estab/imports/:id/problems.csv', '/console/audit/csv']);
const shown = pages.map(({ path }) => path).filter((path) => !notShown.has(path));

test('each page of the table has an example here', () => {
  assert.deepEqual(shown.filter((path) => (examples[path] ?? []).length === 0), []);
  assert.deepEqual(Object.keys(examples).filter((path) => !shown.includes(path)), []);
});

/** All there is in the look that has least room; what else a page can show is made of the same parts in the others, as is what others see of it. */
async function walk(addresses: readonly (readonly string[])[], who?: AtConsole): Promise<void> {
  const { page, complaints } = await openLook(leastRoom);
  if (who) await page.context().addCookies([sessionOf(who)]);
  const faults: string[] = [];
  const fault = (error: Error) => void faults.push(error.message);
  for (const [address, first] of addresses.flatMap((some) => some.map((one, at) => [one, at === 0] as const))) {
    const answer = await page.goto(`${url}${address}`);
    if (answer?.status() !== 200) faults.push(`${address}: ${answer?.status()}`);
    await requireUsable(page, 'phone, light').catch(fault);
    if (first && who !== developer) await requireUsableEverywhere(page).catch(fault);
    await changeLook(page, leastRoom);
    faults.push(...complaints.splice(0).map((complaint) => `${address}: ${complaint}`));
  }
  assert.deepEqual(faults, []);
}

test('everybody can use every page', () => walk(shown.map((path) => examples[path] ?? []), admin));
test('everybody can use the pages before one is signed in', () => walk(outside.map((address) => [address])));

test('everybody can use the pages of a developer, of one application, of several and of none', async () => {
  const own = (address: string) => !address.includes('/odd.example');
  const theirs = pages.filter(({ developers }) => developers).map(({ path }) => (examples[path] ?? []).filter(own));
  assert.ok(theirs.length > 12, String(theirs.length));
  await walk(theirs, developer);
  await walk([['/console']], await enter(service, 'developer', 'both@odd.example', ['reader.example', 'odd.example']));
  await walk([['/console']], await enter(service, 'developer', 'left@odd.example'));
});

test('a script comes where something follows or is found as one types and nowhere else; what follows has a link for those without one', async () => {
  const followed: string[] = [];
  for (const address of shown.flatMap((path) => examples[path] ?? [])) {
    const { text } = await admin.get(address);
    assert.equal(/<script/.test(text), /data-follow|data-search/.test(text), address);
    if (!text.includes('data-follow')) continue;
    followed.push(address);
    assert.match(text, /<a [^>]*>Look again<\/a>/, address);
  }
  assert.ok(followed.includes('/console/deliveries/tail'));
});

test('without a script lists are narrowed, people are found, and things are changed', async () => {
  const { page, complaints } = await openPage(undefined, 'light', false);
  await page.context().addCookies([session]);
  await page.goto(`${url}/console/deliveries`);
  await page.getByLabel('State').selectOption('failed');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.waitForURL(/state=failed/);
  assert.equal(await page.locator('#deliveries tbody tr').count(), 1);
  await page.goto(`${url}/console/schools/3281102/roster`);
  await page.getByLabel('Name or id').fill('abbott');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByRole('link', { name: 'Jasmine Abbott' }).click();
  await page.getByRole('heading', { name: 'Jasmine Abbott' }).waitFor();
  await page.goto(`${url}/console/schools/3281105/edit`);
  await page.getByLabel('Name').fill('Mill Lane Academy');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.locator('#notice').waitFor();
  await page.getByRole('heading', { name: 'Mill Lane Academy' }).waitFor();
  await page.goto(`${url}/console/schools/3281103/held`);
  await page.getByRole('button', { name: 'Discard import' }).click();
  await page.locator('#notice').waitFor();
  assert.deepEqual(complaints, []);
});
