// Roles of administrators in OneRoster 1.2, which depend on the type of the organisation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';

const service = await useService();

const administrator = (sourcedId: string, orgSourcedIds: string) => ({
  sourcedId, enabledUser: 'true', orgSourcedIds, role: 'administrator', username: sourcedId, givenName: 'Given', familyName: sourcedId,
});
const orgs = (schoolType: string): Rows => [
  { sourcedId: 'trust', name: 'Trust', type: 'district' },
  { sourcedId: 'school', name: 'School', type: schoolType, parentSourcedId: 'trust' },
  { sourcedId: 'maths', name: 'Maths', type: 'department', parentSourcedId: 'school' },
];
const files = (schoolType: string): Record<string, Rows> => ({
  orgs: orgs(schoolType),
  users: [administrator('head', 'trust,school,maths'), administrator('twice', 'trust,trust,school')],
});

test('an administrator of a school and of a district differ, and a change of the organisation changes the role', async () => {
  await service.addSchool('heads', csvPackage(files('school')));
  const client = await service.addClient('app', ['heads']);
  const load = (given: Record<string, Rows>) => service.load('heads', csvPackage(given));
  type User = { dateLastModified: string; roles: { role: string }[] };
  const read = async (id: string) => ((await (await client.v12('heads', `/users/${id}`)).json()) as { user: User }).user;
  const rolesOf = ({ roles }: User) => roles.map(({ role }) => role);
  const before = await read('head');
  assert.deepEqual(rolesOf(before), ['districtAdministrator', 'siteAdministrator', 'ext:administrator']);
  assert.deepEqual(rolesOf(await read('twice')), ['districtAdministrator', 'siteAdministrator'], 'each organisation once');
  const imported = await load({ orgs: orgs('local') });
  assert.deepEqual([imported.outcome, imported.changed], ['done', 1]);
  const after = await read('head');
  assert.deepEqual(rolesOf(after), ['districtAdministrator', 'districtAdministrator', 'ext:administrator']);
  assert.ok(after.dateLastModified > before.dateLastModified, 'clients that read deltas see the change');
  assert.equal((await load(files('local'))).outcome, 'unchanged');
});
