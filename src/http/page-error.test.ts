// Tests that whoever asks with a browser reads an error as a page, outside the APIs, and that programs do not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useService } from '../../test/service.ts';

const { url, db } = await useService();
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const ask = (path: string, accept: string) => fetch(`${url}${path}`, { headers: { accept }, redirect: 'manual' });
const typeOf = (response: Response) => `${response.status} ${(response.headers.get('content-type') ?? '').split(';')[0]}`;

test('an address that is none: a page for a browser, the envelope for a program, and always that under the APIs', async () => {
  for (const [path, accept, wanted] of [
    ['/nothing', browser, '404 text/html'], ['/school/nothing', browser, '404 text/html'],
    ['/apiary', browser, '404 text/html'], ['/%zz', browser, '400 text/html'],
    ['/nothing', '*/*', '404 application/json'], ['/nothing', 'application/json', '404 application/json'],
    ['/api/nothing', browser, '404 application/json'], ['/oidc', browser, '404 application/json'], ['/.well-known/nothing', browser, '404 application/json'],
  ] as const) {
    assert.equal(typeOf(await ask(path, accept)), wanted, `${path} ${accept}`);
  }
  const page = await ask('/nothing', browser);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
  assert.match(await page.text(), /<link rel="stylesheet" href="\/style\.css">[^]*<h1>There is nothing here<\/h1>/);
});

test('every page has the one style sheet, which is there', async () => {
  for (const path of ['/school', '/login', '/register/nothing', '/school/open/nothing', '/oidc/interaction/nothing', '/oidc/auth?client_id=nobody']) {
    const response = await ask(path, browser);
    assert.match(typeOf(response), /text\/html$/, path);
    const text = await response.text();
    assert.deepEqual([...text.matchAll(/href="([^"]+\.css)"/g)].map(([, at]) => at), ['/style.css'], path);
    assert.match(text, /<a class="skip" href="#main">/, path);
  }
  const style = await ask('/style.css', '*/*');
  assert.equal(typeOf(style), '200 text/css');
});

test('what fails unexpectedly on a page is said in words, and nothing of it leaves', async () => {
  await db`alter table school_session rename to school_session_away`;
  try {
    const response = await fetch(`${url}/school/home`, { headers: { cookie: 'schoolbell_school=x' } });
    assert.equal(typeOf(response), '500 text/html');
    const text = await response.text();
    assert.match(text, /<h1>Something went wrong<\/h1>/);
    assert.doesNotMatch(text, /school_session|relation/);
  } finally {
    await db`alter table school_session_away rename to school_session`;
  }
});
