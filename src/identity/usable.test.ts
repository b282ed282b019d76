// Walks the pages on which people sign in, in a browser, on a phone and at a desk, light and dark; and sees that each
// refusal is one of these pages, with a way on.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { leastRoom, openLook, requireUsableInEveryLook } from '../../test/accessibility.ts';
import { openForm, registrationLink, useIdentity } from '../../test/identity.ts';
import { createHashPool } from '../access/hash-pool.ts';
import { SchoolbellError } from '../errors.ts';

const real = createHashPool({ threads: 1 });
let full = false;
const anyone: typeof real.anyone = (run) =>
  full ? Promise.reject(new SchoolbellError('too_many_requests', 'Too many passwords are being checked at this moment.')) : real.anyone(run);
const identity = await useIdentity({}, { hashing: { ...real, anyone } });
after(() => real.close());
const { db, url, makeLogin, makeRegistered, addSignOn } = identity;
const password = 'seven green lanterns';
await makeRegistered('Given s1', password);
await makeLogin('Philippa');
const [mailed] = await identity.links('s3@school.example');
const register = registrationLink(mailed ?? '');
const redirect = 'http://127.0.0.1:9/cb';
const application = await addSignOn('signon', ['one'], [redirect]);
const auth = (more: Record<string, string> = {}) =>
  `${url}/oidc/auth?${new URLSearchParams({
    client_id: application.clientId, redirect_uri: redirect, response_type: 'code', scope: 'openid', code_challenge: 'A'.repeat(43),
    code_challenge_method: 'S256', state: 'state', ...more,
  })}`;
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

async function enter(page: Page, secret: string): Promise<void> {
  await page.fill('#estab', 'School one');
  await page.fill('#username', 's1');
  await page.fill('#password', secret);
  await page.click('#sign-in button');
}

test('everybody can use the sign-in pages, on a phone and at a desk, light and dark', { timeout: 600_000 }, async () => {
  const { page } = await openLook(leastRoom);
  const visit = async (path: string) => {
    await page.goto(new URL(path, url).href);
    await requireUsableInEveryLook(page, path);
  };
  for (const path of ['/login?done=registered', '/login/forgotten', register]) await visit(path);
  for (const path of ['/register/nothing', '/nothing', '/oidc/interaction/nothing']) await visit(path);
  await visit(auth({ client_id: 'nobody' }));
  await visit(auth());
  await enter(page, 'wrong');
  await requireUsableInEveryLook(page, 'the sign-in to an application after a wrong password');
  await page.goto(`${url}/login/forgotten`);
  await page.fill('#estab', 'one');
  await page.fill('#username', 'nobody');
  await page.click('#forgotten button');
  await requireUsableInEveryLook(page, 'the link is on its way');
  await page.goto(`${url}/login`);
  await enter(page, password);
  await page.waitForURL(`${url}/account`);
  for (const path of ['/account', '/account/password']) await visit(path);
});

test('the fields of the sign-in page stand below one another, each below its label', async () => {
  const { page } = await openLook({ width: 'desk', scheme: 'light' });
  await page.goto(`${url}/login`);
  const boxes = (await page.evaluate(`[...document.querySelectorAll('.field label, .field input')].map((one) => {
    const { left, top, bottom } = one.getBoundingClientRect();
    return { left, top, bottom };
  })`)) as { left: number; top: number; bottom: number }[];
  assert.equal(boxes.length, 6);
  assert.equal(new Set(boxes.map(({ left }) => left)).size, 1, JSON.stringify(boxes));
  for (const [at, box] of boxes.entries()) assert.ok(at === 0 || box.top >= (boxes[at - 1]?.bottom ?? 0), JSON.stringify(boxes));
});

test('the name of the application stays on its sign-in: after a wrong password, and on the way back from a refusal', async () => {
  await db`delete from wrong_try`;
  const { page } = await openLook({ width: 'desk', scheme: 'light' });
  await page.goto(auth());
  assert.equal(await page.innerText('h1'), 'Sign in to Application signon');
  await enter(page, 'wrong');
  assert.equal(await page.innerText('h1'), 'Sign in to Application signon');
  assert.equal(await page.inputValue('#estab'), 'School one');
  const at = new URL(page.url()).pathname;
  // Refused for another reason, the way on leads to the same sign-in, which still knows its application.
  await page.evaluate(`document.querySelector('[name=token]').value = 'wrong'`);
  await enter(page, password);
  assert.match(await page.innerText('main'), /grown old/);
  await page.click('main a');
  assert.equal(new URL(page.url()).pathname, at);
  assert.equal(await page.innerText('h1'), 'Sign in to Application signon');
  full = true;
  await enter(page, password);
  assert.match(await page.innerText('main'), /Too many passwords/);
  full = false;
  await page.click('main a');
  assert.equal(await page.innerText('h1'), 'Sign in to Application signon');
});

test('every refusal is a page of the frame with a way on', async () => {
  await db`delete from wrong_try`;
  const refusals: [what: string, status: number, answer: () => Promise<Response>][] = [
    ['an unknown application', 400, () => fetch(auth({ client_id: 'nobody' }), { headers: browser })],
    ['an address that is not the application’s', 400, () => fetch(auth({ redirect_uri: 'https://elsewhere.example/' }), { headers: browser })],
    ['an address that cannot be decoded', 400, () => fetch(`${url}/oidc/auth?client_id=%zz`, { headers: browser })],
    ['a sign-in that is over', 404, () => fetch(`${url}/oidc/interaction/nothing`, { headers: browser })],
    ['a link that was used', 404, () => fetch(`${url}/register/nothing`)],
    ['a form that has grown old', 403, async () => (await openForm(url, '/login')).post({ token: 'old' })],
    ['a used link whose form is sent', 404, async () => {
      const form = await openForm(url, new URL(register).pathname);
      return form.post({ password, repeated: password }, '/register/nothing');
    }],
    ['a form that is too large', 413, async () => (await openForm(url, '/login')).post({ estab: 'x'.repeat(70_000) })],
    ['a form that is none', 415, () => fetch(`${url}/login`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })],
    ['too many passwords at once', 429, async () => {
      full = true;
      return (await openForm(url, '/login')).post({ estab: 'one', username: 's1', password }).finally(() => (full = false));
    }],
    ['too many wrong tries', 429, async () => {
      await db`insert into wrong_try (kind, client, address) select 'sign-in', 'one|s1', '192.0.2.1' from generate_series(1, 30)`;
      return (await openForm(url, '/login')).post({ estab: 'one', username: 's1', password });
    }],
  ];
  for (const [what, status, answer] of refusals) {
    const response = await answer();
    assert.equal(response.status, status, what);
    assert.match(response.headers.get('content-type') ?? '', /^text\/html/, what);
    const text = await response.text();
    assert.match(text, /<a class="skip" href="#main">[^]*<main[^]*<a class="button" href="\/[^"]+">/, what);
  }
  // Programs are told as before.
  assert.match((await fetch(`${url}/oidc/auth?client_id=%zz`)).headers.get('content-type') ?? '', /json/);
});
