// By keyboard alone, at both widths: from the overview, which says that something is held, to who would go, the approval, and the
// end of the import on a page that is never loaded anew.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from '../../../../test/browser.ts';
import { useConsole } from '../../../../test/console.ts';
import { zip } from '../../../../test/onboarding.ts';
import { smallPackage, smallSchool, user } from '../../../../test/small-school.ts';
import { until } from '../../../../test/until.ts';
import { takeUpload } from '../../../collection/uploads.ts';

const { service, enter } = await useConsole();
const { db, url } = service;
await service.work();
const [name = '', value = ''] = (await enter('admin')).cookie.split('=');
// One profile: in a browser of one process, what a script fetches carries the cookie of the first that was opened.
const { page, complaints } = await openPage();
await page.context().addCookies([{ name, value, url }]);

const pupils = (number: number) =>
  smallPackage({
    users: [...smallSchool.users, ...Array.from({ length: number }, (_, at) => user(`x${at}`, 'student', { givenName: 'Pupil', familyName: `Nr ${at}` }))],
  });
const records = async (estab: string) => (await db`select from roster_user where estab = ${estab} and status = 'active'`).length;

/** To the next place with these words, as whoever has no mouse gets there. */
async function reach(words: string): Promise<void> {
  for (let presses = 0; presses < 80; presses += 1) {
    await page.keyboard.press('Tab');
    const here = (await page.evaluate('(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()')) as string;
    if (here.startsWith(words)) return;
  }
  assert.fail(`the keyboard does not reach "${words}" on ${page.url()}`);
}

for (const [width, height] of [[1280, 900], [390, 844]] as const) {
  test(`a held import is approved by keyboard alone (${width} px)`, async () => {
    const estab = `keys-${width}`;
    await service.addSchool(estab, pupils(120));
    await takeUpload(db, estab, (async function* () { yield await zip(pupils(10)); })(), { dataDir: service.dataDir });
    await until('it is held', async () => (await db`select from import_run where estab = ${estab} and outcome = 'held'`).length === 1);
    await page.setViewportSize({ width, height });
    await page.goto(`${url}/console`);
    await reach(`Decide: School ${estab}:`);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${url}/console/schools/${estab}/held`);
    await page.waitForSelector('#held-message:has-text("110 of 124 student users")');
    // One of them is looked for, and everybody again.
    await reach('Part of a name or id');
    await page.keyboard.type('nr 77');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#leaving td:has-text("Pupil Nr 77")');
    assert.equal(await page.locator('#leaving tbody tr').count(), 1);
    await reach('Show all');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#leaving td:has-text("Pupil Nr 10")');
    await reach('Approve import');
    await page.keyboard.press('Enter');
    await page.waitForSelector('#notice:has-text("Approved.")');
    assert.equal(new URL(page.url()).pathname, `/console/schools/${estab}/source`);
    await page.waitForSelector('#database-SchoolData .badge:text("Up to date")');
    await page.waitForSelector('#collections .badge:text("Done")');
    assert.equal(await records(estab), 18);
    const wide = (await page.evaluate('document.documentElement.scrollWidth')) as number;
    assert.ok(wide <= width, String(wide));
    assert.deepEqual(complaints, []);
  });
}
