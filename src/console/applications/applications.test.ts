// Covers the list of applications, adding, editing and removing one, and what hostile names and addresses become.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { managementToken } from '../../../test/onboarding.ts';

const { service, enter } = await useConsole();
const { db, url } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const list = '/console/applications';
const profile = {
  name: 'Reader', 'callback-url': 'https://reader.example/events', 'redirect-uri': 'https://reader.example/back\r\nhttp://localhost:1/',
  website: 'https://reader.example/', 'privacy-notice': '', contact: 'help@reader.example', 'state-events': 'yes',
  'scope-School': 'required', 'scope-Staff': 'optional', 'scope-Student': 'none',
};
const stored = async (rp: string) => (await db`select * from application where rp = ${rp}`)[0];
const rowsOf = (text: string) => [...text.matchAll(/<tr role="row"><td/g)].length;
const lastAudited = async () => (await db`select action, rp, estab, subject, detail, outcome, message from audit_event order by number desc limit 1`)[0];

test('an application is added: its secrets are shown once, stand nowhere else, and a second sending adds nothing', async () => {
  const form = await admin.get('/console/add-application');
  assert.match(form.text, /The school itself, its terms, courses, classes and calendar/);
  const added = await admin.post('/console/add-application/add', { ...profile, rp: 'reader' });
  assert.deepEqual([added.status, added.headers.get('cache-control')], [200, 'no-store']);
  const kinds = [/sb_client_[\w-]+/, /sb_mgmt_[\w-]+/, /whsec_[^"&]+/];
  const [client, management, signing] = kinds.map((kind) => kind.exec(added.text)?.[0] ?? assert.fail(String(kind)));
  assert.match(added.text, /value="reader\.[0-9a-f]{12}"/);
  assert.notEqual(await managementToken(url, 'reader', management ?? ''), null);
  const application = await stored('reader');
  assert.deepEqual(
    [application?.name, application?.redirect_uris, application?.required_scopes, application?.optional_scopes],
    ['Reader', ['https://reader.example/back', 'http://localhost:1/'], ['School'], ['Staff']],
  );
  assert.deepEqual([application?.website, application?.privacy_notice, application?.state_events], ['https://reader.example/', null, true]);
  const again = await admin.post('/console/add-application/add', { ...profile, rp: 'reader' });
  assert.equal(again.status, 409);
  assert.match(again.text, /The application reader exists already/);
  for (const page of [again, await admin.get(`${list}/reader`), await admin.get(`${list}/reader/secrets/client`), await admin.get(list)])
    assert.doesNotMatch(page.text, /sb_client_|sb_mgmt_|whsec_/);
  const trail = JSON.stringify(await db`select * from audit_event`);
  for (const secret of [client, management, signing]) assert.ok(!trail.includes(secret ?? ''), 'no secret is in the trail');
  assert.match(trail, /"action":"application add"/);
});

test('what is refused is said in the words of the page, and what was typed stays', async () => {
  for (const [problem, change] of [
    [/Id &#34;a b&#34;: 1 to 64 of/, { rp: 'a b' }],
    [/Id &#34;\.\.&#34;: no address could hold it/, { rp: '..' }],
    [/Name: must not be empty/, { name: ' ' }],
    [/Website &#34;javascript:alert\(1\)&#34;: not a URL that begins with/, { website: 'javascript:alert(1)' }],
    [/Callback URL cannot be called/, { 'callback-url': 'nowhere' }],
    [/Redirect URIs &#34;data:x&#34;: not a URL/, { 'redirect-uri': 'https://fine.example/ data:x' }],
    [/Contact &#34;nobody&#34;: not an e-mail/, { contact: 'nobody' }],
    [/At least one scope is needed/, { 'scope-School': 'none', 'scope-Staff': 'maybe' }],
  ] as [RegExp, Record<string, string>][]) {
    const { status, text } = await admin.post('/console/add-application/add', { ...profile, rp: 'refused', ...change });
    assert.equal(status, 400);
    assert.match(text, problem);
    assert.match(text, /id="problem"/);
    assert.match(text, /value="https:\/\/reader\.example\/events"|nowhere/);
    assert.doesNotMatch(text, /--[a-z]+ &#34;/);
  }
  const typed = await admin.post('/console/add-application/add', { ...profile, rp: 'refused', name: '<b>"x', contact: 'nobody' });
  assert.match(typed.text, /value="&#60;b&#62;&#34;x"/);
  assert.match(typed.text, /<option value="optional" selected>/);
  assert.match(typed.text, /id="state-events" name="state-events" value="yes" checked/);
  assert.equal(await stored('refused'), undefined);
  assert.deepEqual([(await lastAudited())?.outcome, (await lastAudited())?.rp], ['refused', 'refused']);
});

test('an application is edited; what it asks for is touched only if it was changed', async () => {
  await service.addClient('edited', []);
  const page = await admin.get(`${list}/edited/edit`);
  assert.match(page.text, /value="https:\/\/127\.0\.0\.1:9\/events"/);
  const saved = await admin.post(`${list}/edited/edit/save`, { ...profile, name: 'Edited', 'scope-Staff': 'required' });
  assert.deepEqual([saved.status, saved.location], [303, `${list}/edited?done=applications-rp-edit-save`]);
  const after = await stored('edited');
  assert.deepEqual([after?.name, after?.required_scopes, after?.optional_scopes], ['Edited', ['School', 'Staff'], []]);
  await db`update application set required_scopes = '{Staff,School}' where rp = 'edited'`;
  await admin.post(`${list}/edited/edit/save`, { ...profile, name: 'Again', 'scope-Staff': 'required', website: '', 'redirect-uri': '' });
  const last = await stored('edited');
  assert.deepEqual([last?.name, last?.required_scopes, last?.website, last?.redirect_uris], ['Again', ['Staff', 'School'], null, []]);
  const refused = await admin.post(`${list}/edited/edit/save`, { ...profile, name: 'Kept words', contact: 'nobody' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /Contact &#34;nobody&#34;[^]*value="Kept words"/);
  assert.equal((await stored('edited'))?.name, 'Again');
  assert.equal((await admin.get(`${list}/edited?done=applications-rp-edit-save`)).text.includes('What you changed is saved.'), true);
  const noted = await lastAudited();
  assert.deepEqual([noted?.action, (noted?.detail as { name?: string } | undefined)?.name], ['application edit', 'Kept words']);
});

test('it is said how many schools grant less after an edit, and how many calls go elsewhere', async () => {
  for (const estab of ['n1', 'n2']) await service.addSchool(estab);
  await service.addClient('narrows', ['n1', 'n2'], 'School,Staff');
  await db`insert into lane (key, host, width, lasting) values ('callback narrows', '127.0.0.1', 4, true) on conflict do nothing`;
  await db`insert into outbox (estab, id, rp, kind, lane, payload, state, due_at)
    values ('n1', 'msg_waits', 'narrows', 'call', 'callback narrows', ${db.json({ event: 'authentication', method: 'POST', url: 'http://127.0.0.1:9/events' })},
      'waiting', now() + interval '1 hour')`;
  const saved = await admin.post(`${list}/narrows/edit/save`, { ...profile, name: 'Narrows', 'scope-Staff': 'none' });
  assert.equal(saved.location, `${list}/narrows?narrowed=2&moved=1&done=applications-rp-edit-save`);
  const said = /id="notice"[^]*?<\/div>/.exec((await admin.get(saved.location ?? '')).text)?.[0] ?? '';
  assert.match(said, /What you changed is saved\. 2 schools grant no longer[^]*1 call [^]*new callback URL/);
  const [moved] = await db<{ url: string }[]>`select payload ->> 'url' as url from outbox where estab = 'n1' and id = 'msg_waits'`;
  assert.equal(moved?.url, profile['callback-url']);
  for (const odd of ['narrowed=2', 'narrowed=x&done=applications-rp-edit-save', 'moved=%3Cb%3E&done=applications-rp-edit-save'])
    assert.doesNotMatch((await admin.get(`${list}/narrows?${odd}`)).text, /schools grant no longer|<b>/, odd);
});

test('removal says what would be lost, wants the id to be typed, and takes the application away', async () => {
  await service.addSchool('r1');
  const app = await service.addClient('goes', ['r1']);
  const page = await admin.get(`${list}/goes/remove`);
  assert.match(page.text, /authorisations<\/dt><dd>1<[^]*school secrets<\/dt><dd>1</);
  const wrong = await admin.post(`${list}/goes/remove/confirm`, { typed: 'Goes' });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, /Nothing was removed[^]*value="Goes"/);
  assert.ok(await stored('goes'));
  const gone = await admin.post(`${list}/goes/remove/confirm`, { typed: 'goes' });
  assert.deepEqual([gone.status, gone.location], [303, `${list}?done=applications-rp-remove-confirm`]);
  assert.equal(await stored('goes'), undefined);
  await assert.rejects(app.tokenA(), /no token: 401/);
  assert.equal((await admin.get(`${list}/goes`)).status, 404);
  assert.equal((await admin.post(`${list}/goes/remove/confirm`, { typed: 'goes' })).status, 404);
});

test('names and addresses of others are text, and no link leads anywhere but to the web', async () => {
  await service.addClient('hostile', []);
  await db`update application set name = '<img src=x onerror=alert(1)>', website = 'javascript:alert(1)', privacy_notice = 'https://user:pass@evil.example/',
    contact = 'a@b.example?bcc=all', callback_url = 'https://x.example/"><script>1</script>', redirect_uris = '{"data:text/html,<script>1</script>"}'
    where rp = 'hostile'`;
  for (const path of [list, ...['', '/edit', '/remove', '/schools', '/webhooks', '/requests', '/secrets/client'].map((end) => `${list}/hostile${end}`)]) {
    const { status, text } = await admin.get(path);
    assert.equal(status, 200, path);
    assert.doesNotMatch(text, /<img|<script|href="(?:javascript|data:\w|https:\/\/user)|mailto:a@b/, path);
    assert.match(text, /&#60;img src=x onerror=alert\(1\)&#62;/);
  }
});

test('the list is found by name or id and goes on by key; a viewer sees it without anything that changes', async () => {
  await db`insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
    select 'many.' || lpad(n::text, 3, '0'), 'Many ' || n, 'https://many.example/', '{School}', '{}', 'many.' || n from generate_series(1, 120) n`;
  const first = await admin.get(`${list}?q=MANY`);
  assert.equal(rowsOf(first.text), 50);
  const next = /href="([^"]+)" rel="next"/.exec(first.text)?.[1]?.replaceAll('&#38;', '&') ?? '';
  assert.equal(next, `${list}?q=MANY&after=many.050`);
  const seen = [await admin.get(next), await admin.get(`${list}?q=MANY&after=many.100`)];
  assert.deepEqual(seen.map(({ text }) => rowsOf(text)), [50, 20]);
  assert.match(seen[1]?.text ?? '', />First page</);
  assert.doesNotMatch(seen[1]?.text ?? '', /rel="next"/);
  assert.equal(rowsOf((await admin.get(`${list}?q=many 7`)).text), 11);
  assert.match((await admin.get(`${list}?q=%25`)).text, /None of that name/);
  for (const query of ['?after=%00', '?q=%00', '?q=%F0%9F%98%80', '?q=a&q=b'])
    assert.ok([200, 400].includes((await admin.get(`${list}${query}`)).status), query);
  const seenBy = await viewer.get(`${list}?q=reader`);
  assert.equal(rowsOf(seenBy.text), 1);
  assert.doesNotMatch(seenBy.text, /Add an application/);
  for (const path of ['/reader', '/reader/edit', '/reader/remove', '/reader/schools', '/reader/secrets/client'])
    assert.equal([...(await viewer.get(`${list}${path}`)).text.matchAll(/<form method="post"/g)].length, 1, `${path}: signing out is all`);
});
