// The pages of inboxes: what comes appears by itself and is text, whatever it is; what opens something is hidden until somebody asks;
// and nobody sees another application's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from '../../../test/browser.ts';
import { useConsole } from '../../../test/console.ts';
import { until } from '../../../test/until.ts';
import { inboxUrl } from '../../notifications/inbox/address.ts';
import { addInbox, type Inbox } from '../../notifications/inbox/inboxes.ts';
import { enqueueOneOff } from '../../notifications/one-off.ts';

const { service, enter } = await useConsole();
const { db, url, seal } = service;
await service.addSchool('3805001');
for (const rp of ['own.example', 'other.example']) await service.addClient(rp, ['3805001']);
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const developer = await enter('developer', 'dev@own.example', ['own.example']);
const secret = 'sb_school_0123456789abcdef';
const make = (rp: string, name: string) => addInbox(db, seal, { rp, name, answer: '200' });
const of = ({ rp, id }: Pick<Inbox, 'rp' | 'id'>) => `/console/applications/${rp}/inboxes/${id}`;
const send = ({ key }: Inbox, type: string, body: string, headers: Record<string, string> = {}, query = '') =>
  fetch(`${inboxUrl(url, key)}${query}`, { method: 'POST', headers: { 'content-type': type, ...headers }, body });
const newest = async ({ id }: Inbox) =>
  (await db<{ seq: string }[]>`select seq::text as seq from inbox_call where inbox = ${id} order by inbox_call.seq desc limit 1`)[0]?.seq ?? '';

test('what comes while the page is open appears there by itself, and stays away once it is stopped', async () => {
  const inbox = await make('own.example', 'Live');
  const [name = '', value = ''] = viewer.cookie.split('=');
  const { page, complaints } = await openPage();
  await page.context().addCookies([{ name, value, url }]);
  await page.goto(`${url}${of(inbox)}`);
  await page.getByText('Nothing came yet.').waitFor();
  await send(inbox, 'application/json', '{"a":1}', { 'webhook-id': 'msg_live' });
  await page.locator('#calls tbody tr').waitFor();
  await send(inbox, 'application/json', '{"a":1}', { 'webhook-id': 'msg_live' });
  await page.locator('#calls .badge', { hasText: 'Repeat 1' }).waitFor();
  await page.getByRole('link', { name: 'Stop here' }).click();
  await page.waitForURL(/stopped=yes/);
  assert.equal(await page.locator('script').count(), 0);
  assert.deepEqual(complaints, []);
});

test('whatever came is shown as text: nothing of it is a link, runs, or steers', async () => {
  const inbox = await make('own.example', 'Hostile');
  const hostile = `<img src=x onerror=alert(1)><a href="javascript:alert(1)">x</a>\u202e`;
  for (const [type, body] of [
    ['text/html', hostile], ['application/json', JSON.stringify({ [hostile]: [hostile] })], ['application/json', `{"broken": ${hostile}`],
    ['application/x-www-form-urlencoded', new URLSearchParams({ [hostile]: hostile }).toString()], ['nonsense', hostile],
  ] as const) {
    await send(inbox, type, body, { 'x-hostile': '<script>alert(1)</script>', 'webhook-id': '<b>"' }, `?q=${encodeURIComponent(hostile)}&<b>`);
    for (const path of [of(inbox), `${of(inbox)}/calls/${await newest(inbox)}`]) {
      const { status, text, headers } = await viewer.get(path);
      assert.equal(status, 200);
      assert.doesNotMatch(text, /<img|<script>|<b>|href="javascript|\u202e/, `${type} ${path}`);
      assert.doesNotMatch(headers.get('content-security-policy') ?? '', /unsafe/);
    }
    const { text } = await viewer.get(`${of(inbox)}/calls/${await newest(inbox)}`);
    assert.match(text, /&#60;img src=x onerror=alert\(1\)&#62;/, type);
  }
  await fetch(inboxUrl(url, inbox.key), { method: 'POST', body: Buffer.from([0, 1, 254, 255]) });
  assert.match((await viewer.get(`${of(inbox)}/calls/${await newest(inbox)}`)).text, /4 bytes that are no text, beginning with 0001feff/);
});

test('what is nested without an end is not laid out without one, and of a form with thousands of fields the first are shown', async () => {
  const inbox = await make('own.example', 'Deep');
  for (const levels of [1_000, 30_000]) {
    await send(inbox, 'application/json', `${'['.repeat(levels)}${'1,'.repeat((60_000 - levels * 2) / 2)}1${']'.repeat(levels)}`);
    const { status, text } = await viewer.get(`${of(inbox)}/calls/${await newest(inbox)}`);
    assert.deepEqual([status, text.includes('[[[['), text.length < 200_000], [200, true, true], `${text.length} characters`);
  }
  await send(inbox, 'application/x-www-form-urlencoded', 'a=1&'.repeat(1_000));
  const { text } = await viewer.get(`${of(inbox)}/calls/${await newest(inbox)}`);
  assert.match(text, /The first 500 of 1,000 fields of the form/);
});

test('a secret is hidden from whoever looks, in every form, and shown on demand to those who may change something, with a line', async () => {
  const inbox = await make('own.example', 'Secrets');
  for (const [type, body] of [
    ['application/x-www-form-urlencoded', `schoolSecret=${secret}&schoolId=3805001`],
    ['application/json', JSON.stringify({ deep: [{ schoolSecret: secret }], password: { is: 'key-of-somebody', pin: 424_242 }, [secret]: 1 })],
    ['text/plain', `the secret is ${secret}, keep it`],
  ] as const) {
    await send(inbox, type, body, { 'x-api-key': 'key-of-somebody', authorization: `Bearer ${secret}` }, `?s=%22${secret}&api_key=key-of-somebody`);
    const at = `${of(inbox)}/calls/${await newest(inbox)}`;
    await db`truncate audit_event`;
    for (const who of [viewer, admin, developer])
      for (const path of [of(inbox), at]) assert.doesNotMatch((await who.get(path)).text, /0123456789abcdef|key-of-somebody|424242/, `${type} ${path}`);
    const looks = await db`select actor, action, rp, outcome from audit_event order by number`;
    assert.deepEqual(looks.map(({ actor, action, rp, outcome }) => [actor, action, rp, outcome]),
      ['viewer', 'admin', 'dev@own.example'].map((actor) => [actor, 'look at call in inbox', 'own.example', 'done']));
    assert.doesNotMatch((await viewer.get(at)).text, /Show what is hidden/);
    assert.equal((await viewer.post(`${at}/reveal`)).status, 403);
    for (const who of [admin, developer]) {
      const shown = await who.post(`${at}/reveal`);
      assert.equal(shown.status, 200);
      assert.match(shown.text, new RegExp(secret), type);
    }
    const lines = await db`select actor, outcome from audit_event where action = 'see secrets in inbox' order by number`;
    assert.deepEqual(lines.map(({ actor, outcome }) => [actor, outcome]), [['viewer', 'refused'], ['admin', 'done'], ['dev@own.example', 'done']]);
    assert.doesNotMatch(JSON.stringify(await db`select * from audit_event`), /0123456789abcdef/);
  }
});

test('an inbox of another application is not there, not by its address either', async () => {
  const [own, other] = [await make('own.example', 'Mine'), await make('other.example', 'Theirs')];
  await send(other, 'text/plain', 'for others');
  const mixed = { ...other, rp: 'own.example' };
  for (const path of [of(other), of(mixed), `${of(mixed)}/calls/${await newest(other)}`, `${of(own)}/calls/${await newest(other)}`])
    assert.equal((await developer.get(path)).status, 404, path);
  for (const end of ['/edit', '/empty', '/remove', `/calls/${await newest(other)}/reveal`])
    for (const inbox of [other, mixed]) assert.equal((await developer.post(`${of(inbox)}${end}`, { answer: '500' })).status, 404, end);
  assert.equal((await developer.post(`${of(own)}/calls/${await newest(other)}/reveal`)).status, 404);
  assert.equal((await developer.get(`/console/inbox/${other.key}`)).status, 404);
  assert.equal((await developer.get(`/console/inbox/${own.key}`)).location, of(own));
  const [kept] = await db`select answer, (select count(*)::int from inbox_call c where c.inbox = i.id) as calls from inbox i where id = ${other.id}`;
  assert.deepEqual({ ...kept }, { answer: '200', calls: 1 });
  assert.doesNotMatch((await developer.get('/console/applications/own.example/inboxes')).text, new RegExp(`Theirs|${other.key}`));
  assert.equal((await developer.post('/console/applications/other.example/inboxes/add', { name: 'x', answer: '200' })).status, 404);
});

test('where an address leads is said to nobody who has not shown their second factor', async () => {
  await db`delete from inbox`;
  const inbox = await make('own.example', 'Unproven');
  await db`insert into console_rule (name, required) values ('second factor', true)`;
  for (const who of [admin, developer])
    assert.equal((await who.get(`/console/inbox/${inbox.key}`)).location, `/console/second-factor?to=${encodeURIComponent(`/console/inbox/${inbox.key}`)}`);
  await db`delete from console_rule`;
  assert.equal((await developer.get(`/console/inbox/${inbox.key}`)).location, of(inbox));
});

test('a developer has the application called at an inbox of its own, though the service has a private address, and at no other there', async () => {
  await db`delete from inbox`;
  const [own, other] = [await make('own.example', 'Callback'), await make('other.example', 'Callback')];
  const save = (fields: Record<string, string>) => developer.post('/console/applications/own.example/edit/save', {
    website: '', 'privacy-notice': '', contact: '', 'redirect-uri': '', ...fields,
  });
  for (const target of [inboxUrl(url, other.key), inboxUrl(url, 'k'.repeat(43))]) {
    const refused = await save({ 'callback-url': target });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /Callback URL[^]*has no such inbox/);
  }
  assert.equal((await save({ 'callback-url': `${url}/healthz` })).status, 400);
  const ours = inboxUrl(url, own.key);
  assert.equal((await save({ 'callback-url': ours })).status, 303);
  await db`delete from inbox`;
  for (const who of [developer, admin]) {
    const fields = { 'callback-url': ours, website: '', 'privacy-notice': '', contact: 'help@own.example', 'redirect-uri': '', name: 'Own' };
    const saved = await who.post('/console/applications/own.example/edit/save', { ...fields, 'scope-School': 'required', 'scope-Student': 'required' });
    assert.equal(saved.status, 303, 'that it is gone is no reason to refuse another change');
  }
});

test('one of this service’s own deliveries is known as that, with the way to it', async () => {
  await db`delete from inbox`;
  const inbox = await make('own.example', 'Ours');
  await service.work();
  const id = await db.begin((tx) =>
    enqueueOneOff(tx, { estab: '3805001', rp: 'own.example', event: 'writeback', url: inboxUrl(url, inbox.key), body: { Status: 'Completed' } }));
  await until('it is there', async () => (await newest(inbox)) !== '');
  await service.rest();
  const at = `${of(inbox)}/calls/${await newest(inbox)}`;
  for (const who of [admin, developer]) {
    const { text } = await who.get(at);
    assert.match(text, new RegExp(`href="/console/applications/own\\.example/deliveries/${id}"`));
    assert.match(text, /class="badge good">Right<[^]*without a detour/);
    const sent = await who.get(`/console/applications/own.example/deliveries/${id}`);
    assert.match(sent.text, /an inbox of this service[^]*handed to an inbox/);
  }
});
