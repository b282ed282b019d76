// Tests the start page: what it says to people and to programs, that every link opens, and who may see the demo's secrets.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { openPage } from '../test/browser.ts';
import { useService } from '../test/service.ts';
import { addOperator } from '../test/visitor.ts';
import type { DemoCredentials } from './demo.ts';
import { version } from './version.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const demo: DemoCredentials = {
  estab: '9990001', rp: 'demo.example', clientId: 'demo.example.1', clientSecret: 'sb_client_secret', managementSecret: 'sb_mgmt_secret',
  signingSecret: 'whsec_secret', schoolSecret: 'sb_school_secret',
};
const entry = 'the token of these tests';
const { db, url, join } = await useService({ DEMO: 'on' }, { demo, demoEntry: entry });
const linked = `/?${new URLSearchParams({ entry })}`;
const { port } = new URL(url);
const bare = await useService();
const guides = ['', '/load-csv', '/read-a-roster', '/run-in-production', '/settings', '/what-is-kept'].map((name) => `/docs/guides${name}`);
const files = ['/openapi/management.json', '/openapi/oneroster-1p2.json', '/openapi/school-data.json', '/openapi/variant-a.json', '/openapi/variant-b.json'];

/** With whatever headers, the Host among them. */
function ask(at: string, headers: Record<string, string>, method = 'GET'): Promise<{ status: number; headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(at, { method, headers: { accept: browser, ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    asked.on('error', reject).end();
  });
}

test('a person reads what this is, that it runs, and can open every link', async () => {
  const { status, headers, text } = await ask(`${url}/`, {});
  assert.equal(status, 200);
  assert.match(String(headers['content-security-policy']), /default-src 'none'/);
  assert.deepEqual([headers['cache-control'], headers.vary], ['no-store', 'accept']);
  assert.match(text, /<h1>Schoolbell is running<\/h1>/);
  assert.match(text, new RegExp(`<span id="version">${version.replaceAll('.', '\\.')}</span>`));
  const links = [...text.matchAll(/<a [^>]*href="(\/[^"]*)"/g)].map(([, path]) => path ?? '');
  assert.deepEqual(links.toSorted(), ['/README.md', '/console', '/console', '/docs', ...guides, '/login', ...files, '/school']);
  for (const path of links.filter((one) => one !== '/console')) assert.equal((await ask(`${url}${path}`, {})).status, 200, path);
  const shut = await ask(`${url}/console`, {});
  assert.equal(shut.status, 404, 'nobody may come there yet');
  assert.match(shut.text, /There is no console until ADMIN_PASSWORD is set/);
  await addOperator(db, 'ada@trust.example');
  const opened = await ask(`${url}/console`, {});
  assert.deepEqual([opened.status, opened.headers.location], [303, '/console/sign-in?to=%2Fconsole']);
  const signIn = await ask(`${url}${String(opened.headers.location)}`, {});
  assert.deepEqual([signIn.status, /id="sign-in"/.test(signIn.text)], [200, true]);
});

test('the README is shown as text', async () => {
  const readme = await ask(`${url}/README.md`, {});
  assert.equal(readme.headers['content-type'], 'text/plain; charset=utf-8');
  assert.match(readme.text, /^# Schoolbell\n/);
});

test('a program gets JSON, HEAD has no body, and other verbs are refused', async () => {
  const { status, headers, text } = await ask(`${url}/`, { accept: '*/*' });
  assert.deepEqual([status, headers['content-type']], [200, 'application/json; charset=utf-8']);
  const said = JSON.parse(text) as { name: string; version: string; api: string[] };
  assert.deepEqual([said.name, said.version, said.api.toSorted()], ['Schoolbell', version, files.map((file) => `${url}${file}`)]);
  assert.doesNotMatch(text, /secret/);
  const head = await ask(`${url}/`, {}, 'HEAD');
  assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'text/html; charset=utf-8', '']);
  for (const path of ['/', '/README.md', ...files]) {
    const refused = await ask(`${url}${path}`, { 'content-type': 'application/x-www-form-urlencoded' }, 'POST');
    assert.deepEqual([refused.status, refused.headers['content-type'], refused.headers.allow], [405, 'text/html; charset=utf-8', 'GET, HEAD'], path);
  }
});

test('the secrets of the demo are shown to the printed link on the machine itself, and nowhere else', async () => {
  const shows = (text: string) => /sb_client_secret[^]*sb_school_secret/.test(text);
  for (const host of [`127.0.0.1:${port}`, '127.0.0.1', `localhost:${port}`, `[::1]:${port}`, 'LOCALHOST', '127.9.9.9:80']) {
    assert.ok(shows((await ask(url + linked, { host })).text), host);
  }
  const others = [`schoolbell.example:${port}`, '127.0.0.1.schoolbell.example', 'localhost.schoolbell.example', '10.0.0.1', '127.0.0.1@evil'];
  for (const host of others) {
    const { text } = await ask(url + linked, { host });
    assert.doesNotMatch(text, /sb_|whsec_/, host);
    assert.match(text, /demo\.json<\/code> in its data directory/, host);
  }
  for (const name of ['x-forwarded-for', 'X-Forwarded-Proto', 'forwarded', 'via', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-original-host']) {
    assert.doesNotMatch((await ask(url + linked, { [name]: '127.0.0.1' })).text, /sb_|whsec_/, name);
  }
  for (const [name, value] of [['HOST', '0.0.0.0'], ['PUBLIC_URL', 'https://schoolbell.example'], ['TRUST_PROXY', '127.0.0.1']] as const) {
    const other = await join({ [name]: value });
    assert.doesNotMatch((await ask(other.url + linked, {})).text, /sb_|whsec_/, name);
  }
});

test('a request without the token of the printed link, as through a plain TCP forwarder, gets no secrets but a pointer to the link', async () => {
  const forwarder = createServer((near) => void near.pipe(connect(Number(port), '127.0.0.1')).pipe(near)).listen(0, '127.0.0.1');
  after(() => forwarder.close());
  await once(forwarder, 'listening');
  const through = `http://127.0.0.1:${(forwarder.address() as AddressInfo).port}`;
  for (const path of ['/', '/?entry=', '/?entry=another', `/?${new URLSearchParams({ entry: `${entry}x` })}`]) {
    const { text } = await ask(through + path, { host: `127.0.0.1:${port}` });
    assert.doesNotMatch(text, /sb_|whsec_|enter-demo/, path);
    assert.match(text, /open the link that Schoolbell printed when it started/, path);
  }
  const silent = await join({}, { demoEntry: undefined });
  const { text } = await ask(`${silent.url}/?entry=`, {});
  assert.doesNotMatch(text, /sb_|whsec_|open the link/, 'a process that printed no link');
});

test('what proxies send by default, HTTP/1.0 with our own address as Host, is not the machine itself', async () => {
  const { stdout } = await promisify(execFile)('curl', ['-s', '--http1.0', '-H', `Accept: ${browser}`, url + linked]);
  assert.match(stdout, /Schoolbell is running/);
  assert.doesNotMatch(stdout, /sb_|whsec_/);
});

test('without a demo there is nothing to try, and the ways in are there', async () => {
  const { text } = await ask(`${bare.url}/`, {});
  assert.deepEqual([...text.matchAll(/<section class="card" id="([^"]+)"/g)].map(([, id]) => id), ['sign-in', 'next']);
});

test('in a browser: nothing to complain about at either width, nothing inaccessible, and a click selects a whole request', async () => {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
    const { page, complaints } = await openPage(viewport);
    await page.goto(url + linked);
    assert.deepEqual(complaints, []);
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `wider than ${viewport.width}`);
    await page.evaluate(axe);
    const { violations } = (await page.evaluate('axe.run()')) as { violations: { id: string; nodes: { html: string }[] }[] };
    assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`), []);
    await page.click('#variant-b');
    const selected = (await page.evaluate('getSelection().toString()')) as string;
    assert.match(selected.trim(), /^curl -s -H .*sb_school_secret.*active%27'$/s);
    await page.click('text=Pages of your school');
    assert.equal(await page.textContent('h1'), 'The pages of your school');
    await page.goto(`${url}/nothing`);
    assert.equal(await page.textContent('h1'), 'There is nothing here');
    await page.click('text=To the start page');
    assert.equal(await page.textContent('h1'), 'Schoolbell is running');
  }
});
