// Covers how a token is obtained and renewed: both usual addresses, a given one, Basic and body credentials, and every
// way in which a provider can say no; and the test of credentials before they are saved.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useFakeProvider } from '../../../../test/fake-provider.ts';
import { noRoster } from '../../../../test/no-roster.ts';
import { parseAllowList } from '../../../http/address-guard.ts';
import { createOutbound } from '../../../http/outbound.ts';
import { MisError } from '../../connector.ts';
import { Problems } from '../../problem.ts';
import { createOneRosterConnector, pageLimits, testProvider, type OneRosterParts } from './oneroster-connector.ts';
import { scopesToAsk } from './scopes.ts';

const fake = await useFakeProvider();
const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), pageLimits);
test.after(() => outbound.close());
test.beforeEach(() => fake.behave());

const parts = (more: Partial<OneRosterParts> = {}): OneRosterParts => ({
  url: fake.url, tokenUrl: undefined, clientId: 'id', clientSecret: 'secret', state: {}, outbound,
  pause: async () => assert.fail('nothing here is worth waiting for'), ...more,
});
const asks = new URLSearchParams({ grant_type: 'client_credentials', scope: scopesToAsk('1.1', undefined)[0] ?? '' }).toString();
const paths = () => fake.logins.map(({ path, authorization }) => `${path} ${authorization === undefined ? 'body' : 'Basic'}`);
const everything = { orgs: 1, academicSessions: 1, courses: 1, classes: 1, users: 30, enrollments: 12, demographics: 1 };
const elsewhere = (status: number) => {
  fake.login = ({ path }, reply) => void (path === '/token' && (reply.status = status));
};

async function readAll(more: Partial<OneRosterParts> = {}): Promise<Record<string, unknown>> {
  const reading = await createOneRosterConnector(parts(more)).openRoster({ full: true });
  for (const { read } of reading.collections) for await (const batch of read(new Problems(), noRoster)) assert.equal(batch.rejected.length, 0);
  return reading.state?.() ?? {};
}

test('the token is asked for with Basic and a form, and every list is read with it', async () => {
  assert.deepEqual(await testProvider(parts()), { version: '1.1', tokenUrl: `${fake.url}/token`, collections: everything });
  assert.deepEqual(fake.logins, [
    { path: '/token', authorization: `Basic ${Buffer.from('id:secret').toString('base64')}`, body: asks },
  ]);
  assert.deepEqual([...new Set(fake.asked.map((one) => one.authorization))], ['Bearer token1']);
  assert.deepEqual(fake.asked.map((one) => one.limit), [1, 1, 1, 1, 1, 1, 1]);
});

test('a slash at the end of the address makes no difference', async () => {
  assert.equal((await testProvider(parts({ url: `${fake.url}/` }))).tokenUrl, `${fake.url}/token`);
});

test('where there is no /token, /auth/token is tried, and remembered', async () => {
  for (const status of [404, 405]) {
    fake.behave();
    elsewhere(status);
    assert.equal((await testProvider(parts())).tokenUrl, `${fake.url}/auth/token`);
    assert.deepEqual(paths(), ['/token Basic', '/auth/token Basic']);
  }
  const state = await readAll();
  assert.equal(state.tokenUrl, `${fake.url}/auth/token`);
  fake.logins = [];
  await readAll({ state });
  assert.deepEqual(paths(), ['/auth/token Basic']);
});

test('an address remembered from another provider is not handed the secret', async () => {
  await readAll({ state: { tokenUrl: `${fake.url}/else/token` } });
  assert.deepEqual(paths(), ['/token Basic']);
});

test('a token address that is given is the only one', async () => {
  assert.equal((await testProvider(parts({ tokenUrl: `${fake.url}/else/token` }))).tokenUrl, `${fake.url}/else/token`);
  elsewhere(404);
  await assert.rejects(testProvider(parts({ tokenUrl: `${fake.url}/token` })), /gives no token at .*\/token \(404\)/);
  assert.deepEqual(paths(), ['/else/token Basic', '/token Basic']);
});

test('where Basic is refused, the credentials go into the body, once', async () => {
  fake.login = ({ authorization, body }, reply) =>
    void (reply.status = authorization === undefined && body === `${asks}&client_id=rp%7C1&client_secret=s%26%3D` ? 200 : 401);
  await testProvider(parts({ clientId: 'rp|1', clientSecret: 's&=' }));
  assert.deepEqual(paths(), ['/token Basic', '/token body']);
  await assert.rejects(testProvider(parts()), MisError);
  assert.deepEqual(paths().slice(2), ['/token Basic', '/token body']);
});

const refusals: [name: string, reply: { status: number; body?: unknown; headers?: Record<string, string> }, words: RegExp, later: boolean][] = [
  [
    'wrong credentials',
    { status: 401, body: { error: 'invalid_client' } },
    /does not accept the client id and secret \(401, invalid_client\)\. Enter them again/,
    false,
  ],
  [
    'wrong credentials, in words of its own',
    { status: 401, body: { error: 'unauthorized_client', error_description: 'Invalid client or Invalid client credentials' } },
    /does not accept the client id and secret \(401, unauthorized_client\)\. Enter them again/,
    false,
  ],
  [
    'a refusal that repeats what it was sent',
    { status: 400, body: { error: 'bad secret: secret' } },
    /does not accept the client id and secret \(400\)/,
    false,
  ],
  ['a refusal that is the secret', { status: 400, body: { error: 'secret' } }, /^The provider does not accept the client id and secret \(400\)\. Enter/, false],
  [
    'a scope that it does not grant',
    { status: 400, body: { error: 'invalid_scope', error_description: 'secret: secret' } },
    /^The provider knows the client, but does not grant it the scope that is needed \(400, invalid_scope\); asked for: .*roster\.readonly\. Ask the prov/,
    false,
  ],
  ['a client without the grant', { status: 400, body: { error: 'unauthorized_client' } }, /does not give it tokens in this way \(400, unauth/, false],
  ['another grant', { status: 400, body: { error: 'unsupported_grant_type' } }, /does not give tokens for a client id and secret \(400/, false],
  ['a refusal in HTML', { status: 403, body: '<html>' }, /does not accept the client id and secret \(403\)/, false],
  ['no such address', { status: 404 }, /gives no token at .*\/token or .*\/auth\/token \(404\)/, false],
  ['another address', { status: 302, headers: { location: 'https://login.example/' } }, /has moved \(302\) to https:\/\/login\.example/, false],
  ['a page that is no token', { status: 200, body: '<html>Welcome</html>' }, /answered without an access token/, true],
  ['an empty token', { status: 200, body: { access_token: '' } }, /answered without an access token/, true],
  ['a fault', { status: 500 }, /out of order at present \(500\)/, true],
];
for (const [name, answer, words, later] of refusals) {
  test(`a token endpoint that answers with ${name} is understood`, async () => {
    fake.login = (_, reply) => Object.assign(reply, answer);
    await assert.rejects(
      testProvider(parts()),
      (error) => error instanceof MisError && words.test(error.message) && !/secret: secret/.test(error.message) && error.later === later,
    );
    assert.equal(fake.asked.length, 0);
  });
}

test('a token that is taken no more is asked for anew and the list read again; one that ends soon is renewed before', async () => {
  fake.misbehave = ({ authorization, collection }, reply) => void (collection !== 'orgs' && authorization === 'Bearer token1' && (reply.status = 401));
  await readAll();
  assert.equal(fake.logins.length, 2);

  fake.behave();
  let now = 0;
  fake.misbehave = ({ collection }) => void (collection === 'users' && (now += 1000 * 1000));
  await readAll({ now: () => now });
  assert.equal(fake.logins.length, 1, 'three lists of users, 3,000 s');
  now = 0;
  fake.misbehave = ({ collection }) => void (collection === 'users' && (now += 3541 * 1000));
  await readAll({ now: () => now });
  assert.equal(fake.logins.length, 5, 'one more at the start, and one after each of three');
});

test('what a collection refuses is named when credentials are tested, and demographics may be missing', async () => {
  delete fake.data.demographics;
  assert.deepEqual(await testProvider(parts()).then((tested) => Object.keys(tested.collections)), Object.keys(everything).slice(0, -1));
  fake.misbehave = ({ collection }, reply) => void (collection === 'classes' && (reply.status = 403));
  await assert.rejects(testProvider(parts()), /not let this client id read classes \(403\)/);
});
