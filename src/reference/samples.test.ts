// Samples: whatever the values are, each program sends exactly them. The programs are run, against a server that tells what came.
import fc from 'fast-check';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { findMissing, languages, useSamples } from '../../test/run-sample.ts';
import type { CredentialName } from './credentials.ts';
import type { OpenApiDocument, Verb } from './document.ts';
import { Env, type Value } from './quote.ts';
import type { Located, SampleValues } from './sample-request.ts';
import { renderSamples } from './samples.ts';

type Came = { method: string; path: string; query: [string, string][]; headers: Record<string, string | string[] | undefined>; body: string };
const came: Came[] = [];
const echo = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const url = new URL(request.url ?? '', 'http://echo');
    const isToken = url.pathname.endsWith('/token') || url.pathname.endsWith('/GetToken');
    const { method = '', headers } = request;
    came.push({ method, path: url.pathname, query: [...url.searchParams], headers, body: Buffer.concat(chunks).toString() });
    const isRefused = isToken && Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString().startsWith('refused:');
    response.statusCode = url.pathname.endsWith('/refused') || isRefused ? 409 : 200;
    if (response.statusCode === 409) return response.end('{"ExceptionMessage":"not now, thank you"}');
    return response.setHeader('content-type', 'application/json').end(isToken ? '{"access_token":"t-1","token":"t-2","expires_in":3600}' : '{"ok":true}');
  });
});
await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
after(() => echo.close());
const origin = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
const samples = useSamples();
const missing = Object.fromEntries(await Promise.all(languages.map(async (language) => [language, await findMissing(language)] as const)));
const env = {
  CLIENT_ID: 'client',
  CLIENT_SECRET: 'sb_client_x',
  RP: 'rp.example',
  ESTAB: '999',
  SCHOOL_SECRET: 'sb_school_y',
  MANAGEMENT_SECRET: 'sb_mgmt_z',
  UPLOAD_TOKEN: 'sb_upload_u',
};

type Described = { credential?: CredentialName; contentType?: string; answer?: string };

function describe(verb: Verb, { credential, contentType, answer = 'application/json' }: Described = {}): Located {
  const info = { title: 'Samples', summary: '', description: '', version: '1', license: { name: '', identifier: '' } };
  const components = { schemas: {}, securitySchemes: {} };
  const document: OpenApiDocument = { openapi: '3.1.0', info, servers: [{ url: origin, description: '' }], tags: [], paths: {}, components };
  const operation = {
    responses: { 200: { description: '', content: { [answer]: {} } } },
    ...(contentType === undefined ? {} : { requestBody: { content: { [contentType]: {} } } }),
    ...(credential === undefined ? {} : { security: [{ [credential]: [] }] }),
  };
  return { document, verb, path: '/things/{id}', operation };
}

for (const language of languages) {
  const skip = missing[language] ?? false;
  const send = async (located: Located, values: SampleValues, files = {}) => {
    came.length = 0;
    const text = renderSamples(located, values)[language];
    const { code, err, out, folder } = await samples.run(language, text, env, files);
    assert.deepEqual([code, err], [0, ''], `${err}\n${text}`);
    return { requests: came.splice(0), out, folder };
  };
  const readPath = (path: string) => decodeURIComponent(path.replace('/things/', ''));

  test(`${language}: any value of a parameter arrives as it is`, { skip }, () => {
    // What no address can say: a part of a path that means another folder, and text that is no Unicode.
    const signs = fc.constantFrom(...'\'"\\`$!#&;|<>(){}[]*?~^%+=@ \n\r\t\0aé😀');
    const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.string({ unit: signs, maxLength: 12 }));
    const id = text.filter((one) => !['', '.', '..'].includes(one));
    const name = text.filter((one) => one !== '' && !one.includes('\0'));
    const header = fc.string({ unit: fc.constantFrom(...'\'"\\`$!#&;|<>(){}[]*?~^%+=@ ab,.:-'), maxLength: 12 }).map((one) => `x${one}x`);
    const request = fc.record({ id, query: fc.array(fc.tuple(name, text), { maxLength: 8 }), header });
    const property = fc.asyncProperty(request, async (given) => {
      const query = Object.fromEntries(given.query.map(([key, value]) => [key, [value]]));
      const { requests: [got] } = await send(describe('get'), { path: { id: given.id }, query, headers: { 'X-Given': given.header } });
      assert.equal(readPath(got?.path ?? ''), given.id);
      assert.deepEqual(got?.query.toSorted(), Object.entries(query).map(([key, [value]]) => [key, value]).toSorted());
      assert.equal(got?.headers['x-given'], given.header);
    });
    return fc.assert(property, { numRuns: 15 });
  });

  test(`${language}: any JSON body arrives as it is, and any form`, { skip }, async () => {
    const property = fc.asyncProperty(fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }), async (body) => {
      const { requests: [got] } = await send(describe('post', { contentType: 'application/json' }), { path: { id: '1' }, body: body as Value });
      assert.deepEqual(JSON.parse(got?.body ?? ''), JSON.parse(JSON.stringify(body)));
      assert.deepEqual([got?.method, got?.headers['content-type']], ['POST', 'application/json']);
    });
    const awkward: Value = { __proto__: null, ...JSON.parse('{"__proto__":[true,false,null,-1.5e-7],"a\'b\\"c`${d}$(e)\\\\":{"":"\\u2028\\u0000 x"}}') };
    await fc.assert(property, { numRuns: 12, examples: [[awkward as fc.JsonValue], [[]], ['@file'], ["it's"]] });
    const form = { plain: 'a b', odd: '\'"&=+%\\`$(x)\0é😀\n', '@name': '@value' };
    const { requests: [got] } = await send(describe('post', { contentType: 'application/x-www-form-urlencoded' }), { path: { id: '1' }, body: form });
    assert.deepEqual([...new URLSearchParams(got?.body)], Object.entries(form));
    assert.match(String(got?.headers['content-type']), /^application\/x-www-form-urlencoded/);
  });

  test(`${language}: a token is had first, by what the operation is secured with`, { skip }, async () => {
    const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;
    const cases: [CredentialName, first: string | undefined, then: string][] = [
      ['variantAToken', basic('client:sb_client_x'), 'Bearer t-1'],
      ['variantBToken', basic('rp.example|999:sb_school_y'), 'Bearer t-1'],
      ['schoolToken', undefined, 'Idaas t-2'],
      ['managementToken', undefined, 'Idaas t-2'],
    ];
    for (const [credential, first, then] of cases) {
      const { requests } = await send(describe('get', { credential }), { path: { id: '1' } });
      assert.deepEqual(requests.map(({ method }) => method), ['POST', 'GET'], credential);
      assert.deepEqual(requests.map(({ headers }) => headers.authorization), [first, then], credential);
    }
    for (const [credential, then] of [['uploadToken', 'Bearer sb_upload_u'], ['variantAClient', basic('client:sb_client_x')]] as const) {
      const { requests } = await send(describe('get', { credential }), { path: { id: '1' } });
      assert.deepEqual(requests.map(({ headers }) => headers.authorization), [then], credential);
    }
  });

  test(`${language}: a secret in a body comes from the environment, a file from disk, a picture goes there`, { skip }, async () => {
    const secret = { estab: '999', deep: [{ password: new Env('SCHOOL_SECRET') }], last: "it's" };
    const { requests: [got] } = await send(describe('post', { contentType: 'application/json' }), { path: { id: '1' }, body: secret });
    assert.deepEqual(JSON.parse(got?.body ?? ''), { estab: '999', deep: [{ password: 'sb_school_y' }], last: "it's" });
    const { requests: [sent] } = await send(describe('put', { contentType: 'application/zip' }), { path: { id: '1' }, body: '' }, { 'roster.zip': 'a zip' });
    assert.deepEqual([sent?.method, sent?.body, sent?.headers['content-type']], ['PUT', 'a zip', 'application/zip']);
    const { folder, out } = await send(describe('get', { answer: 'image/png' }), { path: { id: '1' } });
    assert.deepEqual([readFileSync(`${folder}/answer.png`, 'utf8'), out], ['{"ok":true}', '']);
  });

  test(`${language}: what is refused is an error, with the words of the answer`, { skip }, async () => {
    const { code, out, err } = await samples.run(language, renderSamples(describe('get'), { path: { id: 'refused' } })[language], env);
    assert.notEqual(code, 0);
    assert.match(`${out}${err}`, /409[^]*not now, thank you|not now, thank you[^]*409/);
    const unknown = { ...env, CLIENT_ID: 'refused' };
    const token = await samples.run(language, renderSamples(describe('get', { credential: 'variantAToken' }), { path: { id: '1' } })[language], unknown);
    assert.match(`${token.out}${token.err}`, /409[^]*not now, thank you|not now, thank you[^]*409/, 'so is a token that is not granted');
  });
}
