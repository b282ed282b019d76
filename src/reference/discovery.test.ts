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

/** The path of each operation in the standard's own document. */
const officialPaths: Readonly<Record<string, string>> = {
  getAllAcademicSessions: '/academicSessions',
  getAcademicSession: '/academicSessions/{sourcedId}',
  getAllClasses: '/classes',
  getClass: '/classes/{sourcedId}',
  getStudentsForClass: '/classes/{classSourcedId}/students',
  getTeachersForClass: '/classes/{classSourcedId}/teachers',
  getAllCourses: '/courses',
  getCourse: '/courses/{sourcedId}',
  getClassesForCourse: '/courses/{courseSourcedId}/classes',
  getAllDemographics: '/demographics',
  getDemographics: '/demographics/{sourcedId}',
  getAllEnrollments: '/enrollments',
  getEnrollment: '/enrollments/{sourcedId}',
  getAllGradingPeriods: '/gradingPeriods',
  getGradingPeriod: '/gradingPeriods/{sourcedId}',
  getAllOrgs: '/orgs',
  getOrg: '/orgs/{sourcedId}',
  getAllSchools: '/schools',
  getSchool: '/schools/{sourcedId}',
  getClassesForSchool: '/schools/{schoolSourcedId}/classes',
  getEnrollmentsForClassInSchool: '/schools/{schoolSourcedId}/classes/{classSourcedId}/enrollments',
  getStudentsForClassInSchool: '/schools/{schoolSourcedId}/classes/{classSourcedId}/students',
  getTeachersForClassInSchool: '/schools/{schoolSourcedId}/classes/{classSourcedId}/teachers',
  getCoursesForSchool: '/schools/{schoolSourcedId}/courses',
  getEnrollmentsForSchool: '/schools/{schoolSourcedId}/enrollments',
  getStudentsForSchool: '/schools/{schoolSourcedId}/students',
  getTeachersForSchool: '/schools/{schoolSourcedId}/teachers',
  getTermsForSchool: '/schools/{schoolSourcedId}/terms',
  getAllStudents: '/students',
  getStudent: '/students/{sourcedId}',
  getClassesForStudent: '/students/{studentSourcedId}/classes',
  getAllTeachers: '/teachers',
  getTeacher: '/teachers/{sourcedId}',
  getClassesForTeacher: '/teachers/{teacherSourcedId}/classes',
  getAllTerms: '/terms',
  getTerm: '/terms/{sourcedId}',
  getClassesForTerm: '/terms/{termSourcedId}/classes',
  getGradingPeriodsForTerm: '/terms/{termSourcedId}/gradingPeriods',
  getAllUsers: '/users',
  getUser: '/users/{sourcedId}',
  getClassesForUser: '/users/{userSourcedId}/classes',
};

test('each path is written as the standard writes it, with the same names for its ids', () => {
  const paths = listOperations(document.paths).map(({ path, operation }) => [operation.operationId, path] as const);
  assert.deepEqual(Object.fromEntries(paths), officialPaths);
  for (const { path, operation } of listOperations(document.paths)) {
    const ids = (operation.parameters ?? []).flatMap(({ name, in: place }) => (place === 'path' ? [name] : []));
    assert.deepEqual(ids, [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name), path);
  }
});

test('every 404 below the root of OneRoster has a body of the standard', async () => {
  const status12 = (body: Record<string, unknown>) => [body.imsx_codeMajor, body.imsx_severity, Object.keys(body).includes('imsx_CodeMinor')];
  const newer = ['', '/', '/rostering', '/rostering/v1p2', `/rostering/v1p2/discovery/other.json`, '/rostering/v1p2/nothing', '/rostering/v1p2/token/more',
    '/gradebook/v1p2/lineItems', '/resources/v1p2/resources', '/other'];
  for (const path of newer) {
    const response = await fetch(`${service.url}/ims/oneroster${path}`, { headers: { accept: 'text/html' } });
    const body = (await response.json()) as Record<string, unknown>;
    assert.deepEqual([response.status, ...status12(body)], [404, 'failure', 'error', true], path);
  }
  for (const path of ['', '/nothing', '/auth', '/auth/token/more', '/lineItems']) {
    const response = await fetch(`${service.url}/ims/oneroster/v1p1${path}`);
    const { statusInfoSet: [info] = [] } = (await response.json()) as { statusInfoSet?: Record<string, unknown>[] };
    assert.deepEqual([response.status, info?.imsx_codeMajor, info?.imsx_codeMinor], [404, 'failure', 'unknown object'], path);
  }
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
