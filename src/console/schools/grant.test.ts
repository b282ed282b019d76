// Covers what an operator decides about an application for a school: asking it, approving on its behalf, scopes, secrets,
// pausing, resuming and revoking, with the effects that the commands have.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readToEnd, useConsole } from '../../../test/console.ts';
import { rosteringToken } from '../../../test/onboarding.ts';
import { smallPackage } from '../../../test/small-school.ts';
import { addApplication, changeApplication, requireApplication } from '../../access/applications.ts';

const { service, enter } = await useConsole();
const { db, url, seal } = service;
const admin = await enter('admin');
const pathOf = (rp: string, estab = 's') => `/console/schools/${estab}/applications/${rp}`;
const secretIn = (page: string) => /sb_school_[\w-]+/.exec(page)?.[0] ?? '';
const scopesOf = async (rp: string) => (await db<{ scopes: string[] }[]>`select scopes from authorisation where estab = 's' and rp = ${rp}`)[0]?.scopes;
const works = async (rp: string, secret: string) => (await rosteringToken(url, rp, 's', secret)).status;
const eventsOf = async (rp: string) =>
  (await db<{ state: string; actor: string }[]>`select state, actor from authorisation_event where estab = 's' and rp = ${rp} order by number`).map(
    ({ state, actor }) => `${state} ${actor}`,
  );
const callsOf = (rp: string) => db`select from outbox where estab = 's' and rp = ${rp} and payload ->> 'event' = 'authentication'`;

await service.addSchool('s', smallPackage());
for (const rp of ['app', 'asks', 'stops', '<b>']) {
  const named = { rp: rp === '<b>' ? 'hostile' : rp, name: rp === '<b>' ? '<b>Bold</b>" onclick="x' : `Application ${rp}` };
  await addApplication(db, seal, { ...named, callbackUrl: 'http://127.0.0.1:9/x', scopes: 'School,Student,Staff:optional,Contact:optional', redirectUris: [] });
}

test('every application that is not there yet can be chosen, found by its name', async () => {
  const all = (await admin.get('/console/schools/s/add-application')).text;
  for (const rp of ['app', 'asks', 'stops', 'hostile']) assert.match(all, new RegExp(`href="${pathOf(rp)}"`));
  assert.doesNotMatch(all, /<b>Bold/);
  const some = (await admin.get('/console/schools/s/add-application?q=APPLICATION+ASK')).text;
  assert.deepEqual([some.includes(pathOf('asks')), some.includes(pathOf('app'))], [true, false]);
  assert.match((await admin.get('/console/schools/s/add-application?q=%3Cscript%3E')).text, /No application is like that/);
});

test('those that can be chosen come page by page, each once, and as they were sought', async () => {
  await db`insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
    select 'many-' || n, 'One of many', 'https://many.example/', '{School}', '{}', 'many-' || n from generate_series(1, 120) n`;
  for (const [filter, count] of [['', 124], ['?q=of+MANY', 120]] as const) {
    const pages = await readToEnd(admin, `/console/schools/s/add-application${filter}`);
    const seen = pages.flatMap((text) => [...text.matchAll(/href="\/console\/schools\/s\/applications\/([^"]+)"/g)].map(([, rp]) => rp));
    assert.deepEqual([pages.length, seen.length, new Set(seen).size], [3, count, count], filter);
  }
  await db`delete from application where name = 'One of many'`;
});

test('the school is asked, asked again with the same words, and the request withdrawn', async () => {
  assert.match((await admin.get(pathOf('asks'))).text, /Not approved/);
  const asked = await admin.post(`${pathOf('asks')}/invite`, { reason: 'Because <b>we</b> "need" it' });
  assert.equal(asked.location, `${pathOf('asks')}?done=schools-estab-applications-rp-invite`);
  const long = await admin.post(`${pathOf('asks')}/invite`, { reason: 'x'.repeat(1001) });
  assert.deepEqual([long.status, long.text.includes('Why the data is needed: 1000 characters are the most')], [400, true]);
  const page = (await admin.get(pathOf('asks'))).text;
  assert.match(page, /Because &#60;b&#62;we&#60;\/b&#62; &#34;need&#34; it/);
  assert.match(page, /id="send-again"/);
  assert.equal((await admin.post(`${pathOf('asks')}/invite`)).status, 303);
  const [open] = await db`select reason, state from invitation where estab = 's' and rp = 'asks'`;
  assert.deepEqual({ ...open }, { reason: 'Because <b>we</b> "need" it', state: 'Invited' });
  assert.equal((await db`select from outbox where kind = 'mail' and estab = 's' and rp = 'asks'`).length, 2);
  assert.match((await admin.get('/console/schools/s')).text, /id="asked-table"/);
  assert.equal((await admin.post(`${pathOf('asks')}/withdraw`)).status, 303);
  assert.deepEqual(await eventsOf('asks'), ['Invited operator', 'Invited operator', 'Withdrawn operator']);
  const refused = await admin.post(`${pathOf('asks')}/withdraw`);
  assert.equal(refused.status, 404);
  assert.match(refused.text, /There is no open invitation of asks to s/);
});

test('an approval on behalf of the school shows the secret once, tells the application and writes a receipt', async () => {
  const asked = 'School,Student,Staff,Contact';
  const approved = await admin.post(`${pathOf('app')}/authorise`, { form: 'approve', asked, scopes: 'Staff' });
  assert.equal(approved.status, 200);
  const secret = secretIn(approved.text);
  assert.equal(await works('app', secret), 200);
  assert.deepEqual(await scopesOf('app'), ['School', 'Student', 'Staff']);
  assert.deepEqual(await eventsOf('app'), ['Live operator']);
  assert.equal((await callsOf('app')).length, 1);
  assert.equal((await db`select from outbox where kind = 'mail' and estab = 's' and rp = 'app'`).length, 1);
  const reloaded = await admin.post(`${pathOf('app')}/authorise`, { form: 'approve', asked, scopes: 'Staff' });
  assert.equal(reloaded.status, 409, 'a reload approves nothing a second time');
  assert.match(reloaded.text, /It has been decided since the page was opened; nothing was changed now/);
  assert.doesNotMatch(reloaded.text, /sb_school_/);
  assert.deepEqual([await eventsOf('app'), (await callsOf('app')).length], [['Live operator'], 1]);
  const page = (await admin.get(pathOf('app'))).text;
  assert.match(page, /<span class="badge good">Live<\/span>/);
  assert.doesNotMatch(page, /sb_school_/);
  assert.doesNotMatch(JSON.stringify(await db`select * from audit_event`), /sb_school_/);
  assert.match((await admin.get('/console/schools/s')).text, new RegExp(`href="${pathOf('app')}"`));
});

test('what is approved is what stood on the page', async () => {
  const refused = await admin.post(`${pathOf('stops')}/authorise`, { form: 'approve', asked: 'School', scopes: 'Contact' });
  assert.equal(refused.status, 409);
  assert.match(refused.text, /asks for something else than when you opened the page/);
  assert.match(refused.text, /id="grant-Contact" name="scopes" value="Contact" checked/);
  assert.doesNotMatch(refused.text, /id="grant-Staff" name="scopes" value="Staff" checked/);
  assert.equal((await admin.post(`${pathOf('nobody')}/authorise`, { asked: '' })).status, 404);
});

test('of several approvals at the same time one is done, also after a revocation', async () => {
  const { rp } = await service.addClient('twice', []);
  const { requiredScopes, optionalScopes } = await requireApplication(db, rp);
  const asked = [...requiredScopes, ...optionalScopes].join(',');
  const replacesIn = async () => /name="replaces" value="([^"]*)"/.exec((await admin.get(pathOf(rp))).text)?.[1] ?? assert.fail('the form names the secret');
  const approveAtOnce = async () => {
    const form = { form: 'approve', asked, replaces: await replacesIn() };
    return (await Promise.all([1, 2, 3].map(() => admin.post(`${pathOf(rp)}/authorise`, form)))).map(({ status }) => status).toSorted();
  };
  assert.deepEqual(await approveAtOnce(), [200, 409, 409]);
  await admin.post(`${pathOf(rp)}/revoke`);
  assert.deepEqual(await approveAtOnce(), [200, 409, 409]);
  assert.deepEqual(await eventsOf(rp), ['Live operator', 'Revoked operator', 'Live operator']);
});

test('optional scopes are changed without a new secret', async () => {
  const saved = await admin.post(`${pathOf('app')}/scopes`, { form: 'scopes', scopes: 'Contact' });
  assert.equal(saved.location, `${pathOf('app')}?done=schools-estab-applications-rp-scopes`);
  assert.deepEqual(await scopesOf('app'), ['School', 'Student', 'Contact']);
  assert.equal((await admin.post(`${pathOf('asks')}/scopes`, { form: 'scopes' })).status, 409);
  await db.begin((tx) => changeApplication(tx, 'app', { scopes: 'School,Student,Attendance:optional' }, { name: 'admin', isDeveloper: false }));
  const page = (await admin.get(pathOf('app'))).text;
  assert.match(page, /Parents and guardians <span class="badge good">Granted/, 'what is asked for no more and still granted is shown');
});

const replacing = async () => ({ replaces: /name="replaces" value="([^"]+)"/.exec((await admin.get(pathOf('stops'))).text)?.[1] ?? '' });

test('a new school secret, with the old one for as long as was chosen', async () => {
  const first = secretIn((await admin.post(`${pathOf('stops')}/authorise`, { form: 'approve', asked: 'School,Student,Staff,Contact' })).text);
  const opened = await replacing();
  assert.match((await admin.get(pathOf('stops'))).text, /<option value="24h" selected>/, 'the old one does not end at once unless that is chosen');
  const second = secretIn((await admin.post(`${pathOf('stops')}/rotate`, { ...opened, 'keep-old': '24h' })).text);
  assert.deepEqual([await works('stops', first), await works('stops', second)], [200, 200]);
  const kept = /School secrets<\/dt><dd>([^]*?)<\/dd>/.exec((await admin.get(pathOf('stops'))).text)?.[1] ?? '';
  assert.match(kept, /ends <time[^>]*>in (?:23 hours|24 hours|1 day)</);
  assert.equal((await admin.post(`${pathOf('stops')}/rotate`, { ...opened, 'keep-old': '0' })).status, 409, 'sent again by a reload');
  assert.equal((await admin.post(`${pathOf('stops')}/end-old`)).location, `${pathOf('stops')}?done=schools-estab-applications-rp-end-old`);
  assert.deepEqual([await works('stops', first), await works('stops', second)], [401, 200]);
  const none = await admin.post(`${pathOf('stops')}/end-old`);
  assert.deepEqual([none.status, /There is no old secret that still works/.test(none.text)], [409, true]);
  const third = secretIn((await admin.post(`${pathOf('stops')}/rotate`, { ...(await replacing()), 'keep-old': '0' })).text);
  assert.deepEqual([await works('stops', first), await works('stops', second), await works('stops', third)], [401, 401, 200]);
  assert.equal((await admin.post(`${pathOf('stops')}/rotate`, { 'keep-old': '9y' })).status, 400);
});

test('what it read is said by day and collection, and of one that read nothing that', async () => {
  const readsOf = async (rp: string) => /<section aria-labelledby="reads">[^]*?<\/section>/.exec((await admin.get(pathOf(rp))).text)?.[0] ?? '';
  await db`insert into disclosure (estab, rp, day, collection, requests, records, fields)
    values ('s', 'app', current_date, 'users', 3, 1234, '{}'), ('s', 'app', current_date - 20, 'classes', 5, 5, '{}')`;
  const cells = [...(await readsOf('app')).matchAll(/<td[^>]*><div>([^<]*)</g)].map(([, cell]) => cell);
  assert.match(cells.splice(0, 2)[1] ?? '', /^People/);
  assert.deepEqual(cells, ['3', '1,234']);
  assert.doesNotMatch(await readsOf('asks'), /<table/);
  assert.match(await readsOf('asks'), /Nothing/);
});

test('paused, resumed and revoked, with the effects of the commands', async () => {
  const secret = secretIn((await admin.post(`${pathOf('stops')}/rotate`, { ...(await replacing()), 'keep-old': '0' })).text);
  for (const [verb, status] of [['pause', 401], ['resume', 200], ['revoke', 401]] as const) {
    assert.equal((await admin.post(`${pathOf('stops')}/${verb}`)).location, `${pathOf('stops')}?done=schools-estab-applications-rp-${verb}`);
    assert.equal(await works('stops', secret), status);
  }
  assert.deepEqual((await eventsOf('stops')).slice(-3), ['Paused operator', 'Resumed operator', 'Revoked operator']);
  const refused = await admin.post(`${pathOf('stops')}/resume`);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /The authorisation is Revoked/);
  assert.match(refused.text, /Approve on behalf of the school/);
  assert.equal((await admin.post(`${pathOf('asks')}/pause`)).status, 404);
});

test('an application or a school that is not there is a page that says so', async () => {
  for (const path of [pathOf('nobody'), pathOf('app', 'nobody'), '/console/schools/nobody/add-application', pathOf('a%2Fb'), pathOf('%25'), pathOf('%00')])
    assert.equal((await admin.get(path)).status, 404, path);
  const page = (await admin.get(pathOf('hostile'))).text;
  assert.doesNotMatch(page, /<b>Bold|" onclick="x/);
});
