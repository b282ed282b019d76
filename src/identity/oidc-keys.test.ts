// The provider's keys while processes run: new ones are picked up at the next request, and what the old ones signed
// still counts, or no longer. Sign-ins go through the pages, with cookies and forms as a browser sends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeProtectedHeader } from 'jose';
import * as oidc from 'openid-client';
import { openForm, useIdentity } from '../../test/identity.ts';
import { rotateProviderKeys } from './oidc/keys.ts';

const identity = await useIdentity();
const { db, service, url } = identity;
const other = await service.join();
const password = 'seven green lanterns';
await identity.makeRegistered('Given s1', password);
const redirect = 'http://127.0.0.1:9/back';
const application = await identity.addSignOn('signon', ['one'], [redirect]);

const rotate = (now: boolean) => db.begin((tx) => rotateProviderKeys(tx, service.seal, { now })) as Promise<string>;
const listed = async (at: string) => ((await (await fetch(`${at}/oidc/jwks`)).json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);

const authentication = oidc.ClientSecretPost(application.clientSecret);
const config = await oidc.discovery(new URL(`${url}/oidc`), application.clientId, undefined, authentication, { execute: [oidc.allowInsecureRequests] });

/** What a browser keeps: a cookie of the same name takes the place of the earlier one. */
class Browser {
  readonly #cookies = new Map<string, string>();

  get cookies(): string[] {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`);
  }

  keep(response: Response): Response {
    for (const one of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }

  async go(to: string): Promise<Response> {
    return this.keep(await fetch(new URL(to, url), { headers: { cookie: this.cookies.join('; ') }, redirect: 'manual' }));
  }
}

const next = (response: Response) => response.headers.get('location') ?? assert.fail(`leads nowhere: ${response.status}`);

async function begin(browser: Browser): Promise<{ verifier: string; to: string }> {
  const verifier = oidc.randomPKCECodeVerifier();
  const challenge = await oidc.calculatePKCECodeChallenge(verifier);
  const parameters = { redirect_uri: redirect, scope: 'openid', code_challenge: challenge, code_challenge_method: 'S256' };
  return { verifier, to: next(await browser.go(oidc.buildAuthorizationUrl(config, parameters).href)) };
}

async function fill(browser: Browser, path: string): Promise<Response> {
  const form = await openForm(url, new URL(path, url).pathname, browser.cookies);
  return browser.keep(await form.post({ estab: 'one', username: 's1', password }));
}

/** The key that signed the ID token at the end of the way. */
async function finish(verifier: string, back: string): Promise<string | undefined> {
  const tokens = await oidc.authorizationCodeGrant(config, new URL(back), { pkceCodeVerifier: verifier, idTokenExpected: true });
  return decodeProtectedHeader(tokens.id_token ?? '').kid;
}

async function signOn(browser: Browser): Promise<string | undefined> {
  const { verifier, to } = await begin(browser);
  return finish(verifier, next(await browser.go(next(await fill(browser, to)))));
}

test('every process has the same keys, made once, and publishes nothing private', async () => {
  const made = await Promise.all([listed(url), listed(other.url), listed(url), listed(other.url)]);
  assert.deepEqual([made[0]?.length, new Set(made.map(String)).size], [1, 1]);
  assert.doesNotMatch(await (await fetch(`${url}/oidc/jwks`)).text(), /"(d|p|q)":/);
});

test('new keys are picked up by running processes, with the old ones behind them; a sign-in that is under way ends well', async () => {
  const [before] = await listed(url);
  assert.equal(await signOn(new Browser()), before);
  const [signedIn, underWay] = [new Browser(), new Browser()];
  await signOn(signedIn);
  const begun = await begin(underWay);
  const kid = await rotate(false);
  assert.deepEqual([await listed(url), await listed(other.url)], [[kid, before], [kid, before]]);
  assert.equal(await finish(begun.verifier, next(await underWay.go(next(await fill(underWay, begun.to))))), kid);
  const again = await begin(signedIn);
  assert.ok(again.to.startsWith(redirect), `the session counts no longer: ${again.to}`);
  assert.equal(await finish(again.verifier, again.to), kid);
});

test('an old key goes when nothing that it signed can be in use, also from running processes', async () => {
  const [present] = await listed(url);
  const kid = await rotate(false);
  assert.ok((await listed(url)).includes(present ?? ''));
  const [{ hours } = { hours: 0 }] = await db<{ hours: number }[]>`
    select max(extract(epoch from trusted_until - now()))::float8 / 3600 as hours from provider_key`;
  assert.ok(hours > 12.9 && hours <= 13, `${hours} hours`);
  await db`update provider_key set trusted_until = now() where trusted_until is not null`;
  assert.deepEqual([await listed(url), await listed(other.url)], [[kid], [kid]]);
  await rotate(false);
  assert.equal((await db`select from provider_key`).length, 2, 'what has ended is removed');
});

test('at once: only the new key is listed, and what the old one signed is refused by running processes', async () => {
  const [signedIn, underWay] = [new Browser(), new Browser()];
  await signOn(signedIn);
  const begun = await begin(underWay);
  const kid = await rotate(true);
  assert.deepEqual([await listed(url), await listed(other.url)], [[kid], [kid]]);
  const page = await underWay.go(begun.to);
  assert.notEqual(page.status, 200, 'the cookie of an old key still opens the sign-in');
  // Without the session the way leads to the sign-in.
  assert.match((await begin(signedIn)).to, /\/oidc\/interaction\//);
  assert.equal(await signOn(new Browser()), kid);
});
