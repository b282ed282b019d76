// GetToken through HTTP: the forms it takes, the envelope it answers in, what it refuses, and that a token of one
// kind opens nothing of another.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose';
import { csvPackage } from '../../test/csv-package.ts';
import { rootA, rootB, useService } from '../../test/service.ts';
import { changeState, rotateSchoolSecret } from './authorisations.ts';
import { rotateApplicationSecret } from './applications.ts';

const path = '/api/oauth/GetToken';
const estab = '9990001';
const day = 86_400;
const service = await useService({ TRUST_PROXY: '127.0.0.0/8' });
await service.addSchool(estab, csvPackage({ orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }] }));
await service.addSchool('9990002');
const client = await service.addClient('app', [estab]);
const password = client.schoolSecrets[estab] ?? '';

type Envelope = {
  token: string | null;
  expires: string | null;
  Message: string | null;
  ExceptionType: string | null;
  ExceptionMessage: string | null;
  InnerException: string | null;
};
const envelopeFields = ['ExceptionMessage', 'ExceptionType', 'InnerException', 'Message', 'expires', 'token'];

let addresses = 0;
async function ask(
  body: object | string | undefined,
  { contentType, suffix = '', address }: { contentType?: string; suffix?: string; address?: string } = {},
): Promise<{ response: Response; envelope: Envelope }> {
  addresses += 1;
  const response = await fetch(`${service.url}${path}${suffix}`, {
    method: 'POST',
    headers: {
      'x-forwarded-for': address ?? `10.2.0.${addresses}`,
      'content-type': contentType ?? (typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/json'),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  assert.match(response.headers.get('cache-control') ?? '', /no-store/);
  const envelope = (await response.json()) as Envelope;
  assert.deepEqual(Object.keys(envelope).toSorted(), envelopeFields);
  return { response, envelope };
}

const asForm = (fields: Record<string, string>) => new URLSearchParams(fields).toString();
const school = { estab, relyingParty: 'app', password };
const management = { relyingParty: 'app', password: client.managementSecret };

const accepted: readonly [what: string, body: object | string, more?: { contentType?: string; suffix?: string }][] = [
  ['school credentials as JSON', { ...school, thirdpartyid: 'x' }],
  ['school credentials as a form', asForm({ ...school, thirdpartyid: 'x' })],
  ['no thirdpartyid', school],
  ['no thirdpartyid in a form', asForm(school)],
  ['an empty thirdpartyid', { ...school, thirdpartyid: '' }],
  ['a numeric thirdpartyid', { ...school, thirdpartyid: 42 }],
  ['a thirdpartyid that is null', { ...school, thirdpartyid: null }],
  ['a thirdpartyid that is true', { ...school, thirdpartyid: true }],
  ['a thirdpartyid that is an object', { ...school, thirdpartyid: { any: ['thing'] } }],
  ['keys in upper case', { ESTAB: estab, RELYINGPARTY: 'app', PASSWORD: password, THIRDPARTYID: 'x' }],
  ['keys in camel case', { Estab: estab, RelyingParty: 'app', Password: password, ThirdPartyId: 'x' }],
  ['form keys in mixed case', asForm({ eStAb: estab, relyingparty: 'app', PassWord: password })],
  ['an establishment that is a number', { ...school, estab: Number(estab) }],
  ['JSON with a charset', school, { contentType: 'application/json; charset=utf-8' }],
  ['a trailing slash', school, { suffix: '/' }],
];
for (const [what, body, more] of accepted) {
  test(`GetToken takes ${what}`, async () => {
    const before = Math.floor(Date.now() / 1000);
    const { response, envelope } = await ask(body, more);
    assert.equal(response.status, 200, envelope.ExceptionMessage ?? '');
    const { token, expires, ...rest } = envelope;
    assert.deepEqual(rest, { Message: null, ExceptionType: null, ExceptionMessage: null, InnerException: null });
    const { exp = 0, iat = 0, estab: of } = decodeJwt(token ?? '');
    assert.equal(exp - iat, day);
    assert.ok(iat >= before && iat <= Date.now() / 1000);
    assert.equal(Date.parse(expires ?? ''), exp * 1000);
    assert.equal(of, estab);
  });
}

test('without an establishment, or with an empty one, the token is a management token', async () => {
  const keys = createLocalJWKSet((await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as JSONWebKeySet);
  const schoolToken = await jwtVerify((await ask(school)).envelope.token ?? '', keys);
  for (const body of [
    management,
    { ...management, estab: '' },
    { ...management, estab: null },
    asForm(management),
    asForm({ ...management, estab: '', thirdpartyid: 'x' }),
  ]) {
    const { response, envelope } = await ask(body);
    assert.equal(response.status, 200, JSON.stringify(body));
    const { payload } = await jwtVerify(envelope.token ?? '', keys);
    assert.equal(payload.estab, undefined);
    assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), day);
    assert.notEqual(payload.aud, schoolToken.payload.aud, 'of another kind than a school token');
  }
});

test('wrong secrets are a 401 with token null, whatever is wrong', async () => {
  const wrong: [what: string, body: object][] = [
    ['a wrong secret', { ...school, password: 'wrong' }],
    ['an unknown relying party', { ...school, relyingParty: 'nobody' }],
    ['an unknown establishment', { ...school, estab: '1234567' }],
    ['an establishment that has not authorised it', { ...school, estab: '9990002' }],
    ['the management secret for a school', { ...school, password: client.managementSecret }],
    ['the client secret for a school', { ...school, password: client.clientSecret }],
    ['the school secret without a school', { relyingParty: 'app', password }],
    ['the signing secret', { relyingParty: 'app', password: client.signingSecret }],
    ['a name with a pipe', { relyingParty: `app|${estab}`, password }],
  ];
  const bodies = new Set<string>();
  for (const [what, body] of wrong) {
    const { response, envelope } = await ask(body);
    assert.equal(response.status, 401, what);
    assert.equal(envelope.token, null, what);
    assert.equal(envelope.expires, null, what);
    assert.match(envelope.ExceptionMessage ?? '', /secret is wrong/, what);
    bodies.add(JSON.stringify(envelope));
  }
  assert.equal(bodies.size, 1, 'one and the same answer');
});

test('a paused or revoked authorisation is a 403 for who has the secret, and a 401 for who has not', async () => {
  for (const [rp, state] of [['pausing', 'Paused'], ['revoking', 'Revoked']] as const) {
    const one = await service.addClient(rp, [estab]);
    const body = { estab, relyingParty: rp, password: one.schoolSecrets[estab] ?? '' };
    await changeState(service.db, { rp, estab, from: ['Approved'], to: state });
    const { response, envelope } = await ask(body);
    assert.equal(response.status, 403);
    assert.equal(envelope.token, null);
    assert.match(envelope.ExceptionMessage ?? '', new RegExp(state, 'i'));
    assert.equal((await ask({ ...body, password: 'wrong' })).response.status, 401);
    assert.equal((await ask({ relyingParty: rp, password: one.managementSecret })).response.status, 200, 'management is no matter of one school');
  }
  await changeState(service.db, { rp: 'pausing', estab, from: ['Paused'], to: 'Approved' });
});

test('a replaced secret is a 401 and the new one a 200', async () => {
  const one = await service.addClient('replacing', [estab]);
  const fresh = await rotateSchoolSecret(service.db, 'replacing', estab);
  const freshManagement = await rotateApplicationSecret(service.db, service.seal, 'replacing', 'management');
  const status = async (body: object) => (await ask({ relyingParty: 'replacing', ...body })).response.status;
  assert.equal(await status({ estab, password: one.schoolSecrets[estab] }), 401);
  assert.equal(await status({ estab, password: fresh }), 200);
  assert.equal(await status({ password: one.managementSecret }), 401);
  assert.equal(await status({ password: freshManagement }), 200);
});

test('missing and unreadable fields are a 400 that names them', async () => {
  const unreadable: [body: object | string | undefined, says: RegExp, contentType?: string][] = [
    [{ estab, password }, /relyingParty/],
    [{ estab, relyingParty: 'app' }, /password/],
    [{ ...school, relyingParty: '' }, /relyingParty/],
    [{ ...school, password: '' }, /password/],
    [{ ...school, password: null }, /password/],
    [{ ...school, password: ['x'] }, /password/],
    [{}, /relyingParty/],
    [undefined, /relyingParty/],
    ['', /relyingParty/],
    [asForm({ estab }), /relyingParty/],
    ['{"estab":', /JSON/, 'application/json'],
    ['[]', /JSON object/, 'application/json'],
    ['relyingParty=%ff', /UTF-8/],
    [{ ...school, estab: 'a\0b' }, /estab/],
  ];
  for (const [body, says, contentType] of unreadable) {
    const { response, envelope } = await ask(body, contentType ? { contentType } : {});
    assert.equal(response.status, 400, String(says));
    assert.equal(envelope.token, null);
    assert.match(envelope.ExceptionMessage ?? '', says);
    assert.ok(envelope.ExceptionType);
  }
  assert.equal((await ask('x'.repeat(64 * 1024))).response.status, 413);
});

test('thirty wrong tries pause the client from that address', async () => {
  const address = '192.0.2.7';
  for (let tries = 1; tries <= 30; tries += 1) assert.equal((await ask({ ...school, password: 'wrong' }, { address })).response.status, 401);
  const { response, envelope } = await ask(school, { address });
  assert.equal(response.status, 429);
  assert.ok(Number(response.headers.get('retry-after')) >= 1);
  assert.equal(envelope.token, null);
  assert.equal((await ask(management, { address })).response.status, 200, 'another client');
  assert.equal((await ask(school)).response.status, 200, 'another address');
});

test('other verbs are a 405', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const response = await fetch(service.url + path, { method });
    assert.equal(response.status, 405, method);
    assert.equal(response.headers.get('allow'), 'POST', method);
    assert.deepEqual(Object.keys((await response.json()) as object).toSorted(), envelopeFields, method);
  }
});

test('a token of one kind is refused everywhere else', async () => {
  const tokens = {
    A: await client.tokenA(),
    B: await client.tokenB(estab),
    school: (await ask(school)).envelope.token ?? '',
    management: (await ask(management)).envelope.token ?? '',
  };
  for (const [kind, token] of Object.entries(tokens)) {
    for (const scheme of ['Bearer', 'Idaas']) {
      const status = async (root: string) => (await fetch(`${service.url}${root}/orgs`, { headers: { authorization: `${scheme} ${token}` } })).status;
      assert.equal(await status(rootA), kind === 'A' && scheme === 'Bearer' ? 200 : 400, `${scheme} ${kind} in variant A`);
      assert.equal(await status(rootB), kind === 'B' && scheme === 'Bearer' ? 200 : 401, `${scheme} ${kind} in variant B`);
    }
  }
});
