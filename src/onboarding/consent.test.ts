// Tests what a school sees before and after it decides: every field that the grant opens, by a plain name, with the
// school's own examples; what the application may do; who it is; and who asked.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { rosteringToken, useOnboarding, type Visitor } from '../../test/onboarding.ts';
import { openings } from '../app.ts';
import { scopeNames, type Scope } from '../access/scopes.ts';
import { allResources } from '../roster/collections.ts';
import { rootB } from '../../test/service.ts';
import { loadSource, madeUpSource, person, role } from '../../test/made-up-source.ts';
import { smallPackage, smallSchool } from '../../test/small-school.ts';
import { findPlainName } from './plain-names.ts';
import { listFields, listThings } from './shared-things.ts';

const onboarding = await useOnboarding();
const { db, service, url, events } = onboarding;
const ofOwnSystem = { userIds: '{UPN:H801200001001}', 'metadata.house': 'Red', 'metadata.tutorGroup': '7A', 'metadata.bus_route': 'North 4' };
const detailed = () =>
  smallPackage({
    users: smallSchool.users.map((one) => (one.sourcedId === 'p2' ? { ...one, ...ofOwnSystem } : one)),
    demographics: [{ sourcedId: 'p1', birthDate: '2014-03-02', sex: 'female' }],
  });
let everything: Awaited<ReturnType<typeof onboarding.addAsking>>;

before(async () => {
  everything = await onboarding.addAsking('everything', scopeNames.join(','), { name: 'Everything & Co' });
  await service.addSchool('full', detailed());
  await service.addSchool('empty');
});

async function openRequest(estab: string): Promise<{ visitor: Visitor; path: string; page: string }> {
  await db`update invitation set invited_at = now() - interval '2 hours' where estab = ${estab}`;
  await everything.invite(estab);
  const visitor = await onboarding.signIn(estab);
  const path = `/school/requests/${await onboarding.openRequest(estab, 'everything')}`;
  return { visitor, path, page: await visitor.text(path) };
}

const text = (of: string) => of.replace(/<[^>]*>/g, ' ').replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))).replace(/\s+/g, ' ');
/** The part of the page that is about one scope. */
const about = (page: string, scope: Scope) => text(page.split(`id="scope-${scope}"`)[1]?.split(/<li class="scope"|<\/section>|<\/fieldset>/)[0] ?? '');
/** Examples of the fields that a page lists, by label; of a label that comes twice the first. */
const row = /<td><div>([^<]+)<br \/><code>[^<]*<\/code><\/div><\/td><td><div>(.*?)<\/div><\/td>/g;
const listed = (page: string) => new Map([...page.matchAll(row)].toReversed().map(([, label = '', example = '']) => [text(label), text(example).trim()]));

test('every field that can leave has a plain name, and belongs to something that is shown', () => {
  for (const { collection, fields } of allResources)
    for (const field of ['sourcedId', 'status', 'dateLastModified', 'metadata', ...fields.map(({ name }) => name)])
      assert.ok(findPlainName(collection, field), `${collection} ${field} has no plain name in plain-names`);
  for (const { name, fields } of openings)
    for (const field of fields) assert.ok(findPlainName(name, field), `${name} ${field} has no plain name in plain-names`);
  const shown = scopeNames.flatMap((scope) => listThings(scope, openings).map((thing) => ({ scope, thing })));
  for (const { name, scope } of openings) {
    const known = shown.some((one) => one.scope === scope && one.thing.answers?.includes(name) && one.thing.title !== name);
    assert.ok(known, `${name} belongs to no thing in shared-things`);
  }
  for (const { collection } of allResources) assert.ok(shown.some(({ thing }) => thing.collection === collection), collection);
});

const parameters: Record<string, string> = { AttendanceForDate: '?date=2026-10-01', AttendanceForDateRange: '?dateFrom=2026-10-01&dateTo=2026-10-02' };

test('what leaves with a scope alone was shown for that scope', async () => {
  const show = (scope: Scope) => {
    const fields = listThings(scope, openings).flatMap((thing) => listFields(thing, openings));
    return new Set(fields.flatMap(({ sources }) => sources.map(({ of, field }) => `${of} ${field}`)));
  };
  for (const scope of ['School', 'Student', 'Staff', 'Contact', 'StudentDemographic', 'Attendance'] as const) {
    const client = await service.addClient(`only-${scope}`, ['full'], scope);
    const shown = show(scope);
    let records = 0;
    const check = (of: string, rows: Record<string, unknown>[]) => {
      records += rows.length;
      for (const row of rows) for (const field of Object.keys(row)) assert.ok(shown.has(`${of} ${field}`), `${scope} opens ${of} ${field}`);
    };
    for (const { collection } of allResources) {
      const answer = await client.b('full', `/${collection}`);
      if (answer.status === 200) check(collection, ((await answer.json()) as Record<string, Record<string, unknown>[]>)[collection] ?? []);
      else assert.equal(answer.status, 403, collection);
    }
    for (const { name } of openings.filter(({ scope: needed }) => !['Identity', 'WritebackAttendance'].includes(needed))) {
      const answer = await client.s('full', `School/full/${name}${parameters[name] ?? ''}`);
      if (answer.status === 200) check(name, ((await answer.json()) as Record<string, Record<string, unknown>[]>)[name] ?? []);
      else assert.ok([403, 409].includes(answer.status), `${name} ${answer.status}`);
    }
    assert.ok(records > 0, `${scope} opens nothing`);
  }
});

test('the request lists every field with examples of the school, those of its own system by name', async () => {
  const { page } = await openRequest('full');
  const student = about(page, 'Student');
  for (const word of [
    'Each student', 'First name', 'Last name', 'Middle names', 'E-mail address', 'Year group', 'Registration group', 'User name', 'Phone number',
    'Mobile number', 'Parents, guardians and children', 'Identifier at the school', 'Unique pupil number (UPN)', 'H801200001001', 'House', 'Red',
    'Tutor group', 'Bus route', 'North 4', 'Each place in a class', 'userIds.UPN', 'metadata.house', 'givenName, Forename',
  ])
    assert.ok(student.includes(word), `${word} in ${student}`);
  const examples = listed(page);
  const labels = ['First name', 'Registration group', 'Date of birth', 'Sex'];
  assert.deepEqual(labels.map((label) => examples.get(label)), ['Given p1', '7A', '2014-03-02', 'female']);
  assert.match(about(page, 'StudentDemographic'), /Ethnicity: Black or African American/);
  assert.match(about(page, 'Attendance'), /Minutes late.*Notes to the mark/);
  assert.match(about(page, 'School'), /Room.*Students of the group, as far as you share those people/);
  // Nothing that the roster keeps for itself.
  assert.doesNotMatch(page, /password_hash|roster_head|\\u0001/);
});

test('whoever is of several kinds is counted and shown with each of them, as the application sees them', async () => {
  await service.addSchool('several');
  const users = [
    person('pat', [role('parent', 'sch'), role('teacher', 'sch', 'secondary')], { phone: '0123', agents: ['kid'] }),
    person('tom', [role('student', 'sch'), role('parent', 'sch', 'secondary')]),
    person('kid', [role('student', 'sch')]),
  ];
  const demographics = [{ sourcedId: 'pat', sex: 'female' }];
  await loadSource(service, 'several', madeUpSource({ orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }], users, demographics }));
  const { page } = await openRequest('several');
  const expected = [['Staff', '1 teacher', 'sch teacher secondary'], ['Contact', '2 parents', 'parent'], ['Student', '2 students', 'student']] as const;
  for (const [scope, count, example] of expected) {
    const client = await service.addClient(`sees-${scope}`, ['several'], scope);
    const { users: seen } = (await (await client.v12('several', '/users')).json()) as { users: unknown[] };
    assert.equal(count.split(' ', 1)[0], String(seen.length));
    assert.ok(about(page, scope).includes(count), `${count} in ${about(page, scope)}`);
    assert.equal(listed(page.split(`id="scope-${scope}"`)[1] ?? '').get('Role'), example);
  }
  const ofStaff = listed(page.split('id="scope-Staff"')[1] ?? '');
  assert.equal(ofStaff.get('Phone number'), '0123');
  assert.ok(![...ofStaff.values()].includes('kid'), 'that a teacher has a child at the school');
});

test('before there is any data the fields are the same, without examples', async () => {
  const [full, empty] = [(await openRequest('full')).page, (await openRequest('empty')).page];
  const own = ['Unique pupil number (UPN)', 'House', 'Tutor group', 'Bus route'];
  assert.deepEqual([...listed(empty).keys()].toSorted(), [...listed(full).keys()].filter((label) => !own.includes(label)).toSorted());
  assert.ok(listed(empty).size > 60, String(listed(empty).size));
  assert.match(about(empty, 'Student'), /no numbers and examples.*such as the unique pupil number \(UPN\).*such as house or tutor group/);
});

test('what an application may do is said, not only what it may read', async () => {
  const { page } = await openRequest('empty');
  assert.match(about(page, 'WritebackAttendance'), /Enter and change attendance marks.*The mark that stood there before/);
  assert.match(about(page, 'Identity'), /Make logins.*Set a new password.*sign in to the application.*When they last signed in/);
});

test('the page of an approved application lists the same, also what was granted once and is no longer asked for', async () => {
  const { visitor, path, page } = await openRequest('full');
  assert.equal((await visitor.decide(path, { decision: 'approve' })).status, 303);
  await db`update application set required_scopes = array_remove(required_scopes, 'Contact') where rp = 'everything'`;
  const after = await visitor.text('/school/applications/everything');
  await db`update application set required_scopes = ${[...scopeNames]} where rp = 'everything'`;
  assert.deepEqual([...listed(after).keys()].toSorted(), [...listed(page).keys()].toSorted());
  assert.match(about(after, 'Contact'), /Each parent, guardian or relative.*Phone number/);
});

test('what was read is told by the names that the school knows', async () => {
  const secret = await service.addClient('reading', ['full'], 'Student').then(({ schoolSecrets }) => schoolSecrets.full ?? '');
  const { access_token: token } = (await (await rosteringToken(url, 'reading', 'full', secret)).json()) as { access_token: string };
  await fetch(`${url}${rootB}/users?fields=givenName,familyName`, { headers: { authorization: `Bearer ${token}` } });
  const visitor = await onboarding.signIn('full');
  await onboarding.arrived('the ledger', async () => (await db`select from disclosure where estab = 'full' and rp = 'reading'`).length === 1);
  assert.match(await visitor.text('/school/applications/reading'), /First name, Last name/);
});

test('who the application is: website, privacy notice and contact, as links that go to the web alone', async () => {
  const shown = async (website: string | null, notice: string | null, contact: string | null) => {
    await db`update application set website = ${website}, privacy_notice = ${notice}, contact = ${contact} where rp = 'everything'`;
    const { page } = await openRequest('empty');
    return ['website', 'privacy-notice', 'contact'].map((id) => new RegExp(`<dd id="${id}">([^]*?)</dd>`).exec(page)?.[1] ?? '');
  };
  assert.deepEqual(await shown('https://everything.example/', 'https://everything.example/privacy?of=schools', 'help@everything.example'), [
    '<a href="https://everything.example/" rel="noreferrer noopener external"><bdi>everything.example</bdi></a>',
    '<a href="https://everything.example/privacy?of=schools" rel="noreferrer noopener external"><bdi>everything.example</bdi>' +
      '<bdi class="rest">/privacy?of=schools</bdi></a>',
    '<a href="mailto:help@everything.example"><bdi>help@everything.example</bdi></a>',
  ]);
  for (const bad of ['javascript:alert(1)', 'data:text/html,x', 'not an address', 'https://school.example@evil.example/', '"><script>alert(1)</script>']) {
    const [website = '', notice = '', contact = ''] = await shown(bad, bad, bad);
    for (const one of [website, notice, contact]) assert.doesNotMatch(one, /<a |<script/, bad);
  }
  for (const one of await shown(null, null, null)) assert.match(one, /It has named none/);
});

test('the record and the request name who asked: the application by its name, the operator where it was the operator', async () => {
  await everything.invite('unknown', { SchoolName: 'Unknown School' });
  await onboarding.run('school confirm', { estab: 'unknown', email: 'office@unknown.example' });
  await service.addSchool('sought');
  await onboarding.run('invite', { rp: 'everything', estab: 'sought', name: 'Sought', email: 'office@sought.example' });
  await service.addSchool('decided');
  await onboarding.run('authorise', { rp: 'everything', estab: 'decided' });
  assert.deepEqual((await events('unknown')).map(({ state, actor }) => `${state} ${actor}`), ['Invited application']);
  const decide = async (estab: string) => {
    const visitor = await onboarding.signIn(estab);
    const path = `/school/requests/${await onboarding.openRequest(estab, 'everything')}`;
    const sentBy = /id="sent-by">([^<]*)</.exec(await visitor.text(path))?.[1];
    await visitor.decide(path, { decision: 'approve' });
    return { sentBy, history: text(/<ol class="history"[^]*?<\/ol>/.exec(await visitor.text('/school/applications/everything'))?.[0] ?? '') };
  };
  const asked = await decide('unknown');
  assert.equal(asked.sentBy, 'The application itself');
  assert.match(asked.history, /Asked for access · Everything & Co/);
  assert.doesNotMatch(asked.history, /operator/);
  const sought = await decide('sought');
  assert.equal(sought.sentBy, 'The operator of this service, for the application');
  assert.match(sought.history, /Asked for access · The operator of this service, for Everything & Co/);
  const visitor = await onboarding.signIn('decided');
  assert.match(text(await visitor.text('/school/applications/everything')), /Approved · The operator of this service, on behalf of your school/);
});
