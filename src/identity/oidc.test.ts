// Tests single sign-on with a standard client library and a browser: who gets in, with which claims, and who does not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import * as oidc from 'openid-client';
import type { Page } from 'playwright-core';
import { rotateApplicationSecret } from '../access/applications.ts';
import { openPage } from '../../test/browser.ts';
import { useIdentity, withOffice } from '../../test/identity.ts';
import { smallPackage } from '../../test/small-school.ts';

/** The application's own pages, at another origin. */
const landing = createServer((_request, response) =>
  response.setHeader('content-type', 'text/html').end('<!doctype html><title>app</title><link rel="icon" href="data:,"><p>back'),
).listen(0, '127.0.0.1');
await once(landing, 'listening');
after(() => landing.closeAllConnections());
after(() => landing.close());
const redirect = `http://127.0.0.1:${(landing.address() as AddressInfo).port}/cb`;

const identity = await useIdentity();
const { url, service, db, makeRegistered, addSignOn, change, answer } = identity;
const password = 'seven green lanterns';
const teacher = await makeRegistered('Given s1', password);
await makeRegistered('Given s1', password, 'two');
const application = await addSignOn('signon', ['one'], [redirect]);

type Known = { clientId: string; clientSecret: string };
type Journey = { config: oidc.Configuration; verifier: string; state: string; nonce: string; url: URL };

async function discover({ clientId, clientSecret }: Known, authentication: oidc.ClientAuth = oidc.ClientSecretPost(clientSecret)): Promise<oidc.Configuration> {
  const config = await oidc.discovery(new URL(`${url}/oidc`), clientId, undefined, authentication, { execute: [oidc.allowInsecureRequests] });
  oidc.enableNonRepudiationChecks(config);
  return config;
}

async function begin(config: oidc.Configuration, more: Record<string, string> = {}): Promise<Journey> {
  const [verifier, state, nonce] = [oidc.randomPKCECodeVerifier(), oidc.randomState(), oidc.randomNonce()];
  const parameters = {
    redirect_uri: redirect, scope: 'openid profile email', code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256', state, nonce, ...more,
  };
  return { config, verifier, state, nonce, url: oidc.buildAuthorizationUrl(config, parameters) };
}

async function fill(page: Page, estab = 'one', userName = 's1', secret = password): Promise<void> {
  await page.waitForURL(/\/oidc\/interaction\//);
  await page.fill('#estab', estab);
  await page.fill('#username', userName);
  await page.fill('#password', secret);
  await page.click('button[type=submit]');
}

async function back(page: Page): Promise<URL> {
  await page
    .waitForURL((at) => at.href.startsWith(redirect))
    .catch(async () => assert.fail(`stopped at ${page.url()}: ${await page.innerText('body')}`));
  return new URL(page.url());
}

const exchange = ({ config, verifier, state, nonce }: Journey, at: URL) =>
  oidc.authorizationCodeGrant(config, at, { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true });

async function signOn(known: Known = application, more: Record<string, string> = {}, estab = 'one') {
  const { page, complaints } = await openPage();
  const journey = await begin(await discover(known), more);
  await page.goto(journey.url.href);
  await fill(page, estab);
  return { page, complaints, journey, at: await back(page) };
}

test('a standard client completes a sign-in, with the claims of its scopes', async () => {
  const { journey, at, complaints } = await signOn();
  const tokens = await exchange(journey, at);
  const claims = tokens.claims();
  assert.equal(claims?.iss, `${url}/oidc`);
  assert.equal(claims?.aud, application.clientId);
  assert.deepEqual(complaints, []);
  const info = await oidc.fetchUserInfo(journey.config, tokens.access_token, claims?.sub ?? '');
  const wanted = {
    presence_id: teacher.Id, sourced_id: 's1', role: 'teacher', estab: 'one', name: 'Given s1 Family', given_name: 'Given s1', family_name: 'Family',
    preferred_username: 's1', email: 's1@school.example',
  };
  const said = (from: Record<string, unknown> | undefined) => Object.fromEntries(Object.keys(wanted).map((name) => [name, from?.[name]]));
  assert.deepEqual(said(info), wanted);
  assert.deepEqual(said(claims), wanted);
});

test('without the scopes profile and email there is neither name nor e-mail', async () => {
  const { journey, at } = await signOn(application, { scope: 'openid' });
  const tokens = await exchange(journey, at);
  const info = await oidc.fetchUserInfo(journey.config, tokens.access_token, tokens.claims()?.sub ?? '');
  for (const from of [info, tokens.claims()] as Record<string, unknown>[]) {
    assert.deepEqual([from.presence_id, from.sourced_id, from.role, from.estab], [teacher.Id, 's1', 'teacher', 'one']);
    for (const name of ['name', 'given_name', 'family_name', 'preferred_username', 'email']) assert.equal(from[name], undefined, name);
  }
});

test('the client shows its secret as Basic or in the body; a wrong one is refused, and a rotated one', async () => {
  for (const authentication of [oidc.ClientSecretBasic(application.clientSecret), oidc.ClientSecretPost(application.clientSecret)]) {
    const { journey, at } = await signOn();
    assert.ok((await exchange({ ...journey, config: await discover(application, authentication) }, at)).id_token);
  }
  const { journey, at } = await signOn();
  for (const authentication of [
    oidc.ClientSecretBasic('wrong'), oidc.ClientSecretPost('wrong'), oidc.ClientSecretPost(application.managementSecret), oidc.None(),
  ]) {
    await assert.rejects(
      exchange({ ...journey, config: await discover(application, authentication) }, at),
      (error: Error & { status?: number; error?: string; cause?: unknown }) => {
        assert.match(`${error.error} ${JSON.stringify(error.cause)}`, /invalid_client|invalid_request/);
        return true;
      },
    );
  }
  for (const authorization of ['Basic !!!', `Basic ${Buffer.from('%zz:%zz').toString('base64')}`, `Basic ${Buffer.from('a\0b:c').toString('base64')}`]) {
    const response = await fetch(`${url}/oidc/token`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=authorization_code&code=x&redirect_uri=y',
    });
    assert.ok([400, 401].includes(response.status), `${authorization}: ${response.status}`);
  }
  const rotated = await addSignOn('rotated', ['one'], [redirect]);
  const clientSecret = await rotateApplicationSecret(db, service.seal, 'rotated', 'client');
  await db`update application_secret set valid_until = now() - interval '1 second' where rp = 'rotated' and valid_until is not null`;
  const again = await signOn(rotated);
  await assert.rejects(exchange(again.journey, again.at));
  assert.ok((await exchange({ ...again.journey, config: await discover({ ...rotated, clientSecret }) }, again.at)).id_token);
});

test('a code works once, with its verifier, and what was issued for it ends when it is used twice', async () => {
  const { journey, at } = await signOn();
  await assert.rejects(exchange({ ...journey, verifier: oidc.randomPKCECodeVerifier() }, at), /invalid_grant|unexpected|response/i);
  const second = await signOn();
  const tokens = await exchange(second.journey, second.at);
  await assert.rejects(exchange(second.journey, second.at), (error: { error?: string }) => error.error === 'invalid_grant');
  await assert.rejects(oidc.fetchUserInfo(second.journey.config, tokens.access_token, tokens.claims()?.sub ?? ''));
});

test('without PKCE, with another redirect address, and for an unknown client: refused before anybody is asked', async () => {
  const config = await discover(application);
  const plain = await fetch(oidc.buildAuthorizationUrl(config, { redirect_uri: redirect, scope: 'openid', state: 'x' }), { redirect: 'manual' });
  const [status, where] = [plain.status, new URL(plain.headers.get('location') ?? '', url)];
  assert.deepEqual([status, where.href.startsWith(redirect), where.searchParams.get('error')], [303, true, 'invalid_request']);
  for (const more of [
    { redirect_uri: `${redirect}/other` },
    { redirect_uri: 'https://evil.example/cb' },
    { client_id: 'nobody' },
    { client_id: identity.client.clientId },
  ] as Record<string, string>[]) {
    const response = await fetch((await begin(config, more)).url, { redirect: 'manual' });
    assert.equal(response.status, 400, JSON.stringify(more));
    assert.equal(response.headers.get('location'), null);
  }
  const implicit = await fetch((await begin(config, { response_type: 'id_token' })).url, { redirect: 'manual' });
  assert.match(implicit.headers.get('location') ?? String(implicit.status), /error=unsupported_response_type|^400$/);
});

test('a school that does not authorise the application with Identity: access_denied', async () => {
  assert.equal((await signOn(application, {}, 'two')).at.searchParams.get('error'), 'access_denied', 'not authorised');
  const without = await addSignOn('without', ['one'], [redirect], 'School,Student');
  assert.equal((await signOn(without)).at.searchParams.get('error'), 'access_denied', 'without Identity');
});

test('revoked afterwards: the next sign-in is refused, and so are the tokens', async () => {
  const revoked = await addSignOn('revoked', ['one'], [redirect]);
  const { journey, at, page } = await signOn(revoked);
  const tokens = await exchange(journey, at);
  const unused = await begin(journey.config);
  await page.goto(unused.url.href);
  const held = await back(page);
  assert.ok(held.searchParams.get('code'), 'signed on without being asked again');
  await change('revoked', 'one', 'Revoked');
  await page.goto((await begin(journey.config)).url.href);
  assert.equal((await back(page)).searchParams.get('error'), 'access_denied');
  await assert.rejects(exchange(unused, held), 'a code from before');
  await assert.rejects(oidc.fetchUserInfo(journey.config, tokens.access_token, tokens.claims()?.sub ?? ''), 'a token from before');
  assert.equal((await signOn(revoked)).at.searchParams.get('error'), 'access_denied');
});

test('who is signed in at /login signs on without a second password, unless the application asks for one', async () => {
  const { page, complaints } = await openPage();
  await page.goto(`${url}/login`);
  await page.fill('#estab', 'one');
  await page.fill('#username', 's1');
  await page.fill('#password', password);
  await page.click('button[type=submit]');
  await page.waitForURL(`${url}/account`);
  const config = await discover(application);
  const silent = await begin(config);
  await page.goto(silent.url.href);
  const tokens = await exchange(silent, await back(page));
  for (const more of [{ prompt: 'login' }, { max_age: '0' }, { max_age: '600' }] as Record<string, string>[]) {
    await db`update oidc_record set payload = jsonb_set(payload, '{loginTs}', to_jsonb(extract(epoch from now())::int - 3600)) where model = 'Session'`;
    const asked = await begin(config, more);
    await page.goto(asked.url.href);
    await fill(page);
    assert.ok((await exchange(asked, await back(page))).id_token, JSON.stringify(more));
  }
  const consenting = await begin(config, { prompt: 'consent' });
  await page.goto(consenting.url.href);
  assert.ok((await exchange(consenting, await back(page))).id_token, 'the school has consented');
  const hinted = await begin(config, { id_token_hint: tokens.id_token ?? '', prompt: 'none' });
  await page.goto(hinted.url.href);
  assert.ok((await exchange(hinted, await back(page))).id_token, 'the hint names who is signed in');

  await page.goto(`${url}/account`);
  await page.click('button.second');
  await page.waitForURL(`${url}/login`);
  await page.goto((await begin(config)).url.href);
  await page.waitForURL(/\/oidc\/interaction\//);
  await page.goto((await begin(config, { prompt: 'none' })).url.href);
  assert.equal((await back(page)).searchParams.get('error'), 'login_required', 'signed out is signed out');
  assert.deepEqual(complaints, []);
});

test('a wrong password is explained and tried again; one that must change is changed first', async () => {
  const { page } = await openPage();
  const config = await discover(application);
  const journey = await begin(config);
  await page.goto(journey.url.href);
  await fill(page, 'one', 's1', 'wrong');
  await page.waitForSelector('#problem');
  const { Password } = await answer<{ Password: string }>('ResetPassword', { query: { username: 's1', UnlockLogin: 'true' } });
  await fill(page, 'one', 's1', Password);
  await page.click('main a');
  await page.waitForURL(`${url}/account/password`);
  const early = await begin(config, { prompt: 'none' });
  await page.goto(early.url.href);
  assert.equal((await back(page)).searchParams.get('error'), 'login_required', 'not before it is changed');
  await page.goto(`${url}/account/password`);
  await page.fill('#password', password);
  await page.fill('#repeated', password);
  await page.click('button[type=submit]');
  await page.waitForURL(`${url}/account`);
  const after = await begin(config);
  await page.goto(after.url.href);
  assert.ok((await exchange(after, await back(page))).id_token);
  await answer('ResetPassword', { query: { username: 's1', password } });
  await page.goto((await begin(config)).url.href);
  await page.waitForURL(/\/oidc\/interaction\//);
});

test('who has left cannot sign on, nor go on with a code or a token', async () => {
  const { page, journey, at } = await signOn();
  const tokens = await exchange(journey, at);
  const unused = await begin(journey.config);
  await page.goto(unused.url.href);
  const held = await back(page);
  const left = withOffice([], ['s1']);
  await service.load('one', left, { approve: true });
  await assert.rejects(exchange(unused, held), 'a code');
  await assert.rejects(oidc.fetchUserInfo(journey.config, tokens.access_token, tokens.claims()?.sub ?? ''), 'a token');
  const next = await begin(journey.config, { prompt: 'none' });
  await page.goto(next.url.href);
  assert.equal((await back(page)).searchParams.get('error'), 'login_required', 'a session');
  const fresh = await openPage();
  await fresh.page.goto((await begin(journey.config)).url.href);
  await fill(fresh.page);
  await fresh.page.waitForSelector('#problem');
  await service.load('one', smallPackage(), { approve: true });
  assert.ok((await signOn()).at.searchParams.get('code'), 'and can when they are back');
});
