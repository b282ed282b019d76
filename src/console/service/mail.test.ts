// Covers the pages of mails: what is said of each, that nobody but an admin who asks for them sees links that open something,
// which then stands in the trail, and sending again.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { readToEnd, useConsole } from '../../../test/console.ts';
import { receiveMail } from '../../../test/mail-receiver.ts';
import { until } from '../../../test/until.ts';
import { writeLetter } from '../../mail/letter.ts';
import { enqueueMail } from '../../mail/mail.ts';
import { linkPath, makeSignInLink } from '../../onboarding/links.ts';

const receiver = await receiveMail();
const { service, enter } = await useConsole({ SMTP_URL: receiver.url, MAIL_FROM: 'Schoolbell <bell@trust.example>' });
const { db, url } = service;
const [admin, viewer] = [await enter('admin'), await enter('viewer')];
await service.addSchool('3805001');
const hostile = '<script>alert(1)</script> & "quoted"';

async function put(subject = hostile, to = '<b>office</b>@school.example'): Promise<{ id: string; link: string }> {
  const link = `${url}${linkPath(await makeSignInLink(db, '3805001'))}`;
  const letter = writeLetter(subject, [`Dear ${hostile},`, { link, label: 'Open' }, 'See https://evil.example/x too.']);
  const id = await enqueueMail(db, { estab: '3805001', rp: null, to, ...letter });
  return { id, link };
}
const lines = async () =>
  (await db<{ line: string }[]>`select concat_ws(' ', actor, action, estab, outcome) as line from audit_event order by number`).map((one) => one.line);

beforeEach(async () => {
  await service.rest();
  await db`truncate outbox, outbox_attempt, lane, audit_event`;
});

test('an empty list says what will be there, a wrong filter is none, and a stranger’s text stays text', async () => {
  assert.match((await admin.get('/console/mail')).text, /will be here: invitations/);
  await put();
  for (const query of ['', '?state=nonsense&before=%27x', '?state=waiting', '?estab=3805001&state=waiting', '?before=1.msg%2Fx']) {
    const { status, text } = await viewer.get(`/console/mail${query}`);
    assert.equal(status, 200, query);
    assert.doesNotMatch(text, /<script>alert|<b>office/);
    assert.match(text, /&#60;script&#62;alert\(1\)/);
  }
  for (const query of ['?estab=other', '?state=failed']) assert.match((await viewer.get(`/console/mail${query}`)).text, /No mail is like that/);
});

test('pages follow one another by key, without gap or overlap', async () => {
  for (let n = 0; n < 120; n += 1) await put(`Mail ${n}.`);
  await db`update outbox set created_at = '2026-11-01T00:00:00.123456Z' where payload ->> 'subject' < 'Mail 5'`;
  for (const filter of ['?', '?estab=3805001&', '?state=waiting&']) {
    const pages = await readToEnd(admin, `/console/mail${filter}`);
    const seen = pages.flatMap((text) => [...text.matchAll(/>(Mail \d+\.)<\/a>/g)].map(([, subject = '']) => subject));
    assert.deepEqual([seen.length, new Set(seen).size], [120, 120]);
  }
});

test('a link that opens a school is left out for everybody; an admin who asks for it is in the trail, a viewer gets none', async () => {
  const { id, link } = await put();
  const secret = link.split('/').at(-1) ?? '';
  for (const who of [viewer, admin]) {
    const { status, text } = await who.get(`/console/mail/${id}`);
    assert.equal(status, 200);
    assert.ok(!text.includes(secret));
    assert.match(text, /\/school\/open\/…/);
    assert.doesNotMatch(text, /<script>alert|<b>office|href="https:\/\/evil/);
    assert.match(text, /Schoolbell &#60;bell@trust\.example&#62;/);
    assert.equal(/Show the links/.test(text), who === admin);
  }
  const refused = await viewer.post(`/console/mail/${id}/links`);
  assert.deepEqual([refused.status, refused.text.includes(secret)], [403, false]);
  const opened = await admin.post(`/console/mail/${id}/links`);
  assert.equal(opened.status, 200);
  assert.ok(opened.text.includes(`<a href="${link}" rel="noreferrer">`));
  assert.doesNotMatch(opened.text, /<script>alert|href="https:\/\/evil/);
  assert.deepEqual(await lines(), [
    'viewer look at mail 3805001 done', 'admin look at mail 3805001 done', 'viewer see links of mail 3805001 refused',
    'admin see links of mail 3805001 done',
  ]);
  assert.deepEqual((await db`select from audit_event where detail::text like '%office%'`).length, 0, 'to whom it was goes with the mail');
  await db`update outbox set payload = payload || ${db.json({ subject: `Code ${secret}` })} where estab = '3805001' and id = ${id}`;
  for (const path of ['/console/mail', `/console/mail/${id}`, '/console/work', `/console/work/${id}`, '/console/audit', '/console/audit/csv'])
    for (const who of [viewer, admin]) assert.ok(!(await who.get(path)).text.includes(secret), path);
});

test('each is called what it is, in the list and on its page', async () => {
  const { id } = await put('Hello');
  const calledIn = async (path: string, from: string) => {
    const { text } = await viewer.get(path);
    return /<span class="badge (\w+)">([^<]+)</.exec(text.slice(text.indexOf(from)))?.slice(1).join(' ');
  };
  const called = async () => [await calledIn('/console/mail', '<table id="mails"'), await calledIn(`/console/mail/${id}`, '<h1>')];
  const become = (state: string) => db`
    update outbox set state = ${state}, settled_at = ${['waiting', 'running'].includes(state) ? null : new Date()} where id = ${id}`;
  const expected: [words: string, change: () => PromiseLike<unknown>][] = [
    ['wait Waiting', () => become('waiting')],
    ['off Kept, not sent', () => become('done')],
    ['off Cancelled', () => become('cancelled')],
    ['good Sent', () => db`update outbox set state = 'done', body = null where id = ${id}`],
    ['bad Failing', async () => {
      await db`insert into outbox_attempt (estab, id, number, success, error_class, detail) values ('3805001', ${id}, 1, false, 'mail', '{"message": "away"}')`;
      await become('waiting');
    }],
    ['bad Failed', () => become('failed')],
  ];
  for (const [words, change] of expected) {
    await change();
    assert.deepEqual(await called(), [words, words]);
  }
});

test('one that is sent again late says that its links may have expired', async () => {
  const { id } = await put();
  await db`update outbox set state = 'failed', settled_at = now() where id = ${id}`;
  assert.doesNotMatch((await admin.get(`/console/mail/${id}`)).text, /may have expired/);
  await db`update outbox set created_at = now() - interval '2 hours' where id = ${id}`;
  assert.match((await admin.get(`/console/mail/${id}`)).text, /may have expired[^]*Send now/);
});

test('what is not there, or is no mail, is not found', async () => {
  for (const id of ['none', '%3Cb%3E', encodeURIComponent('a/b'), 'x'.repeat(300)]) {
    assert.equal((await admin.get(`/console/mail/${id}`)).status, 404);
    assert.equal((await admin.post(`/console/mail/${id}/send`)).status, 404);
  }
});

test('one that failed says why in words and is sent again by an admin; what was sent has no text and cannot be sent again', async () => {
  const { id } = await put('Hello', 'office@school.example');
  receiver.refuse = { code: 550, message: 'no <i>such</i> box' };
  await service.work();
  const state = async () => (await db<{ state: string }[]>`select state from outbox where id = ${id}`)[0]?.state;
  await until('it failed', async () => (await state()) === 'failed');
  const failed = await viewer.get(`/console/mail/${id}`);
  assert.match(failed.text, /no &#60;i&#62;such&#60;\/i&#62; box/);
  assert.match(failed.text, /the mail server refuses it for good[^]*The mail server answered: /);
  assert.doesNotMatch(failed.text, /smtp_refused|Send again/);
  assert.match(failed.text, /An admin can send it\./);
  assert.match((await viewer.get('/console/mail?state=failed')).text, /no &#60;i&#62;such/);
  assert.equal((await viewer.post(`/console/mail/${id}/send`)).status, 403);
  receiver.refuse = undefined;
  const sent = await admin.post(`/console/mail/${id}/send`);
  assert.deepEqual([sent.status, sent.location], [303, `/console/mail/${id}?done=mail-id-send`]);
  await until('it was sent', async () => (await state()) === 'done');
  assert.equal(receiver.mails.length, 1);
  assert.match((await admin.get(`/console/mail/${id}`)).text, /erased when the mail was sent/);
  const again = await admin.post(`/console/mail/${id}/send`);
  assert.equal(again.status, 409);
  assert.match(again.text, /its text erased/);
  assert.deepEqual((await lines()).filter((line) => line.includes('retry')), [
    'viewer work retry 3805001 refused', 'admin work retry 3805001 done', 'admin work retry 3805001 refused',
  ]);
});
