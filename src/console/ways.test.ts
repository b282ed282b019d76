// Walks every example page of the console as an admin and as a viewer: each form leads to an action of the table and each link to a
// page that answers; a viewer sees the same pages, and no form on them but those of their own account. That they look changes nothing.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { enter, type Read } from '../../test/console.ts';
import { useConsoleSample } from '../../test/console-sample.ts';
import { sumTables } from '../../test/sum-tables.ts';
import { until } from '../../test/until.ts';
import { actions } from './routes.ts';

const { service, admin, examples } = await useConsoleSample();
const viewer = await enter(service, 'viewer');
const addresses = Object.values(examples).flat();
const signOut = '/console/sign-out';
const [full, half] = [new Map<string, Read>(), new Map<string, Read>()];
const kept: (readonly string[])[] = [];

before(async () => {
  // Of the troubles that the overview links to, the one that the sample has not.
  await service.db`update component_database set expires_at = now() - interval '3 hours' where estab = '3281102'`;
  await service.rest();
  await until('what the sample has read is in the ledger', async () => (await service.db`select from disclosure`).length > 0);
  kept.push(await sumTables(service.db));
  // First, so that what the first look at a page would change is seen.
  for (const address of addresses) half.set(address, await viewer.get(address));
  kept.push(await sumTables(service.db));
  for (const address of addresses) full.set(address, await admin.get(address));
});

const plain = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, value = '']) => plain(value));
const pathOf = (address: string) => address.split(/[?#]/, 1)[0] ?? '';
/** Where forms lead that change something; a form without an action would lead to the page itself. */
const formsIn = ({ text }: Read) => [
  ...found(text, /<form method="post"([^>]*)>/g).map((rest) => /action="([^"]*)"/.exec(rest)?.[1] ?? ''), ...found(text, /formaction="([^"]*)"/g),
].map(pathOf).filter((path) => path !== signOut);
const linksIn = ({ text }: Read) => found(text, /<a [^>]*href="(\/console[^"]*)"/g).map((link) => link.split('#', 1)[0] ?? '');
const patterns = actions.map((action) => ({ ...action, pattern: new RegExp(`^${action.path.replaceAll('.', '\\.').replaceAll(/:\w+/g, '[^/]+')}$`) }));
const actionAt = (path: string) => patterns.find(({ pattern }) => pattern.test(path));
const saysViewer = (page: Read | undefined) => />Viewer</.test(/<div class="who">[^]*?<form/.exec(page?.text ?? '')?.[0] ?? '');
const leading = (pages: Map<string, Read>) => [...pages].flatMap(([address, page]) => formsIn(page).map((path) => ({ address, path, action: actionAt(path) })));

/** What no page of the sample has a form for, and when there is one; each is clicked in the tests of actions all the same. */
const rare: Readonly<Record<string, string>> = {
  '/console/account/end-others': 'somebody who is signed in twice',
  '/console/account/password': 'anybody but admin, whose password is a setting',
  '/console/account/second-factor/off': 'somebody with a second factor',
  '/console/account/second-factor/renew': 'somebody with a second factor',
  '/console/applications/:rp/confirm-callback': 'an application whose callback URL a developer moved to another host',
  '/console/applications/:rp/secrets/:kind/end-old': 'a secret that was replaced and goes on working',
  '/console/applications/:rp/targets/:id/enable': 'a target that is disabled',
  '/console/operators/:name/reset-second-factor': 'another with a second factor',
  '/console/schools/:estab/applications/:rp/end-old': 'a secret that was replaced and goes on working',
  '/console/schools/:estab/applications/:rp/invite': 'a school that was not asked, or has granted less than is asked for',
  '/console/schools/:estab/applications/:rp/resume': 'an application that is paused',
  '/console/schools/:estab/resume': 'a school that is paused',
  '/console/schools/:estab/source/demo-mode': 'a school of the demo',
  '/console/schools/:estab/upload-token/remove': 'a school with an upload token',
  '/console/targets/:id/enable': 'a target that is disabled',
};

test('every form leads to an action of the table', () => {
  assert.deepEqual(leading(full).filter(({ action }) => !action).map(({ address, path }) => `${address}: ${path}`), []);
});

test('every action of the table has its form on a page', () => {
  const reached = new Set(leading(full).map(({ action }) => action?.path));
  assert.deepEqual(actions.map(({ path }) => path).filter((path) => !reached.has(path)).toSorted(), Object.keys(rare).toSorted());
});

test('every link leads to a page that answers', async () => {
  const links = new Map([...full].flatMap(([address, page]) => linksIn(page).map((link) => [link, address] as const)));
  const dead: string[] = [];
  for (const [link, from] of links) {
    const { status, text } = full.get(link) ?? (await admin.get(link));
    if (status !== 200) dead.push(`${link} of ${from}: ${status}`);
    // A list that does not know what it is to be narrowed by shows everything, and answers as well.
    const state = new URL(link, service.url).searchParams.get('state');
    if (state !== null && !text.includes(`value="${state}" selected`)) dead.push(`${link} of ${from}: no such state`);
  }
  assert.ok(links.size > 100, String(links.size));
  assert.deepEqual(dead, []);
});

test('every page is kept nowhere, and runs nothing but scripts of ours', () => {
  for (const [address, { headers, text }] of full) {
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self'/, address);
    assert.equal(/script-src/.test(headers.get('content-security-policy') ?? ''), text.includes('<script'), address);
    assert.equal(headers.get('cache-control'), 'no-store', address);
  }
});

test('a viewer who looks at every page has changed nothing', () => {
  const [first = [], second = []] = kept;
  assert.ok(first.length > 60, String(first.length));
  assert.deepEqual(second.filter((one, at) => one !== first[at]), []);
});

test('a viewer sees every page that an admin sees, is told on each what they are, and can change themselves alone', () => {
  for (const address of addresses) {
    assert.deepEqual([full.get(address)?.status, half.get(address)?.status], [200, 200], address);
    assert.deepEqual([full, half].map((pages) => saysViewer(pages.get(address))), [false, true], address);
  }
  assert.deepEqual(leading(half).filter(({ action }) => action?.may !== 'self').map(({ address, path }) => `${address}: ${path}`), []);
});
