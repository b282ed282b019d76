// Covers what an operator does about a school: add, edit, confirm, refuse, mail a link, upload tokens, pause, resume, remove; what is
// refused is said on the page, with what was typed; and every deed is in the trail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCommands } from '../../../test/commands.ts';
import { useConsole } from '../../../test/console.ts';
import { testSecretKey } from '../../../test/service.ts';
import { smallPackage } from '../../../test/small-school.ts';
import { change } from '../../onboarding/approve.ts';
import { invite } from '../../onboarding/invitations.ts';
import { listProposedSchools } from '../../onboarding/open-questions.ts';

const { service, enter } = await useConsole();
const { db, url } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
const mailsOf = (estab: string) => db<{ to: string }[]>`select payload ->> 'to' as to from outbox where kind = 'mail' and estab = ${estab} order by seq`;
const deeds = (action: string) =>
  db<{ actor: string; estab: string | null; outcome: string; detail: Record<string, unknown> }[]>`
    select actor, estab, outcome, detail from audit_event where action = ${action} order by number`;
const valueOf = (page: string, id: string) => new RegExp(`id="${id}" name="[^"]+" value="([^"]*)"`).exec(page)?.[1];

test('a school is added as the command adds it', async () => {
  assert.match((await admin.get('/console/add-school')).text, /action="\/console\/add-school\/add"/);
  const given = { estab: '3801234', name: 'Added School', email: 'office@added.example', 'time-zone': 'Europe/Dublin', connector: 'demo' };
  const added = await admin.post('/console/add-school/add', given);
  assert.deepEqual([added.status, added.location], [303, '/console/schools/3801234?done=add-school-add']);
  const [row] = await db`select name, email, time_zone, connector, confirmed_at is not null as confirmed from establishment where estab = '3801234'`;
  const expected = { name: 'Added School', email: 'office@added.example', time_zone: 'Europe/Dublin', connector: 'demo', confirmed: true };
  assert.deepEqual({ ...row }, expected);
  const page = (await admin.get(added.location ?? '')).text;
  assert.match(page, /The school is added\./);
  assert.match(page, /Installing/);
  assert.equal((await db`select from outbox where estab = '3801234' and kind = 'collect'`).length, 2, 'its data is collected at once');
});

const wrong: [string, Record<string, string>, number, RegExp][] = [
  ['a number with a blank', { estab: '1 2' }, 400, /School number &#34;1 2&#34;: 1 to 32 of/],
  ['a number that leads elsewhere', { estab: '..' }, 400, /School number &#34;\.\.&#34;: no address could hold it/],
  ['a number that is there', { estab: '3801234' }, 409, /The establishment 3801234 exists already/],
  ['no name', { name: ' ' }, 400, /Name: must not be empty/],
  ['no address', { email: 'office' }, 400, /Address of record &#34;office&#34;: not an e-mail address/],
  ['no zone', { 'time-zone': 'Mars' }, 400, /Time zone &#34;Mars&#34;: not a time zone/],
  ['no source', { connector: 'oneroster' }, 400, /Choose where its data comes from/],
];
for (const [what, change, status, words] of wrong) {
  test(`what is wrong with a new school is said above what was typed: ${what}`, async () => {
    const given = { estab: '3801235', name: 'A "quoted" <School>', email: 'office@b.example', 'time-zone': 'Europe/London', connector: 'csv', ...change };
    const refused = await admin.post('/console/add-school/add', given);
    assert.equal(refused.status, status);
    assert.match(refused.text, /<div class="box problem" id="problem" role="alert">/);
    assert.match(refused.text, words);
    assert.equal(valueOf(refused.text, 'name'), change.name ?? 'A &#34;quoted&#34; &#60;School&#62;');
    assert.equal(valueOf(refused.text, 'email'), given.email);
    assert.equal((await db`select from establishment where estab = '3801235'`).length, 0);
  });
}

test('every try is in the trail, with what became of it', async () => {
  const tried = await deeds('school add');
  assert.deepEqual(tried.map(({ outcome }) => outcome), ['done', ...wrong.map(() => 'refused')]);
  assert.deepEqual([tried[0]?.actor, tried[0]?.estab, tried[0]?.detail.name], ['admin', '3801234', 'Added School']);
});

test('a school is edited; a new address ends the links of the old one', async () => {
  await service.addSchool('e');
  assert.equal((await admin.post('/console/schools/e/send-link')).location, '/console/schools/e?done=schools-estab-send-link');
  assert.deepEqual((await mailsOf('e')).map(({ to }) => to), ['office@e.example']);
  const page = (await admin.get('/console/schools/e/edit')).text;
  assert.deepEqual([valueOf(page, 'name'), valueOf(page, 'email')], ['School e', 'office@e.example']);
  const refused = await admin.post('/console/schools/e/edit/save', { name: 'Typed', email: 'nowhere', 'time-zone': 'UTC' });
  assert.deepEqual([refused.status, valueOf(refused.text, 'name'), valueOf(refused.text, 'email')], [400, 'Typed', 'nowhere']);
  const saved = await admin.post('/console/schools/e/edit/save', { name: 'Another', email: 'head@e.example', 'time-zone': 'UTC' });
  assert.equal(saved.location, '/console/schools/e?done=schools-estab-edit-save');
  const [row] = await db`
    select name, email, time_zone as zone, (select count(*)::int from school_link where estab = 'e') as links from establishment where estab = 'e'`;
  assert.deepEqual({ ...row }, { name: 'Another', email: 'head@e.example', zone: 'UTC', links: 0 });
});

test('a school that an application has named is confirmed, and the invitation goes out', async () => {
  await service.addClient('asks', []);
  const asked = { estab: 'named', rp: 'asks', schoolName: 'Named', contactEmail: 'x@y.example', reason: '<b>why</b>', scopes: undefined };
  await invite(db, url, { ...asked, by: 'application' });
  const page = (await admin.get('/console/schools/named')).text;
  assert.match(page, /To confirm/);
  assert.match(page, /School to be confirmed/);
  assert.match(page, /&#60;b&#62;why/);
  assert.equal((await admin.post('/console/schools/named/send-link')).status, 409);
  const refused = await admin.post('/console/schools/named/confirm', { email: 'no address' });
  assert.deepEqual([refused.status, valueOf(refused.text, 'email')], [400, 'no address']);
  assert.equal((await admin.post('/console/schools/named/confirm', { email: 'office@named.example' })).status, 303);
  assert.deepEqual((await mailsOf('named')).map(({ to }) => to), ['office@named.example']);
  assert.match((await admin.get('/console/schools/named')).text, /<span class="badge busy">Invited<\/span>/);
});

test('a school that applications have named is refused: it goes with what they asked, and nothing waits any more', async () => {
  for (const rp of ['asks-1', 'asks-2']) {
    await service.addClient(rp, []);
    const asked = { estab: 'odd', rp, schoolName: 'Odd', contactEmail: 'x@y.example', reason: null, scopes: undefined };
    await invite(db, url, { ...asked, by: 'application' });
  }
  const needed = async () => (await listProposedSchools(db, 50)).map(({ estab, applications }) => [estab, applications.length]);
  assert.deepEqual(await needed(), [['odd', 2]]);
  assert.doesNotMatch((await viewer.get('/console/schools/odd')).text, /id="refuse"/);
  assert.equal((await viewer.post('/console/schools/odd/refuse')).status, 403);
  await admin.post('/console/schools/odd/applications/asks-1/withdraw');
  assert.deepEqual(await needed(), [['odd', 1]]);
  assert.match((await admin.get('/console/schools/odd')).text, /id="refuse"[^]*Refuse the school/);
  assert.equal((await admin.post('/console/schools/odd/refuse')).location, '/console/schools?done=schools-estab-refuse');
  assert.deepEqual([await needed(), (await db`select from establishment where estab = 'odd'`).length], [[], 0]);
  assert.deepEqual((await deeds('school refuse')).map(({ actor, outcome }) => `${actor} ${outcome}`), ['viewer refused', 'admin done']);

  await service.addSchool('vouched');
  assert.match((await admin.post('/console/schools/vouched/refuse')).text, /Somebody has vouched for vouched/);
  await service.addSchool('filled', smallPackage());
  await db`update establishment set confirmed_at = null where estab = 'filled'`;
  assert.match((await admin.post('/console/schools/filled/refuse')).text, /more than requests of applications: [^.]*users/);
  assert.equal((await db`select from establishment where estab in ('vouched', 'filled')`).length, 2);
  await db`update establishment set confirmed_at = now() where estab = 'filled'`;
});

test('an upload token is shown once, works, and is removed', async () => {
  await service.addSchool('u');
  const made = await admin.post('/console/schools/u/upload-token/make');
  const [token = ''] = /sb_upload_u~[\w-]+/.exec(made.text) ?? [];
  assert.equal(made.status, 200);
  assert.match(made.text, /This secret is shown this once/);
  const reloaded = await admin.post('/console/schools/u/upload-token/make', { replaces: '' });
  assert.equal(reloaded.status, 409, 'a reload makes no other');
  assert.match(reloaded.text, /made or removed since the page was opened; nothing was changed now/);
  assert.doesNotMatch(reloaded.text, /sb_upload_/);
  const send = () => fetch(`${url}/api/v1/School/u/Roster/none`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await send()).status, 404);
  assert.doesNotMatch((await admin.get('/console/schools/u/upload-token')).text, /sb_upload_/);
  assert.doesNotMatch(JSON.stringify(await db`select * from audit_event`), /sb_upload_/);
  assert.equal((await admin.post('/console/schools/u/upload-token/remove')).status, 303);
  assert.equal((await send()).status, 401);
  const again = await admin.post('/console/schools/u/upload-token/remove');
  assert.equal(again.status, 404);
  assert.match(again.text, /The school has no upload token/);
});

test('a school is paused and resumed as a whole', async () => {
  await service.addSchool('p', smallPackage());
  const client = await service.addClient('reads-p', ['p']);
  assert.equal((await client.b('p', '/users')).status, 200);
  assert.match((await admin.get('/console/schools/p')).text, /id="pause-school"/);
  assert.equal((await admin.post('/console/schools/p/pause')).location, '/console/schools/p?done=schools-estab-pause');
  assert.equal((await client.b('p', '/users')).status, 403);
  const page = (await admin.get('/console/schools/p')).text;
  assert.match(page, /id="resume-school"/);
  assert.doesNotMatch(page, /id="pause-school"/);
  const refused = await admin.post('/console/schools/p/pause');
  assert.equal(refused.status, 409);
  assert.match(refused.text, /nothing to pause/);
  await db`update component_database set status = 'Error', message = 'it is closed' where estab = 'p'`;
  const failing = (await admin.get('/console/schools/p')).text;
  assert.match(failing, /it is closed/);
  assert.match(failing, /id="resume-school"/, 'whatever else is wrong with it');
  await db`update component_database set status = 'OK' where estab = 'p'`;
  assert.equal((await admin.post('/console/schools/p/resume')).status, 303);
  assert.equal((await client.b('p', '/users')).status, 200);
  await change({ db, seal: service.seal, publicUrl: url }, 'pause', { estab: 'p', rp: 'reads-p', actor: 'school' });
  const own = (await admin.get('/console/schools/p')).text;
  assert.match(own, /The school has paused them itself/);
  assert.match(own, /Paused<\/span> <span class="quiet">by the school/);
  assert.doesNotMatch(own, /id="resume-school"/);
  assert.equal((await admin.post('/console/schools/p/resume')).status, 409);
});

test('a school is removed only with its number typed; the page says what would go', async () => {
  await service.addSchool('gone', smallPackage());
  const page = (await admin.get('/console/schools/gone/remove')).text;
  assert.match(page, /<td[^>]*><div>People \(users\)<\/div><\/td><td class="number"[^>]*><div>\d+<\/div>/);
  for (const confirm of ['', 'GONE', 'yes']) {
    const refused = await admin.post('/console/schools/gone/remove/now', { confirm });
    assert.deepEqual([refused.status, valueOf(refused.text, 'confirm')], [400, confirm]);
    assert.match(refused.text, /Nothing was changed: to go on, type gone/);
  }
  assert.equal((await db`select from establishment where estab = 'gone'`).length, 1);
  assert.equal((await admin.post('/console/schools/gone/remove/now', { confirm: 'gone' })).location, '/console/schools?done=schools-estab-remove-now');
  assert.equal((await db`select from establishment where estab = 'gone'`).length, 0);
  const done = (await deeds('school remove')).at(-1);
  assert.deepEqual([done?.actor, done?.outcome, done?.estab], ['admin', 'done', null], 'who did it stays, and not with which school');
  assert.equal((await admin.get('/console/schools/gone')).status, 404);
  assert.equal((await admin.post('/console/schools/gone/pause')).status, 404);
});

test('a viewer sees the same without a form that changes anything', async () => {
  for (const path of ['', '/edit', '/remove', '/upload-token', '/audit', '/add-application', '/applications/reads-p']) {
    const { status, text: page } = await viewer.get(`/console/schools/p${path}`);
    assert.equal(status, 200, path);
    assert.deepEqual([...page.matchAll(/<form method="post" action="([^"]+)"/g)].map(([, action]) => action), ['/console/sign-out'], path);
  }
});

test('a school and an application may be called new', async () => {
  const given = { estab: 'new', name: 'New School', email: 'office@new.example', 'time-zone': 'Europe/London', connector: 'none' };
  assert.equal((await admin.post('/console/add-school/add', given)).location, '/console/schools/new?done=add-school-add');
  assert.match((await admin.get('/console/schools/new')).text, /New School/);
  await service.addClient('new', ['new']);
  assert.match((await admin.get('/console/applications/new')).text, /<h1><bdi>/);
});

test('a school whose packages are uploaded is not busy: it says that somebody has to upload one', async () => {
  const given = { estab: '3801299', name: 'By hand', email: 'a@hand.example', 'time-zone': 'UTC', connector: 'csv' };
  const page = (await admin.get((await admin.post('/console/add-school/add', given)).location ?? '')).text;
  assert.match(page, /No package yet[^]*id="next-step"[^]*Nothing has been imported yet/);
  assert.match(page, /id="next-step"[^]*href="\/console\/schools\/3801299\/source\/upload">Upload a package/);
  assert.doesNotMatch(page, /Installing|See how far it is/);
});

test('a list of applications that is cut says so, on the page and by command', async () => {
  await service.addSchool('3805555');
  await db`
    insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
    select 'many-' || n, 'Many ' || n, 'https://many.example/', '{School}', '{}', 'many-' || n from generate_series(1, 200) n`;
  const allow = (count: number) => db`
    insert into authorisation (estab, rp, scopes, state) select '3805555', 'many-' || n, '{School}', 'Approved' from generate_series(1, ${count}::int) n
    on conflict do nothing`;
  const { schoolbell } = useCommands({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });
  const shown = async () => [(await admin.get('/console/schools/3805555')).text, (await schoolbell('school show --estab 3805555')).out];
  await allow(199);
  for (const text of await shown()) assert.doesNotMatch(text, /Only the first/);
  await allow(200);
  for (const text of await shown()) assert.match(text, /Only the first 200 are listed/);
});
