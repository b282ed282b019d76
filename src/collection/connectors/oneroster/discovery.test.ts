// Covers how it is found out which version of OneRoster a provider speaks and where it gives tokens: told, by its documents, by
// its address; that nothing fails for want of a document; and that the secret goes to no other address.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useFakeProvider, type Reply } from '../../../../test/fake-provider.ts';
import { noRoster } from '../../../../test/no-roster.ts';
import { parseAllowList } from '../../../http/address-guard.ts';
import { createOutbound, type Outbound } from '../../../http/outbound.ts';
import { Problems } from '../../problem.ts';
import { createOneRosterConnector, pageLimits, testProvider, type OneRosterParts } from './oneroster-connector.ts';

const fake = await useFakeProvider();
const outbound = createOutbound(parseAllowList(['127.0.0.0/8']), pageLimits);
test.after(() => outbound.close());
test.beforeEach(() => {
  fake.behave();
  [waits, silent] = [0, false];
});
let waits = 0;
/** Whether documents, which have less time than all else, never come. */
let silent = false;
const impatient: Outbound = {
  call: (call) => outbound.call(silent && call.totalMs === 15_000 ? { ...call, totalMs: 500 } : call),
  close: async () => {},
};
const sayNothing = (_: string, reply: Reply) => {
  reply.end = 'never';
};

const [standardName, guideName] = ['onerosterv1p2rostersservice_openapi3_v1p0.json', 'imsorv1p2_rostering_openapi3_v1p0.json'];
const parts = (more: Partial<OneRosterParts> = {}): OneRosterParts => ({
  url: fake.url, tokenUrl: undefined, clientId: 'id', clientSecret: 'secret', state: {}, outbound: impatient, pause: async () => void (waits += 1), ...more,
});
const secure = (flows: unknown) => ({ securitySchemes: { Key: { type: 'apiKey' }, OAuth2CC: { type: 'oauth2', flows } } });
const otherScheme = { securitySchemes: { Key: { type: 'apiKey', flows: { clientCredentials: {} } } } };
const describing = (tokenUrl?: unknown) => ({ openapi: '3.0.0', components: secure({ clientCredentials: { tokenUrl, scopes: {} } }) });
const publish = (name: string, body: unknown) => (asked: string, reply: Reply) => void (asked === name && Object.assign(reply, { status: 200, body }));
const others = { roster: '/api/roster', v1p2: '/ims/oneroster/rostering/v1p2', v1p1: '/ims/oneroster/v1p1' };
const documents = () => fake.discovered.map(({ name }) => name);
const everybody = (are: Record<string, unknown>) => void (fake.data.users = (fake.data.users ?? []).map((user) => ({ ...user, ...are })));
const origin = () => new URL(fake.url).origin;

async function read(state: Record<string, unknown>, how: { full?: boolean; more?: Partial<OneRosterParts> } = {}): Promise<Record<string, unknown>> {
  [fake.discovered, fake.logins] = [[], []];
  const reading = await createOneRosterConnector(parts({ state, ...how.more })).openRoster({ full: how.full ?? false });
  for (const { read: readRows } of reading.collections) {
    for await (const batch of readRows(new Problems(), noRoster)) assert.ok(batch.rejected.every(({ fault }) => fault === 0));
  }
  return JSON.parse(JSON.stringify(reading.state?.())) as Record<string, unknown>;
}

type Case = [name: string, root: keyof typeof others, publish: ((asked: string, reply: Reply) => void) | undefined, version: string, asked: string[]];
const both = [standardName, guideName];
const cases: Case[] = [
  ['the document of the standard', 'roster', publish(standardName, describing()), '1.2', [standardName]],
  ['the document of the guide', 'roster', publish(guideName, describing()), '1.2', both],
  ['no document', 'roster', undefined, '1.1', both],
  ['no document, at an address of 1.2', 'v1p2', undefined, '1.2', both],
  ['any document, at an address of 1.1', 'v1p1', publish(standardName, describing()), '1.1', []],
  ['a page for everything', 'roster', (_, reply) => Object.assign(reply, { status: 200, body: '<html>' }), '1.1', both],
  ['OpenAPI 2', 'roster', publish(standardName, { ...describing(), openapi: '2.0' }), '1.1', both],
  ['OpenAPI without tokens', 'roster', publish(standardName, { openapi: '3.0.0', components: secure({ implicit: {} }) }), '1.1', both],
  ['flows of another scheme', 'roster', publish(standardName, { openapi: '3.0.0', components: otherScheme }), '1.1', both],
  ['null for everything', 'roster', publish(standardName, { openapi: '3.1.0', components: secure(null) }), '1.1', both],
  ['a document that moved', 'roster', (_, reply) => Object.assign(reply, { status: 302, headers: { location: '/' } }), '1.1', both],
  ['no right to its documents', 'roster', (_, reply) => Object.assign(reply, { status: 401, body: describing() }), '1.1', both],
  ['faults', 'v1p2', (_, reply) => void (reply.status = 500), '1.2', both],
  ['broken connections', 'roster', (_, reply) => Object.assign(reply, { end: 'broken', body: '{"openapi"' }), '1.1', both],
  ['silence', 'roster', sayNothing, '1.1', [standardName]],
];
test('a version is found by the documents or by the address, without a token, and no answer is no failure', async () => {
  for (const [name, root, answer, version, asked] of cases) {
    fake.behave();
    fake.root = others[root];
    fake.discovery = answer ?? (() => {});
    silent = answer === sayNothing;
    assert.equal((await testProvider(parts())).version, version, name);
    assert.deepEqual(documents(), asked, name);
    assert.ok(fake.discovered.every(({ authorization }) => authorization === undefined), name);
    assert.match(fake.logins[0]?.body ?? '', new RegExp(`%2Fv${version.replace('.', 'p')}%2Fscope`), name);
  }
  assert.equal(waits, 0, 'a test does not wait');
});

test('a version that is told is not asked for', async () => {
  fake.discovery = publish(standardName, describing());
  for (const root of Object.values(others))
    for (const version of ['1.1', '1.2'] as const) {
      fake.root = root;
      assert.equal((await testProvider(parts({ version }))).version, version);
    }
  assert.deepEqual(fake.discovered, []);
});

test('tokens are asked for at the address given, that of the document, or the usual ones, and nowhere else', async () => {
  const rows: [named: unknown, given: string | undefined, asked: string][] = [
    [`${origin()}/oauth2/token?appName=x`, undefined, '/oauth2/token'],
    [`${origin()}/oauth2/token`, `${origin()}/given`, '/given'],
    [undefined, undefined, '/token'],
    ['/oauth2/token', undefined, '/token'],
    [`ftp://${new URL(fake.url).host}/`, undefined, '/token'],
    [`http://me:me@${new URL(fake.url).host}/else`, undefined, '/token'],
    ['https://www.imsglobal.org', undefined, '/token'],
    [`${origin()}/${'x'.repeat(2000)}`, undefined, '/token'],
    [['https://mis.example'], undefined, '/token'],
  ];
  for (const [named, tokenUrl, asked] of rows) {
    fake.behave();
    fake.root = others.roster;
    fake.discovery = publish(standardName, describing(named));
    const tested = await testProvider(parts({ tokenUrl }));
    assert.deepEqual([tested.version, fake.logins.map(({ path }) => path)], ['1.2', [asked]], String(named));
  }
});

test('an unencrypted address that an encrypted provider names is not handed the secret', async () => {
  const called: string[] = [];
  const answer = (body: unknown) => ({
    status: 200, headers: {}, response: Buffer.from(JSON.stringify(body)), error: undefined, address: undefined, timings: { total: 0 },
  });
  const recording: Outbound = {
    call: async ({ url }) => {
      called.push(url);
      return answer(url.includes('/discovery/') ? describing('http://mis.example/token') : {});
    },
    close: async () => {},
  };
  await assert.rejects(testProvider(parts({ url: 'https://mis.example/roster', outbound: recording })), /without an access token/);
  assert.deepEqual(called, [`https://mis.example/roster/discovery/${standardName}`, 'https://mis.example/roster/token']);
});

test('what was found is remembered for readings of changes, and asked again when everything is read', async () => {
  fake.root = others.roster;
  fake.discovery = publish(standardName, describing(`${origin()}/oauth2/token`));
  const state = await read({}, { full: true });
  assert.deepEqual([state.found, documents()], [{ url: fake.url, version: '1.2', tokenUrl: `${origin()}/oauth2/token` }, [standardName]]);
  const next = await read(state);
  assert.deepEqual([next.found, documents(), fake.logins.map(({ path }) => path)], [state.found, [], ['/oauth2/token']]);
  for (const [answer, times] of [[(_: string, reply: Reply) => void (reply.status = 503), 2], [sayNothing, 1]] as const) {
    [waits, silent, fake.discovery] = [0, answer === sayNothing, answer];
    assert.deepEqual((await read(next, { full: true })).found, state.found, 'a provider that is away stays what it was');
    assert.equal(waits, times, 'each document is tried twice, and none after one that never came');
  }
  silent = false;
  fake.discovery = () => {};
  assert.deepEqual((await read(next, { full: true })).found, { url: fake.url, version: '1.1' }, 'one that has no document any more does not');
});

test('a provider that refuses what it gave before is found out anew, and read as a whole if it is another', async () => {
  fake.root = others.roster;
  const state = await read({}, { full: true });
  const becomes12 = publish(standardName, describing(`${origin()}/oauth2/token`));
  const signs: [name: string, change: () => void][] = [
    ...[401, 403, 404, 410].map((status): [string, () => void] => [
      String(status),
      () => void (fake.misbehave = (_, reply) => void (fake.discovered.length === 0 && (reply.status = status))),
    ]),
    ['no token', () => void (fake.login = ({ path }, reply) => void (reply.status = path === '/oauth2/token' ? 200 : 404))],
    ['people with roles', () => everybody({ role: undefined, orgs: undefined })],
    ['people who are gone, without any', () => everybody({ role: undefined, orgs: undefined, roles: undefined, status: 'tobedeleted' })],
  ];
  for (const [name, change] of signs) {
    fake.behave();
    [fake.root, fake.discovery] = [others.roster, becomes12];
    change();
    const next = await read(state);
    assert.deepEqual([next.found, next.tokenUrl], [{ url: fake.url, version: '1.2', tokenUrl: `${origin()}/oauth2/token` }, `${origin()}/oauth2/token`], name);
    assert.deepEqual([fake.asked.at(-1)?.filter, next.deltas, documents()], [null, true, [standardName]], name);
  }
  fake.behave();
  fake.root = others.roster;
  fake.misbehave = (_, reply) => void (reply.status = 404);
  await assert.rejects(read(state), /has no orgs at .* \(404\)/);
  assert.deepEqual(documents(), both, 'one that is what it was is refused as ever');
  fake.misbehave = (_, reply) => void (reply.status = 500);
  await assert.rejects(read(state), /out of order at present/);
  assert.deepEqual(documents(), [], 'one that is away is not asked what it is');
});

test('a provider of 1.2 that became one of 1.1 is told by its people, and one that did not is read as ever', async () => {
  fake.root = others.roster;
  const publishes12 = publish(standardName, describing());
  fake.discovery = publishes12;
  const state = await read({}, { full: true });
  for (const status of ['active', 'tobedeleted']) {
    fake.discovery = () => {};
    everybody({ role: 'student', roles: undefined, status });
    const next = await read(state);
    assert.deepEqual([next.found, fake.asked.at(-1)?.filter, documents()], [{ url: fake.url, version: '1.1' }, null, both], status);
    fake.discovery = publishes12;
    everybody({ roles: undefined, status: 'tobedeleted' });
    assert.deepEqual([(await read(state)).found, documents()], [state.found, [standardName]], 'one that still says so');
    everybody({ role: undefined });
    assert.deepEqual([(await read(state)).found, documents()], [state.found, []], 'people who are gone need not have roles');
  }
});

test('what was remembered of another provider, or cannot be, is not taken', async () => {
  fake.root = others.roster;
  const found = { url: fake.url, version: '1.2', tokenUrl: `${origin()}/else/token` };
  const kept = { since: '2026-09-01T08:00:00.000Z', fullAt: '2026-09-09T12:00:00.000Z', deltas: true, tokenUrl: found.tokenUrl, scope: 'x', by: 'basic' };
  const more = { now: () => Date.parse('2026-09-10T12:00:00.000Z') };
  for (const strange of [{ ...found, url: `${fake.url}/other` }, { ...found, version: '2.0' }, 'x', null, undefined]) {
    await read({ ...kept, found: strange }, { more });
    assert.deepEqual([documents(), fake.logins.map(({ path }) => path)], [both, ['/token']], JSON.stringify(strange));
  }
  await read({ ...kept, found }, { more });
  assert.deepEqual([documents(), fake.logins.map(({ path }) => path)], [[], ['/else/token']]);
});
