// Tests how people come to their login and use it: mail, link, password, sign-in, lock, sign-out; in a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openPage } from '../../test/browser.ts';
import { earlier } from '../../test/earlier.ts';
import { until } from '../../test/until.ts';
import { openForm, registrationLink, sessionCookie, signIn, useIdentity } from '../../test/identity.ts';
import { receiveMail } from '../../test/mail-receiver.ts';
import { listLogins } from './presences.ts';

const mail = await receiveMail();
const identity = await useIdentity({ SMTP_URL: mail.url, MAIL_FROM: 'Schoolbell <schoolbell@trust.example>' });
const { db, url, answer, makeLogin, makeRegistered, person, audited, service } = identity;
await service.work();
let opened: ReturnType<typeof openPage> | undefined;
/** One page for the whole file, opened by the first test that needs it. */
const samePage = () => (opened ??= openPage());
const password = 'seven green lanterns';

/** The link that arrived last at an address. */
async function arrived(to: string, count: number): Promise<string> {
  const mails = () => mail.mails.filter((one) => one.to.includes(to));
  await until(`${count} mails to ${to}`, () => mails().length === count, () => mail.mails.map((one) => one.to));
  return registrationLink(mails().at(-1)?.text ?? '');
}

async function choose(on: Page, chosen: string, repeated = chosen): Promise<void> {
  await on.fill('#password', chosen);
  await on.fill('#repeated', repeated);
  await on.click('button[type=submit]');
}

async function enter(on: Page, userName: string, secret: string, estab = 'one'): Promise<void> {
  await on.fill('#estab', estab);
  await on.fill('#username', userName);
  await on.fill('#password', secret);
  await on.click('button[type=submit]');
}

/** What the first test chose on a page, for tests that open none: they need no browser. */
const setPassword = () => answer('ResetPassword', { query: { username: 's1', password } });
const unlock = (id: string) => db`update login set wrong_tries = 0, locked_until = null where presence_id = ${id}`;
const account = (cookie: string) => fetch(`${url}/account`, { headers: { cookie }, redirect: 'manual' });
/** A page that answers 4xx is noted by the browser itself. */
const ofOurs = (complaints: string[]) => complaints.filter((one) => !/Failed to load resource: the server responded with a status of 4(01|04|22)/.test(one));

test('from CreateLogin over the mail to a sign-in that GetUsers shows', async () => {
  const { Id } = await makeLogin('Given s1');
  const link = await arrived('s1@school.example', 1);
  const [sent] = mail.mails;
  assert.deepEqual([sent?.from, sent?.to, sent?.subject], ['schoolbell@trust.example', ['s1@school.example'], 'Your login at School one']);
  assert.ok(sent?.html.includes(link), 'the same link as HTML');
  assert.ok(link.startsWith(`${url}/register/`));

  const { page, complaints } = await samePage();
  await page.goto(link);
  assert.equal(await page.innerText('#user-name'), 's1');
  for (const [chosen, repeated, why] of [
    ['short', 'short', /12 characters/],
    ['password2026!', 'password2026!', /commonest/],
    [password, `${password}!`, /not the same/],
    ['Given s1 Family', 'Given s1 Family', /name/],
  ] as const) {
    await choose(page, chosen, repeated);
    assert.match(await page.innerText('#problem'), why, chosen);
    assert.equal(await page.inputValue('#password'), '', 'what was typed is not sent back');
  }
  await choose(page, password);
  await page.waitForURL(/\/login\?/);
  assert.match(await page.innerText('#notice'), /saved/);
  assert.deepEqual([await page.inputValue('#estab'), await page.inputValue('#username')], ['one', 's1']);
  assert.equal((await person('Given s1')).LastLoggedIn, '', 'nobody has signed in yet');

  await enter(page, 's1', 'wrong');
  assert.match(await page.innerText('#problem'), /wrong/);
  const before = Date.now();
  await enter(page, 's1', password);
  await page.waitForURL(`${url}/account`);
  assert.equal(await page.innerText('#person'), 'Given s1 Family');
  const { LastLoggedIn } = await person('Given s1');
  assert.ok(Math.abs(Date.parse(LastLoggedIn) - before) < 180_000, LastLoggedIn);
  assert.deepEqual(
    (await audited('one')).filter(({ id }) => id === Id).map(({ operation, outcome }) => `${operation} ${outcome}`),
    ['CreateLogin done', 'Register done', 'SignIn wrong password', 'SignIn done'],
  );

  await page.goto(link);
  assert.match(await page.innerText('h1'), /does not open/);
  await page.goto(`${url}/login`);
  assert.equal(page.url(), `${url}/account`, 'who is signed in is not asked again');
  await page.click('button.second');
  await page.waitForURL(`${url}/login`);
  await page.goto(`${url}/account`);
  assert.equal(page.url(), `${url}/login`, 'signed out');
  assert.deepEqual(ofOurs(complaints), []);
});

test('a session ends where it was signed out, also for a copy of its cookie', async () => {
  await setPassword();
  const cookie = sessionCookie(await signIn(url, 'one', 's1', password));
  const form = await openForm(url, '/account', [cookie]);
  assert.equal((await account(cookie)).status, 200);
  assert.equal((await form.post({}, '/account/sign-out')).status, 303);
  assert.equal((await account(cookie)).status, 303);
});

test('a link opens for three days, and for one of two who use it at once', async () => {
  const { Id } = await makeLogin('Given p1');
  const path = new URL(await arrived('p1@school.example', 1)).pathname;
  await db`update registration_link set expires_at = ${earlier(db, 'expires_at', '2 days 23 hours 59 minutes')} where estab = 'one' and presence_id = ${Id}`;
  assert.equal((await fetch(`${url}${path}`)).status, 200, 'shortly before');
  const form = await openForm(url, path);
  await db`update registration_link set expires_at = ${earlier(db, 'expires_at', '2 minutes')} where estab = 'one' and presence_id = ${Id}`;
  assert.equal((await fetch(`${url}${path}`)).status, 404, 'shortly after');
  assert.equal((await form.post({ password: 'hu7xkq2b', repeated: 'hu7xkq2b' })).status, 404);

  await answer('CreateLogin', { query: { OrgId: 'one', PresenceId: Id } });
  const next = new URL(await arrived('p1@school.example', 2)).pathname;
  const forms = await Promise.all([openForm(url, next), openForm(url, next)]);
  const answers = await Promise.all(forms.map((one, at) => one.post({ password: `hu7xkq2b${at}`, repeated: `hu7xkq2b${at}` })));
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [303, 404]);
  assert.equal((await fetch(`${url}/register/nothing`)).status, 404);
});

test('a session and a link name their school, and open nothing at another', async () => {
  await setPassword();
  const cookie = sessionCookie(await signIn(url, 'one', 's1', password));
  assert.match(cookie, /^schoolbell_login=one~[\w-]{43}$/);
  const statuses = [];
  for (const name of ['two~', '', '%00~', '~', `${'e'.repeat(33)}~`, 'one~']) statuses.push((await account(cookie.replace('one~', name))).status);
  assert.deepEqual(statuses, [303, 303, 303, 303, 303, 200]);
  await makeLogin('Philippa');
  const link = await arrived('s3@school.example', 1);
  assert.match(link, /\/register\/one~[\w-]{43}$/);
  const opens = async (name: string) => (await fetch(link.replace('one~', name))).status;
  assert.deepEqual([await opens('two~'), await opens(''), await opens('one~')], [404, 404, 200]);
});

test('a password that must change is changed before anything else', async () => {
  const { Password } = await answer<{ Password: string }>('ResetPassword', { query: { username: 's1' } });
  const { page, complaints } = await samePage();
  await page.goto(`${url}/login`);
  await enter(page, 's1', Password);
  await page.waitForURL(`${url}/account/password`);
  await page.goto(`${url}/account`);
  assert.equal(page.url(), `${url}/account/password`, 'there is no way round');
  await choose(page, 'short');
  assert.match(await page.innerText('#problem'), /12 characters/);
  await choose(page, Password);
  assert.match(await page.innerText('#problem'), /another/);
  const [row] = await db<{ change: boolean }[]>`select change_at_next_login as change from login where estab = 'one' and username = 's1'`;
  assert.equal(row?.change, true, 'the same again is no change');
  await choose(page, password);
  await page.waitForURL(`${url}/account`);
  assert.equal((await signIn(url, 'one', 's1', Password)).status, 401);
  await answer('ResetPassword', { query: { username: 's1', password } });
  await page.goto(`${url}/account`);
  assert.equal(page.url(), `${url}/login`, 'a reset ends the session');
  assert.deepEqual(ofOurs(complaints), []);
});

test('ten wrong tries lock, the right password does not open, fifteen minutes or UnlockLogin do', async () => {
  const { Id } = await makeRegistered('Philippa', password);
  /** The first and the last two are made; what is between is only counted, as each costs a hash. */
  const tries = async (count: number) => {
    await db`delete from wrong_try`;
    for (const between of [count - 3, 0, 0]) {
      assert.equal((await signIn(url, 'one', 's3', 'wrong')).status, 401);
      await db`update login set wrong_tries = wrong_tries + ${between} where presence_id = ${Id}`;
    }
  };
  await tries(9);
  assert.equal((await signIn(url, 'one', 's3', password)).status, 303, 'nine do not lock');
  await tries(10);
  const { page } = await samePage();
  await page.goto(`${url}/login`);
  await enter(page, 's3', password);
  assert.match(await page.innerText('#problem'), /15 minutes/);
  await page.goto(`${url}/account`);
  assert.equal(page.url(), `${url}/login`);
  const body = async (response: Response) => [response.status, (await response.text()).replace(/name="token" value="[^"]+"/, '')];
  assert.deepEqual(
    await body(await signIn(url, 'one', 's3', password)),
    await body(await signIn(url, 'one', 's3', 'wrong')),
    'a guesser is not told that it was right',
  );

  const lockedUntil = async () => (await db<{ at: Date | null }[]>`select locked_until as at from login where presence_id = ${Id}`)[0]?.at?.getTime();
  await db`update login set locked_until = ${earlier(db, 'locked_until', '14 minutes')} where estab = 'one' and presence_id = ${Id}`;
  const until14 = await lockedUntil();
  await tries(3);
  assert.equal(await lockedUntil(), until14, 'more wrong tries make it no longer');
  assert.equal((await signIn(url, 'one', 's3', password)).status, 401);
  await db`update login set locked_until = ${earlier(db, 'locked_until', '1 minute')} where estab = 'one' and presence_id = ${Id}`;
  assert.equal((await signIn(url, 'one', 's3', password)).status, 303, 'after fifteen minutes');

  await db`delete from wrong_try`;
  await Promise.all(Array.from({ length: 12 }, (_, at) => signIn(url, 'one', 's3', `at once ${at}`)));
  assert.equal((await signIn(url, 'one', 's3', password)).status, 401, 'also when they come at once');
  await db`update login set locked_until = now() - interval '1 second' where presence_id = ${Id}`;
  await tries(9);
  assert.equal((await signIn(url, 'one', 's3', password)).status, 303, 'after a lock the count begins anew');
  await tries(10);
  await answer('ResetPassword', { query: { username: 's3', password, UnlockLogin: 'true' } });
  assert.equal((await signIn(url, 'one', 's3', password)).status, 303, 'unlocked');
  assert.ok((await audited('one')).some(({ id, operation, outcome }) => id === Id && operation === 'SignIn' && outcome === 'locked'));
});

test('a lock that was set before the clock was set back does not last longer than a lock lasts', async () => {
  await setPassword();
  const lockFor = (minutes: number) => db`
    update login set wrong_tries = 10, locked_until = now() + make_interval(mins => ${minutes}) where estab = 'one' and username = 's1'`;
  const locked = async () => (await listLogins(db, 'one', { words: 's1', locked: true, after: '', most: 9 })).length;
  await lockFor(15);
  assert.deepEqual([await locked(), (await signIn(url, 'one', 's1', password)).status], [1, 401]);
  await lockFor(195);
  assert.deepEqual([await locked(), (await signIn(url, 'one', 's1', password)).status], [0, 303]);
  await lockFor(195);
  assert.equal((await signIn(url, 'one', 's1', 'wrong')).status, 401);
  const [counted] = await db`select wrong_tries, locked_until from login where estab = 'one' and username = 's1'`;
  assert.deepEqual({ ...counted }, { wrong_tries: 1, locked_until: null }, 'wrong tries count again');
});

test('a form without its token, with another one, or without its cookie is refused', async () => {
  await setPassword();
  const cookie = sessionCookie(await signIn(url, 'one', 's1', password));
  const { Id } = await person('Given s1');
  await answer('CreateUser', { body: { orgId: 'one', manualUser: [{ firstName: 'Grace', lastName: 'Hopper', email: 'grace@work.example' }] } });
  const register = new URL(await arrived('grace@work.example', 1)).pathname;
  const other = await openForm(url, '/login');
  for (const [path, to] of [
    ['/login', '/login'],
    [register, register],
    ['/account/password', '/account/password'],
    ['/account', '/account/sign-out'],
  ] as const) {
    const form = await openForm(url, path, [cookie]);
    const fields = { estab: 'one', username: 's1', password, repeated: password };
    for (const token of ['', 'wrong', other.token]) assert.equal((await form.post({ ...fields, token }, to)).status, 403, `${to} ${token}`);
    const bare = await fetch(`${url}${to}`, {
      method: 'POST', headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ ...fields, token: form.token }), redirect: 'manual',
    });
    assert.equal(bare.status, 403, `${to} without the cookie`);
    const json = await fetch(`${url}${to}`, {
      method: 'POST', headers: { cookie: form.cookie, 'content-type': 'application/json' }, body: JSON.stringify({ ...fields, token: form.token }),
      redirect: 'manual',
    });
    assert.equal(json.status, 415, `${to} as JSON`);
  }
  assert.equal((await account(cookie)).status, 200, 'nobody was signed out');
  assert.equal((await db`select from login where presence_id = ${Id} and wrong_tries > 0`).length, 0);
  assert.equal((await fetch(`${url}${register}`)).status, 200, 'the link is not used up');
});

test('every page has strict headers, and cookies that scripts cannot read', async () => {
  const response = await signIn(url, 'one', 's1', password);
  const cookie = sessionCookie(response);
  for (const set of [...response.headers.getSetCookie(), ...(await fetch(`${url}/login`)).headers.getSetCookie()])
    assert.match(set, /; Path=\/;.*HttpOnly; SameSite=Lax/);
  for (const path of ['/login', '/account', '/account/password', '/register/nothing', '/login?estab=%22%3E%3Cscript%3E&username=%22%3E%3Cb%3E']) {
    const { headers, status } = await fetch(`${url}${path}`, { headers: path.startsWith('/account') ? { cookie } : {} });
    assert.ok([200, 404].includes(status), path);
    const policy = headers.get('content-security-policy') ?? '';
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"])
      assert.ok(policy.includes(part), `${path}: ${part}`);
    assert.deepEqual(
      [headers.get('cache-control'), headers.get('x-content-type-options'), headers.get('referrer-policy')],
      ['no-store', 'nosniff', 'no-referrer'],
      path,
    );
  }
  const { page } = await samePage();
  await page.goto(`${url}/login?estab=%22%3E%3Cscript%3Ealert(1)%3C/script%3E`);
  assert.equal(await page.inputValue('#estab'), '"><script>alert(1)</script>');
});

test('unknown user, unknown school and wrong password: the same answer', async () => {
  await db`delete from wrong_try`;
  const said = async (estab: string, username: string) => {
    const response = await signIn(url, estab, username, 'not the password');
    return [response.status, (await response.text()).replace(/value="[^"]*"/g, '')];
  };
  const known = await said('one', 's1');
  assert.equal(known[0], 401);
  const others = [['one', 'nobody'], ['nowhere', 's1'], ['', ''], ["' or 1=1 --", 's1']] as const;
  for (const [estab, username] of others) assert.deepEqual(await said(estab, username), known);
});

test('another password is chosen with the present one, which is counted and locked like a sign-in', async () => {
  const { Id } = await person('Philippa');
  await answer('ResetPassword', { query: { username: 's3', password, UnlockLogin: 'true' } });
  await db`delete from wrong_try`;
  const { page, complaints } = await samePage();
  await page.goto(`${url}/login`);
  await enter(page, 's3', password);
  await page.click('main a');
  const change = async (present: string, chosen: string) => {
    await page.fill('#present', present);
    await choose(page, chosen);
  };
  await change('not the present one', 'four brown owls at noon');
  assert.match(await page.innerText('#problem'), /present password is wrong/);
  await change(password, password);
  assert.match(await page.innerText('#problem'), /another/);
  await change(password, 'short');
  assert.match(await page.innerText('#problem'), /12 characters/);
  assert.deepEqual([await page.inputValue('#present'), await page.inputValue('#password')], ['', ''], 'what was typed is not sent back');
  await change(password, 'four brown owls at noon');
  await page.waitForURL(`${url}/account`);
  assert.equal((await signIn(url, 'one', 's3', password)).status, 401);
  const session = sessionCookie(await signIn(url, 'one', 's3', 'four brown owls at noon'));
  const { LastLoggedIn } = await person('Philippa');
  const form = await openForm(url, '/account/password', [session]);
  const choosing = (present: string) => form.post({ present, password: 'two grey geese at dawn', repeated: 'two grey geese at dawn' });
  await db`update login set wrong_tries = 7 where presence_id = ${Id}`;
  for (let at = 0; at < 3; at += 1) assert.equal((await choosing(`wrong ${at}`)).status, 422);
  assert.equal((await choosing('four brown owls at noon')).status, 422, 'ten wrong ones have locked it');
  assert.equal((await signIn(url, 'one', 's3', 'four brown owls at noon')).status, 401, 'also for signing in');
  await unlock(Id);
  assert.equal((await form.post({ password: 'two grey geese at dawn', repeated: 'two grey geese at dawn' })).status, 422, 'without it nothing is changed');
  assert.equal((await choosing('four brown owls at noon')).status, 303);
  assert.equal((await person('Philippa')).LastLoggedIn, LastLoggedIn, 'a change of password is no sign-in');
  assert.ok((await audited('one')).some(({ id, operation, outcome }) => id === Id && operation === 'ChangePassword' && outcome === 'done'));
  assert.deepEqual(ofOurs(complaints), []);
});
