// What is held because people would lose a role, as the console shows it: nobody is said to go who stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../../../test/csv-package.ts';
import { useConsole } from '../../../../test/console.ts';

const { service, enter } = await useConsole();
const admin = await enter('admin');

const ids = Array.from({ length: 60 }, (_, at) => `u${String(at).padStart(2, '0')}`);
const role = (userSourcedId: string, word: string) => ({
  sourcedId: `${userSourcedId}-${word}`, userSourcedId, roleType: 'primary', role: word, orgSourcedId: 'o',
});
const packWithParents = (first: number) =>
  csvPackage({
    orgs: [{ sourcedId: 'o', name: 'School', type: 'school' }],
    users: ids.map((id) => ({ sourcedId: id, enabledUser: 'true', username: id, givenName: 'G', familyName: id })),
    roles: [...ids.map((id) => role(id, 'teacher')), ...ids.slice(first).map((id) => role(id, 'parent'))],
  }, { edition: 'v1p2' });

test('people who would lose a role are counted and listed as that', async () => {
  await service.addSchool('roles', packWithParents(0));
  assert.equal((await service.load('roles', packWithParents(20))).outcome, 'held');
  const page = (await admin.get('/console/schools/roles/held')).text;
  assert.match(page, /id="held-message"><strong>20 of 60 parent users \(33\.3 %\) would lose that role\.</);
  assert.match(page, /of=users%2Fparent%2Fstays"[^>]*>20 parents would only lose that role</);
  const listed = (await admin.get('/console/schools/roles/held?of=users%2Fparent%2Fstays')).text;
  assert.equal(listed.match(/class="id">u\d\d</g)?.length, 20);
});
