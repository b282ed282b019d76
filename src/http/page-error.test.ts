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
    ['/apiary', browser, '404 text/html'], ['/%zz', browser, '400 text/html'], ['/%zz', '*/*', '400 application/json'],
    ['/nothing', 'text/html;q=0, */*', '404 application/json'], ['/nothing', 'application/json, text/html;q=0.1', '404 text/html'],
    ['/nothing', '*/*', '404 application/json'], ['/nothing', 'application/json', '404 application/json'],
    ['/api/nothing', browser, '404 application/json'], ['/oidc', browser, '404 application/json'], ['/IMS/nothing', browser, '404 application/json'],
    ['/.well-known/nothing', browser, '404 application/json'],
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
    const response = await fetch(`${url}/school/home`, { headers: { cookie: 'schoolbell_school=x~x' } });
    assert.equal(typeOf(response), '500 text/html');
    const text = await response.text();
    assert.match(text, /<h1>Something went wrong<\/h1>/);
    assert.doesNotMatch(text, /school_session|relation/);
  } finally {
    await db`alter table school_session_away rename to school_session`;
  }
});

test('whatever is refused at whatever address outside the APIs: a page for a browser, the envelope for a program', async () => {
  const large = 'x'.repeat(2 * 1024 * 1024);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [method, path, status, init] of [
    ['POST', '/healthz', 405, { body: 'x', headers: form }], ['DELETE', '/readyz', 405, {}], ['PUT', '/style.css', 405, { body: 'x', headers: form }],
    ['DELETE', '/school', 405, {}], ['PUT', '/school/source/upload', 405, {}], ['DELETE', '/login', 405, {}], ['GET', '/account/sign-out', 405, {}],
    ['PATCH', '/register/token', 405, {}], ['POST', '/nothing', 404, { body: large, headers: { 'content-type': 'application/xml' } }],
    ['POST', '/login', 413, { body: `estab=${large}`, headers: form }],
    ['POST', '/school', 415, { body: '{}', headers: { 'content-type': 'application/json' } }],
    ['GET', '/healthz?a=%zz', 400, {}], ['GET', '/login?estab=%ff', 400, {}], ['POST', '/login', 403, { body: 'estab=1', headers: form }],
  ] as const) {
    for (const [accept, type] of [[browser, 'text/html'], ['application/json', 'application/json']] as const) {
      const { body, headers } = init as { body?: string; headers?: Record<string, string> };
      const response = await fetch(`${url}${path}`, { method, headers: { ...headers, accept }, redirect: 'manual', ...(body === undefined ? {} : { body }) });
      assert.equal(typeOf(response), `${status} ${type}`, `${method} ${path} ${accept}`);
      if (status === 405) assert.match(response.headers.get('allow') ?? '', /^[A-Z]+(, [A-Z]+)*$/, path);
      const text = await response.text();
      if (type === 'application/json') assert.match((JSON.parse(text) as { ExceptionMessage: string }).ExceptionMessage, /\.$/);
      else assert.match(text, /<h1>[^<]+<\/h1>\s*<p>[^<]+\.<\/p>\s*<p><a class="button" href="\/(school|login|)(\/home)?">/, `${method} ${path}`);
    }
  }
});

test('a service that is not ready says so to a browser as a page', async () => {
  await db`alter table migration rename to migration_away`;
  try {
    assert.equal(typeOf(await ask('/readyz', '*/*')), '503 application/json');
    const page = await ask('/readyz', browser);
    assert.equal(typeOf(page), '503 text/html');
    assert.match(await page.text(), /Not ready to serve: the database/);
  } finally {
    await db`alter table migration_away rename to migration`;
  }
});
