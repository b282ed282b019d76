// The reference as its readers have it: every operation is there, every link leads somewhere, everything is found, nothing comes from
// elsewhere, and everybody can use it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeLook, leastRoom, openLook, requireUsable, requireUsableEverywhere } from '../../test/accessibility.ts';
import { openPage } from '../../test/browser.ts';
import { readDocuments } from '../../test/described.ts';
import { useService } from '../../test/service.ts';
import { listOperations } from './document.ts';

const deprecated = { path: '/api/ims/oneroster/v1p1/orgs', since: '2026-09-01', sunset: '2028-08-01', instead: 'Use schools.' };
const { url, app } = await useService();
const other = await useService({ PUBLIC_URL: 'https://schoolbell.example' }, { deprecations: [deprecated] });
const browser = 'text/html,application/xhtml+xml,*/*;q=0.8';

type Read = { status: number; text: string; headers: Headers };

async function read(path: string, at = url): Promise<Read> {
  const response = await fetch(`${at}${path}`, { headers: { accept: browser }, redirect: 'manual' });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const unescape = (text: string) => text.replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCharCode(Number(code)));
const hrefsOf = (text: string) => [...text.matchAll(/ href="([^"]+)"/g)].map(([, href = '']) => unescape(href));
const idsOf = (text: string) => [...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => unescape(id));

/** Every page of the reference that a link leads to, from its first one on. */
async function crawl(): Promise<Map<string, Read>> {
  const pages = new Map<string, Read>();
  const ahead = ['/docs'];
  for (const path of ahead) {
    if (pages.has(path)) continue;
    const page = await read(path);
    pages.set(path, page);
    for (const href of hrefsOf(page.text)) if (/^\/docs(?:[/?#]|$)/.test(href)) ahead.push(href.replace(/#.*$/, ''));
  }
  return pages;
}

const pages = await crawl();
const documents = Object.entries(await readDocuments(app)).map(([name, document]) => ({ name, document }));

test('the caption of the surfaces claims no other number than the table lists', async () => {
  const table = /<table id="surfaces"[^]*?<\/table>/.exec(pages.get('/docs')?.text ?? '')?.[0] ?? '';
  const rows = table.match(/href="\/docs\/[^"]+"/g)?.length ?? 0;
  assert.equal(rows, documents.length);
  const numbers = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'];
  const claimed = numbers.filter((number) => new RegExp(`\\b${number}\\b`, 'i').test(/<caption[^]*?<\/caption>/.exec(table)?.[0] ?? ''));
  assert.deepEqual(claimed.filter((number) => numbers.indexOf(number) + 1 !== rows), []);
});

test('every link of the reference leads to a page, and to its place on it', async () => {
  assert.ok(pages.size > 12, [...pages.keys()].join(' '));
  const faults: string[] = [];
  const elsewhere = new Map<string, number>();
  for (const [path, { status, text }] of pages) {
    if (status !== 200) faults.push(`${path}: ${status}`);
    for (const href of hrefsOf(text)) {
      if (/^https:|^data:,$|^\/console/.test(href)) continue;
      const [to = '', anchor] = href.split('#');
      const target = to === '' ? text : pages.get(to)?.text;
      if (target === undefined && !elsewhere.has(to)) elsewhere.set(to, (await read(to)).status);
      if (target === undefined && elsewhere.get(to) !== 200) faults.push(`${path}: ${href} is ${elsewhere.get(to)}`);
      if (target !== undefined && anchor !== undefined && !idsOf(target).includes(anchor)) faults.push(`${path}: there is no ${href}`);
    }
  }
  assert.deepEqual(faults, []);
});

test('no page has an id twice, or is larger than a megabyte', () => {
  for (const [path, { text }] of pages) {
    const ids = idsOf(text);
    assert.deepEqual(ids.filter((id, at) => ids.indexOf(id) !== at), [], path);
    assert.ok(Buffer.byteLength(text) < 1024 * 1024, `${path} has ${Buffer.byteLength(text)} bytes`);
  }
});

test('the four kinds of event are there, each with its headers, its body and what to answer', () => {
  const { text = '' } = pages.get('/docs/webhooks') ?? {};
  const events = documents.flatMap(({ document }) => listOperations(document.webhooks ?? {}));
  assert.ok(new Set(events.map(({ path }) => path)).size === 4);
  for (const { operation } of events) {
    const section = text.split(`id="${operation.operationId}"`)[1]?.split('</section>')[0] ?? '';
    for (const status of Object.keys(operation.responses)) assert.ok(section.includes(`<strong>${status}</strong>`), `${operation.operationId}: ${status}`);
    for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) assert.ok(section.includes(`<code>${name}</code>`), name);
  }
});

test('every operation of every document is there, with its address, its answers and its samples', () => {
  const all = documents.flatMap(({ name, document }) => listOperations(document.paths).map((one) => ({ ...one, name })));
  assert.ok(all.length >= 115);
  for (const { name, path, verb, operation } of all) {
    const id = operation.operationId ?? '';
    const found = [...pages].filter(([at, { text }]) => at.startsWith(`/docs/${name}/`) && text.includes(`<section class="card operation" id="${id}"`));
    assert.equal(found.length, 1, id);
    const section = found[0]?.[1].text.split(`<section class="card operation" id="${id}"`)[1]?.split('</section>')[0] ?? '';
    assert.ok(section.includes(`<strong>${verb.toUpperCase()}</strong> <code>${path}</code>`), id);
    for (const status of Object.keys(operation.responses)) assert.ok(section.includes(`<strong>${status}</strong>`), `${id}: ${status}`);
    for (const language of ['curl', 'TypeScript', 'Python']) assert.ok(section.includes(`<summary>${language}</summary>`), `${id}: ${language}`);
    assert.ok(pages.get(`/docs/${name}`)?.text.includes(`id="${id}"`), `the contents of ${name} have ${id}`);
  }
});

test('a value that is empty is said to be, and limits are a sentence', () => {
  assert.ok([...pages.values()].some(({ text }) => text.includes('<code>Schoolbell</code>, empty.')));
  for (const [path, { text }] of pages) assert.doesNotMatch(text, /<code><\/code>|at (?:least|most) \d+<\/span>/, path);
});

test('nothing is loaded from elsewhere, and nothing on a page may be', () => {
  for (const [path, { text, headers }] of pages) {
    const loaded = [...text.matchAll(/(?: src="|<link [^>]*href=")([^"]+)/g)].map(([, from = '']) => from);
    assert.deepEqual(loaded.filter((from) => !/^(?:\/(?!\/)|data:,)/.test(from)), [], path);
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self';/, path);
    assert.doesNotMatch(text, / style=| on[a-z]+="/, path);
  }
});

test('the reference names the address of this service, needs nobody to sign in, and is kept by whoever read it', async () => {
  const { text, headers } = await read('/docs', other.url);
  assert.match(text, /<code>https:\/\/schoolbell\.example<\/code>/);
  assert.equal(headers.get('cache-control'), 'public, max-age=3600');
  const page = await read('/docs/variant-a/records', other.url);
  assert.match(unescape(page.text), /const origin = 'https:\/\/schoolbell\.example';/);
  assert.equal((await read('/docs/Variant-A/RECORDS/', other.url)).text, page.text);
});

test('what is not there is a page that leads back', async () => {
  for (const path of ['/docs/nothing', '/docs/variant-a/nothing', '/docs/variant-a/records/more']) {
    const { status, text } = await read(path);
    assert.deepEqual([status, /href="\/docs">To the reference/.test(text)], [404, true], path);
  }
});

test('what is deprecated stands on the page of changes and at its operation; else nothing does', async () => {
  const { text } = await read('/docs/changes', other.url);
  assert.match(unescape(text), /<code>\/api\/ims\/oneroster\/v1p1\/orgs<\/code>.*2026-09-01.*2028-08-01.*Use schools\./s);
  const { text: records } = await read('/docs/variant-a/records', other.url);
  const marked = [...records.matchAll(/<h2 id="([^"]+)-title">[^<]*<span class="badge wait">Deprecated/g)].map(([, id]) => id);
  assert.deepEqual(marked, ['getAllOrgs_A', 'getOrg_A']);
  assert.match((await read('/docs/changes')).text, /id="nothing-deprecated"/);
  for (const [path, page] of pages) assert.doesNotMatch(page.text, /badge wait/, path);
});

const find = async (words: string) => {
  const { text } = await read(`/docs/search?q=${encodeURIComponent(words)}`);
  return [...text.matchAll(/<li><a href="([^"]+)">([^<]*)<\/a> <span class="quiet">([^<]*)/g)].map(([, path = '', title = '', where = '']) =>
    [path, title, where].map(unescape),
  );
};

test('every word of a description is found', async () => {
  const described = documents.flatMap(({ document }) => listOperations(document.paths).map(({ operation }) => operation));
  const texts = described.flatMap(({ description = '', parameters = [] }) => [description, ...parameters.map((one) => one.description ?? '')]);
  const words = new Set(texts.flatMap((text) => text.match(/[A-Za-z]{3,}/g) ?? []));
  const missing: string[] = [];
  // From a new address for every hundred words, because searches are limited per address.
  for (const [at, word] of [...words].entries()) {
    const { body } = await app.inject({ url: `/docs/search?q=${word}`, remoteAddress: `10.0.0.${Math.floor(at / 100)}` });
    if (!body.includes('<li><a href=')) missing.push(word);
  }
  assert.ok(words.size > 500);
  assert.deepEqual(missing, []);
});

test('what is called by a word comes before what speaks of it', async () => {
  assert.match((await find('limit'))[0]?.[1] ?? '', /^limit$/);
  assert.match((await find('sourcedId'))[0]?.[1] ?? '', /^sourcedId$/);
  assert.equal((await find('getAllClasses_B'))[0]?.[0], '/docs/variant-b/records#getAllClasses_B');
  assert.ok((await find('/schools/{schoolSourcedId}/terms')).some(([path]) => path?.endsWith('#getTermsForSchool_B')));
  assert.match((await find('filter courses'))[0]?.[2] ?? '', /^Parameter, GET .*\/courses$/);
  const alike = (await find('offset')).filter(([, title]) => title === 'offset').map(([, , where]) => where);
  assert.equal(alike.length, 3, 'what is said alike is told once for each surface');
  assert.match(alike.join(), / and \d+ more/);
  const headers = await find('RateLimit-Limit');
  assert.match(headers[0]?.join() ?? '', /^\/docs\/[a-z-]+\/[a-z-]+#header-ratelimit-limit,RateLimit-Limit,Header, answers of /);
  for (const [path = ''] of headers) assert.ok((await read(path.replace(/#.*/, ''))).text.includes(`id="${path.replace(/.*#/, '')}"`), path);
  assert.ok((await find('limit')).every(([, title, where = '']) => !where.startsWith('Operation') || !title?.startsWith('Read')), 'not for its headers');
  assert.deepEqual(await find('limit zebra'), [], 'all words must occur');
  assert.deepEqual(await find(''), []);
});

test('whatever is searched for is shown as text', async () => {
  for (const words of ['<script>alert(1)</script>', '"><b>', '%00', 'x'.repeat(5000), '((((', '\\']) {
    const { status, text } = await read(`/docs/search?q=${encodeURIComponent(words)}`);
    assert.equal(status, 200, words.slice(0, 30));
    assert.doesNotMatch(text, /<script>|"><b>/);
  }
  assert.equal((await read('/docs/search?q=%ff')).status, 400);
});

test('in a browser: it finds as one types, a place in a page is reached, and nothing is complained about', async () => {
  const { page, complaints } = await openPage();
  await page.goto(`${url}/docs`);
  await page.getByRole('link', { name: 'Search', exact: true }).click();
  await page.getByLabel('Search the reference').fill('terms school');
  await page.locator('#found a[href$="#getTermsForSchool_B"]').first().waitFor();
  await page.waitForURL(/q=terms\+school$/);
  await page.getByLabel('Search the reference').fill('getTermsForSchool_B');
  await page.locator('#found a[href$="#getTermsForSchool_B"]').first().click();
  await page.waitForURL(/\/docs\/variant-b\/what-belongs-to-a-record#getTermsForSchool_B$/);
  assert.ok(await page.locator('#getTermsForSchool_B').isVisible());
  const top = (await page.evaluate(`document.getElementById('getTermsForSchool_B').getBoundingClientRect().top`)) as number;
  assert.ok(top >= 0 && top < 300, `the operation begins at ${top}`);
  assert.deepEqual(complaints, []);
});

test('without a script it is searched, read and unfolded', async () => {
  const { page, complaints } = await openPage(undefined, 'light', false);
  await page.goto(`${url}/docs/variant-b`);
  await page.getByLabel('Search the reference').fill('getAllStudents_B');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.locator('#found a[href$="#getAllStudents_B"]').first().click();
  const operation = page.locator('#getAllStudents_B');
  await operation.getByText('Python', { exact: true }).click();
  await operation.getByText('import urllib.request').waitFor();
  assert.deepEqual(complaints, []);
});

/** Pages of one kind are made of the same parts: the shortest of each is looked at in every look, the longest of all where there is least room. */
const kindOf = (path: string) =>
  path
    .replace(/^\/docs\/guides\/.*/, '/docs/guides/guide')
    .replace(/^\/docs\/(?:variant-[ab]|oneroster-1p2|school-data|management)/, '/docs/surface')
    .replace(/surface\/(?!schemas).*$/, 'surface/tag');
const bySize = [...pages].toSorted(([, a], [, b]) => a.text.length - b.text.length).map(([path]) => path);
const shortest = [...new Map(bySize.toReversed().map((path) => [kindOf(path), path])).values()];

test('everybody can use the pages, on a phone and at a desk, in the light and in the dark', async () => {
  const { page, complaints } = await openLook(leastRoom);
  const faults: string[] = [];
  const fault = (error: Error) => void faults.push(error.message.slice(0, 2000));
  const kinds = ['', '/changes', '/guides', '/guides/guide', '/search', '/surface', '/surface/schemas', '/surface/tag', '/webhooks'];
  assert.deepEqual(shortest.map(kindOf).toSorted(), kinds.map((kind) => `/docs${kind}`));
  for (const path of [...shortest, '/docs/search?q=school', '/docs/search?q=zebra']) {
    await page.goto(`${url}${path}`);
    await requireUsable(page, 'phone, light').catch(fault);
    await requireUsableEverywhere(page).catch(fault);
    await changeLook(page, leastRoom);
  }
  for (const path of [bySize.at(-1), '/docs/guides/watch-it']) {
    await page.goto(`${url}${path}`);
    await requireUsable(page, 'phone, light').catch(fault);
  }
  assert.deepEqual(faults, []);
  assert.deepEqual(complaints, []);
});
