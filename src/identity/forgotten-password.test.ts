// Tests the way back for who has forgotten a password: the same answer for everybody, a link to the work address that
// opens once and within an hour, and limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from '../../test/browser.ts';
import { openForm, registrationLink, sessionCookie, signIn, useIdentity } from '../../test/identity.ts';
import { receiveMail } from '../../test/mail-receiver.ts';
import { until } from '../../test/until.ts';

const mail = await receiveMail();
const identity = await useIdentity({ SMTP_URL: mail.url, MAIL_FROM: 'Schoolbell <schoolbell@trust.example>', TRUST_PROXY: '127.0.0.1/32' });
const { db, url, service, makeLogin, makeRegistered, audited } = identity;
await service.work();
const [password, other] = ['seven green lanterns', 'four brown owls at noon'];
const teacher = await makeRegistered('Given s1', password);
// A pupil for whom the school has no address.
await db`insert into login (estab, presence_id, username) values ('one', presence_id('one', 'p2'), 'p2')`;

const questions = () => db<{ payload: object }[]>`select payload from outbox where kind = 'password-link'`;
const waiting = () => db`select from outbox where kind = 'password-link' and state <> 'done'`;
const answered = () => until('an answer to every question', async () => (await waiting()).length === 0);
const toTeacher = () => mail.mails.filter(({ to, subject }) => to.includes('s1@school.example') && /new password/.test(subject));

async function ask(estab: string, username: string): Promise<Response> {
  const form = await openForm(url, '/login/forgotten');
  return form.post({ estab, username });
}

test('from the sign-in page over the mail to a new password; sessions and the lock end, and the link with its use', async () => {
  const session = sessionCookie(await signIn(url, 'one', 's1', password));
  await db`update login set locked_until = now() + interval '10 minutes', wrong_tries = 10 where presence_id = ${teacher.Id}`;
  const { page, complaints } = await openPage();
  await page.goto(`${url}/login`);
  await page.click('text=Forgotten your password?');
  await page.fill('#estab', 'School one');
  await page.fill('#username', 'S1@school.example');
  await page.click('#forgotten button');
  assert.match(await page.innerText('#sent'), /If there is such a login/);
  await until('the mail', () => toTeacher().length === 1);
  const link = registrationLink(toTeacher()[0]?.text ?? '');
  assert.match(toTeacher()[0]?.text ?? '', /“s1” at School one/);
  const [row] = await db<{ minutes: number }[]>`select round(extract(epoch from expires_at - now()) / 60)::int as minutes from registration_link`;
  assert.ok(row && row.minutes <= 60 && row.minutes >= 58, String(row?.minutes));
  assert.equal((await signIn(url, 'two', 's1', password)).status, 401, 'a login of that name elsewhere is another');

  await page.goto(link);
  assert.equal(await page.innerText('h1'), 'Choose a new password');
  await page.fill('#password', other);
  await page.fill('#repeated', other);
  await page.click('button[type=submit]');
  await page.waitForURL(/\/login\?/);
  assert.equal((await fetch(`${url}/account`, { headers: { cookie: session }, redirect: 'manual' })).status, 303, 'the session has ended');
  assert.equal((await signIn(url, 'one', 's1', password)).status, 401);
  assert.equal((await signIn(url, 'one', 's1', other)).status, 303, 'nor is it locked');
  const used = await fetch(link);
  assert.equal(used.status, 404);
  assert.match(await used.text(), /href="\/login\/forgotten"[^]*href="\/login"/);
  assert.deepEqual(complaints, []);
  const said = (await audited('one')).filter(({ id }) => id === teacher.Id).map(({ operation, outcome }) => `${operation} ${outcome}`);
  assert.ok(said.includes('ForgottenPassword done') && said.includes('Register done'), String(said));
});

test('known or not, with an address or without, whoever asks gets the same answer, and what they typed is not kept', async () => {
  await db`delete from wrong_try`;
  const sent = mail.mails.length;
  const answers = [];
  for (const [estab, user] of [
    ['one', 's1'], ['one', 'nobody'], ['one', 'p2'], ['one', 'p3'], ['nowhere', 's1'], ['', ''], ["' or 1=1 --", '<script>'], ['one', 'x'.repeat(2000)],
    ['one', `${'x'.repeat(299)}\u{1f600}`],
  ] as const) {
    const response = await ask(estab, user);
    answers.push([response.status, response.headers.getSetCookie(), await response.text()]);
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  assert.equal(answers[0]?.[0], 200);
  await answered();
  await until('the one mail', () => mail.mails.length > sent);
  assert.deepEqual(mail.mails.slice(sent).map(({ to }) => to), [['s1@school.example']]);
  assert.deepEqual([...new Set((await questions()).map(({ payload }) => JSON.stringify(payload)))], ['{}']);
});

test('three links an hour to a person, of which the last opens; twenty questions in ten minutes from an address', async () => {
  await db`delete from wrong_try`;
  await db`delete from identity_audit where operation = 'ForgottenPassword'`;
  const before = toTeacher().length;
  for (let at = 0; at < 5; at += 1) await ask('one', 's1');
  await answered();
  await until('three mails', () => toTeacher().length === before + 3);
  // Several are sent at once, and may overtake one another.
  const order = (await db<{ id: string }[]>`select id from outbox where kind = 'mail' order by seq`).map(({ id }) => id);
  const place = ({ raw }: { raw: string }) => order.findIndex((id) => raw.includes(`<${id}@schoolbell>`));
  const links = toTeacher().slice(before).toSorted((one, other) => place(one) - place(other)).map(({ text }) => registrationLink(text));
  assert.deepEqual(await Promise.all(links.map(async (link) => (await fetch(link)).status)), [404, 404, 200]);
  // What strangers ask for uses up nothing of the mails that the school's applications send.
  await makeLogin('Philippa');

  const from = { 'x-forwarded-for': '192.0.2.7', 'content-type': 'application/x-www-form-urlencoded' };
  const form = await openForm(url, '/login/forgotten');
  const statuses = [];
  let last: Response | undefined;
  for (let at = 0; at < 21; at += 1) {
    const body = new URLSearchParams({ token: form.token, estab: 'nowhere', username: 'x' });
    last = await fetch(`${url}/login/forgotten`, { method: 'POST', headers: { ...from, cookie: form.cookie }, body });
    statuses.push(last.status);
  }
  assert.deepEqual(statuses, [...Array.from({ length: 20 }, () => 200), 429]);
  assert.match((await last?.text()) ?? '', /<h1>Please wait a moment<\/h1>[^]*href="\/login"/);
});

test('who never chose a password registers as before: a stranger who asks cannot shorten the time for it', async () => {
  await db`delete from wrong_try`;
  const { Id, UserName } = await makeLogin('Philippa');
  const days = async () => {
    const [row] = await db<{ days: number }[]>`
      select round(extract(epoch from expires_at - now()) / 86400)::int as days from registration_link where presence_id = ${Id}`;
    return row?.days;
  };
  assert.equal(await days(), 3);
  const sent = mail.mails.length;
  await ask('one', UserName);
  await answered();
  await until('the mail', () => mail.mails.length > sent);
  assert.doesNotMatch(mail.mails.at(-1)?.subject ?? '', /new password/);
  assert.equal(await days(), 3);
});

test('a form without its token asks for nothing', async () => {
  const before = (await questions()).length;
  const form = await openForm(url, '/login/forgotten');
  assert.equal((await form.post({ token: 'wrong', estab: 'one', username: 's1' })).status, 403);
  assert.equal((await questions()).length, before);
});
