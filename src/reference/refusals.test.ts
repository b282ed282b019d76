// Holds the errors of school data, identity and management to what is described: each operation is asked wrongly in every way that
// is cheap to bring about, and answers with a status, a body and a code that its document has.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { askApp, type Got } from '../../test/ask-app.ts';
import { authorise, createAsking, type Asking } from '../../test/ask-described.ts';
import { createValidate, nameOf, readDocuments } from '../../test/described.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { readConfig } from '../config.ts';
import { prepareDemo } from '../demo.ts';
import { listOperations, type Described, type OpenApiDocument } from './document.ts';

const service = await useService({ DEMO: 'on' });
const { app, db, seal } = service;
const { 'school-data': schoolData, management } = await readDocuments(app);
const all = [schoolData, management].flatMap((document: OpenApiDocument) => {
  const validate = createValidate(document);
  return listOperations(document.paths).filter(({ path }) => path.startsWith('/api/')).map((described) => ({ described, validate }));
});
/** Codes that this test does not provoke: they need a thousand requests, a database that is away, or a body that never arrives. */
const dear = ['too_many_requests', 'unavailable', 'request_timeout'];
const provoked = new Set<string>();

let asking: Asking;
let narrow = '';
before(async () => {
  const config = readConfig({ DATABASE_URL: service.databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: service.dataDir });
  asking = createAsking(app, db, await prepareDemo(db, seal, config));
  const { rp, schoolSecrets } = await service.addClient('narrow', [asking.demo.estab], 'School');
  const payload = { estab: asking.demo.estab, relyingParty: rp, password: schoolSecrets[asking.demo.estab] };
  narrow = `Idaas ${(await askApp(app, { method: 'POST', url: '/api/oauth/GetToken', payload })).json<{ token: string }>().token}`;
});

type Wrong = { url?: string; authorization?: string; type?: string; encoding?: string; payload?: object | string; ids?: string };

async function ask({ path, verb, operation }: Described, wrong: Wrong): Promise<Got> {
  const [scheme] = Object.keys(operation.security?.[0] ?? {});
  const authorization = wrong.authorization ?? (scheme ? await authorise(asking, scheme) : '');
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'estab' ? asking.demo.estab : (wrong.ids ?? 'none')));
  const needed = (operation.parameters ?? []).filter(({ in: place, required }) => place === 'query' && required);
  const query = new URLSearchParams(Object.fromEntries(needed.map(({ name, example }) => [name, String(example)])));
  const headers = {
    ...(authorization ? { authorization } : {}), ...(wrong.type ? { 'content-type': wrong.type } : {}),
    ...(wrong.encoding ? { 'content-encoding': wrong.encoding } : {}),
  };
  const sent = wrong.payload === undefined ? {} : { payload: wrong.payload };
  return askApp(app, { method: verb.toUpperCase(), url: `${url}?${query}${wrong.url ?? ''}`, headers, ...sent });
}

/** The code, if it was refused at all. */
function check({ described, validate }: (typeof all)[number], got: Got, what: string): string | undefined {
  if (got.statusCode < 400) return undefined;
  const response = described.operation.responses[String(got.statusCode)];
  const media = response?.content?.['application/json'];
  assert.ok(media, `${nameOf(described)}: ${what}: ${got.statusCode} ${got.body}`);
  assert.deepEqual(validate(media.schema ?? {}, got.json()), [], `${nameOf(described)}: ${what}: ${got.body}`);
  const { ExceptionType: code } = got.json<{ ExceptionType: string }>();
  assert.ok(media.examples?.[code] ?? code === 'invalid_marks', `${nameOf(described)}: ${what}: ${code} is not among the examples`);
  provoked.add(code);
  return code;
}

const has = ({ operation }: Described, code: string) =>
  Object.values(operation.responses).some(({ content }) => content?.['application/json']?.examples?.[code]);

test('without a credential, and with one that is none', async () => {
  for (const one of all.filter(({ described }) => (described.operation.security ?? []).length > 0)) {
    const [scheme = ''] = Object.keys(one.described.operation.security?.[0] ?? {});
    assert.equal(check(one, await askApp(app, { method: one.described.verb.toUpperCase(), url: one.described.path }), 'nothing'), 'missing_token');
    assert.equal(check(one, await ask(one.described, { authorization: 'Bearer none' }), 'none'), 'invalid_token');
    const other = scheme === 'managementToken' ? 'schoolToken' : 'managementToken';
    if (Object.keys(Object.assign({}, ...(one.described.operation.security ?? []))).includes(other)) continue;
    assert.equal(check(one, await ask(one.described, { authorization: await authorise(asking, other) }), other), 'invalid_token');
  }
});

test('with a parameter that the operation does not describe', async () => {
  for (const one of all.filter(({ described: { path } }) => path.startsWith('/api/v1/')))
    assert.equal(check(one, await ask(one.described, { url: '&unknownName=1' }), 'unknown parameter'), 'invalid_request', nameOf(one.described));
});

test('with a query that is none, an id of nothing, a scope that is not granted', async () => {
  for (const one of all) {
    const { described } = one;
    if (described.verb === 'delete' || !/^(?:write|upload|create|reset)/.test(described.operation.operationId ?? ''))
      assert.ok(check(one, await ask(described, { url: '&x=%zz' }), 'query'), nameOf(described));
    if (has(described, 'not_found') && described.path.includes('{')) check(one, await ask(described, { ids: 'nobody' }), 'id');
    if (Object.keys(described.operation.security?.[0] ?? {})[0] === 'schoolToken') check(one, await ask(described, { authorization: narrow }), 'scope');
    const [estab] = described.path.match(/\{estab\}/) ?? [];
    if (estab) check(one, await askApp(app, {
      method: described.verb.toUpperCase(), url: described.path.replace(/\{\w+\}/g, 'elsewhere'), headers: { authorization: narrow },
    }), 'another school');
  }
});

test('with a body of another kind, an empty one, and one that is too large', async () => {
  for (const one of all.filter(({ described }) => described.verb !== 'get' && described.operation.operationId !== 'uploadRoster')) {
    const { described } = one;
    const packed = { type: 'application/json', encoding: 'compress', payload: '{}' };
    assert.equal(check(one, await ask(described, packed), 'compressed'), 'unsupported_media_type', nameOf(described));
    assert.ok(check(one, await ask(described, { type: 'application/xml', payload: '<none/>' }), 'xml'), nameOf(described));
    if (described.operation.requestBody) assert.ok(check(one, await ask(described, { payload: {} }), 'empty'), nameOf(described));
    assert.ok(check(one, await ask(described, { type: 'application/json', payload: '{ "broken' }), 'broken'), nameOf(described));
    assert.equal(check(one, await ask(described, { type: 'application/json', payload: `"${'x'.repeat(9 * 1024 * 1024)}"` }), 'large'), 'too_large');
  }
});

test('where nothing was collected, and where it cannot be done as things stand', async () => {
  await service.addSchool('Empty');
  const { rp, schoolSecrets } = await service.addClient('early', ['Empty']);
  const payload = { estab: 'Empty', relyingParty: rp, password: schoolSecrets.Empty };
  const { token } = (await askApp(app, { method: 'POST', url: '/api/oauth/GetToken', payload })).json<{ token: string }>();
  for (const one of all.filter(({ described }) => described.verb === 'get' && described.operation.operationId?.startsWith('getOwn')))
    check(one, await ask(one.described, { authorization: `Idaas ${token}` }), 'nothing collected');
  const find = (id: string) => all.find(({ described }) => described.operation.operationId === id) ?? assert.fail(id);
  const upload = find('uploadRoster');
  assert.equal(check(upload, await ask(upload.described, { payload: 'no zip' }), 'the demo sends its own'), 'conflict');
  const wrong = { relyingParty: 'nobody', password: 'none' };
  assert.equal(check(find('getToken'), await askApp(app, { method: 'POST', url: '/api/oauth/GetToken', payload: wrong }), 'secret'), 'invalid_client');
  const [person] = await db<{ name: string; id: string }[]>`
    select username as name, presence_id(estab, sourced_id) as id from roster_user
    where estab = ${asking.demo.estab} and kind = 'teacher' and status = 'active' and email is not null order by sourced_id limit 1`;
  const login = find('createLogin');
  assert.equal((await ask(login.described, { payload: { OrgId: asking.demo.estab, PresenceId: person?.id } })).statusCode, 200);
  const reset = find('resetPassword');
  assert.equal(check(reset, await ask(reset.described, { payload: { username: person?.name, password: 'password' } }), 'common'), 'unprocessable');
});

test('where the fault is ours', async () => {
  const tables = ['school_secret', 'application_secret', 'upload_token'] as const;
  const rename = async (from: string, to: string) => {
    for (const table of tables) await db.unsafe(`alter table ${table}${from} rename to ${table}${to}`);
  };
  await Promise.all(['schoolToken', 'managementToken', 'uploadToken'].map((scheme) => authorise(asking, scheme)));
  await rename('', '_away');
  try {
    const body = { relyingParty: 'demo.example', password: 'none' };
    for (const one of all)
      assert.equal(check(one, await ask(one.described, one.described.operation.operationId === 'getToken' ? { payload: body } : {}), 'a fault'), 'unexpected');
  } finally {
    await rename('_away', '');
  }
});

test('every code that is described was met, but for what is dear', () => {
  const codes = all.flatMap(({ described }) => Object.values(described.operation.responses).flatMap(({ content }) =>
    Object.keys(content?.['application/json']?.examples ?? {}),
  ));
  assert.deepEqual([...new Set(codes)].filter((code) => code !== 'demo' && !dear.includes(code) && !provoked.has(code)), []);
});
