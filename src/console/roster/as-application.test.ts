// A record as an application sees it: what the page shows is what the API answers to that application, for pupils, teachers, contacts
// and things, with every kind of grant; and why a field is empty is right.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useConsole } from '../../../test/console.ts';
import { byName } from '../../../test/dialects.ts';
import { loadSource, madeUpSource, person, role } from '../../../test/made-up-source.ts';
import type { Client } from '../../../test/service.ts';
import { enrolment, smallPackage, smallSchool, user } from '../../../test/small-school.ts';
import { changeState } from '../../access/authorisations.ts';
import { seeAsApplication } from '../../rostering/see-as-application.ts';

const estab = '3805121';
const { service, enter } = await useConsole();
const { db, url } = service;
const files = (more: Record<string, string>) => smallPackage({
  users: [
    ...smallSchool.users.filter(({ sourcedId }) => sourcedId !== 'p1'),
    user('p1', 'student', { agentSourcedIds: 'a2,s1', email: 'p1@school.example', ...more }),
  ],
  enrollments: [...smallSchool.enrollments, enrolment('e-a1', 'a1', 'k1', { role: 'guardian' })],
  demographics: [{ sourcedId: 'p1', birthDate: '2014-02-03' }, { sourcedId: 's1', cityOfBirth: 'Ely' }],
});
await service.addSchool(estab, files({ phone: '01234' }));
await service.load(estab, files({}));
const admin = await enter();

const grants = ['School', 'Student', 'Contact', 'Student,Contact', 'School,Student,Staff,Contact', 'Staff,StudentDemographic', 'Attendance,Identity'] as const;
const clients = new Map<string, Client>();
for (const [at, scopes] of grants.entries()) clients.set(scopes, await service.addClient(`app-${at}`, [estab], scopes));
const rpOf = (scopes: (typeof grants)[number]) => `app-${grants.indexOf(scopes)}`;

const subjects = [
  ['users', 'p1', 'student'], ['users', 's1', 'teacher'], ['users', 's2', 'staff'], ['users', 'a1', 'contact'], ['enrollments', 'e1', 'student'],
  ['enrollments', 'e-a1', 'contact'], ['demographics', 'p1', 'student'], ['demographics', 's1', 'teacher'], ['classes', 'k1', 'class'],
] as const;

type Shown = { fields: Map<string, string>; record: Record<string, unknown> | undefined; refusal: string | undefined; offered: boolean };

async function readView(collection: string, id: string, rp: string, at = estab): Promise<Map<string, Shown>> {
  const { status, text } = await admin.get(`/console/schools/${at}/roster/${collection}/${id}?view=application&rp=${rp}`);
  assert.equal(status, 200, text);
  return new Map([...text.matchAll(/<section class="card" id="dialect-([\w-]+)">([^]*?)<\/section>/g)].map(([, dialect = '', section = '']) => {
    const rows = [...section.matchAll(/<td[^>]*><div>[^<]*<br><code>(\w+)<\/code><\/div><\/td>[^]*?data-label="Why"><div>([^]*?)<\/div><\/td>/g)];
    const json = /<pre[^>]*><code>([^<]*)<\/code>/.exec(section)?.[1];
    return [dialect, {
      fields: new Map(rows.map(([, name = '', why = '']) => [name, unescape(why).replaceAll(/<[^>]+>/g, '').trim()])),
      record: json === undefined ? undefined : (JSON.parse(unescape(json)) as Record<string, unknown>),
      refusal: /It is refused: ([^<]*)</.exec(section)?.[1],
      offered: !section.includes('does not offer'),
    }];
  }));
}

const unescape = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

for (const scopes of grants) {
  test(`with ${scopes} the page shows what the API answers`, async () => {
    const client = clients.get(scopes) as Client;
    for (const [collection, id] of subjects) {
      const what = `${collection} ${id}`;
      const view = await readView(collection, id, rpOf(scopes));
      assert.deepEqual([...view.keys()], ['A', 'B', '1-2'], what);
      for (const [dialect, shown] of view) {
        const answer = await byName[dialect === 'A' || dialect === 'B' ? dialect : '1.2'].read(client, estab, `/${collection}/${id}`);
        const body = await answer.text();
        if (!shown.offered) {
          assert.equal(answer.status, 404, `${what} ${dialect}`);
          continue;
        }
        const given = [...shown.fields].filter(([, why]) => why === 'given' || why.startsWith('In part')).map(([name]) => name);
        if (answer.status === 200) {
          const [record = {}] = Object.values(JSON.parse(body) as Record<string, Record<string, unknown>>);
          assert.deepEqual(shown.record, record, `${what} ${dialect}`);
          assert.deepEqual(given.toSorted(), Object.keys(record).toSorted(), `${what} ${dialect}`);
          continue;
        }
        assert.deepEqual([shown.record, given], [undefined, []], `${what} ${dialect}`);
        assert.ok(shown.refusal !== undefined && body.includes(shown.refusal), `${what} ${dialect}: ${shown.refusal} is not in ${body}`);
      }
    }
  });
}

test('why a field is empty: not in the source, no longer in it, hidden by scope and by which', async () => {
  const why = async (collection: string, id: string, scopes: (typeof grants)[number], name: string) =>
    (await readView(collection, id, rpOf(scopes))).get('B')?.fields.get(name) ?? 'no such field';
  assert.match(await why('users', 'p1', 'Student', 'middleName'), /^Empty Not in the source\.$/);
  assert.match(await why('users', 'p1', 'Student', 'phone'), /^Empty Not in the source since version 2; before that it had a value/);
  assert.match(await why('users', 'p1', 'Student', 'agents'), /^Hidden Hidden by scope: Staff with Contact would open it/);
  assert.match(await why('users', 'p1', 'Student,Contact', 'agents'), /^In part It gets 1 of 2[^]*Staff would open them/);
  assert.match(await why('users', 'p1', 'School,Student,Staff,Contact', 'agents'), /^given/);
  assert.match(await why('users', 'a1', 'Student', 'phone'), /^Hidden Hidden by scope: Contact would open it/);
  assert.match(await why('demographics', 's1', 'School', 'cityOfBirth'), /Staff with StudentDemographic would open it/);
  assert.match(await why('orgs', 'o1', 'School', 'children'), /no other record names this one/);
});

test('roles that are hidden are said to be, with the scopes that would open them', async () => {
  const several = '3805123';
  const orgs = ['o1', 'o2'].map((sourcedId) => ({ sourcedId, name: 'School', type: 'school' }));
  const profile = (profileId: string) => ({ profileId, profileType: 'account', vendorId: 'v' });
  const users = [
    person('tom', [role('teacher', 'o1'), role('parent', 'o1', 'secondary'), role('student', 'o1', 'secondary')]),
    person('kid', [role('student', 'o1')], { agents: ['pat'] }),
    person('aid', [role('student', 'o1'), role('aide', 'o1', 'secondary')], { grades: ['12'] }),
    person('pat', [role('teacher', 'o1'), { ...role('parent', 'o2', 'secondary'), userProfile: 'urn:home' }], {
      agents: ['kid'], primaryOrg: 'o2', userProfiles: ['urn:home', 'urn:library'].map(profile),
    }),
  ];
  await service.addSchool(several);
  await loadSource(service, several, madeUpSource({ orgs, users }));
  const why = async (scopes: string, field = 'roles', id = 'tom') => {
    const rp = `roles-${scopes.replaceAll(',', '-')}-${field.toLowerCase()}-${id}`;
    await service.addClient(rp, [several], scopes);
    return (await readView('users', id, rp, several)).get('1-2')?.fields.get(field) ?? 'no such field';
  };
  assert.match(await why('Staff'), /^In part It gets 1 of 3: the others are hidden by scope\. Student with Contact would open them\.$/);
  assert.match(await why('Staff,Student'), /^In part It gets 2 of 3[^]* Contact would open them\.$/);
  assert.equal(await why('Student,Staff,Contact'), 'given');
  assert.match(await why('School'), /^Hidden Hidden by scope: Student or Staff or Contact would open it/);
  const contact = /^Hidden Hidden by scope: Contact would open it\.$/;
  assert.match(await why('Staff,Student', 'agents', 'kid'), contact, 'that somebody of the staff is a parent');
  assert.match(await why('Staff,Student', 'agents', 'pat'), contact);
  assert.match(await why('Staff', 'primaryOrg', 'pat'), contact);
  const { text } = await admin.get(`/console/schools/${several}/roster/users/pat?view=application&rp=roles-Staff-primaryorg-pat`);
  assert.match(text, /Org: <a href="[^"]*\/orgs\/o1"><bdi>School<\/bdi><\/a>/, 'the organisation of a role by its name');
  assert.match(await why('Staff', 'grades', 'aid'), /^Hidden Hidden by scope: Student would open it\.$/);
  assert.match(await why('Staff', 'userProfiles', 'pat'), /^In part It gets 1 of 2: the others are hidden by scope\. Contact would open them\.$/);
});

test('what the scopes say would open a record does open it', async () => {
  for (const scopes of ['Student', 'Attendance,Identity'] as const) {
    for (const [collection, sourcedId, kind] of subjects) {
      const asked = { estab, collection, sourcedId, kind, kinds: [kind] };
      const rp = rpOf(scopes);
      const { dialects: [, b] } = await seeAsApplication(db, url, rp, asked);
      if (b?.whole.is !== 'closed') continue;
      assert.ok(b.whole.opens.length > 0, `${scopes} ${collection} ${sourcedId}`);
      for (const more of b.whole.opens) {
        await db`update authorisation set scopes = ${[...scopes.split(','), ...more]} where estab = ${estab} and rp = ${rp}`;
        const { dialects: [, opened] } = await seeAsApplication(db, url, rp, asked);
        assert.equal(opened?.whole.is, 'given', `${scopes} with ${more.join()} ${collection} ${sourcedId}`);
      }
      await db`update authorisation set scopes = ${scopes.split(',')} where estab = ${estab} and rp = ${rp}`;
    }
  }
});

test('an application that is paused gets nothing, and one that nobody authorised is not there', async () => {
  const client = await service.addClient('pausing', [estab]);
  await client.tokenB(estab);
  await changeState(db, { rp: 'pausing', estab, from: ['Approved'], to: 'Paused' });
  const { text } = await admin.get(`/console/schools/${estab}/roster/users/p1?view=application&rp=pausing`);
  assert.match(text, /The authorisation is paused/);
  assert.ok(!text.includes('id="dialect-'));
  await service.addClient('elsewhere', []);
  for (const rp of ['elsewhere', 'nobody', '%27%22%3Cb%3E'])
    assert.equal((await admin.get(`/console/schools/${estab}/roster/users/p1?view=application&rp=${rp}`)).status, 404);
});

test('a person whom nobody sees', async () => {
  const lone = '3805122';
  await service.addSchool(lone, smallPackage());
  const path = `/console/schools/${lone}/roster/users/a1`;
  assert.match((await admin.get(path)).text, /No application is authorised at this school/);
  await service.addClient('lone', [lone], 'School,Student');
  assert.match((await admin.get(path)).text, /No application sees this record at present[^]*Contact would open it/);
});

test('a version that cannot be seen yet where the school lies: each dialect says so, as it would to the application', async () => {
  await db`update roster_standing set version = version + 1 where estab = ${estab}`;
  try {
    const view = await readView('classes', 'k1', rpOf('School'));
    for (const [dialect, { refusal, record }] of view) {
      assert.deepEqual([refusal, record], ['The newest version of the roster cannot be read yet. Try again in a moment.', undefined], dialect);
    }
  } finally {
    await db`update roster_standing set version = version - 1 where estab = ${estab}`;
  }
});
