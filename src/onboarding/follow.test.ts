// A page that follows an import, in a browser: it is never loaded anew, so that the keyboard and the eyes stay where they
// are; without a script there is a link.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { findBrowser, startBrowser } from '../../test/find-browser.ts';
import { useOnboarding, zip, type Visitor } from '../../test/onboarding.ts';
import { smallPackage, smallSchool, user } from '../../test/small-school.ts';

const onboarding = await useOnboarding();
const { db, service, url, arrived } = onboarding;
await service.work();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A browser of its own, and one profile: in a browser of one process, what a script fetches carries the cookie of the first profile that was opened. */
const { started: browser } = await findBrowser(startBrowser);
after(() => browser.close());
const page = await browser.newPage();
const complaints: string[] = [];
page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
page.on('pageerror', (error) => complaints.push(error.message));

/** As if a worker were reading: nobody ends it but the test. */
async function begin(estab: string): Promise<{ progress(share: number): Promise<void> }> {
  await db`
    insert into component_database (estab, name, refreshing_since) values (${estab}, 'SchoolData', now())
    on conflict (estab, name) do update set refreshing_since = excluded.refreshing_since`;
  return {
    progress: async (share) => {
      await db`update component_database set progress = ${share} where estab = ${estab}`;
    },
  };
}

async function show(at: Page, visitor: Visitor): Promise<void> {
  await at.context().addCookies([{ name: 'schoolbell_school', value: visitor.cookie.split('=')[1] ?? '', url }]);
  await at.goto(`${url}/school/source`);
}

/** The same document as before, or it was loaded anew. */
const stays = () => page.evaluate('globalThis.stays === true');
const focused = () => page.evaluate('document.activeElement.textContent.trim()');
const placeOf = () => page.evaluate('document.activeElement.getBoundingClientRect().top');

async function requireAccessible(name: string): Promise<void> {
  await page.evaluate(axe);
  const faults = await page.evaluate(`axe.run(document, { preload: false, resultTypes: ['violations'] }).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.html.slice(0, 200) + ' ' + node.failureSummary)))`);
  assert.deepEqual(faults, [], name);
}

for (const [width, height] of [[1280, 900], [390, 844]] as const) {
  test(`the focus and its place survive an update and the end (${width} px)`, async () => {
    const estab = `follow-${width}`;
    const pupils = Array.from({ length: 60 }, (_, at) => user(`x${at}`, 'student'));
    await service.addSchool(estab, smallPackage({ users: [...smallSchool.users, ...pupils] }));
    for (let at = 0; at < 20; at += 1) await service.load(estab, smallPackage({ users: [user('w', 'wizard')] }));
    const visitor = await onboarding.signIn(estab);
    const { progress } = await begin(estab);
    const [counted] = await db<{ rows: number }[]>`select row_count as rows from component_database where estab = ${estab}`;
    await db`update component_database set row_count = 1 where estab = ${estab}`;
    await page.setViewportSize({ width, height });
    await show(page, visitor);
    await page.evaluate('globalThis.stays = true');
    assert.equal(await page.locator('meta[http-equiv]').count(), 0);
    await requireAccessible('while it goes on');

    // Far down, in the list of imports before.
    const link = page.locator('#runs a').nth(8);
    await link.focus();
    await page.evaluate('document.activeElement.scrollIntoView({ block: "center" })');
    const [words, place] = [await focused(), await placeOf()];
    await progress(0.5);
    await page.waitForSelector('.percent:text-is("50 %")');
    assert.equal(await page.evaluate('document.querySelector("progress").value'), 0.5);
    assert.equal(await page.textContent('#follow-words'), '50 % read');
    assert.deepEqual([await focused(), await placeOf(), await stays()], [words, place, true]);

    // The end, by a real import: it is held, so that a whole card comes to stand above.
    await db`update component_database set row_count = ${counted?.rows ?? 0} where estab = ${estab}`;
    assert.equal((await visitor.upload(await zip(smallPackage()))).status, 303);
    await page.waitForSelector('#held');
    await page.waitForSelector('#database-SchoolData .badge:text("Waits for approval")');
    const said = (await page.textContent('#follow-words')) ?? '';
    assert.match(said, /^It has ended\. .*Waits for approval All records were read\. Nothing changes until the import is approved\.$/);
    assert.deepEqual([await focused(), await stays()], [words, true]);
    assert.ok(Math.abs(Number(await placeOf()) - Number(place)) < 2, `${await placeOf()} and ${place}`);
    assert.deepEqual([await page.locator('#approve-held').count(), await page.locator('#upload').count()], [1, 1], 'what can be done next is there');
    const state = ((await page.textContent('#database-SchoolData')) ?? '').replaceAll(/\s+/g, ' ');
    assert.match(state, new RegExp(`100 % It has ended\\. Look again ${counted?.rows} records`));
    await requireAccessible('at the end');

    // What the script has put in works.
    await page.click('#discard-held button');
    await page.waitForSelector('#notice:has-text("Discarded")');
    assert.deepEqual(complaints, []);
  });
}

test('what was said when a package came goes when it is refused', async () => {
  const estab = 'follow-refused';
  await service.addSchool(estab, smallPackage());
  const visitor = await onboarding.signIn(estab);
  await begin(estab);
  await show(page, visitor);
  await page.goto(`${url}/school/source?done=uploaded`);
  await page.waitForSelector('#notice:has-text("received")');
  await page.evaluate('globalThis.stays = true');
  await visitor.upload(await zip(smallPackage({ users: [user('w', 'wizard')] })));
  await page.waitForSelector('#after .badge:has-text("Refused")');
  assert.deepEqual([await page.locator('#notice').count(), await stays()], [0, true]);
});

test('without a script, a link looks again', async () => {
  const estab = 'follow-plain';
  await service.addSchool(estab, smallPackage());
  const visitor = await onboarding.signIn(estab);
  const { progress } = await begin(estab);
  const plain = await (await browser.newContext({ javaScriptEnabled: false })).newPage();
  await show(plain, visitor);
  await progress(0.25);
  assert.match(await plain.content(), /0 %/);
  await plain.getByRole('link', { name: 'Look again' }).click();
  await plain.waitForSelector('.percent:text-is("25 %")');
  await db`update component_database set refreshing_since = null, progress = null where estab = ${estab}`;
  await plain.getByRole('link', { name: 'Look again' }).click();
  await plain.waitForSelector('#report');
});

test('a page lets in our own script only, and only where there is something to follow', async () => {
  const estab = 'follow-policy';
  await service.addSchool(estab, smallPackage());
  const visitor = await onboarding.signIn(estab);
  const policy = async (path: string) => (await visitor.get(path)).headers.get('content-security-policy') ?? '';
  assert.doesNotMatch(await policy('/school/source'), /script-src/);
  await begin(estab);
  assert.match(await policy('/school/source'), /default-src 'none'.*; script-src 'self'; connect-src 'self'$/);
  assert.doesNotMatch(await policy('/school/home'), /script-src/);
  const script = await fetch(`${url}/follow.js`);
  assert.deepEqual([script.status, script.headers.get('content-type')], [200, 'text/javascript; charset=utf-8']);
  await arrived('it is ended', async () => (await db`update component_database set refreshing_since = null where estab = ${estab}`).count === 1);
});
