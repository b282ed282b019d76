// What a client of OneRoster 1.2 looks for first: the service's own description, for anybody, with addresses and scopes that hold.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createValidate } from '../../test/described.ts';
import { root12, useService } from '../../test/service.ts';
import { oneRosterScopes } from '../access/scopes.ts';
import { operations } from '../rostering/operations.ts';
import { listOperations, type OpenApiDocument, type Schema } from './document.ts';

const estab = '8881001';
const service = await useService();
await service.addSchool(estab, join(import.meta.dirname, '../../test/fixtures/small-school'));
const client = await service.addClient('app', [estab]);

const names = ['onerosterv1p2rostersservice_openapi3_v1p0.json', 'imsorv1p2_rostering_openapi3_v1p0.json'];
type Flow = { tokenUrl: string; scopes: Record<string, string> };
type Discovery = OpenApiDocument & { components: { securitySchemes: Record<string, { type: string; flows?: { clientCredentials?: Flow } }> } };

const read = async (name: string, init: RequestInit = {}) => fetch(`${service.url}${root12}/discovery/${name}`, init);
const document = (await (await read(names[0] ?? '')).json()) as Discovery;

test('it is there for anybody under both names, and need not be sent twice', async () => {
  for (const name of names) {
    const response = await read(name);
    assert.deepEqual([response.status, await response.json()], [200, document]);
    assert.equal((await read(name, { headers: { 'if-none-match': response.headers.get('etag') ?? '' } })).status, 304);
    assert.equal((await read(name, { method: 'HEAD' })).status, 200);
  }
  assert.deepEqual([(await read('other.json')).status, (await read(names[0] ?? '', { method: 'POST' })).status], [404, 405]);
});

test('it offers the 41 operations under the names of the standard, each with the scopes of which it needs one', async () => {
  assert.match(document.openapi, /^3\./);
  assert.deepEqual([document.info.version, document.servers.map(({ url }) => url)], ['1.2', [service.url + root12]]);
  const { core, roster, demographics } = oneRosterScopes.v1p2;
  const expected = { core: [core, roster], roster: [roster], demographics: [demographics] };
  assert.deepEqual(
    listOperations(document.paths).map(({ path, verb, operation }) => [verb, path, operation.operationId, operation.security]).toSorted(),
    operations
      .map(({ name, path, scope }) => ['get', path.replaceAll(/:(\w+)/g, '{$1}'), name, [{ OAuth2CC: expected[scope] }]])
      .toSorted(),
  );
});

test('its addresses and scopes lead to records that are as it says, with nothing else in them', async () => {
  const [[, scheme] = []] = Object.entries(document.components.securitySchemes);
  const { tokenUrl = '', scopes = {} } = scheme?.flows?.clientCredentials ?? {};
  const body = new URLSearchParams({
    grant_type: 'client_credentials', client_id: client.clientId, client_secret: client.clientSecret, scope: Object.keys(scopes).join(' '),
  });
  const granted = (await (await fetch(tokenUrl, { method: 'POST', body })).json()) as { access_token: string; scope: string };
  assert.deepEqual(granted.scope.split(' ').toSorted(), Object.keys(scopes).toSorted());
  const validate = createValidate(document);
  for (const [path, type] of [['users', 'user'], ['demographics', 'demographics'], ['schools', 'org'], ['enrollments', 'enrollment']] as const) {
    const response = await fetch(`${document.servers[0]?.url}/${path}`, { headers: { authorization: `Bearer ${granted.access_token}` } });
    const records = Object.values((await response.json()) as Record<string, unknown[]>)[0] ?? [];
    assert.ok(records.length > 1);
    for (const record of records) assert.deepEqual(validate({ $ref: `#/components/schemas/${type}_1p2` }, record), []);
  }
  const open = Object.entries(document.components.schemas).filter(([, schema]) => isOpen(schema));
  assert.deepEqual(open.map(([name]) => name), []);
});

/** Whether an object with named fields may have others. */
function isOpen(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  const { properties, additionalProperties } = schema as Schema;
  return (properties !== undefined && typeof properties === 'object' && additionalProperties !== false) || Object.values(schema).some(isOpen);
}
