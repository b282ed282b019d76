// Each action on a school, on what applications may read there and on its upload token, done by its form in a real browser.
import assert from 'node:assert/strict';
import { openPage } from '../../../test/browser.ts';
import { clickEach, phone, useHands } from '../../../test/clicked.ts';
import { useConsole } from '../../../test/console.ts';
import { rosteringToken } from '../../../test/onboarding.ts';
import { smallPackage } from '../../../test/small-school.ts';
import { addApplication } from '../../access/applications.ts';
import { authorise } from '../../access/authorisations.ts';
import { uploadUrl } from '../../collection/upload-routes.ts';
import { invite } from '../../onboarding/invitations.ts';

const { service, enter } = await useConsole();
const { db, url, seal } = service;
const [name = '', value = ''] = (await enter('admin')).cookie.split('=');
const opened = await openPage(phone);
const { page, open, send, read } = useHands(url, opened);
await page.context().addCookies([{ name, value, url }]);
const school = (estab: string) => `/console/schools/${estab}`;
const grant = (rp: string) => `${school('s')}/applications/${rp}`;
await service.addSchool('s', smallPackage());
const addAsking = (rp: string) => addApplication(db, seal, {
  rp, name: `Application ${rp}`, callbackUrl: 'http://127.0.0.1:9/x', scopes: 'School,Student,Staff:optional,Contact:optional', redirectUris: [],
});
for (const rp of ['asks', 'reads', 'stops']) await addAsking(rp);
await authorise(db, { rp: 'stops', estab: 's' });

const known = async (estab: string) =>
  (await db<{ name: string; email: string; zone: string; connector: string | null; confirmed: boolean }[]>`
    select name, email, time_zone as zone, connector, confirmed_at is not null as confirmed from establishment where estab = ${estab}`)[0];
const granted = async (rp: string) =>
  (await db<{ state: string; scopes: string[] }[]>`select state, scopes from authorisation where estab = 's' and rp = ${rp}`)[0];
const asked = async (estab: string, rp: string) =>
  (await db<{ state: string; reason: string | null }[]>`select state, reason from invitation where estab = ${estab} and rp = ${rp}`)[0];
/** Who did something stays to be seen; what they did it to is forgotten with the school. */
const gone = {};
const reads = { estab: 's', rp: 'reads' };
const mails = async (estab: string) => (await db`select from outbox where estab = ${estab} and kind = 'mail'`).length;
const opens = async (rp: string, secret: string) => (await rosteringToken(url, rp, 's', secret)).status === 200;
const secretShown = () => page.locator('#school-secret').inputValue();
let secrets: string[] = [];
let uploadToken = '';
/** Whether what a school's export job asks is answered. */
const sends = async () => (await fetch(`${uploadUrl(url, 's')}/none`, { headers: { authorization: `Bearer ${uploadToken}` } })).status !== 401;

clickEach('schools', db, opened, {
  async '/console/add-school/add'() {
    await open('/console/schools');
    await page.locator('main a[href="/console/add-school"]').first().click();
    const given = { 'School number': 'new-1', Name: 'Brook School', 'Address of record': 'office@brook.example', 'Time zone': 'Europe/Paris' };
    await send('add-school', { ...given, 'Where its data comes from': 'csv' });
    assert.deepEqual({ ...(await known('new-1')) },
      { name: 'Brook School', email: 'office@brook.example', zone: 'Europe/Paris', connector: 'csv', confirmed: true });
    assert.match(await read('h1'), /^Brook School/);
    return [{ estab: 'new-1', detail: { name: 'Brook School', email: 'office@brook.example', timeZone: 'Europe/Paris', connector: 'csv' } }];
  },
  async '/console/schools/:estab/edit/save'() {
    await open(school('new-1'));
    await page.locator(`main a[href="${school('new-1')}/edit"]`).click();
    await send('edit-school', { Name: 'Brook Academy', 'Address of record': 'head@brook.example', 'Time zone': 'Europe/London' });
    const { name: named, email, zone } = (await known('new-1')) ?? assert.fail('it is there');
    assert.deepEqual([named, email, zone], ['Brook Academy', 'head@brook.example', 'Europe/London']);
    return [{ estab: 'new-1', detail: { name: 'Brook Academy', email: 'head@brook.example', timeZone: 'Europe/London' } }];
  },
  async '/console/schools/:estab/confirm'() {
    const given = { rp: 'asks', schoolName: 'Named', contactEmail: 'a@b.example', reason: null, scopes: undefined };
    await invite(db, url, { ...given, estab: 'named', by: 'application' });
    await open(school('named'));
    await send('confirm', { 'Address of record': 'office@named.example' });
    const { email, confirmed } = (await known('named')) ?? assert.fail('it is there');
    assert.deepEqual([email, confirmed, (await asked('named', 'asks'))?.state], ['office@named.example', true, 'Invited']);
    return [{ estab: 'named', detail: { email: 'office@named.example' } }];
  },
  async '/console/schools/:estab/refuse'() {
    const given = { rp: 'asks', schoolName: 'Made up', contactEmail: 'a@b.example', reason: null, scopes: undefined };
    await invite(db, url, { ...given, estab: 'made-up', by: 'application' });
    await open(school('made-up'));
    await send('refuse');
    assert.equal(await known('made-up'), undefined);
    return [gone];
  },
  async '/console/schools/:estab/send-link'() {
    const before = await mails('s');
    await open(school('s'));
    await send('send-link');
    assert.equal(await mails('s'), before + 1);
    return [{ estab: 's' }];
  },
  async '/console/schools/:estab/pause'() {
    await open(school('s'));
    await send('pause-school');
    assert.equal((await granted('stops'))?.state, 'Paused');
    assert.equal(await read('h1 .badge'), 'Paused');
    return [{ estab: 's' }];
  },
  async '/console/schools/:estab/resume'() {
    await open(school('s'));
    await send('resume-school');
    assert.notEqual((await granted('stops'))?.state, 'Paused');
    return [{ estab: 's' }];
  },
  async '/console/schools/:estab/applications/:rp/invite'() {
    await open(`${school('s')}/add-application`);
    await page.locator(`main a[href="${grant('asks')}"]`).click();
    await send('invite', { 'Why the data is needed': 'For lessons' });
    assert.deepEqual({ ...(await asked('s', 'asks')) }, { state: 'Invited', reason: 'For lessons' });
    assert.match(await read('#request'), /For lessons/);
    await send('send-again');
    assert.deepEqual({ ...(await asked('s', 'asks')) }, { state: 'Invited', reason: 'For lessons' });
    await open(school('s'));
    const before = await mails('s');
    await send('invite-asks');
    assert.equal(await mails('s'), before + 1);
    return [{ estab: 's', rp: 'asks', detail: { reason: 'For lessons' } }, { estab: 's', rp: 'asks' }, { estab: 's', rp: 'asks' }];
  },
  async '/console/schools/:estab/applications/:rp/withdraw'() {
    await open(grant('asks'));
    await send('withdraw');
    assert.equal((await asked('s', 'asks'))?.state, 'Withdrawn');
    await open(school('named'));
    await send('withdraw-asks');
    assert.equal((await asked('named', 'asks'))?.state, 'Withdrawn');
    return ['s', 'named'].map((estab) => ({ estab, rp: 'asks', detail: { withdraw: true } }));
  },
  async '/console/schools/:estab/applications/:rp/authorise'() {
    await open(grant('reads'));
    const form = page.locator('form#authorise');
    assert.deepEqual(await Promise.all(['Staff', 'Contact'].map((scope) => form.locator(`#grant-${scope}`).isChecked())), [false, false]);
    await form.locator('#grant-Staff').check();
    await send('authorise');
    secrets = [await secretShown()];
    assert.deepEqual([await opens('reads', secrets[0] ?? ''), (await granted('reads'))?.scopes], [true, ['School', 'Student', 'Staff']]);
    return [{ ...reads, detail: { optional: 'Staff' } }];
  },
  async '/console/schools/:estab/applications/:rp/scopes'() {
    await open(grant('reads'));
    await page.locator('#may-Staff').uncheck();
    await page.locator('#may-Contact').check();
    await send('change-scopes');
    assert.deepEqual((await granted('reads'))?.scopes, ['School', 'Student', 'Contact']);
    return [{ ...reads, detail: { optional: 'Contact' } }];
  },
  async '/console/schools/:estab/applications/:rp/rotate'() {
    await open(grant('reads'));
    await send('rotate', { 'How long the old one goes on working': '24h' });
    secrets.push(await secretShown());
    assert.deepEqual([secrets.length, new Set(secrets).size], [2, 2]);
    for (const secret of secrets) assert.equal(await opens('reads', secret), true);
    return [{ ...reads, subject: 'school secret', detail: { keepOld: '24h' } }];
  },
  async '/console/schools/:estab/applications/:rp/end-old'() {
    await open(grant('reads'));
    await send('end-old');
    assert.deepEqual(await Promise.all(secrets.map((secret) => opens('reads', secret))), [false, true]);
    return [{ ...reads, subject: 'school secret', detail: { endOld: true } }];
  },
  async '/console/schools/:estab/applications/:rp/pause'() {
    await open(grant('reads'));
    await send('pause');
    assert.deepEqual([(await granted('reads'))?.state, await read('h1 .badge'), await opens('reads', secrets[1] ?? '')], ['Paused', 'Paused', false]);
    return [reads];
  },
  async '/console/schools/:estab/applications/:rp/resume'() {
    await open(grant('reads'));
    await send('resume');
    assert.equal(await opens('reads', secrets[1] ?? ''), true);
    return [reads];
  },
  async '/console/schools/:estab/applications/:rp/revoke'() {
    await open(grant('reads'));
    await send('revoke');
    assert.deepEqual([(await granted('reads'))?.state, await opens('reads', secrets[1] ?? '')], ['Revoked', false]);
    return [reads];
  },
  async '/console/schools/:estab/upload-token/make'() {
    await open(`${school('s')}/upload-token`);
    await send('make-token');
    uploadToken = await page.locator('#upload-token').inputValue();
    assert.equal(await sends(), true);
    return [{ estab: 's' }];
  },
  async '/console/schools/:estab/logins/unlock'() {
    await db`
      insert into login (estab, presence_id, username, password_hash, wrong_tries, locked_until)
      values ('s', presence_id('s', 'p1'), 'p1', 'none', 10, now() + interval '15 minutes')`;
    await open(`${school('s')}/logins?state=locked`);
    await send('unlock-0');
    assert.deepEqual([...(await db`select wrong_tries, locked_until from login where estab = 's'`)].map((one) => ({ ...one })), [
      { wrong_tries: 0, locked_until: null },
    ]);
    return [{ estab: 's', subject: 'users/p1' }];
  },
  async '/console/schools/:estab/logins/reset'() {
    await open(`${school('s')}/logins`);
    await send('reset-0');
    assert.equal((await fetch(await page.locator('#link').inputValue())).status, 200);
    return [{ estab: 's', subject: 'users/p1' }];
  },
  async '/console/schools/:estab/upload-token/remove'() {
    await open(`${school('s')}/upload-token`);
    await send('remove-token');
    assert.equal(await sends(), false);
    return [{ estab: 's', detail: { remove: true } }];
  },
  async '/console/schools/:estab/remove/now'() {
    await open(school('new-1'));
    await page.locator(`main a[href="${school('new-1')}/remove"]`).click();
    await send('remove-school', { 'Type new-1 to go on': 'new-1' });
    assert.equal(await known('new-1'), undefined);
    assert.equal(new URL(page.url()).pathname, '/console/schools');
    return [gone];
  },
});
