// The page on which a school lets its export job send the data, as a school uses it: by forms, and in a browser, from where
// the line is taken as it is shown and run.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { openPage } from '../../test/browser.ts';
import { postForm, useOnboarding, zip, type Visitor } from '../../test/onboarding.ts';
import { runCurl } from '../../test/run-curl.ts';
import { smallPackage } from '../../test/small-school.ts';
import { makeSignInLink } from './links.ts';

const onboarding = await useOnboarding();
const { db, service, url, run, arrived } = onboarding;
await service.work();
const path = '/school/source/job';
let count = 0;
let estab = '';
let visitor: Visitor;

beforeEach(async () => {
  estab = `B${(count += 1)}`;
  await service.addSchool(estab);
  visitor = await onboarding.signIn(estab);
});

const tokenIn = (page: string) => /<code id="upload-token">(sb_upload_\w+~[\w-]{43})<\/code>/.exec(page)?.[1] ?? '';
const make = async () => tokenIn(await (await visitor.post(path, { action: 'make' })).text());
const opens = async (token: string) =>
  (await fetch(`${url}/api/v1/School/${estab}/Roster/none`, { headers: { authorization: `Bearer ${token}` } })).status === 404;

test('a token is made, shown once, used, replaced and removed, and the page says how it stands', async () => {
  assert.match(await visitor.text('/school/source'), /href="\/school\/source\/job"/);
  const empty = await visitor.text(path);
  assert.match(empty, /Your school has none/);
  assert.doesNotMatch(empty, /id="upload-line"/);
  const first = await make();
  assert.ok(await opens(first));
  const shown = await visitor.text(path);
  assert.ok(!shown.includes(first) && !shown.includes('sb_upload_'), 'it is shown once');
  assert.match(shown, /id="token-made">\d+ \w+ \d{4}[^<]*Your school\.</);
  assert.match(shown, /id="token-used">\d+ \w+ \d{4}/);
  const second = await make();
  assert.deepEqual([await opens(first), await opens(second)], [false, true]);
  assert.equal((await visitor.post(path, { action: 'remove' })).headers.get('location'), `${path}?done=removed`);
  assert.equal(await opens(second), false);
  assert.match(await visitor.text(`${path}?done=removed`), /id="notice"[\s\S]*nothing can be sent/);
  assert.deepEqual(
    await db`select made_by, ended_by, hash from upload_token where estab = ${estab} order by made_at`,
    Array.from({ length: 2 }, () => ({ made_by: 'school', ended_by: 'school', hash: null })),
  );
  await run('school upload-token', { estab });
  assert.match(await visitor.text(path), /id="token-made">[^<]*The operator/);
});

test('only a form of the own pages makes a token, and only for the own school', async () => {
  assert.equal((await visitor.post(path, { action: 'nonsense' })).status, 400);
  assert.ok((await postForm(`${url}${path}`, visitor.cookie, { action: 'make', token: 'forged' })).status >= 400);
  assert.equal((await postForm(`${url}${path}`, '', { action: 'make', token: visitor.token })).headers.get('location'), '/school');
  assert.equal((await db`select from upload_token where estab = ${estab}`).length, 0);
});

test('a school whose data comes from elsewhere is not offered it, and is told so where it had it before', async () => {
  await make();
  await db`update establishment set connector = 'oneroster' where estab = ${estab}`;
  assert.doesNotMatch(await visitor.text('/school/source'), /source\/job/);
  assert.match(await visitor.text(path), /A package that is sent here is not taken/);
});

for (const width of [1280, 390])
  test(`in a browser ${width} wide: the line is taken as it is shown, and works`, { timeout: 300_000 }, async () => {
    const { page, complaints } = await openPage({ width, height: 900 });
    await page.goto(`${url}/school/open/${await makeSignInLink(db, estab)}`);
    await page.goto(`${url}/school/source`);
    await page.getByRole('link', { name: 'Set up a job that sends your data' }).click();
    await page.getByRole('button', { name: 'Make an upload token' }).click();
    const line = (await page.textContent('#made-line')) ?? '';
    const token = (await page.textContent('#upload-token')) ?? '';
    assert.ok(line.includes(token) && line.includes(`${url}/api/v1/School/${estab}/Roster`) && line.includes('--fail-with-body'));
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth'), true, 'nothing stands out to the side');
    const folder = mkdtempSync(join(service.dataDir, 'job-'));
    writeFileSync(join(folder, 'roster.zip'), await zip(smallPackage()));
    const general = (await page.textContent('#upload-line')) ?? '';
    const report = (await page.textContent('#report-line')) ?? '';
    const sent = await runCurl(line, folder);
    assert.equal(sent.status, 202, sent.body);
    const { ImportId } = JSON.parse(sent.body) as { ImportId: string };
    await arrived('it is imported', async () => (await db`select from upload where estab = ${estab}`).length === 0);
    const asked = await runCurl(report, folder, { UPLOAD_TOKEN: token, IMPORT_ID: ImportId });
    assert.equal((JSON.parse(asked.body) as { State: string }).State, 'Done');
    assert.equal((await runCurl(general, folder, { UPLOAD_TOKEN: token })).status, 202);
    await page.goto(`${url}/school/source`);
    await arrived('the page shows it', async () => /were imported|nothing had changed/.test((await page.reload().then(() => page.textContent('main'))) ?? ''));
    assert.deepEqual(complaints, []);
  });
