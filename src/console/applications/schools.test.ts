// Covers the schools of an application page by page, asking one, what it registered and what it asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { smallPackage } from '../../../test/small-school.ts';
import { rotateSecret } from '../../onboarding/rotate-secret.ts';

const { service, enter } = await useConsole();
const { db } = service;
const admin = await enter('admin');
const of = (rp: string) => `/console/applications/${rp}`;
const rowsOf = (text: string, id: string) => {
  const [, table = ''] = new RegExp(`<table id="${id}"([^]*?)</table>`).exec(text) ?? [];
  return [...table.matchAll(/<tr role="row"><td([^]*?)<\/tr>/g)].map(([, row = '']) => row);
};
const nextOf = (text: string) => /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&#38;', '&');

test('a thousand schools of one application: every one once, page by page, found by name and state', async () => {
  const { rp } = await service.addClient('wide', []);
  await db`insert into establishment (estab, name, email, connector)
    select 'w' || lpad(n::text, 4, '0'), 'School & ' || n, 'x@y.example', 'csv' from generate_series(1, 1000) n`;
  await db`insert into authorisation (estab, rp, scopes, state, installed_at)
    select estab, ${rp}, '{School}', case when estab > 'w0990' then 'Paused' else 'Approved' end, case when estab <= 'w0900' then now() end
    from establishment where estab like 'w%'`;
  await db`insert into school_secret (estab, rp, hash) select estab, rp, sha256(estab::bytea) from authorisation where rp = ${rp}`;
  const seen: string[] = [];
  for (let path: string | undefined = `${of(rp)}/schools`; path; ) {
    const { status, text } = await admin.get(path);
    assert.equal(status, 200);
    const rows = rowsOf(text, 'schools');
    assert.ok(rows.length <= 50);
    seen.push(...rows.map((row) => /href="\/console\/schools\/(w\d+)\/applications\/wide"/.exec(row)?.[1] ?? ''));
    path = nextOf(text);
  }
  assert.equal(seen.length, 1000);
  assert.deepEqual(seen, seen.toSorted());
  assert.equal(new Set(seen).size, 1000);
  const states = async (query: string) => rowsOf((await admin.get(`${of(rp)}/schools?${query}`)).text, 'schools');
  assert.deepEqual([(await states('state=Paused')).length, (await states('q=SCHOOL %26 99')).length, (await states('q=w0101')).length], [10, 11, 1]);
  assert.equal((await states('state=Installing&after=w0940')).length, 50);
  assert.equal((await states('state=nonsense')).length, 50, 'a state that is none is no filter');
  const overview = await admin.get(of(rp));
  assert.match(overview.text, /900 live · 90 not live yet · 10 paused/);
  assert.match((await admin.get('/console/applications')).text, /900 live · 90 not live yet · 10 paused/);
});

test('each state of a school, and how old its secret is', async () => {
  const estabs = ['a1', 'a2', 'a3', 'a4', 'a5'];
  for (const estab of estabs) await service.addSchool(estab);
  const { rp } = await service.addClient('states', ['a1', 'a2', 'a3']);
  await db`update authorisation set installed_at = now() where rp = ${rp} and estab = 'a1'`;
  await db`update authorisation set state = 'Revoked' where rp = ${rp} and estab = 'a3'`;
  await rotateSecret(service, { rp, estab: 'a2', kind: 'school' }, { keepSeconds: 3600 });
  await db`insert into invitation (estab, rp, state, required_scopes, optional_scopes, school_name, contact_email, invited_by, invited_at, expires_at) values
    ('a4', ${rp}, 'Invited', '{School}', '{}', 'As it was called', 'x@y.example', 'application', now(), now() + interval '1 day'),
    ('a5', ${rp}, 'Invited', '{School}', '{}', '<b>', 'x@y.example', 'application', now() - interval '9 days', now() - interval '1 day')`;
  const rows = rowsOf((await admin.get(`${of(rp)}/schools`)).text, 'schools');
  assert.deepEqual(rows.map((row) => /class="badge \w+">([^<]+)</.exec(row)?.[1]), ['Live', 'Approved', 'Revoked', 'Invited', 'Invitation expired']);
  assert.match(rows[1] ?? '', /the old one ends [^]*(?:in 59 minutes|in 1 hour)/);
  assert.match(rows[3] ?? '', /School a4/, 'a school is called as the operator knows it');
});

test('a school is asked by the form; what is refused stays typed, and says what to do', async () => {
  const { rp } = await service.addClient('asks', []);
  await service.addSchool('known');
  const path = `${of(rp)}/schools/invite`;
  const asked = await admin.post(path, { estab: 'known', reason: 'For <reading>' });
  assert.deepEqual([asked.status, asked.location], [303, `${of(rp)}/schools?done=applications-rp-schools-invite`]);
  assert.match((await admin.get(asked.location ?? '')).text, /The school is asked/);
  const [mail] = await db`select payload ->> 'to' as to from outbox where kind = 'mail' and rp = ${rp}`;
  assert.equal(mail?.to, 'office@known.example');
  const [event] = await db`select estab, rp, outcome from audit_event where action = 'invite' order by number desc limit 1`;
  assert.deepEqual({ ...event }, { estab: 'known', rp, outcome: 'done' });
  const refused = await admin.post(path, { estab: 'newcomer', name: 'New "School"', email: 'nobody', reason: 'why' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /Address of record &#34;nobody&#34;: not an e-mail address/);
  assert.match(refused.text, /value="newcomer"[^]*value="New &#34;School&#34;"[^]*value="nobody"[^]*value="why"/);
  const long = await admin.post(path, { estab: 'known', reason: 'x'.repeat(1001) });
  assert.deepEqual([long.status, long.text.includes('Why the data is needed: 1000 characters are the most')], [400, true]);
  assert.equal((await admin.post(path, { estab: 'known', reason: 'x'.repeat(1000) })).status, 303);
  assert.equal((await admin.post(path, { estab: 'a b', name: 'x', email: 'x@y.example' })).status, 400);
  assert.equal((await admin.post(path, { estab: 'newcomer', name: 'New School', email: 'head@new.example' })).status, 303);
  await db`insert into establishment (estab, name, email, confirmed_at) values ('proposed', 'Proposed', 'x@y.example', null)`;
  await db`insert into roster (estab) values ('proposed')`;
  const waits = await admin.post(path, { estab: 'proposed' });
  assert.equal(waits.location, `${of(rp)}/schools?done=applications-rp-schools-invite`);
  assert.match((await admin.get(waits.location ?? '')).text, /once the school is confirmed[^]*School to be confirmed/);
  const [kept] = await db`select outcome from audit_event where action = 'invite' and estab = 'proposed'`;
  assert.equal(kept?.outcome, 'done', 'the request is kept, and so it was done');
});

test('what an application registered stands with how it fares, and leads to the target', async () => {
  await service.addSchool('t1', smallPackage());
  await service.addSchool('t2', smallPackage());
  const app = await service.addClient('told', ['t1', 't2']);
  const register = (estab: string, url: string) => app.s(estab, 'Webhook', { method: 'POST', body: JSON.stringify({ url, DatabaseName: 'SchoolData' }) });
  for (const [estab, url] of [['t1', 'https://told.example/?a=<b>"'], ['t2', 'https://told.example/two']] as const)
    assert.equal((await register(estab, url)).status, 201);
  const [first, second] = await db<{ id: string }[]>`select id from webhook where rp = 'told' order by estab`;
  await db`insert into lane (key, host, width, lasting, failing_since, disabled_at, disabled_why) values
    (${`webhook ${first?.id ?? ''}`}, 'told.example', 4, true, now() - interval '2 days', now(), 'answered <410>'),
    (${`webhook ${second?.id ?? ''}`}, 'told.example', 4, true, null, null, null),
    ('callback told', 'told.example', 4, true, now() - interval '3 hours', null, null),
    ('one-off told https://once.example', 'once.example', 4, true, now() - interval '1 hour', null, null)`;
  await db`insert into outbox (estab, id, rp, kind, lane, payload, state, due_at, settled_at)
    select 't2', 'd' || n, 'told', 'call', ${`webhook ${second?.id ?? ''}`}, '{}', case when n = 1 then 'done' else 'waiting' end, now(),
      case when n = 1 then now() - interval '5 minutes' end from generate_series(1, 121) n`;
  const { text } = await admin.get(`${of('told')}/webhooks`);
  assert.match(text, /href="\/console\/applications\/told\/targets\/callback%3Atold"[^]*Failing[^]*began [^]*3 hours ago/);
  const [one = '', other = ''] = rowsOf(text, 'webhooks');
  assert.match(one, new RegExp(`href="/console/applications/told/targets/${first?.id}"`));
  assert.match(one, /\?a=%3Cb%3E%22|\?a=&#60;b&#62;&#34;/);
  assert.match(one, /Disabled[^]*answered &#60;410&#62;/);
  assert.match(other, />OK<[^]*5 minutes ago[^]*100\+/);
  assert.match(rowsOf(text, 'one-offs').join(), /https:\/\/once\.example[^]*Failing/, 'what is counted is listed');
  for (const path of ['/console/applications', of('told')]) assert.match((await admin.get(path)).text, /1 disabled, 2 failing/);
  await db`insert into webhook (estab, rp, database_name, url, method)
    select 't1', 'told', 'Database ' || lpad(n::text, 3, '0'), 'https://told.example/', 'POST' from generate_series(1, 60) n`;
  await db`update lane set paused_at = now(), failing_since = null where key = ${`webhook ${second?.id ?? ''}`}`;
  const pages = [await admin.get(`${of('told')}/webhooks`)];
  pages.push(await admin.get(nextOf(pages[0]?.text ?? '') ?? assert.fail('there is more')));
  assert.deepEqual(pages.map((page) => rowsOf(page.text, 'webhooks').length), [50, 12]);
  assert.match(pages[1]?.text ?? '', /class="badge off">Paused</);
});

test('requests of the last days: without queries and ids, by answer, page by page, and only of that application', async () => {
  await service.addSchool('q1', smallPackage());
  const app = await service.addClient('asking', ['q1']);
  const other = await service.addClient('other', ['q1']);
  const found = await app.b('q1', "/users?filter=familyName='Secret'");
  assert.equal(found.status, 200);
  await found.text();
  assert.equal((await app.b('q1', '/users/somebody')).status, 404);
  await (await other.b('q1', '/classes')).text();
  await service.lines.write();
  const { text } = await admin.get(`${of('asking')}/requests`);
  assert.match(text, /GET \/ims\/oneroster\/v1p1\/users<[^]*class="badge good">Answered \(200\)</);
  assert.match(text, /class="badge wait">[^<]*404/);
  assert.match(text, /not written when it was killed is missing/);
  assert.doesNotMatch(text, /Secret|somebody|\/classes/);
  const only = async (status: string) => rowsOf((await admin.get(`${of('asking')}/requests?status=${status}`)).text, 'requests').length;
  assert.deepEqual([await only('refused'), await only('failed'), await only('teapot')], [1, 0, rowsOf(text, 'requests').length]);
  assert.match((await admin.get(of('asking'))).text, /id="days"[^]*\d requests, 1 refused or failed/);
  await db`insert into request_line (at, rp, method, path, status, ms, request_id)
    select now(), 'asking', 'GET', '/<b>' || n, 500, 1, 'r' || n from generate_series(1, 70) n`;
  const first = await admin.get(`${of('asking')}/requests?status=failed`);
  assert.match(first.text, /class="badge bad">[^<]*500/);
  const second = await admin.get(nextOf(first.text) ?? assert.fail('there is more'));
  assert.deepEqual([rowsOf(first.text, 'requests').length, rowsOf(second.text, 'requests').length], [50, 20]);
  assert.match(second.text, /GET \/&#60;b&#62;1</);
  for (const before of ['x', '-1', '99999999999999999999', '1;drop'])
    assert.equal((await admin.get(`${of('asking')}/requests?before=${before}`)).status, 200, before);
});
