// Whom the pages and actions of the console are for: a developer at every page and every action of the tables, with what is really there
// of another application, and with their own application in the address and what is another's behind it.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { enter, type Read } from '../../test/console.ts';
import { useConsoleSample } from '../../test/console-sample.ts';
import { sumTables } from '../../test/sum-tables.ts';
import { until } from '../../test/until.ts';
import { requireOwnPlaces } from './admit.ts';
import { actions, pages } from './routes.ts';

const { service, admin, developer, examples } = await useConsoleSample();
const { db } = service;
const [theirs, own] = ['reader.example', 'odd.example'] as const;
/** Of the application that has little, at what is there of the one that has most. */
const stranger = await enter(service, 'developer', 'dev@odd.example', [own]);
const ofApplication = '/console/applications/:rp';
const crossed = (address: string) => address.replace(`/applications/${theirs}`, `/applications/${own}`);
/** Their ids, addresses and words: nothing of it may be in any answer. */
const secrets: string[] = [];

before(async () => {
  await service.rest();
  await until('what the sample has read is in the ledger', async () => (await db`select from disclosure`).length > 0);
  await db`update application set contact = 'contact@marked.example', website = 'https://marked.example/' where rp = ${theirs}`;
  const found = await db<{ text: string }[]>`
    select id as text from outbox where rp = ${theirs} union all select id::text from webhook where rp = ${theirs}
    union all select url from webhook where rp = ${theirs} union all select client_id from application where rp = ${theirs}
    union all select request_id from request_line where rp = ${theirs}`;
  secrets.push(theirs, 'marked.example', 'colleague@reader.example', 'dev@reader.example', ...found.map(({ text }) => text));
  assert.ok(secrets.length > 12, String(secrets.length));
});

/** Of a page, those that are not the stranger's own. */
const othersOf = (path: string) => examples[path]?.filter((address) => !address.startsWith(`/console/applications/${own}`));

const plain = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
/** But for what whoever asks has said themselves. */
const leaks = ({ text }: Read, asked: string) =>
  secrets.filter((secret) => plain(text).includes(secret) && !asked.includes(secret) && !asked.includes(encodeURIComponent(secret)));
const isShut = ({ status, text }: Read) => status === 404 && /There is nothing at this address\.|There is no such application\./.test(text);

/** So that whatever is not refused does something. */
const given = {
  name: 'Changed', email: 'new@odd.example', address: 'colleague@reader.example', of: theirs, typed: theirs, 'failed-since': '2020-01-01T00:00',
  'callback-url': 'https://changed.example/', website: 'https://changed.example/', estab: '3289999', role: 'admin', required: 'yes',
  'keep-old': '0', replaces: '',
} as const;

/** Each with an address of a page that has its form, and its own below that. */
const deeds = actions.filter(({ may }) => may !== 'self').flatMap((action) => {
  const [, from = '', verb = ''] = /^(.*)(\/[^/]+)$/.exec(action.path) ?? [];
  return (othersOf(from) ?? []).map((page) => ({ ...action, address: `${page.split('?', 1)[0]}${verb}` }));
});

test('a place for developers is of an application, or of themselves', () => {
  requireOwnPlaces([...pages, ...actions]);
  for (const path of ['/console/schools/:estab', '/console/applications', '/console/applications-of/:rp', '/console/schools/:estab/applications/:rp'])
    assert.throws(() => requireOwnPlaces([{ path, developers: true }]), /not below/, path);
  for (const path of ['/console/schools/:estab/pause', '/console/applications/:rp/edit/save', '/console/account/second-factor/of/:name'])
    assert.throws(() => requireOwnPlaces([{ path, may: 'self' }]), /not below a page of their own/, path);
});

/** What of an application stays the operator's. */
test('what is of an application and not for its developers is a list that is compared', () => {
  const closed = [...pages, ...actions].filter(({ path, developers }) => path.startsWith(ofApplication) && !developers).map(({ path }) => path);
  assert.deepEqual(closed, [`${ofApplication}/remove`, `${ofApplication}/confirm-callback`, `${ofApplication}/remove/confirm`]);
});

test('what a developer may do leads back to a page that is for developers', () => {
  const open = new Set(pages.filter(({ developers }) => developers).map(({ path }) => path));
  const shut = actions.filter(({ developers, may }) => developers || may === 'self').filter(({ path }) => !open.has(path.slice(0, path.lastIndexOf('/'))));
  assert.deepEqual(shut.map(({ path }) => path), []);
});

test('every page of another application, and of the operator, is not there', async () => {
  for (const { path, developers } of pages) {
    if (developers && !path.startsWith(ofApplication)) continue;
    const addresses = othersOf(path) ?? [path.replace(':estab', '3281102').replaceAll(/:\w+/g, 'none')];
    for (const address of addresses) {
      const seen = await stranger.get(address);
      assert.ok(isShut(seen), `${address}: ${seen.status}`);
      assert.deepEqual(leaks(seen, address), [], address);
    }
  }
});

test('an application that is another’s and one that is none are told apart by nothing', async () => {
  for (const { path } of pages.filter((page) => page.path.startsWith(ofApplication))) {
    const [other, none] = [await stranger.get(path.replace(':rp', theirs)), await stranger.get(path.replace(':rp', 'none.example'))];
    assert.deepEqual([other.status, other.text], [none.status, none.text], path);
    assert.equal(other.status, 404);
  }
});

test('what is another’s is not found below the own application', async () => {
  let count = 0;
  for (const address of Object.entries(examples).filter(([path]) => /^\/console\/applications\/:rp\/.*:id/.test(path)).flatMap(([, some]) => some)) {
    assert.equal((await developer.get(address)).status, 200, address);
    const seen = await stranger.get(crossed(address));
    assert.equal(seen.status, 404, address);
    assert.deepEqual(leaks(seen, address), [], address);
    count += 1;
  }
  assert.ok(count >= 5, String(count));
  const [target] = await db<{ id: string }[]>`select id from webhook where rp = ${theirs} limit 1`;
  for (const query of [`rp=${theirs}`, `target=${target?.id}`, `of=${theirs}`, `estab=3281102`])
    for (const page of ['deliveries', 'deliveries/tail', 'targets', 'requests', 'schools', 'webhooks', '', 'developers', 'edit']) {
      const address = `/console/applications/${own}/${page}?${query}`.replace('/?', '?');
      const seen = await stranger.get(address);
      assert.equal(seen.status, 200, address);
      assert.deepEqual(leaks(seen, address), [], address);
    }
});

test('every deed of another application, and of the operator, is refused with a line of the trail, and changes nothing', async () => {
  assert.deepEqual(actions.filter(({ path, may }) => may !== 'self' && !deeds.some((deed) => deed.path === path)).map(({ path }) => path), []);
  const first = await sumTables(db);
  for (const { path, name, address } of deeds) {
    await db`truncate audit_event`;
    const seen = await stranger.post(address, given);
    assert.ok(isShut(seen), `${address}: ${seen.status}`);
    assert.deepEqual(leaks(seen, address), [], address);
    const lines = await db`select actor, action, outcome, rp from audit_event`;
    assert.deepEqual(lines.map(({ actor, action, outcome }) => [actor, action, outcome]), [['dev@odd.example', name, 'refused']], address);
    if (path.startsWith(ofApplication)) assert.equal(lines[0]?.rp, theirs, address);
  }
  assert.deepEqual((await sumTables(db)).filter((line, at) => line !== first[at]), []);
});

test('with the own application in the address nothing of another is changed', async () => {
  const first = await sumTables(db);
  const ids = deeds.filter(({ path }) => /^\/console\/applications\/:rp\/.*:id/.test(path));
  assert.ok(ids.length > 10, String(ids.length));
  for (const { address } of ids) {
    const seen = await stranger.post(crossed(address), given);
    assert.equal(seen.status, 404, address);
    assert.deepEqual(leaks(seen, address), [], address);
  }
  const removed = await stranger.post(`/console/applications/${own}/developers/remove`, given);
  assert.equal(removed.status, 404);
  assert.match(removed.text, /is no developer of odd\.example/);
  const changed = (await sumTables(db)).filter((line, at) => line !== first[at]);
  assert.deepEqual(changed, []);
  const ofThem = async () => JSON.stringify(await db`select id, state, attempts from outbox where rp = ${theirs} order by id`);
  const before = await ofThem();
  assert.equal((await stranger.post(`/console/applications/${own}/deliveries/replay-failed`, given)).status, 303);
  assert.equal(await ofThem(), before, 'whatever the form says, what failed of another stays as it is');
});

test('a developer’s pages lead to pages and deeds of theirs alone', async () => {
  const addresses = pages.filter(({ developers }) => developers).flatMap(({ path }) => othersOf(path) ?? []);
  const open = actions.filter(({ developers, may }) => developers || may === 'self').map(({ path }) => new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`));
  const links = new Set<string>();
  for (const address of addresses) {
    const seen = await developer.get(address);
    if (address === '/console') continue;
    assert.equal(seen.status, 200, address);
    const text = plain(seen.text);
    for (const stray of ['odd.example', 'dev@odd.example', 'office@', '/console/schools', '/console/mail', '/console/work', '/console/audit'])
      assert.ok(!text.includes(stray), `${address}: ${stray}`);
    for (const [, link = ''] of text.matchAll(/<a [^>]*href="(\/console[^"#]*)/g)) links.add(link);
    for (const [, to = ''] of text.matchAll(/<form method="post"[^>]*action="([^"?#]*)/g))
      assert.ok(to === '/console/sign-out' || open.some((pattern) => pattern.test(to)), `${address}: ${to}`);
  }
  for (const link of links) assert.equal((await developer.get(link)).status, link === '/console' ? 303 : 200, link);
  assert.ok(links.size > 20, String(links.size));
});

test('an operator sees the application as its developers do, and more', async () => {
  for (const { path } of pages.filter((page) => page.path.startsWith(ofApplication)))
    for (const address of examples[path] ?? []) assert.equal((await admin.get(address)).status, 200, address);
});

test('of a delivery a developer sees what the API tells the application: neither what was sent nor with which headers', async () => {
  const [one] = await db<{ id: string }[]>`select id from outbox where rp = ${theirs} and payload ->> 'event' = 'writeback'`;
  const [sent] = await db<{ id: string }[]>`select o.id from outbox o join outbox_attempt a using (estab, id) where o.rp = ${theirs} and a.success limit 1`;
  for (const id of [one?.id, sent?.id]) {
    const address = `/console/applications/${theirs}/deliveries/${id}`;
    const [whole, told] = [await admin.get(address), await developer.get(address)];
    assert.match(whole.text, /What is sent/);
    assert.doesNotMatch(told.text, /What is sent|id="sent"|webhook-signature|aria-label="Body">\{/);
    assert.match(told.text, /In all|in all/);
  }
  const headers = /id="request-1"/;
  const attempted = `/console/applications/${theirs}/deliveries/${sent?.id}`;
  assert.deepEqual([headers.test((await admin.get(attempted)).text), headers.test((await developer.get(attempted)).text)], [true, false]);
});

test('what the pages of an application have for the operator alone is not on a developer’s', async () => {
  const at = `/console/applications/${theirs}`;
  const [given] = await db<{ id: string }[]>`select id from outbox where rp = ${theirs} and payload ->> 'event' = 'writeback'`;
  const [paused] = await db<{ id: string }[]>`select substr(key, 9) as id from lane where paused_at is not null`;
  for (const [address, words] of [
    [`${at}/targets/${paused?.id}`, / by Operator admin/],
    [`${at}/deliveries/${given?.id}`, /To be tried again/],
    [`${at}/developers`, /Last signed in/],
    [`${at}/developers`, /Second factor/],
  ] as const) {
    const [whole, told] = [await admin.get(address), await developer.get(address)];
    assert.deepEqual([whole.status, told.status], [200, 200], address);
    assert.deepEqual([words.test(whole.text), words.test(told.text)], [true, false], `${address}: ${words}`);
  }
});
