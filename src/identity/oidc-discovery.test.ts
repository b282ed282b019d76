// Tests that what the OpenID discovery announces works, each part of it, asked for without a library; and the claims that
// follow from how somebody registered.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose';
import { openForm, useIdentity, withOffice } from '../../test/identity.ts';
import { user } from '../../test/small-school.ts';

const redirect = 'https://app.example/cb?keep=1';
const identity = await useIdentity();
const { url, service, answer, makeLogin, makeRegistered, links } = identity;
const password = 'seven green lanterns';
const teacher = await makeRegistered('Given s1', password);
const application = await identity.addSignOn('signon', ['one'], [redirect]);

type Lists = Record<
  `${'claims' | 'grant_types' | 'response_modes' | 'response_types' | 'scopes' | 'subject_types' | 'token_endpoint_auth_methods'}_supported`,
  string[]
>;
type Discovery = Record<string, unknown> & Lists & Record<`${'authorization' | 'token' | 'userinfo' | 'revocation'}_endpoint` | 'issuer' | 'jwks_uri', string>;
const announced = (await (await fetch(`${url}/oidc/.well-known/openid-configuration`)).json()) as Discovery;
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;

/** Follows the sign-in as a browser does, and gives the answer that leads back to the application. */
async function signOn(username: string, { scope = 'openid profile email', ...more }: Record<string, string> = {}) {
  const verifier = randomBytes(32).toString('base64url');
  const cookies = new Map<string, string>();
  const go = async (to: string, init: RequestInit = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(new URL(to, url), { ...init, redirect: 'manual', headers: { ...init.headers, cookie } });
    for (const one of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      cookies.set(name, value);
    }
    return response;
  };
  const asked = new URLSearchParams({
    client_id: application.clientId, redirect_uri: redirect, response_type: 'code', scope, state: 'abc', nonce: 'n',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'), code_challenge_method: 'S256', ...more,
  });
  const begun = await go(`${announced.authorization_endpoint}?${asked.toString()}`);
  const interaction = begun.headers.get('location') ?? '';
  assert.match(interaction, /\/oidc\/interaction\//);
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(await (await go(interaction)).text()) ?? [];
  const signedIn = await go(interaction, { method: 'POST', headers: form, body: new URLSearchParams({ token, estab: 'one', username, password }) });
  const back = await go(signedIn.headers.get('location') ?? '');
  return { back, verifier };
}

function exchange(code: string, verifier: string, authentication: 'client_secret_basic' | 'client_secret_post' = 'client_secret_post') {
  const { clientId, clientSecret } = application;
  const body = { grant_type: 'authorization_code', code, redirect_uri: redirect, code_verifier: verifier };
  return fetch(announced.token_endpoint, {
    method: 'POST',
    headers: authentication === 'client_secret_basic' ? { ...form, authorization: basic(clientId, clientSecret) } : form,
    body: new URLSearchParams(authentication === 'client_secret_basic' ? body : { ...body, client_id: clientId, client_secret: clientSecret }),
  });
}

const verify = (idToken: string) =>
  jwtVerify(idToken, createRemoteJWKSet(new URL(announced.jwks_uri)), { issuer: announced.issuer, audience: application.clientId });

/** Everything that is said about somebody: in the ID token and at the userinfo endpoint. */
async function claimsOf(username: string, more: Record<string, string> = {}): Promise<{ token: JWTPayload; info: Record<string, unknown>; access: string }> {
  const { back, verifier } = await signOn(username, more);
  const answered = await exchange(new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? '', verifier);
  assert.equal(answered.status, 200, await answered.clone().text());
  const { id_token: idToken, access_token: access } = (await answered.json()) as Record<string, string>;
  const info = await fetch(announced.userinfo_endpoint, { headers: { authorization: `Bearer ${access}` } });
  assert.equal(info.status, 200);
  return { token: (await verify(idToken ?? '')).payload, info: (await info.json()) as Record<string, unknown>, access: access ?? '' };
}

test('what is announced is what there is, and nothing else', () => {
  const { issuer: _, ...rest } = announced;
  assert.deepEqual(Object.keys(rest).toSorted(), [
    'authorization_endpoint', 'authorization_response_iss_parameter_supported', 'claim_types_supported', 'claims_parameter_supported', 'claims_supported',
    'code_challenge_methods_supported', 'grant_types_supported', 'id_token_signing_alg_values_supported', 'jwks_uri', 'request_uri_parameter_supported',
    'response_modes_supported', 'response_types_supported', 'revocation_endpoint', 'scopes_supported', 'subject_types_supported', 'token_endpoint',
    'token_endpoint_auth_methods_supported', 'userinfo_endpoint',
  ]);
  assert.deepEqual(announced.token_endpoint_auth_methods_supported.toSorted(), ['client_secret_basic', 'client_secret_post']);
  assert.deepEqual([announced.grant_types_supported, announced.response_types_supported], [['authorization_code'], ['code']]);
  assert.deepEqual([announced.subject_types_supported, announced.code_challenge_methods_supported], [['public'], ['S256']]);
});

test('each way to show the secret works', async () => {
  for (const method of announced.token_endpoint_auth_methods_supported) {
    const { back, verifier } = await signOn('s1');
    const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? '';
    const answered = await exchange(code, verifier, method as 'client_secret_basic');
    assert.equal(answered.status, 200, `${method}: ${await answered.text()}`);
  }
});

test('each response mode brings the code, the state and the issuer to the application', async () => {
  assert.deepEqual(announced.response_modes_supported.toSorted(), ['form_post', 'fragment', 'query']);
  for (const mode of announced.response_modes_supported) {
    const { back, verifier } = await signOn('s1', { response_mode: mode });
    const at = new URL(back.headers.get('location') ?? redirect);
    const page = mode === 'form_post' ? await back.text() : '';
    const found = mode === 'query' ? at.searchParams : mode === 'fragment' ? new URLSearchParams(at.hash.slice(1)) : readHidden(page);
    assert.equal(`${at.origin}${at.pathname}`, 'https://app.example/cb', mode);
    if (mode === 'form_post') assert.match(page, /action="https:\/\/app\.example\/cb\?keep=1"/);
    assert.deepEqual([found.get('state'), found.get('iss')], ['abc', announced.issuer], mode);
    assert.equal((await exchange(found.get('code') ?? '', verifier)).status, 200, mode);
  }
});

function readHidden(page: string): URLSearchParams {
  const inputs = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return new URLSearchParams(inputs.map(([, name = '', value = '']): [string, string] => [name, value]));
}

test('each claim and scope that is announced is given, the ID token is signed as announced', async () => {
  const { token, info } = await claimsOf('s1', { scope: announced.scopes_supported.join(' ') });
  for (const name of announced.claims_supported) assert.notEqual(token[name], undefined, `${name} in the ID token`);
  const ofPerson = announced.claims_supported.filter((one) => !['auth_time', 'iss'].includes(one));
  for (const name of ofPerson) assert.notEqual(info[name], undefined, `${name} as userinfo`);
  assert.deepEqual([info.presence_id, info.sourced_id, info.estab, info.role], [teacher.Id, 's1', 'one', 'teacher']);
  assert.deepEqual([info.sub, token.sub], [`one|${teacher.Id}`, `one|${teacher.Id}`], 'the same at every sign-in, and nobody else at any school');
  assert.deepEqual(announced.id_token_signing_alg_values_supported, ['RS256']);
});

test('a token that is revoked opens nothing any more', async () => {
  const { access } = await claimsOf('s1');
  const revoked = await fetch(announced.revocation_endpoint, {
    method: 'POST',
    headers: { ...form, authorization: basic(application.clientId, application.clientSecret) },
    body: new URLSearchParams({ token: access }),
  });
  assert.equal(revoked.status, 200);
  assert.equal((await fetch(announced.userinfo_endpoint, { headers: { authorization: `Bearer ${access}` } })).status, 401);
});

test('what is not announced is not there', async () => {
  for (const path of ['/request', '/device/auth', '/reg', '/token/introspection', '/session/end', '/backchannel'])
    assert.equal((await fetch(`${url}/oidc${path}`, { method: 'POST', headers: form, body: 'client_id=x' })).status, 404, path);
});

async function register(email: string): Promise<void> {
  const [link = ''] = (await links(email)).slice(-1);
  const { pathname } = new URL(link);
  const opened = await openForm(url, pathname);
  const done = await opened.post({ password, repeated: password });
  assert.ok(done.status < 400, `${done.status}`);
}

/** Two more people, with these addresses. */
const load = (first: string, second: string) =>
  service.load('one', withOffice([user('s4', 'teacher', { email: first }), user('p4', 'student', { email: second })]), { approve: true });

test('an address is verified once its registration link was opened, and no longer when the roster has another', async () => {
  const verified = async (username: string) => {
    const { token, info } = await claimsOf(username);
    assert.equal(token.email_verified, info.email_verified);
    return [info.email, info.email_verified];
  };
  assert.deepEqual(await verified('s1'), ['s1@school.example', false], 'whose password was set by the school');
  await load('s4@school.example', 'p4@school.example');
  await makeLogin('Given s4');
  await register('s4@school.example');
  assert.deepEqual(await verified('s4'), ['s4@school.example', true]);
  await answer('ResetPassword', { query: { username: 's4', password, ChangeAtNextLogin: 'false' } });
  assert.deepEqual(await verified('s4'), ['s4@school.example', true], 'another password is no other address');
  await load('moved@school.example', 'p4@school.example');
  assert.deepEqual(await verified('s4'), ['moved@school.example', false]);
  await load('S4@school.example', 'p4@school.example');
  assert.deepEqual(await verified('s4'), ['S4@school.example', true]);
});

test('a link that was mailed to another address than the present one verifies that one only', async () => {
  await makeLogin('Given p4');
  await load('s4@school.example', 'new@school.example');
  await register('p4@school.example');
  const { info } = await claimsOf('p4');
  assert.deepEqual([info.email, info.email_verified, info.role, info.sourced_id], ['new@school.example', false, 'student', 'p4']);
});

test('whom an application has added has no sourced_id', async () => {
  await answer('CreateUser', { body: { orgId: 'one', manualUser: [{ firstName: 'Extra', lastName: 'Person', email: 'extra@school.example' }] } });
  await register('extra@school.example');
  const { info } = await claimsOf('extra@school.example');
  assert.deepEqual([info.estab, info.role, info.email_verified, 'sourced_id' in info], ['one', 'manual', true, false]);
});

test('programs are refused in JSON, whatever they say of pages; who came with a browser reads one', async () => {
  const accept = 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2';
  for (const [address, method, status] of [
    [announced.token_endpoint, 'POST', 400], [announced.revocation_endpoint, 'POST', 400], [announced.userinfo_endpoint, 'GET', 401],
  ] as const) {
    const response = await fetch(address, { method, headers: method === 'POST' ? { accept, ...form } : { accept } });
    assert.deepEqual([response.status, response.headers.get('content-type')], [status, 'application/json; charset=utf-8'], address);
    assert.match(((await response.json()) as { error: string }).error, /^invalid_/);
  }
  const visited = await fetch(`${announced.authorization_endpoint}?client_id=nobody`, { headers: { accept } });
  assert.deepEqual([visited.status, visited.headers.get('content-type')], [400, 'text/html; charset=utf-8']);
});
