// Each action on an application and on its secrets, done by its form in a real browser.
import assert from 'node:assert/strict';
import { openPage } from '../../../test/browser.ts';
import { clickEach, phone, useHands } from '../../../test/clicked.ts';
import { useConsole } from '../../../test/console.ts';
import { managementToken } from '../../../test/onboarding.ts';
import { smallPackage } from '../../../test/small-school.ts';
import { authorise } from '../../access/authorisations.ts';
import { setConnector } from '../../collection/connector-settings.ts';
import { controls } from '../../sandbox/controls.ts';

const { service, enter } = await useConsole({ DEMO: 'on' });
const { db, url } = service;
const [name = '', value = ''] = (await enter('admin')).cookie.split('=');
const opened = await openPage(phone);
const { page, open, send, read } = useHands(url, opened);
await page.context().addCookies([{ name, value, url }]);
const list = '/console/applications';
const stored = async () => (await db`select * from application where rp = 'reader'`)[0];
const addresses = { website: 'https://reader.example/', privacyNotice: 'https://reader.example/privacy', callbackUrl: 'https://reader.example/events' };
let secrets: string[] = [];
let rehearsal = '';
const opens = async (secret: string) => (await managementToken(url, 'reader', secret)) !== null;
const shown = (id: string) => page.locator(`#${id}`).inputValue();

async function openInbox(): Promise<string> {
  await open(`${list}/reader/inboxes`);
  await page.getByRole('link', { name: 'Webhooks', exact: true }).last().click();
  await page.locator('#tail').waitFor();
  return new URL(page.url()).pathname.split('/').at(-1) ?? '';
}

/** What is given stands in the trail by the names of the options. */
async function rehearse(control: string, given: Record<string, string>, words: RegExp) {
  await open(`${list}/${rehearsal}/sandbox`);
  await send(`sandbox-${control}`, given);
  assert.match(await read('main .facts'), words);
  assert.equal(new URL(page.url()).hash, `#${control}-card`);
  assert.match(await read(`#${control}-card`), /Done\./);
  const widths = await page.locator('.rehearsing button').evaluateAll((buttons) => buttons.map((button) => Math.round(button.getBoundingClientRect().width)));
  assert.equal(new Set(widths).size, 1, `buttons of one width: ${widths.join(' ')}`);
  const { fields } = controls.find((one) => one.name === control) ?? assert.fail(control);
  const chosen = fields.filter(({ type, label }) => type === 'choice' || given[label] !== undefined);
  return [{ rp: rehearsal, detail: Object.fromEntries(chosen.map(({ name, label }) => [name, given[label]])) }];
}

clickEach('applications', db, opened, {
  async '/console/add-application/add'() {
    await open(list);
    await page.locator('main a[href="/console/add-application"]').first().click();
    await send('add-application', {
      Id: 'reader', Name: 'Reader', Website: 'https://reader.example/', 'Privacy notice': 'https://reader.example/privacy', Contact: 'help@reader.example',
      'Callback URL': 'https://reader.example/events', 'Redirect URIs': 'https://reader.example/back\nhttp://localhost:1/', 'Tell it of changes': true,
      School: 'required', Staff: 'optional',
    });
    const { client_id, created_at, ...rest } = (await stored()) ?? assert.fail('it is added');
    assert.equal(await shown('client-id'), client_id);
    assert.ok(created_at);
    const expected = {
      name: 'Reader', website: 'https://reader.example/', privacy_notice: 'https://reader.example/privacy', contact: 'help@reader.example',
      callback_url: 'https://reader.example/events', redirect_uris: ['https://reader.example/back', 'http://localhost:1/'], state_events: true,
      required_scopes: ['School'], optional_scopes: ['Staff'],
    };
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((key) => [key, rest[key]])), expected);
    secrets = [await shown('management')];
    assert.equal(await opens(secrets[0] ?? ''), true);
    return [{
      rp: 'reader',
      detail: {
        ...addresses, name: 'Reader', contact: 'help@reader.example', stateEvents: true, scopes: 'School,Staff:optional',
        redirectUris: 'https://reader.example/back http://localhost:1/',
      },
    }];
  },
  async '/console/applications/:rp/edit/save'() {
    await open(`${list}/reader`);
    await page.locator(`main a[href="${list}/reader/edit"]`).first().click();
    await send('edit-application', { Name: 'Reads', Contact: '', 'Redirect URIs': '', 'Tell it of changes': false, Staff: 'none', Student: 'required' });
    const { name: named, contact, redirect_uris, state_events, required_scopes, optional_scopes, website } = (await stored()) ?? assert.fail('it is there');
    assert.deepEqual([named, contact, redirect_uris, state_events], ['Reads', null, [], false]);
    assert.deepEqual([required_scopes, optional_scopes, website], [['School', 'Student'], [], 'https://reader.example/'], 'and what was not touched stays');
    assert.match(await read('h1'), /^Reads/);
    return [{ rp: 'reader', detail: { ...addresses, name: 'Reads', contact: '', stateEvents: false, scopes: 'School,Student', redirectUris: '' } }];
  },
  async '/console/applications/:rp/confirm-callback'() {
    await db`
      update application set confirmed_callback_host = 'before.example', callback_changed_from = 'https://before.example/', callback_changed_at = now(),
        callback_changed_by = 'dev@reader.example' where rp = 'reader'`;
    await open(`${list}/reader`);
    await send('confirm-callback');
    assert.deepEqual(await db`select from application where rp = 'reader' and confirmed_callback_host is not null`, []);
    return [{ rp: 'reader', detail: { confirmCallback: 'https://reader.example/events' } }];
  },
  async '/console/applications/:rp/schools/invite'() {
    await open(`${list}/reader/schools`);
    await send('invite-school', {
      'School number': '3805009', 'Name of the school': 'Brook School', 'Address of record': 'office@brook.example',
      'Why the data is needed': 'For lessons',
    });
    const [asked] = await db`select rp, school_name, contact_email, reason, state from invitation where estab = '3805009'`;
    assert.deepEqual({ ...asked },
      { rp: 'reader', school_name: 'Brook School', contact_email: 'office@brook.example', reason: 'For lessons', state: 'Invited' });
    return [{ estab: '3805009', rp: 'reader', detail: { name: 'Brook School', email: 'office@brook.example', reason: 'For lessons' } }];
  },
  async '/console/applications/:rp/secrets/:kind/rotate'() {
    await open(`${list}/reader`);
    await page.locator(`main a[href="${list}/reader/secrets/management"]`).click();
    await send('rotate-secret', { 'How long the old one goes on working': '1h' });
    secrets.push(await shown('new-secret'));
    assert.deepEqual(await Promise.all(secrets.map(opens)), [true, true]);
    const [old] = await db<{ hour: boolean }[]>`
      select valid_until between now() + interval '55 minutes' and now() + interval '1 hour' as hour from application_secret
      where rp = 'reader' and valid_until is not null`;
    assert.equal(old?.hour, true);
    return [{ rp: 'reader', subject: 'management secret', detail: { keepOld: '1h' } }];
  },
  async '/console/applications/:rp/secrets/:kind/end-old'() {
    await open(`${list}/reader/secrets/management`);
    await send('end-old');
    assert.deepEqual(await Promise.all(secrets.map(opens)), [false, true]);
    return [{ rp: 'reader', subject: 'management secret', detail: { endOld: true } }];
  },
  async '/console/applications/:rp/inboxes/add'() {
    await open(`${list}/reader`);
    await page.locator(`main a[href="${list}/reader/inboxes"]`).click();
    await send('add-inbox', { Name: 'Webhooks', 'How it answers': '500' });
    const [inbox] = await db<{ id: string; name: string; answer: string }[]>`select id, name, answer from inbox where rp = 'reader'`;
    assert.deepEqual([inbox?.name, inbox?.answer], ['Webhooks', '500']);
    assert.equal(new URL(page.url()).pathname, `${list}/reader/inboxes/${inbox?.id}`);
    return [{ rp: 'reader', detail: { name: 'Webhooks', answer: '500' } }];
  },
  async '/console/applications/:rp/inboxes/:id/edit'() {
    const id = await openInbox();
    await send('edit-inbox', { 'How it answers': '410' });
    const sent = await page.request.post(await read('main .facts .id'), { form: { schoolSecret: 'sb_school_0123456789', schoolId: '3805009' } });
    assert.equal(sent.status(), 410);
    return [{ rp: 'reader', subject: id, detail: { answer: '410' } }];
  },
  async '/console/applications/:rp/inboxes/:id/calls/:seq/reveal'() {
    const id = await openInbox();
    await page.locator('#calls tbody a').first().click();
    await page.locator('#fields').waitFor();
    assert.doesNotMatch(await read('main'), /sb_school_0123456789/);
    const [call] = await db<{ seq: string }[]>`select seq::text as seq from inbox_call where inbox = ${id}`;
    await send('reveal');
    assert.match(await read('#fields'), /sb_school_0123456789/);
    return [{ rp: 'reader', subject: `${id} ${call?.seq}` }];
  },
  async '/console/applications/:rp/inboxes/:id/empty'() {
    const id = await openInbox();
    await send('empty-inbox');
    assert.deepEqual(await db`select from inbox_call`, []);
    return [{ rp: 'reader', subject: id }];
  },
  async '/console/applications/:rp/inboxes/:id/remove'() {
    const id = await openInbox();
    await send('remove-inbox');
    assert.deepEqual(await db`select from inbox`, []);
    return [{ rp: 'reader', subject: id }];
  },
  async '/console/applications/:rp/sandbox/application'() {
    const estab = '9990001';
    await service.addSchool(estab, smallPackage());
    await db.begin((tx) => setConnector(tx, service.seal, estab, { kind: 'demo' }));
    await open(`${list}/reader`);
    await page.locator(`main a[href="${list}/reader/sandbox"]`).click();
    await send('make-demo-application', { Name: 'Rehearsal' });
    rehearsal = await shown('rp');
    const [made] = await db<{ demo: boolean }[]>`select demo from application where rp = ${rehearsal}`;
    assert.ok(made?.demo && (await managementToken(url, rehearsal, await shown('management'))) !== null);
    return [{ rp: 'reader', detail: { name: 'Rehearsal' } }];
  },
  '/console/applications/:rp/sandbox/events': () => rehearse('events', { 'What happens to calls': 'delayed', Seconds: '9' }, /delayed by 9 s, until/),
  '/console/applications/:rp/sandbox/tokens': () => rehearse('tokens', { Seconds: '5' }, /live 5 s, until/),
  '/console/applications/:rp/sandbox/answers': () => rehearse('answers', { Answer: '429', 'How many': '3' }, /429, 3 more, until/),
  '/console/applications/:rp/sandbox/mis': () => rehearse('mis', { 'How it behaves': 'offline' }, /its MIS is offline/),
  '/console/applications/:rp/sandbox/clock': () => rehearse('clock', { To: '2027-02-02' }, /its clock says 2027-02-02 10:00/),
  '/console/applications/:rp/sandbox/joiner': () => rehearse('joiner', {}, /joiner u-s-/),
  '/console/applications/:rp/sandbox/leaver': () => rehearse('leaver', {}, /leaver u-s-/),
  '/console/applications/:rp/sandbox/class-split': () => rehearse('class-split', {}, /class-split cls-/),
  '/console/applications/:rp/sandbox/reset': () =>
    rehearse('reset', {}, /answers as usual school 9990001 its MIS is normal; its clock is right; its roster is being collected$/i),
  async '/console/applications/:rp/try/send'() {
    const estab = '3805020';
    await service.addSchool(estab, smallPackage());
    await authorise(db, { rp: 'reader', estab });
    await open(`${list}/reader`);
    await page.locator(`main a[href="${list}/reader/try"]`).click();
    await page.getByLabel('Operation').selectOption('variant-b.getAllOrgs_B');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.locator('#operation').waitFor();
    await send('try', { Token: 'variantBToken', School: estab, limit: '1' });
    assert.match(await read('#answered'), /"orgs": \[/);
    assert.match(await read('#curl'), /limit=1/);
    assert.equal(await page.getByLabel('limit', { exact: true }).inputValue(), '1', 'what was filled in is still there');
    return [{ rp: 'reader', estab, detail: { operation: 'variant-b.getAllOrgs_B', token: 'variantBToken' } }];
  },
  async '/console/applications/:rp/remove/confirm'() {
    await db`insert into application (rp, name, callback_url, required_scopes, optional_scopes, client_id)
      values ('goes', 'Goes', 'https://goes.example/', '{School}', '{}', 'goes.1')`;
    await open(`${list}/goes/edit`);
    await page.locator(`main a[href="${list}/goes/remove"]`).click();
    await send('remove-application', { 'Id of the application': 'goes' });
    assert.deepEqual(await db`select from application where rp = 'goes'`, []);
    assert.equal(new URL(page.url()).pathname, list);
    return [{ rp: 'goes' }];
  },
});
