// Holds the documents to the demo: every kept example fits the schema that it stands beside, and every operation, asked for with
// the examples of its parameters, answers as it is described, when all goes well and when it is refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { askDescribed, createAsking, type Answered, type Ask, type Asking } from '../../test/ask-described.ts';
import { askForExample, listExemplified, listMissing, readKept } from '../../test/collect-examples.ts';
import { createValidate, nameOf, readDocuments, successOf, type Validate } from '../../test/described.ts';
import { asks } from '../../test/example-asks.ts';
import { root } from '../../test/generate.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { readConfig } from '../config.ts';
import { prepareDemo } from '../demo.ts';
import { listOperations, type Described, type OpenApiDocument, type Schema } from './document.ts';
import { examplesFile } from './examples.ts';
import { surfaces, type SurfaceName } from './surfaces.ts';

const { app, db, databaseUrl, dataDir, seal } = await useService({ RATE_LIMIT_PER_MINUTE: '100000' });
const documents = await readDocuments(app);
let asking: Asking;
before(async () => {
  const config = readConfig({ DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir });
  asking = createAsking(app, db, await prepareDemo(db, seal, config));
});

const all = (Object.entries(documents) as [SurfaceName, OpenApiDocument][]).map(([name, document]) => ({ name, document, validate: createValidate(document) }));

test('every operation that answers JSON has an example that fits, and none is left over', () => {
  const kept = readKept();
  assert.deepEqual(listMissing(documents, kept).map(nameOf), [], 'npm run generate asks for those that are missing');
  for (const { name, document } of all) assert.deepEqual(Object.keys(kept[name]), listExemplified(document).map(nameOf), name);
  assert.deepEqual(Object.keys(asks).filter((id) => !all.some(({ document }) => listExemplified(document).some((one) => nameOf(one) === id))), []);
});

test('examples are small, and hold nothing that opens anything', () => {
  for (const { name } of surfaces) {
    const text = readFileSync(join(root, examplesFile(name)), 'utf8');
    assert.ok(text.length < 300_000, name);
    assert.doesNotMatch(text, /\b(?:sb_(?:school|mgmt|client|upload)|whsec)_(?!example-)/, name);
    for (const [token = ''] of text.matchAll(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g)) assert.match(token, /\.not-a-real-token$/, name);
  }
});

test('the other examples fit their schemas too: of parameters, headers, bodies and errors', () => {
  for (const { document, validate } of all) {
    for (const described of listOperations(document.paths)) {
      for (const [what, schema, value] of listExamples(described)) assert.deepEqual(validate(schema, value), [], `${nameOf(described)} ${what}`);
    }
  }
});

type Exemplified = [what: string, schema: Schema, value: unknown];

function listExamples({ operation: { parameters = [], requestBody, responses } }: Described): Exemplified[] {
  const media = [requestBody?.content ?? {}, ...Object.values(responses).map(({ content = {} }) => content)].flatMap((one) => Object.entries(one));
  return [
    ...parameters.flatMap(({ name, schema = {}, example }): Exemplified[] => (example === undefined ? [] : [[name, schema, example]])),
    ...Object.values(responses).flatMap(({ headers = {} }) =>
      Object.entries(headers).flatMap(([name, { schema = {} }]) => ((schema.examples as unknown[]) ?? []).map((one): Exemplified => [name, schema, one])),
    ),
    ...media.flatMap(([type, { schema = {}, example, examples = {} }]): Exemplified[] => [
      ...(example === undefined ? [] : [[type, schema, example] satisfies Exemplified]),
      ...Object.entries(examples).map(([name, { value }]): Exemplified => [`${type} ${name}`, schema, value]),
    ]),
  ];
}

const ownHeaders = /^(x-(?!content-type-options)|ratelimit-|link$|etag$|retry-after$|www-authenticate$|location$)/;

/** The answer is one of those that are described: its status, its type, its body and its headers. */
function checkAnswer(described: Described, validate: Validate, { status, contentType, headers, body }: Answered): void {
  const what = `${nameOf(described)} ${status} ${JSON.stringify(body).slice(0, 300)}`;
  const response = described.operation.responses[String(status)];
  assert.ok(response, what);
  if (response.content === undefined) return assert.equal(body, '', what);
  const media = response.content[contentType];
  assert.ok(media, `${what}: ${contentType}`);
  if (contentType === 'application/json' || contentType === 'text/plain') assert.deepEqual(validate(media.schema ?? {}, body), [], what);
  const told = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  const ours = Object.keys(headers).filter((name) => ownHeaders.test(name));
  assert.deepEqual(ours.filter((name) => !told.includes(name)), [], `${what}: headers`);
}

for (const { name, document, validate } of all) {
  test(`${name}: a request that is made of the examples is answered as described`, async () => {
    for (const described of listExemplified(document)) {
      const answered = await askForExample(asking, described);
      assert.equal(String(answered.status), successOf(described.operation).status, `${nameOf(described)} ${JSON.stringify(answered.body)}`);
      checkAnswer(described, validate, answered);
    }
  });
}

const rostering = all.filter(({ name }) => name === 'variant-a' || name === 'variant-b');
const reads = rostering.flatMap(({ document, validate }) =>
  listOperations(document.paths).filter(({ verb }) => verb === 'get').map((described) => ({ described, validate })),
);
const has = ({ operation }: Described, parameter: string) => operation.parameters?.some(({ name }) => name === parameter);

test('rostering: all examples of the parameters may be sent together', async () => {
  for (const { described } of reads) {
    const exemplified = (described.operation.parameters ?? []).filter(({ example }) => example !== undefined);
    const parameters = Object.fromEntries(exemplified.map(({ name, example }) => [name, String(example)]));
    const answered = await askDescribed(asking, described, { parameters });
    assert.equal(answered.status, 200, `${nameOf(described)} ${JSON.stringify(answered.body)}`);
  }
});

test('rostering: every parameter has an example, but for versions and tags, which only an answer gives', () => {
  const given = ['rosterVersion', 'If-Roster-Version', 'If-None-Match', 'X-Request-Id'];
  for (const { described } of reads) {
    const without = (described.operation.parameters ?? []).filter(({ example }) => example === undefined).map(({ name }) => name);
    assert.deepEqual(without.filter((name) => !given.includes(name)), [], nameOf(described));
    assert.deepEqual((described.operation.parameters ?? []).filter(({ description }) => !description), []);
  }
});

const narrow = async (variant: 'A' | 'B') => {
  const { document } = rostering.find(({ name }) => name === `variant-${variant.toLowerCase()}`) ?? {};
  const described = listOperations(document?.paths ?? {}).find(({ operation }) => operation.operationId === `getToken_${variant}`);
  assert.ok(described);
  const scope = 'https://purl.imsglobal.org/spec/or/v1p1/scope/roster-demographics.readonly';
  const { body } = await askDescribed(asking, described, { body: { grant_type: 'client_credentials', scope } });
  return `Bearer ${(body as { access_token: string }).access_token}`;
};

test('rostering: what is refused is refused as described, with a message that stands among the examples', async () => {
  const narrowed = { A: await narrow('A'), B: await narrow('B') };
  for (const { described, validate } of reads) {
    const { operation } = described;
    const variant = operation.operationId?.endsWith('_A') ? 'A' : 'B';
    const tries: [code: string, ask: Ask, exactly: boolean][] = [
      ['missing_token', { authorization: '' }, true],
      ['invalid_token', { authorization: 'Bearer' }, true],
      ['blank_selection', { parameters: { fields: ',' } }, true],
      ['version_gone', { parameters: { 'If-Roster-Version': '7-3f1c9a20' } }, true],
      ['forbidden', { authorization: narrowed[variant] }, false],
      ...(has(described, 'id') ? [['not_found', { parameters: { id: 'nobody' } }, true] satisfies (typeof tries)[number]] : []),
      ...(has(described, 'limit') ? listTries(operation.operationId ?? '') : []),
    ];
    for (const [code, ask, exactly] of tries) {
      if (code === 'forbidden' && operation.operationId?.includes('Demographics')) continue;
      const answered = await askDescribed(asking, described, ask);
      checkAnswer(described, validate, answered);
      const media = described.operation.responses[String(answered.status)]?.content?.[answered.contentType];
      assert.ok(media?.examples?.[code], `${nameOf(described)}: ${code} is described for ${answered.status}`);
      if (exactly) assert.deepEqual(answered.body, media.examples[code].value, `${nameOf(described)} ${code}`);
    }
  }
});

function listTries(id: string): [code: string, ask: Ask, exactly: boolean][] {
  const filter = id.endsWith('_A') ? "role='student'" : 'status=active';
  return [
    ['invalid_request', { parameters: { limit: 'none' } }, true],
    ['invalid_sort', { parameters: { sort: '' } }, true],
    ...(id === 'getAllEnrollments_A' ? [] : [['invalid_filter', { parameters: { filter } }, true] satisfies [string, Ask, boolean]]),
  ];
}

test('rostering: a token is refused as described', async () => {
  const wrong = `Basic ${Buffer.from('nobody:nothing').toString('base64')}`;
  const tries: [code: string, status: number, ask: Ask][] = [
    ['unsupported_grant_type', 400, { body: { grant_type: 'password' } }],
    ['invalid_scope', 400, { body: { scope: 'nothing' } }],
    ['invalid_request', 400, { body: '{', contentType: 'application/json' }],
    ['too_large', 413, { body: { scope: 'x'.repeat(17_000) } }],
    ['unsupported_media_type', 415, { body: { scope: '' }, headers: { 'content-encoding': 'compress' } }],
    ...Array.from({ length: 30 }, () => ['invalid_client', 401, { authorization: wrong }] satisfies [string, number, Ask]),
    ['too_many_requests', 429, { authorization: wrong }],
  ];
  const described = rostering.flatMap(({ document, validate }) =>
    listOperations(document.paths).filter(({ verb }) => verb === 'post').map((one) => ({ one, validate })),
  );
  assert.equal(described.length, 2);
  for (const { one, validate } of described) {
    await db`delete from wrong_try`;
    for (const [code, status, ask] of tries) {
      const answered = await askDescribed(asking, one, ask);
      assert.equal(answered.status, status, `${nameOf(one)} ${code} ${JSON.stringify(answered.body)}`);
      checkAnswer(one, validate, answered);
      assert.deepEqual(answered.body, one.operation.responses[status]?.content?.['application/json']?.examples?.[code]?.value, `${nameOf(one)} ${code}`);
    }
  }
});

test('rostering: who has the answer is told so', async () => {
  for (const { described, validate } of reads.slice(0, 20)) {
    const { headers } = await askDescribed(asking, described);
    const again = await askDescribed(asking, described, { parameters: { 'If-None-Match': String(headers.etag) } });
    assert.equal(again.status, 304);
    checkAnswer(described, validate, again);
  }
});
