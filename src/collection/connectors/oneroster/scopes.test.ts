// Covers the scopes that a provider is asked for: by version or as told, less where more is refused, never again for a wrong
// secret; what worked is asked first the next time, and what was not granted is not read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useFakeProvider, type Login } from '../../../../test/fake-provider.ts';
import { noRoster } from '../../../../test/no-roster.ts';
import { parseAllowList } from '../../../http/address-guard.ts';
import { createOutbound } from '../../../http/outbound.ts';
import { MisError } from '../../connector.ts';
import { Problems } from '../../problem.ts';
import { createOneRosterConnector, pageLimits, testProvider, type OneRosterParts } from './oneroster-connector.ts';

const fake = await useFakeProvider();
const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), pageLimits);
test.after(() => outbound.close());
test.beforeEach(() => fake.behave());

const parts = (more: Partial<OneRosterParts> = {}): OneRosterParts => ({
  url: fake.url, tokenUrl: undefined, clientId: 'id', clientSecret: 'secret', state: {}, outbound,
  pause: async () => assert.fail('nothing here is worth waiting for'), ...more,
});
const scopeOf = ({ body }: Login) => new URLSearchParams(body).get('scope');
const prefixes = { '1.1': 'https://purl.imsglobal.org/spec/or/v1p1/scope/', '1.2': 'https://purl.imsglobal.org/spec/or/v1p2/scope/' };
/** As they were asked for, in short: "core+demographics", "none"; with "body" where the credentials stood there. */
const asked = (version: keyof typeof prefixes = '1.1') =>
  fake.logins.map((login) => {
    const scope = scopeOf(login)?.replaceAll(new RegExp(`${prefixes[version]}(?:roster-)?(\\w+)\\.readonly`, 'g'), '$1').replaceAll(' ', '+') ?? 'none';
    return login.authorization === undefined ? `${scope} body` : scope;
  });
const chain = ['core+demographics', 'roster+demographics', 'core', 'roster', 'none'];
const invalidScope = { error: 'invalid_scope' };
const refuse = (body: unknown, status = 400) => ({ status, body });
type Refusal = ReturnType<typeof refuse>;
/** Which requests are answered with a token; the others are refused in this way. */
const grant = (granted: (scope: string | null) => boolean, refusal: Refusal | ((scope: string | null) => Refusal)) => {
  fake.login = (login, reply) => {
    const scope = scopeOf(login);
    if (granted(scope)) reply.status = 200;
    else Object.assign(reply, typeof refusal === 'function' ? refusal(scope) : refusal);
  };
};

async function readAll(state: Record<string, unknown>, { full = false, more = {} }: { full?: boolean; more?: Partial<OneRosterParts> } = {}) {
  fake.logins = [];
  const reading = await createOneRosterConnector(parts({ state, ...more })).openRoster({ full });
  for (const { read } of reading.collections) for await (const batch of read(new Problems(), noRoster)) assert.equal(batch.rejected.length, 0);
  const left = JSON.parse(JSON.stringify(reading.state?.())) as Record<string, unknown>;
  return { state: left, read: reading.collections.map(({ resource }) => resource.collection) };
}

test('less is asked for while more is refused, however that is said, and no further', async () => {
  const said: Refusal[] = [
    refuse(invalidScope),
    refuse(invalidScope, 401),
    refuse(invalidScope, 403),
    refuse({ error: 'invalid_request', error_description: 'The requested scope is not valid.' }),
    refuse({ message: 'Unknown scope' }),
    refuse({ error: 'access_denied', error_description: 'Policy for scope failed' }, 403),
    refuse({ error: 'unauthorized_client', error_description: 'Client has no grant for scope' }),
  ];
  for (const refusal of said)
    for (const [at, granted] of [
      (scope: string | null) => scope !== null,
      (scope: string | null) => scope !== null && !/core/.test(scope),
      (scope: string | null) => scope !== null && !/demographics/.test(scope),
      (scope: string | null) => scope !== null && !/core|demographics/.test(scope),
      (scope: string | null) => scope === null,
    ].entries()) {
      fake.behave();
      grant(granted, refusal);
      await testProvider(parts());
      assert.deepEqual(asked(), chain.slice(0, at + 1), JSON.stringify(refusal));
    }
});

test('a 401 in words about scopes is one only if the credentials are not taken elsewhere', async () => {
  const words = { message: 'client_id and scope are required' };
  grant((scope) => /roster\.readonly/.test(scope ?? ''), refuse(words, 401));
  await testProvider(parts());
  assert.deepEqual(asked(), ['core+demographics', 'core+demographics body', 'roster+demographics']);
  fake.behave();
  fake.login = ({ authorization }, reply) => void Object.assign(reply, authorization === undefined ? { status: 200 } : refuse(words, 401));
  await testProvider(parts());
  assert.deepEqual(asked(), ['core+demographics', 'core+demographics body']);
});

test('version 1.2 has scopes of its own, and a scope that is told is sent as it is, alone', async () => {
  await testProvider(parts({ version: '1.2' }));
  grant(() => false, refuse(invalidScope));
  await assert.rejects(testProvider(parts({ version: '1.2', scope: 'one-roster-api:read' })), /does not grant it .*asked for: one-roster-api:read\. Ask/);
  assert.deepEqual(asked('1.2'), ['core+demographics', 'one-roster-api:read']);
  fake.behave();
  await testProvider(parts({ scope: 'none' }));
  assert.deepEqual(asked(), ['none']);
  grant(() => false, refuse({ error: 'invalid_request', error_description: 'scope is required' }));
  await assert.rejects(testProvider(parts({ scope: 'none' })), /gives no token without a scope \(400, invalid_request\)\. Enter the scope/);
});

const names = ['roster-core', 'roster-demographics', 'roster'].map((name) => `${prefixes['1.1']}${name}.readonly`).join(', ');
const endings: [name: string, refusal: Refusal | ((scope: string | null) => Refusal), asked: string[], words: string][] = [
  ['a wrong secret', refuse({ error: 'invalid_client' }), chain.slice(0, 1), 'The provider does not accept the client id and secret (400, invalid_client)'],
  [
    'a wrong secret that speaks of scopes',
    refuse({ error: 'invalid_client', error_description: 'not valid for any scope' }),
    chain.slice(0, 1),
    'The provider does not accept the client id and secret (400, invalid_client)',
  ],
  ['401 in both places', refuse({}, 401), ['core+demographics', 'core+demographics body'], 'The provider does not accept the client id and secret (401)'],
  [
    'a wrong secret, noticed without a scope',
    (scope) => (scope === null ? refuse({ error: 'invalid_client' }, 401) : refuse(invalidScope)),
    [...chain, 'none body'],
    'The provider does not accept the client id and secret (401, invalid_client)',
  ],
  [
    'a wrong secret that speaks of scopes, with 403',
    refuse({ error: 'invalid_client', error_description: 'scope denied' }, 403),
    chain.slice(0, 1),
    'The provider does not accept the client id and secret (403, invalid_client)',
  ],
  ['denial', refuse({ error: 'access_denied' }, 403), chain.slice(0, 1), 'The provider does not accept the client id and secret (403, access_denied)'],
  ['another fault', refuse({ error: 'invalid_request' }), chain.slice(0, 1), 'The provider does not accept the client id and secret (400, invalid_request)'],
  [
    'no scope that it grants',
    refuse({ error: 'invalid_scope', error_description: 'hush' }),
    chain,
    `The provider knows the client, but does not grant it the scope that is needed (400, invalid_scope); asked for: ${names}. Ask the provider to allow`,
  ],
  [
    'a 401 that speaks of scopes',
    refuse({ error: 'unauthorized_client', error_description: 'not valid for any scope, hush' }, 401),
    chain.flatMap((one) => [one, `${one} body`]),
    'The provider does not accept the client id and secret, or does not grant the scope that is needed (401, unauthorized_client); ' +
      `asked for: ${names}. Enter the id and secret again, or the scope`,
  ],
  [
    'a scope that it misses',
    (scope) => refuse(scope === null ? { error: 'invalid_request', error_description: 'Scope is required, hush' } : invalidScope),
    chain,
    `The provider gives no token without a scope (400, invalid_request), and grants none of ${names}. Enter the scope`,
  ],
];
for (const [name, refusal, requests, words] of endings) {
  test(`a provider that refuses with ${name} is understood`, async () => {
    grant(() => false, refusal);
    const told = (error: unknown) => error instanceof MisError && error.message.startsWith(words) && !/hush/.test(error.message) && !error.later;
    await assert.rejects(testProvider(parts()), (error) => told(error) || assert.fail(String(error)));
    assert.deepEqual(asked(), requests);
  });
}

test('what worked is asked first when a token is renewed and at the next reading, and more again when everything is read', async () => {
  fake.login = (login, reply) => {
    const refused = /core|demographics/.test(scopeOf(login) ?? '');
    // Basic is not taken at all.
    if (login.authorization !== undefined) reply.status = 401;
    else Object.assign(reply, refused ? refuse(invalidScope) : { status: 200 });
  };
  const refuseToken = (value: string) => {
    fake.misbehave = ({ authorization, collection }, reply) => void (collection === 'users' && authorization === `Bearer ${value}` && (reply.status = 401));
  };
  refuseToken('token5');
  const first = await readAll({}, { full: true });
  const tried = ['core+demographics', ...chain.slice(0, 4).map((one) => `${one} body`)];
  assert.deepEqual(asked(), [...tried, 'roster body']);
  refuseToken('token1');
  const next = await readAll(first.state);
  assert.deepEqual(asked(), ['roster body', 'roster body'], 'one reading, one renewal');
  fake.misbehave = () => {};
  fake.login = (_, reply) => void (reply.status = 200);
  const full = await readAll(next.state, { full: true });
  assert.deepEqual(asked(), ['core+demographics body']);
  await readAll({ ...full.state, scope: undefined }, { full: true });
  assert.deepEqual(asked(), ['none body'], 'a token without a scope leaves nothing out');
  await readAll({ ...full.state, tokenUrl: `${fake.url}/else/token`, scope: undefined });
  assert.deepEqual(asked(), ['core+demographics'], 'of another provider nothing is remembered');
  await readAll(full.state, { more: { version: '1.2' } });
  assert.deepEqual(asked('1.2'), ['core+demographics body'], 'nor of another version');
});

test('a scope that is granted in part, or opens nothing, is followed by the next', async () => {
  fake.login = (login, reply) => {
    const scope = scopeOf(login);
    const granted = scope?.split(' ').filter((one) => !/core/.test(one)).join(' ');
    Object.assign(reply.body as object, { scope: granted === '' ? `${prefixes['1.1']}gradebook.readonly` : granted });
  };
  const { state } = await readAll({});
  assert.deepEqual([asked(), state.scope], [chain.slice(0, 2), fake.logins.map(scopeOf).at(-1)]);

  fake.behave();
  fake.login = (login, reply) => void Object.assign(reply.body as object, { access_token: `token${/roster\.readonly/.test(scopeOf(login) ?? '') ? 7 : 1}` });
  for (const status of [401, 403]) {
    fake.misbehave = ({ authorization }, reply) => void (authorization !== 'Bearer token7' && (reply.status = status));
    const first = await readAll({});
    assert.deepEqual(asked(), [chain[0], chain[0], chain[1]], 'once more, since a token may have ended, and then the next');
    await readAll(first.state);
    assert.deepEqual(asked(), chain.slice(1, 2), 'what worked is asked first');
  }
});

test('a scope that is granted in part is kept where the next ends in a fault', async () => {
  const gradebook = `${prefixes['1.1']}gradebook.readonly`;
  for (const status of [400, 404, 405, 500, 503]) {
    fake.logins = [];
    fake.login = (_, reply) => void Object.assign(reply, fake.logins.length === 1 ? { body: { access_token: 'token1', scope: gradebook } } : { status });
    assert.equal((await testProvider(parts())).tokenUrl, `${fake.url}/token`, String(status));
    assert.deepEqual(asked(), chain.slice(0, 2));
  }
});

test('where no scope opens anything, what was refused first is told', async () => {
  fake.misbehave = (_, reply) => void (reply.status = 403);
  await assert.rejects(testProvider(parts()), /not let this client id read orgs \(403\)/);
  assert.deepEqual(asked(), [chain[0], ...chain]);
  fake.logins = [];
  grant((scope) => /core.*demographics/.test(scope ?? ''), refuse(invalidScope));
  await assert.rejects(testProvider(parts()), /not let this client id read orgs \(403\)/);
  fake.logins = [];
  await assert.rejects(testProvider(parts({ scope: 'x' })), /knows the client, but does not grant/);
  assert.deepEqual(asked(), ['x']);
  fake.behave();
  fake.login = (_, reply) => void Object.assign(reply.body as object, { scope: `${prefixes['1.1']}roster-demographics.readonly` });
  await testProvider(parts());
  assert.deepEqual(asked(), chain, 'and what is granted is tried all the same');
});

test('demographics that the token leaves out are not read; where nothing is said of them they are', async () => {
  const answers: [scope: unknown, read: boolean][] = [
    [`${prefixes['1.1']}roster-core.readonly`, false],
    ['one-roster-api:http://purl.imsglobal.org/spec/or/v1p2/scope/roster.readonly', false],
    [`${prefixes['1.1']}roster-core.readonly ${prefixes['1.1']}roster-demographics.readonly`, true],
    ['read', true],
    [undefined, true],
  ];
  for (const [scope, expected] of answers) {
    fake.asked = [];
    fake.login = (_, reply) => void Object.assign(reply.body as object, { scope });
    const { read } = await readAll({});
    assert.deepEqual([read.includes('demographics'), fake.asked.some(({ collection }) => collection === 'demographics')], [expected, expected], String(scope));
    assert.equal(fake.logins.length, 1);
  }
});
