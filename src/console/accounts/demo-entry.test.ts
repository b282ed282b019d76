// Tests the demo's one click to the console: it opens for whoever sits at the machine, and for nobody as soon as any one of its
// conditions is missing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { addOperator } from '../../../test/visitor.ts';

const settings = { DEMO: 'on', ADMIN_PASSWORD: 'a password that is set' };
const entry = 'the token of these tests';
const { service: { db, url, join } } = await useConsole(settings, { demoEntry: entry });
const startPage = `/?${new URLSearchParams({ entry })}`;
await addOperator(db, 'admin');
const { port } = new URL(url);

type Seen = { status: number; location: string | undefined; cookies: string[]; text: string };

/** With whatever headers, the Host among them. */
function ask(at: string, method: 'GET' | 'POST', headers: Record<string, string>, fields: Record<string, string> = {}): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const type = method === 'POST' ? { 'content-type': 'application/x-www-form-urlencoded' } : {};
    const asked = request(at, { method, headers: { accept: 'text/html', ...type, ...headers } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response.on('end', () => resolve({
        status: response.statusCode ?? 0, location: response.headers.location, cookies: response.headers['set-cookie'] ?? [], text,
      }));
    });
    asked.on('error', reject).end(method === 'POST' ? new URLSearchParams(fields).toString() : undefined);
  });
}

const shows = ({ text }: Seen) => /action="\/console\/demo"[^]*Open the console/.test(text);
const formOf = ({ cookies, text }: Seen) => ({
  cookie: cookies[0]?.split(';', 1)[0] ?? '', token: /action="\/console\/demo"[^>]*><input type="hidden" name="token" value="([^"]+)"/.exec(text)?.[1] ?? '',
});
const own = formOf(await ask(url + startPage, 'GET', {}));

async function click(headers: Record<string, string> = {}, at = url, form = own, given = entry): Promise<Seen> {
  return ask(`${at}/console/demo`, 'POST', { cookie: form.cookie, ...headers }, { token: form.token, entry: given });
}

async function assertShut(what: string, seen: Seen): Promise<void> {
  assert.equal(seen.status, 403, what);
  assert.ok(!seen.cookies.some((one) => one.startsWith('schoolbell_console')), what);
}

test('one click on the start page that the printed link opens leads to the console as admin, and the trail says so', async () => {
  assert.ok(shows(await ask(url + startPage, 'GET', {})));
  const opened = await click({ 'sec-fetch-site': 'same-origin', origin: url });
  assert.deepEqual([opened.status, opened.location], [303, '/console']);
  assert.ok(!opened.cookies.some((one) => one.startsWith('schoolbell_known')), 'nobody has shown a password: the browser is not a known one');
  const cookie = opened.cookies.find((one) => one.startsWith('schoolbell_console'))?.split(';', 1)[0] ?? '';
  assert.match((await ask(`${url}/console`, 'GET', { cookie })).text, /Operator admin/);
  const [line] = await db<{ actor: string; action: string; by: string }[]>`select actor, action, detail ->> 'by' as by from audit_event`;
  assert.deepEqual({ ...line }, { actor: 'admin', action: 'sign in', by: 'the click of the demo' });
  assert.equal((await click({ origin: 'null' })).status, 303, 'our pages send no referrer, so that their origin is null');
  const second = await click({ cookie: `${own.cookie}; ${cookie}` });
  assert.equal(second.status, 303);
  assert.equal((await ask(`${url}/console`, 'GET', { cookie })).status, 303, 'the session before has ended');
});

test('only at a literal loopback address', async () => {
  for (const host of [`127.0.0.1:${port}`, '127.0.0.1', `localhost:${port}`, 'localhost', `[::1]:${port}`, '[::1]']) {
    assert.ok(shows(await ask(url + startPage, 'GET', { host })), host);
    assert.equal((await click({ host })).status, 303, host);
  }
  const strange = [
    `bell.example:${port}`, '127.0.0.1.bell.example', 'localhost.bell.example', 'localhost.', `127.0.0.1.:${port}`, '10.0.0.1', '0.0.0.0', '[::]', '127.1',
    '2130706433', '0x7f000001', '0177.0.0.1', '[::ffff:127.0.0.1]', '[::1', '::1', '127.0.0.1@evil.example', `127.0.0.1:${port}:1`,
    '127.0.0.1 evil.example',
  ];
  for (const host of strange) {
    assert.ok(!shows(await ask(url + startPage, 'GET', { host })), host);
    await assertShut(host, await click({ host }));
  }
});

test('not if anything speaks of a proxy', async () => {
  const added = [
    'Forwarded', 'X-Forwarded', 'X-Forwarded-For', 'x-forwarded-proto', 'x-forwarded-host', 'forwarded-for', 'via', 'x-real-ip', 'true-client-ip', 'cdn-loop',
    'cf-connecting-ip', 'cf-ray', 'cf-visitor', 'fly-client-ip', 'fastly-ssl', 'tailscale-user-login', 'x-amzn-trace-id', 'x-azure-ref',
    'x-envoy-external-address', 'x-original-url', 'x-remote-addr', 'x-originating-ip', 'x-host', 'x-proxyuser-ip',
  ];
  for (const name of added) {
    assert.ok(!shows(await ask(url + startPage, 'GET', { [name]: '127.0.0.1' })), name);
    await assertShut(name, await click({ [name]: '127.0.0.1' }));
  }
});

const missing: [what: string, env: Record<string, string>][] = [
  ['no demo', { DEMO: 'off' }],
  ['HOST is not loopback', { HOST: '0.0.0.0', PUBLIC_URL: 'http://127.0.0.1:1' }],
  ['PUBLIC_URL is not loopback', { PUBLIC_URL: 'https://bell.example' }],
  ['a proxy is trusted', { TRUST_PROXY: '127.0.0.1' }],
  ['no password of admin is kept', { ADMIN_PASSWORD: '' }],
];
for (const [what, env] of missing) {
  test(`not if ${what}`, async () => {
    const other = await join({ ...settings, ...env });
    assert.ok(!shows(await ask(other.url + startPage, 'GET', {})));
    await assertShut(what, await click({}, other.url));
  });
}

test('not from a page of another site, another port included, nor without the token of ours', async () => {
  for (const site of ['cross-site', 'same-site', 'none']) await assertShut(site, await click({ 'sec-fetch-site': site }));
  for (const origin of ['https://evil.example', 'http://127.0.0.1:1', 'http://localhost', 'nonsense']) await assertShut(origin, await click({ origin }));
  await assertShut('another token', await click({}, url, { ...own, token: 'x' }));
  await assertShut('no token', await click({}, url, { ...own, token: '' }));
  await assertShut('no cookie', await click({}, url, { ...own, cookie: '' }));
  await assertShut('the cookie of somebody else', await click({}, url, { ...own, cookie: `${own.cookie}x` }));
  assert.ok([404, 405].includes((await ask(`${url}/console/demo`, 'GET', {})).status), 'a link does nothing');
});

test('not without the token of the printed link, as through a TCP forwarder', async () => {
  const forwarder = createServer((near) => void near.pipe(connect(Number(port), '127.0.0.1')).pipe(near)).listen(0, '127.0.0.1');
  after(() => forwarder.close());
  await once(forwarder, 'listening');
  const through = `http://127.0.0.1:${(forwarder.address() as AddressInfo).port}`;
  for (const path of ['/', '/?entry=', '/?entry=another', '/console/sign-in']) assert.ok(!shows(await ask(through + path, 'GET', {})), path);
  // A form token can be had from any page.
  const signIn = await ask(`${through}/console/sign-in`, 'GET', {});
  const form = { cookie: signIn.cookies[0]?.split(';', 1)[0] ?? '', token: /name="token" value="([^"]+)"/.exec(signIn.text)?.[1] ?? '' };
  assert.ok(form.cookie && form.token);
  for (const given of ['', 'another', `${entry}x`]) await assertShut(given, await click({}, through, form, given));
  const other = await join(settings, { demoEntry: undefined });
  await assertShut('a process without a token', await click({}, other.url, form, ''));
});

test('a second factor is asked for all the same', async () => {
  await db`insert into console_rule (name, required) values ('second factor', true)`;
  const opened = await click();
  assert.deepEqual([opened.status, opened.location], [303, '/console/second-factor']);
});
