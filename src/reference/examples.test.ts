// Holds the documents to the demo: every kept example fits the schema that it stands beside, and every operation, asked for with
// the examples of its parameters, answers as it is described, when all goes well and when it is refused.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { askDescribed, createAsking, type Answered, type Ask, type Asking } from '../../test/ask-described.ts';
import { askForExample, keyOf, listMissing, listWanted, readKept } from '../../test/collect-examples.ts';
import { createValidate, isJson, nameOf, readDocuments, type Validate } from '../../test/described.ts';
import { asks, furtherAsks } from '../../test/example-asks.ts';
import { root } from '../../test/generate.ts';
import { testSecretKey, useService } from '../../test/service.ts';
import { driftSchool } from '../collection/connectors/demo/drift.ts';
import { demoSchool } from '../collection/connectors/demo/school.ts';
import { readConfig } from '../config.ts';
import { prepareDemo } from '../demo.ts';
import { listOperations, type Described, type OpenApiDocument, type Schema } from './document.ts';
import { examplesFile } from './examples.ts';
import { surfaces, type SurfaceName } from './surfaces.ts';
import { oneRosterScopes } from '../access/scopes.ts';
import type { Edition } from '../roster/resource.ts';

const { app, db, databaseUrl, dataDir, seal } = await useService({ DEMO: 'on', RATE_LIMIT_PER_MINUTE: '100000' });
const documents = await readDocuments(app);
let asking: Asking;
before(async () => {
  const config = readConfig({ DATABASE_URL: databaseUrl, SECRET_KEY: testSecretKey, DATA_DIR: dataDir });
  asking = createAsking(app, db, await prepareDemo(db, seal, config));
});

const all = (Object.entries(documents) as [SurfaceName, OpenApiDocument][]).map(([name, document]) => ({ name, document, validate: createValidate(document) }));

test('every answer in JSON has an example that fits, and none is left over', () => {
  const kept = readKept();
  assert.deepEqual(listMissing(documents, kept).map(keyOf), [], 'npm run generate asks for those that are missing');
  const listed = ([id, answers]: [string, object]) => Object.keys(answers).map((status) => `${id} ${status}`);
  for (const { name, document } of all) assert.deepEqual(Object.entries(kept[name]).flatMap(listed), listWanted(document).map(keyOf), name);
  const wanted = all.flatMap(({ document }) => listWanted(document));
  assert.deepEqual(Object.keys(asks).filter((id) => !wanted.some(({ described }) => nameOf(described) === id)), []);
  assert.deepEqual(Object.keys(furtherAsks).filter((key) => !wanted.some((one) => keyOf(one) === key)), []);
});

/** What lets no example be given in a document, or none that says anything. */
const pictures = ['image/png', 'image/svg+xml', 'text/html'];

/** Errors that an operation can always have, by the statuses that its surface gives them. */
function listCertain(surface: SurfaceName, { verb, operation: { security = [] } }: Described): string[] {
  const refused = security.length === 0 ? [] : ['401'];
  const ofBody = verb === 'get' ? [] : ['413', '415'];
  // Variant A answers 400 for faults of the service, and 403 if a collection is asked for without a token.
  if (surface === 'variant-a') return verb === 'get' ? ['400', '403', '429'] : ['400', ...refused, ...ofBody];
  return ['400', ...refused, ...ofBody, '500'];
}

test('every operation says all that there is to say: in words, of its parameters, and of each status with its body', () => {
  for (const { name, document } of all) {
    for (const described of listOperations(document.paths)) {
      const { summary, description, security, parameters = [], responses } = described.operation;
      assert.ok(summary && description && security, nameOf(described));
      for (const one of parameters) assert.ok(one.description, `${nameOf(described)} ${one.name}`);
      assert.deepEqual(listCertain(name, described).filter((status) => !(status in responses)), [], nameOf(described));
      for (const [status, answer] of Object.entries(responses)) {
        assert.ok(answer.description && answer.headers?.['X-Request-Id'], `${nameOf(described)} ${status}`);
        for (const [type, { schema, example, examples }] of Object.entries(answer.content ?? {})) {
          assert.ok(schema, `${nameOf(described)} ${status} ${type}`);
          if (!pictures.includes(type)) assert.ok(example !== undefined || examples, `${nameOf(described)} ${status} ${type} has no example`);
        }
      }
    }
  }
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
  if (isJson(contentType) || contentType === 'text/plain') assert.deepEqual(validate(media.schema ?? {}, body), [], what);
  const told = Object.keys(response.headers ?? {}).map((name) => name.toLowerCase());
  const ours = Object.keys(headers).filter((name) => ownHeaders.test(name));
  assert.deepEqual(ours.filter((name) => !told.includes(name)), [], `${what}: headers`);
}

for (const { name, document, validate } of all) {
  test(`${name}: a request that is made of the examples is answered as described`, async () => {
    for (const wanted of listWanted(document)) {
      const answered = await askForExample(asking, wanted);
      assert.equal(String(answered.status), wanted.status, `${keyOf(wanted)} ${JSON.stringify(answered.body)}`);
      checkAnswer(wanted.described, validate, answered);
    }
  });
}

const rostering = all.filter(({ name }) => name === 'variant-a' || name === 'variant-b' || name === 'oneroster-1p2');
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

test('rostering: whom the examples name stays in the demo, whatever the day', () => {
  const parameters = reads.flatMap(({ described: { operation } }) => operation.parameters ?? []);
  const ids = new Set(parameters.filter((one) => one.in === 'path').map(({ example }) => String(example)));
  assert.ok(ids.size > 5);
  const school = demoSchool();
  const now = Date.now();
  // Leavers stay away for a little over four days.
  for (let day = 0; day < 400; day += 4) {
    const files = driftSchool(school, new Date(now + day * 86_400_000));
    const status = new Map(files.flatMap(({ header, rows }) =>
      rows.filter(([id = '']) => ids.has(id)).map(([id = '', ...rest]) => [id, rest[header.indexOf('status') - 1] ?? ''] as const),
    ));
    // Who changes classes ends an enrolment, which can be read all the same.
    assert.deepEqual([...ids].filter((id) => status.get(id) !== '' && !(id.startsWith('enr-') && status.has(id))), [], `in ${day} days`);
  }
});

const narrow = async (suffix: string, edition: Edition) => {
  const described = rostering
    .flatMap(({ document }) => listOperations(document.paths))
    .find(({ operation }) => operation.operationId === `getToken_${suffix}`);
  assert.ok(described);
  const scope = oneRosterScopes[edition].demographics;
  const { body } = await askDescribed(asking, described, { body: { grant_type: 'client_credentials', scope } });
  return `Bearer ${(body as { access_token: string }).access_token}`;
};

test('rostering: what is refused is refused as described, with a message that stands among the examples', async () => {
  const narrowed: Record<string, string> = { A: await narrow('A', 'v1p1'), B: await narrow('B', 'v1p1'), '1p2': await narrow('1p2', 'v1p2') };
  for (const { described, validate } of reads) {
    const { operation } = described;
    const suffix = operation.operationId?.split('_').at(-1) ?? '';
    const tries: [code: string, ask: Ask, exactly: boolean][] = [
      ['missing_token', { authorization: '' }, true],
      ['invalid_token', { authorization: 'Bearer' }, true],
      ['blank_selection', { parameters: { fields: ',' } }, true],
      ['invalid_selection', { parameters: { fields: 'shoeSize' } }, true],
      ['version_gone', { parameters: { 'If-Roster-Version': '7-3f1c9a20' } }, true],
      ['forbidden', { authorization: narrowed[suffix] ?? '' }, false],
      ...(has(described, 'sourcedId') ? [['not_found', { parameters: { sourcedId: 'nobody' } }, true] satisfies (typeof tries)[number]] : []),
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
    ...(id.endsWith('_1p2') ? [] : [['invalid_sort', { parameters: { sort: '' } }, true] satisfies [string, Ask, boolean]]),
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
  assert.equal(described.length, 3);
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
