// The rostering token endpoints through HTTP: every form in which credentials come, what is answered, how scopes
// narrow, what is refused, how guessing is slowed down, and the keys that verify tokens.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose';
import { csvPackage } from '../../test/csv-package.ts';
import { byName, offers, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { useService, type Client, type Service } from '../../test/service.ts';
import { changeState } from './authorisations.ts';
import { rotateTokenKey } from './token-keys.ts';

const estab = '9990001';
const behindProxy = await useService({ TRUST_PROXY: '127.0.0.0/8' });
const direct = await useService();

const rows = csvPackage({
  orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }],
  users: [{ sourcedId: 'pupil', enabledUser: 'true', orgSourcedIds: 'sch', role: 'student', username: 'pupil', givenName: 'Ann', familyName: 'Lee' }],
  demographics: [{ sourcedId: 'pupil', sex: 'female' }],
});
await behindProxy.addSchool(estab, rows);
await direct.addSchool(estab);
const client = await behindProxy.addClient('app', [estab]);
const other = await behindProxy.addClient('other', [estab]);
const paused = await behindProxy.addClient('paused', [estab]);
const revoked = await behindProxy.addClient('revoked', [estab]);
await changeState(behindProxy.db, { rp: 'paused', estab, from: ['Approved'], to: 'Paused' });
await changeState(behindProxy.db, { rp: 'revoked', estab, from: ['Approved'], to: 'Revoked' });
const directClient = await direct.addClient('app', [estab]);

/** 1.2 takes either secret. */
type Endpoint = { name: string; dialect: TestedDialect; clientOf: (of: Client) => string; secretOf: (of: Client) => string };
const withSecretOf = (dialect: TestedDialect, { credentials }: TestedDialect): Endpoint => ({
  name: `${dialect.name} with the secret of ${credentials === byName.A.credentials ? 'an application' : 'a school'}`,
  dialect,
  clientOf: (of) => credentials(of, estab)[0],
  secretOf: (of) => credentials(of, estab)[1],
});
const endpoints: readonly Endpoint[] = [...testedDialects.map((dialect) => withSecretOf(dialect, dialect)), withSecretOf(byName['1.2'], byName.A)];

const scopesOf = ({ scopeRoot }: TestedDialect) => ({
  core: `${scopeRoot}roster-core.readonly`, roster: `${scopeRoot}roster.readonly`, demographics: `${scopeRoot}roster-demographics.readonly`,
  gradebook: `${scopeRoot}gradebook.readonly`,
});

type Post = { service?: Service; address?: string; headers?: Record<string, string>; body?: string | Uint8Array; method?: string };
type TokenAnswer = { access_token: string; token_type: string; expires_in: number; scope?: string };
type OauthError = { error: string; error_description: string };

let addresses = 0;
/** Every call comes from an address of its own unless one is given, so that wrong tries do not add up over tests. */
function post(path: string, { service = behindProxy, address, headers = {}, body, method = 'POST' }: Post = {}): Promise<Response> {
  addresses += 1;
  const from = address ?? `10.1.${addresses >> 8}.${addresses & 255}`;
  return fetch(`${service.url}${path}`, { method, headers: { 'x-forwarded-for': from, ...headers }, ...(body === undefined ? {} : { body }) });
}

const basic = (user: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` });
const form = { 'content-type': 'application/x-www-form-urlencoded' };

async function requireToken(response: Response): Promise<TokenAnswer> {
  assert.equal(response.status, 200, await response.clone().text());
  return (await response.json()) as TokenAnswer;
}

async function assertRefused(response: Response, status: number, error: string): Promise<OauthError> {
  assert.equal(response.status, status);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  assert.match(response.headers.get('cache-control') ?? '', /no-store/);
  const body = (await response.json()) as OauthError;
  assert.deepEqual(Object.keys(body).toSorted(), ['error', 'error_description']);
  assert.equal(body.error, error);
  return body;
}

const read = ({ root }: TestedDialect, path: string, token: string) =>
  fetch(`${behindProxy.url}${root}${path}`, { headers: { authorization: `Bearer ${token}` } });

for (const [place, { name, dialect, clientOf, secretOf }] of endpoints.entries()) {
  const { tokenPath: path } = dialect;
  const { core, roster, demographics, gradebook } = scopesOf(dialect);
  const everything = `${core} ${roster} ${demographics}`;
  /** 1.2 says what is granted, whether or not something was asked for. */
  const unasked = dialect.name === '1.2' ? everything : undefined;
  const user = clientOf(client);
  const secret = secretOf(client);
  const right = basic(user, secret);
  const inBody = `client_id=${encodeURIComponent(user)}&client_secret=${encodeURIComponent(secret)}`;

  const presentations: readonly [what: string, suffix: string, given: Post][] = [
    ['Basic without a body', '', { headers: right }],
    ['Basic with the scheme in another case', '', { headers: { authorization: right.authorization.replace('Basic', 'bASIC') } }],
    ['Basic and Accept', '', { headers: { ...right, accept: 'application/json' } }],
    ['Basic and a form body', '', { headers: { ...right, ...form }, body: 'grant_type=client_credentials' }],
    ['Basic and a query', '?grant_type=client_credentials', { headers: right }],
    ['Basic that was form-encoded', '', { headers: basic(encodeURIComponent(user).replaceAll('.', '%2E'), encodeURIComponent(secret)) }],
    ['Basic, a JSON content type and an empty body', '', { headers: { ...right, 'content-type': 'application/json' }, body: '' }],
    ['Basic, a form content type and an empty body', '', { headers: { ...right, ...form }, body: '' }],
    ['credentials in the body', '', { headers: form, body: inBody }],
    ['credentials and grant in the body', '', { headers: form, body: `grant_type=client_credentials&${inBody}` }],
    ['a trailing slash', '/', { headers: right }],
    ['a trailing slash and a query', '/?grant_type=client_credentials', { headers: right }],
  ];
  for (const [what, suffix, given] of presentations) {
    test(`${name} takes ${what}`, async () => {
      const before = Math.floor(Date.now() / 1000);
      const response = await post(path + suffix, given);
      assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
      assert.match(response.headers.get('cache-control') ?? '', /no-store/);
      const answer = await requireToken(response);
      assert.deepEqual(Object.keys(answer).toSorted(), ['access_token', 'expires_in', ...(unasked ? ['scope'] : []), 'token_type']);
      assert.equal(answer.scope, unasked);
      assert.equal(answer.token_type, 'Bearer');
      assert.equal(answer.expires_in, 3600);
      const { iat = 0, exp = 0 } = decodeJwt(answer.access_token);
      assert.equal(exp - iat, 3600);
      assert.ok(iat >= before && iat <= Date.now() / 1000);
      assert.equal((await read(dialect, '/users', answer.access_token)).status, 200);
    });
  }

  test(`${name} narrows to the scopes that are asked for, known and granted`, async () => {
    const asked: [scope: string, answered: string | undefined][] = [
      [core, core],
      [roster, roster],
      [demographics, demographics],
      [everything, everything],
      [`${core} ${gradebook} unheard-of`, core],
      [`${core}  ${core}`, core],
      [core.replace('https:', 'http:'), core],
      [`${gradebook.replace('https:', 'http:')} ${roster.replace('https:', 'HTTP:')} ${roster}`, roster],
      ['', unasked],
      ['  ', unasked],
    ];
    for (const [scope, answered] of asked) {
      const body = new URLSearchParams({ grant_type: 'client_credentials', scope }).toString();
      assert.equal((await requireToken(await post(path, { headers: { ...right, ...form }, body }))).scope, answered, `form, ${scope}`);
      assert.equal((await requireToken(await post(`${path}?${body}`, { headers: right }))).scope, answered, `query, ${scope}`);
    }
    const elsewhere = testedDialects.find(({ scopeRoot }) => scopeRoot !== dialect.scopeRoot) ?? assert.fail();
    for (const scope of ['unheard-of', 'School', gradebook, core.toUpperCase(), `ftp${core.slice(5)}`, scopesOf(elsewhere).core]) {
      const refused = await assertRefused(
        await post(path, { headers: { ...right, ...form }, body: new URLSearchParams({ scope }).toString() }),
        400,
        'invalid_scope',
      );
      assert.ok(refused.error_description.includes(core), 'says what could be asked for');
    }
  });

  test(`${name} gives demographics only where the school grants them`, async () => {
    const [without, only] = [
      await behindProxy.addClient(`without-${place}`, [estab], 'School,Student'),
      await behindProxy.addClient(`only-${place}`, [estab], 'StudentDemographic'),
    ];
    const ask = (of: Client, scope: string) =>
      post(path, { headers: { ...basic(clientOf(of), secretOf(of)), ...form }, body: new URLSearchParams({ scope }).toString() });
    assert.equal((await requireToken(await ask(without, `${roster} ${demographics}`))).scope, roster);
    await assertRefused(await ask(without, demographics), 400, 'invalid_scope');
    assert.equal((await requireToken(await ask(only, `${roster} ${demographics}`))).scope, demographics);
    assert.equal((await requireToken(await ask(without, ''))).scope, unasked && `${core} ${roster}`);
    assert.equal((await requireToken(await ask(only, ''))).scope, unasked && demographics);
    await assertRefused(await ask(only, core), 400, 'invalid_scope');
  });

  test(`${name} gives a token also where nothing of a roster is granted yet, and what is granted later holds at once`, async () => {
    const rp = `later-${place}`;
    const of = await behindProxy.addClient(rp, [estab], 'Identity');
    const headers = { ...basic(clientOf(of), secretOf(of)), ...form };
    const answer = await requireToken(await post(path, { headers }));
    assert.deepEqual(Object.keys(answer).toSorted(), ['access_token', 'expires_in', 'token_type']);
    assert.equal((await read(dialect, '/users', answer.access_token)).status, dialect.errors.forbidden?.status);
    await assertRefused(await post(path, { headers, body: new URLSearchParams({ scope: core }).toString() }), 400, 'invalid_scope');
    await behindProxy.db`update authorisation set scopes = '{Student}' where rp = ${rp}`;
    assert.equal((await read(dialect, '/users', answer.access_token)).status, 200);
  });

  // What follows is judged before it is known which of the two secrets of 1.2 it is.
  if (endpoints.findIndex((one) => one.dialect === dialect) !== place) continue;

  test(`${name} refuses other grants`, async () => {
    for (const grant of ['password', 'authorization_code', 'refresh_token', 'CLIENT_CREDENTIALS', '']) {
      const body = new URLSearchParams({ grant_type: grant }).toString();
      const refused = await assertRefused(await post(path, { headers: { ...right, ...form }, body }), 400, 'unsupported_grant_type');
      assert.match(refused.error_description, /client_credentials/);
      await assertRefused(await post(`${path}?${body}`, { headers: right }), 400, 'unsupported_grant_type');
    }
  });

  const raw = (bytes: string | Buffer) => ({ headers: { authorization: `Basic ${Buffer.from(bytes).toString('base64')}` } });
  const refused: [what: string, given: Post][] = [
    ['an empty secret', { headers: basic(user, '') }],
    ['the secret of another application', { headers: basic(user, secretOf(other)) }],
    ['a secret of another kind', { headers: basic(user, client.managementSecret) }],
    ['an unknown client', { headers: basic(`x${user}`, secret) }],
    ['a client with more after its name', { headers: basic(`${user}|x`, secret) }],
    ['a paused authorisation', { headers: basic(clientOf(paused), secretOf(paused)) }],
    ['a revoked authorisation', { headers: basic(clientOf(revoked), secretOf(revoked)) }],
    ['no credentials', {}],
    ['a wrong secret in the body', { headers: form, body: `client_id=${encodeURIComponent(user)}&client_secret=wrong` }],
    ['a client without a secret in the body', { headers: form, body: `client_id=${encodeURIComponent(user)}` }],
    ['another scheme', { headers: { authorization: `Bearer ${secret}` } }],
    ['a scheme alone', { headers: { authorization: 'Basic' } }],
    ['malformed base64', { headers: { authorization: 'Basic !!!*' } }],
    ['a missing colon', raw(`${user}${secret}`)],
    ['nothing but a colon', raw(':')],
    ['a NUL character', raw(`${user}\0:${secret}`)],
    ['a form-encoded NUL character in the client', raw(`${user}%00:${secret}`)],
    ['a form-encoded NUL character in the secret', raw(`${user}:${secret}%00`)],
    ['bytes that are not UTF-8', raw(Buffer.from([0xff, 0xfe, 0x3a, 0xc3, 0x28]))],
    ['broken percent-encoding', raw(`${user}%zz:${secret}%`)],
  ];
  for (const [what, given] of refused) {
    test(`${name} answers ${what} like a wrong secret`, async () => {
      const [expected, response] = [await post(path, { headers: basic(user, 'wrong') }), await post(path, given)];
      assert.equal(await response.clone().text(), await expected.clone().text());
      for (const one of [expected, response]) {
        assert.match(one.headers.get('www-authenticate') ?? '', /^Basic\b/);
        assert.match((await assertRefused(one, 401, 'invalid_client')).error_description, /client id or secret is invalid/i);
      }
    });
  }

  test(`${name} refuses requests that cannot be read`, async () => {
    const unreadable: [given: Post, suffix: string, status: number][] = [
      [{ headers: { ...right, ...form }, body: 'x'.repeat(64 * 1024) }, '', 413],
      [{ headers: { ...right, ...form }, body: Uint8Array.from([0x67, 0xff, 0xfe]) }, '', 400],
      [{ headers: { ...right, ...form }, body: 'scope=%ff' }, '', 400],
      [{ headers: { ...right, ...form }, body: 'scope=a%00b' }, '', 400],
      [{ headers: { ...right, 'content-type': 'application/json' }, body: '{"grant_type":' }, '', 400],
      [{ headers: right }, '?scope=%zz', 400],
    ];
    for (const [given, suffix, status] of unreadable) await assertRefused(await post(path + suffix, given), status, 'invalid_request');
  });

  test(`${name} takes POST alone`, async () => {
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const response = await post(path, { method, headers: right });
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get('allow'), 'POST', method);
    }
  });

  const wrong = (given: Post = {}) => post(path, { ...given, headers: { ...basic(user, 'wrong'), ...given.headers } });

  test(`${name} pauses after thirty wrong tries, for one client from one address`, async () => {
    const address = `192.0.2.${place}`;
    for (let tries = 1; tries <= 30; tries += 1) assert.equal((await wrong({ address })).status, 401, `try ${tries}`);
    for (const headers of [basic(user, 'wrong'), right]) {
      const response = await post(path, { address, headers });
      assert.equal(response.status, 429);
      const wait = Number(response.headers.get('retry-after'));
      assert.ok(Number.isInteger(wait) && wait >= 1 && wait <= 60, `Retry-After: ${wait}`);
      assert.match(((await response.json()) as OauthError).error_description, /wait/i);
    }
    await requireToken(await post(path, { headers: right }));
    await requireToken(await post(path, { address, headers: basic(clientOf(other), secretOf(other)) }));
    await behindProxy.db`update wrong_try set tried_at = tried_at - interval '61 seconds' where address = ${address}`;
    await requireToken(await post(path, { address, headers: right }));
  });

  // Tries are counted alike in all of them: the rest once each.
  if (dialect === byName.B) test(`${name} counts the tries of a client however its name is encoded`, async () => {
    const address = `192.0.2.${100 + place}`;
    const spell = (at: number) =>
      [...user].map((letter, index) => (index === at % user.length || letter === '|' ? `%${letter.charCodeAt(0).toString(16)}` : letter)).join('');
    const statuses = new Set<number>();
    for (let tries = 0; tries < 40; tries += 1) statuses.add((await wrong({ address, headers: basic(tries % 2 ? user : spell(tries), 'wrong') })).status);
    assert.ok(statuses.has(429), 'forty wrong tries under several spellings of one name');
  });

  if (dialect === byName.A) test(`${name} pauses for tries that come at the same time`, async () => {
    const address = `192.0.2.${200 + place}`;
    const statuses = await Promise.all(Array.from({ length: 90 }, async () => (await wrong({ address })).status));
    const judged = statuses.filter((status) => status === 401).length;
    assert.ok(judged <= 30, `${judged} of 90 tries were judged`);
  });

  if (dialect === byName['1.2']) test(`${name} believes X-Forwarded-For only from a trusted proxy`, async () => {
    const [directUser, directSecret] = [clientOf(directClient), secretOf(directClient)];
    for (let tries = 1; tries <= 30; tries += 1) assert.equal((await post(path, { service: direct, headers: basic(directUser, 'wrong') })).status, 401);
    assert.equal((await post(path, { service: direct, headers: basic(directUser, directSecret) })).status, 429);
    const lastHop = `198.51.100.${place}`;
    for (let tries = 1; tries <= 30; tries += 1) assert.equal((await wrong({ address: `203.0.113.${tries}, ${lastHop}` })).status, 401);
    assert.equal((await post(path, { address: `203.0.113.99, ${lastHop}`, headers: right })).status, 429);
  });
}

test('roster.readonly opens the core too, core opens nothing nested, demographics nothing else', async () => {
  for (const { name, dialect, clientOf, secretOf } of endpoints) {
    const { core, roster, demographics } = scopesOf(dialect);
    const opened: [scope: string, ...open: boolean[]][] = [
      [core, true, false, false],
      [roster, true, true, false],
      [demographics, false, false, true],
      [`${core} ${demographics}`, true, false, true],
      [`${roster} ${demographics}`, true, true, true],
    ];
    for (const [scope, ...open] of opened) {
      const headers = { ...basic(clientOf(client), secretOf(client)), ...form };
      const { access_token: token } = await requireToken(await post(dialect.tokenPath, { headers, body: new URLSearchParams({ scope }).toString() }));
      for (const [index, path] of ['/users', '/schools/sch/students', '/demographics'].entries()) {
        if (!offers(dialect, path)) continue;
        const response = await read(dialect, path, token);
        const text = await response.text();
        const refusal = open[index] ? undefined : dialect.errors.forbidden;
        assert.equal(response.status, refusal?.status ?? 200, `${name} ${scope}: ${path}`);
        if (!refusal) continue;
        const { message, minor } = dialect.readError(text);
        assert.equal(minor, refusal.minor);
        assert.ok(message.includes(scope) && message.includes(index === 2 ? demographics : roster), 'says what it is and what it would need');
      }
    }
  }
});

test('a token is taken in the dialect that it was obtained in, and in no other', async () => {
  const tokens = await Promise.all(
    endpoints.map(async ({ dialect, clientOf, secretOf }) => {
      const { access_token: token } = await requireToken(await post(dialect.tokenPath, { headers: basic(clientOf(client), secretOf(client)) }));
      return { from: dialect, token };
    }),
  );
  for (const { from, token } of tokens) {
    for (const dialect of testedDialects) {
      const status = from === dialect ? 200 : dialect.errors.invalidToken?.status;
      assert.equal((await read(dialect, '/users', token)).status, status, `${from.name} in ${dialect.name}`);
    }
  }
});

test('tokens verify with the published keys, which hold nothing private', async () => {
  const response = await fetch(`${behindProxy.url}/.well-known/jwks.json`);
  assert.equal(response.status, 200);
  const keys = (await response.json()) as JSONWebKeySet;
  assert.ok(keys.keys.length > 0 && keys.keys.every((key) => !('d' in key) && key.kid));
  for (const dialect of testedDialects) {
    const token = await dialect.token(client, estab);
    await jwtVerify(token, createLocalJWKSet(keys));
    await jwtVerify(token, createRemoteJWKSet(new URL(`${behindProxy.url}/.well-known/jwks.json`), { timeoutDuration: 60_000 }));
    const { alg } = decodeProtectedHeader(token);
    assert.match(alg ?? '', /^(ES|PS|RS|Ed)/);
  }
});

test('a new token key signs new tokens and leaves the old ones valid', async () => {
  const tokens = () => Promise.all(testedDialects.map(async (dialect) => ({ dialect, token: await dialect.token(client, estab) })));
  const old = await tokens();
  const kid = await behindProxy.db.begin((tx) => rotateTokenKey(tx, behindProxy.seal, { now: false }));
  const fresh = await tokens();
  for (const { token } of old) assert.notEqual(decodeProtectedHeader(token).kid, kid);
  for (const { token } of fresh) assert.equal(decodeProtectedHeader(token).kid, kid);
  const published = createLocalJWKSet((await (await fetch(`${behindProxy.url}/.well-known/jwks.json`)).json()) as JSONWebKeySet);
  for (const { dialect, token } of [...old, ...fresh]) {
    assert.equal((await read(dialect, '/users', token)).status, 200);
    await jwtVerify(token, published);
  }
});
