// People with several roles, as OneRoster 1.2 has them: shown to whoever may see one of the kinds, with the roles of those kinds alone, in
// lists, totals, pages, nested routes, enrolments, demographics, references, filters and earlier versions. In 1.1 the main role decides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createValidate, readDocuments, successOf } from '../../test/described.ts';
import { byName, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { loadSource, madeUpSource, person, role, type Given, type GivenRole } from '../../test/made-up-source.ts';
import { useService, type Client } from '../../test/service.ts';
import { authorise } from '../access/authorisations.ts';
import type { Scope } from '../access/scopes.ts';
import { listOperations } from '../reference/document.ts';

const estab = '9990001';
const later = byName['1.2'];
const service = await useService();

const rolesOf: Readonly<Record<string, readonly GivenRole[]>> = {
  ana: [role('student', 'north'), role('aide', 'south')],
  cal: [role('ext:chaplain', 'north'), role('relative', 'north', 'secondary')],
  dot: [role('student', 'north'), role('student', 'south')],
  gil: [role('guardian', 'north')],
  kid: [role('student', 'north')],
  pat: [role('parent', 'south'), role('teacher', 'north', 'secondary')],
  tom: [{ ...role('teacher', 'north'), userProfile: 'urn:work' }, { ...role('parent', 'north', 'secondary'), userProfile: 'urn:home' }],
  una: [role('teacher', 'north'), role('principal', 'south')],
  zoe: [role('student', 'north'), role('parent', 'south', 'secondary')],
};
const ids = Object.keys(rolesOf);
/** What 1.1 shows. */
const mainRoles: Readonly<Record<string, string>> = {
  ana: 'student', cal: 'aide', dot: 'student', gil: 'guardian', kid: 'student', pat: 'parent', tom: 'teacher', una: 'teacher',
  zoe: 'student',
};
const agentsOf: Readonly<Record<string, readonly string[]>> = {
  ana: ['gil'], kid: ['cal', 'gil', 'pat', 'tom', 'una', 'zoe'], pat: ['kid'], zoe: ['gil', 'kid'],
};
/** Of somebody who attends and teaches, who attends and has children, who only attends, and who should have none. */
const graded = ['ana', 'kid', 'pat', 'zoe'];
const primaryOrgs: Readonly<Record<string, string>> = { cal: 'south', kid: 'north', pat: 'south' };
const profiles = ['urn:home', 'urn:library', 'urn:work'];
const enrolments: readonly (readonly [id: string, user: string, role: string, aClass: string])[] = [
  ['e1', 'ana', 'student', 'cls-n'], ['e2', 'ana', 'aide', 'cls-s'], ['e3', 'kid', 'student', 'cls-n'], ['e4', 'pat', 'teacher', 'cls-n'],
  ['e5', 'pat', 'parent', 'cls-s'], ['e6', 'tom', 'teacher', 'cls-s'], ['e7', 'tom', 'student', 'cls-n'], ['e8', 'una', 'administrator', 'cls-s'],
];
const described = ['ana', 'kid', 'pat', 'tom'];

const given: Partial<Record<'orgs' | 'academicSessions' | 'courses' | 'classes' | 'users' | 'enrollments' | 'demographics', Given[]>> = {
  orgs: ['north', 'south'].map((sourcedId) => ({ sourcedId, name: sourcedId, type: 'school' })),
  academicSessions: [{ sourcedId: 'aut', title: 'Autumn', type: 'term', startDate: '2026-09-01', endDate: '2026-12-20', schoolYear: '2027' }],
  courses: [{ sourcedId: 'crs', title: 'Maths', org: 'north' }],
  classes: [['cls-n', 'north'], ['cls-s', 'south']].map(([sourcedId = '', school]) => ({
    sourcedId, title: sourcedId, course: 'crs', classType: 'scheduled', school, terms: ['aut'],
  })),
  users: Object.entries(rolesOf).map(([id, roles]) =>
    person(id, roles, {
      agents: agentsOf[id],
      primaryOrg: primaryOrgs[id],
      grades: graded.includes(id) ? ['12'] : undefined,
      ...(id === 'kid' ? { userIds: [{ type: 'Fed', identifier: 'k' }] } : {}),
      ...(id === 'tom' ? { userProfiles: profiles.map((profileId) => ({ profileId, profileType: 'account', vendorId: 'v' })) } : {}),
    }),
  ),
  enrollments: enrolments.map(([sourcedId, user, name, aClass]) => ({
    sourcedId, user, role: name, class: aClass, school: aClass === 'cls-n' ? 'north' : 'south',
  })),
  demographics: described.map((sourcedId) => ({ sourcedId, sex: 'female' })),
};
await service.addSchool(estab);
assert.equal((await loadSource(service, estab, madeUpSource(given))).outcome, 'done');

// ---- What a caller should see, written from the contract alone ------------------------------------------------------

const scopeOf = (name: string): Scope => {
  if (name === 'student') return 'Student';
  return ['parent', 'guardian', 'relative'].includes(name) ? 'Contact' : 'Staff';
};
const openRoles = (id: string, scopes: readonly Scope[]) => (rolesOf[id] ?? []).filter((one) => scopes.includes(scopeOf(one.role)));
const isSeen = ({ name }: TestedDialect, id: string, scopes: readonly Scope[]) =>
  name === '1.2' ? openRoles(id, scopes).length > 0 : scopes.includes(scopeOf(mainRoles[id] ?? ''));
/** That one is the child of the other shows to those who may see children and parents. */
function relativesOf(dialect: TestedDialect, id: string, scopes: readonly Scope[]): string[] {
  const is = (one: string, scope: Scope) => (rolesOf[one] ?? []).some((given) => scopeOf(given.role) === scope);
  const isFamily = (other: string) => (is(id, 'Student') && is(other, 'Contact')) || (is(id, 'Contact') && is(other, 'Student'));
  const isShown = (other: string) =>
    dialect.name === '1.2' && isFamily(other) ? scopes.includes('Student') && scopes.includes('Contact') : isSeen(dialect, other, scopes);
  return (agentsOf[id] ?? []).filter(isShown);
}
const isGraded = (id: string, scopes: readonly Scope[]) =>
  graded.includes(id) && (scopes.includes('Student') || !(rolesOf[id] ?? []).some((one) => scopeOf(one.role) === 'Student'));
/** Unless only roles are there that the caller does not see. */
function primaryOrgOf(id: string, scopes: readonly Scope[]): string | undefined {
  const there = (rolesOf[id] ?? []).filter(({ org }) => org === primaryOrgs[id]);
  return there.length === 0 || there.some((one) => scopes.includes(scopeOf(one.role))) ? primaryOrgs[id] : undefined;
}
const profilesOf = (id: string, scopes: readonly Scope[]) =>
  id === 'tom' ? ['urn:library', ...openRoles(id, scopes).map(({ userProfile }) => userProfile as string)].toSorted() : [];

/** An enrolment is of the kind of its own role, if the person has one of that kind. */
function isEnrolmentSeen({ name }: TestedDialect, user: string, own: string, scopes: readonly Scope[]): boolean {
  const [scope, main] = [scopeOf(own), scopeOf(mainRoles[user] ?? '')];
  return scopes.includes(name === '1.2' && rolesOf[user]?.some((one) => scopeOf(one.role) === scope) ? scope : main);
}

type Named = { sourcedId: string };
type Shown = Named & {
  role?: string; roles?: { role: string; org: Named }[]; agents?: Named[]; primaryOrg?: Named; grades?: string[]; userProfiles?: { profileId: string }[];
};
async function list(dialect: TestedDialect, client: Client, path: string, headers?: Record<string, string>, at = estab): Promise<Shown[]> {
  const response = await dialect.read(client, at, path, headers);
  const text = await response.text();
  assert.equal(response.status, 200, `${dialect.name} ${path}: ${text}`);
  const rows = Object.values(JSON.parse(text) as Record<string, Shown[]>)[0] ?? [];
  if (!/limit|offset/.test(path)) assert.equal(Number(response.headers.get('x-total-count')), rows.length, `X-Total-Count of ${dialect.name} ${path}`);
  return rows;
}
const idsIn = (rows: readonly Named[]) => rows.map(({ sourcedId }) => sourcedId);
const statusOf = async (dialect: TestedDialect, client: Client, path: string) => (await dialect.read(client, estab, path)).status;

const combinations: readonly (readonly Scope[])[] = [
  ['Student'], ['Staff'], ['Contact'], ['Student', 'Staff'], ['Student', 'Contact'], ['Staff', 'Contact'], ['Student', 'Staff', 'Contact'],
];
const callers = await Promise.all(
  combinations.map(async (scopes) => ({
    scopes, name: scopes.join(' and '), client: await service.addClient(scopes.join('-'), [estab], ['School', 'StudentDemographic', ...scopes].join()),
  })),
);
const clientOf = (...scopes: Scope[]) => callers.find(({ name }) => name === scopes.join(' and '))?.client ?? assert.fail();

for (const { scopes, name, client } of callers) {
  test(`${name}: who is shown, with which roles`, async () => {
    for (const dialect of testedDialects) {
      const seen = ids.filter((id) => isSeen(dialect, id, scopes));
      for (const query of ['', '?limit=100', "?limit=100&filter=status%3D'active'"]) {
        const users = await list(dialect, client, `/users${query}`);
        assert.deepEqual(idsIn(users), seen, `${dialect.name}${query}`);
        for (const { sourcedId, role: main, roles, agents: shown = [], primaryOrg, grades = [], userProfiles = [] } of users) {
          if (dialect === later)
            assert.deepEqual(roles?.map((one) => [one.role, one.org.sourcedId]), openRoles(sourcedId, scopes).map((one) => [one.role, one.org]), sourcedId);
          else assert.deepEqual([main, roles], [mainRoles[sourcedId], undefined]);
          assert.deepEqual(idsIn(shown), relativesOf(dialect, sourcedId, scopes), `${dialect.name} agents of ${sourcedId}`);
          assert.equal(grades.length, dialect === later ? Number(isGraded(sourcedId, scopes)) : Number(graded.includes(sourcedId)), sourcedId);
          if (dialect !== later) continue;
          assert.equal(primaryOrg?.sourcedId, primaryOrgOf(sourcedId, scopes), sourcedId);
          assert.deepEqual(userProfiles.map(({ profileId }) => profileId), profilesOf(sourcedId, scopes), sourcedId);
        }
      }
      const page = await dialect.read(client, estab, '/users?limit=1&offset=1');
      assert.equal(page.headers.get('x-total-count'), String(seen.length));
      for (const id of ids) {
        const response = await dialect.read(client, estab, `/users/${id}`);
        assert.equal(response.status, seen.includes(id) ? 200 : 404, `${dialect.name} ${id}`);
        if (dialect !== later || response.status !== 200) continue;
        const { user } = (await response.json()) as { user: Shown };
        assert.deepEqual(user.roles?.map((one) => one.role), openRoles(id, scopes).map((one) => one.role), id);
      }
    }
  });

  test(`${name}: students and teachers, of a school and at all`, async () => {
    for (const [path, word] of [['students', 'student'], ['teachers', 'teacher']] as const) {
      const [opened, refused] = [scopes.includes(scopeOf(word)), 403];
      for (const dialect of [byName.B, later]) {
        const has = (id: string, at?: string) =>
          dialect === later
            ? rolesOf[id]?.some((one) => one.role === word && (at ?? one.org) === one.org)
            : mainRoles[id] === word && rolesOf[id]?.some(({ org }) => (at ?? org) === org);
        for (const [where, at] of [[`/${path}`, undefined], [`/schools/north/${path}`, 'north'], [`/schools/south/${path}`, 'south']] as const) {
          if (!opened) assert.equal(await statusOf(dialect, client, where), refused, `${dialect.name} ${where}`);
          else assert.deepEqual(idsIn(await list(dialect, client, where)), ids.filter((id) => has(id, at)), `${dialect.name} ${where}`);
        }
        for (const id of ids) {
          const status = opened ? (has(id) ? 200 : 404) : refused;
          assert.equal(await statusOf(dialect, client, `/${path}/${id}`), status, `${dialect.name} ${path} ${id}`);
        }
      }
    }
  });

  test(`${name}: enrolments by their own role, demographics by any`, async () => {
    for (const dialect of testedDialects) {
      const seen = enrolments.filter(([, user, own]) => isEnrolmentSeen(dialect, user, own, scopes)).map(([id]) => id);
      for (const query of ['', '?limit=100']) assert.deepEqual(idsIn(await list(dialect, client, `/enrollments${query}`)), seen, dialect.name);
      for (const [id] of enrolments)
        assert.equal(await statusOf(dialect, client, `/enrollments/${id}`), seen.includes(id) ? 200 : 404, `${dialect.name} ${id}`);
      if (!dialect.asksFreely) continue;
      const people = described.filter((id) => isSeen(dialect, id, ['Student', ...scopes]));
      for (const query of ['', '?limit=100']) assert.deepEqual(idsIn(await list(dialect, client, `/demographics${query}`)), people, dialect.name);
      const inNorth = enrolments.filter(([id, , , aClass]) => seen.includes(id) && aClass === 'cls-n').map(([id]) => id);
      assert.deepEqual(idsIn(await list(dialect, client, '/schools/north/classes/cls-n/enrollments')), inNorth, dialect.name);
      assert.deepEqual(idsIn(await list(dialect, client, '/schools/north/enrollments')), inNorth, dialect.name);
    }
  });

  test(`${name}: classes of somebody are those of the enrolments that the caller may see`, async () => {
    for (const dialect of [byName.B, later]) {
      for (const id of ids) {
        const path = `/users/${id}/classes`;
        if (!isSeen(dialect, id, scopes)) assert.equal(await statusOf(dialect, client, path), 404, `${dialect.name} ${path}`);
        else {
          const own = enrolments.filter(([, user, word]) => user === id && isEnrolmentSeen(dialect, user, word, scopes)).map(([, , , aClass]) => aClass);
          assert.deepEqual(idsIn(await list(dialect, client, path)), [...new Set(own)].toSorted(), `${dialect.name} ${path}`);
        }
      }
    }
  });

  test(`${name}: filters and sorts see the roles that are shown, and no others`, async () => {
    const seen = ids.filter((id) => isSeen(later, id, scopes));
    const having = (holds: (one: GivenRole) => boolean) => seen.filter((id) => openRoles(id, scopes).some(holds));
    const ask = async (filter: string) => idsIn(await list(later, client, `/users?filter=${encodeURIComponent(filter)}`));
    for (const word of ['student', 'teacher', 'aide', 'parent', 'principal', 'relative', 'ext:chaplain']) {
      const has = having((one) => one.role === word);
      assert.deepEqual(await ask(`roles.role='${word.toUpperCase()}'`), has, word);
      assert.deepEqual(await ask(`roles.role!='${word}'`), seen.filter((id) => !has.includes(id)), word);
    }
    for (const org of ['north', 'south', 'North']) assert.deepEqual(await ask(`roles.org.sourcedId='${org}'`), having((one) => one.org === org), org);
    assert.deepEqual(await ask(`roles.org.href~'${service.url}${later.root}/orgs/south'`), having((one) => one.org === 'south'));
    assert.deepEqual(await ask("roles.roleType='secondary'"), having((one) => one.roleType === 'secondary'));
    assert.deepEqual(await ask("roles.role~'teacher,parent'"), having((one) => ['teacher', 'parent'].includes(one.role)));
    for (const id of Object.keys(agentsOf).flatMap((one) => agentsOf[one] ?? []))
      assert.deepEqual(await ask(`agents.sourcedId='${id}'`), seen.filter((one) => relativesOf(later, one, scopes).includes(id)), id);
    for (const org of ['north', 'south']) {
      const mainly = seen.filter((id) => primaryOrgOf(id, scopes) === org);
      assert.deepEqual([await ask(`primaryOrg.sourcedId='${org}'`), await ask(`primaryOrg.href~'orgs/${org}'`)], [mainly, mainly], org);
    }
    assert.deepEqual(await ask("grades='12'"), seen.filter((id) => isGraded(id, scopes)));
    for (const profile of profiles)
      assert.deepEqual(await ask(`userProfiles.profileId='${profile}'`), seen.filter((id) => profilesOf(id, scopes).includes(profile)), profile);
    const both = (first: string, second: string) => having((one) => one.role === first).filter((id) => having((one) => one.role === second).includes(id));
    assert.deepEqual(await ask("roles.role='teacher,parent'"), both('teacher', 'parent'));
    const atSouth = having((one) => one.org === 'south');
    assert.deepEqual(
      await ask("roles.role='teacher' and roles.org.sourcedId='south'"),
      having((one) => one.role === 'teacher').filter((id) => atSouth.includes(id)),
      'the two need not be of one role',
    );
    const keys = new Map(seen.map((id) => [id, openRoles(id, scopes).map((one) => one.role)]));
    const byRoles = (one: string, other: string) => {
      const [first = [], second = []] = [keys.get(one), keys.get(other)];
      const at = first.findIndex((word, index) => word !== second[index]);
      if (at < 0) return first.length - second.length;
      return second[at] === undefined ? 1 : (first[at] ?? '') < second[at] ? -1 : 1;
    };
    assert.deepEqual(idsIn(await list(later, client, '/users?sort=roles.role')), seen.toSorted((one, other) => byRoles(one, other) || (one < other ? -1 : 1)));
    assert.deepEqual(
      idsIn(await list(later, client, '/users?sort=roles.role&orderBy=desc')),
      seen.toSorted((one, other) => -byRoles(one, other) || (one < other ? -1 : 1)),
    );
    const selected = await list(later, client, '/users?fields=roles');
    assert.deepEqual(selected.map(({ roles, ...rest }) => [roles?.map((one) => one.role), rest]), seen.map((id) => [keys.get(id), {}]));
  });
}

test('what is shown of them is as it is described', async () => {
  const document = (await readDocuments(service.app))['oneroster-1p2'];
  const validate = createValidate(document);
  const operation = listOperations(document.paths).find((one) => one.operation.operationId === 'getAllUsers_1p2')?.operation ?? assert.fail();
  const { schema } = successOf(operation);
  for (const { client, name } of callers) assert.deepEqual(validate(schema ?? assert.fail(), await (await client.v12(estab, '/users')).json()), [], name);
});

test('members of a class are those whose enrolment and role are of it', async () => {
  const everyone = clientOf('Student', 'Staff', 'Contact');
  assert.deepEqual(idsIn(await list(later, everyone, '/classes/cls-n/students')), ['ana', 'kid']);
  assert.deepEqual(idsIn(await list(later, everyone, '/classes/cls-n/teachers')), ['pat']);
  assert.deepEqual(idsIn(await list(byName.B, everyone, '/classes/cls-n/teachers')), [], 'in 1.1 a parent');
  assert.deepEqual(idsIn(await list(later, everyone, '/classes/cls-s/teachers')), ['tom']);
});

test('classes of a student are those attended, of a teacher those taught; in 1.1 all of them', async () => {
  const school = '9990005';
  await service.addSchool(school);
  const users = [person('ann', [role('student', 'north'), role('teacher', 'south', 'secondary')]), person('bob', [role('teacher', 'north')])];
  const enrollments = [['ann', 'student', 'cls-n'], ['ann', 'teacher', 'cls-s'], ['bob', 'teacher', 'cls-n'], ['bob', 'aide', 'cls-s']].map(
    ([user, name, aClass], at) => ({ sourcedId: `e${at}`, user, role: name, class: aClass, school: aClass === 'cls-n' ? 'north' : 'south' }),
  );
  assert.equal((await loadSource(service, school, madeUpSource({ ...given, demographics: [], users, enrollments }))).outcome, 'done');
  const client = await service.addClient('both-kinds', [school], 'School,Student,Staff');
  const all = ['cls-n', 'cls-s'];
  const expected: readonly [dialect: TestedDialect, path: string, classes: string[] | 404][] = [
    [later, '/students/ann/classes', ['cls-n']], [later, '/teachers/ann/classes', ['cls-s']], [later, '/users/ann/classes', all],
    [later, '/teachers/bob/classes', ['cls-n']], [later, '/users/bob/classes', all], [later, '/students/bob/classes', 404],
    [byName.B, '/students/ann/classes', all], [byName.B, '/teachers/ann/classes', 404], [byName.B, '/teachers/bob/classes', all],
  ];
  for (const [dialect, path, ids] of expected)
    for (const query of ['', '?limit=5']) {
      if (ids === 404) assert.equal((await dialect.read(client, school, path + query)).status, 404, `${dialect.name} ${path}`);
      else assert.deepEqual(idsIn(await list(dialect, client, path + query, {}, school)), ids, `${dialect.name} ${path}`);
    }
  for (const [path, members] of [['/classes/cls-n/students', ['ann']], ['/classes/cls-n/teachers', ['bob']], ['/classes/cls-s/teachers', ['ann']]] as const)
    assert.deepEqual(idsIn(await list(later, client, path, {}, school)), members, path);
});

test('schools that grant different things show different roles of the same person, to one token', async () => {
  const second = '9990002';
  await service.addSchool(second);
  await loadSource(service, second, madeUpSource(given));
  const client = await service.addClient('uneven', [], 'School:optional,Student:optional,Staff:optional,Contact:optional');
  await authorise(service.db, { rp: 'uneven', estab, scopes: 'Staff' });
  await authorise(service.db, { rp: 'uneven', estab: second, scopes: 'Contact,Student' });
  const shown = async (query: string) => {
    const { users } = (await (await client.v12(undefined, `/users${query}`)).json()) as { users: Shown[] };
    return users.map(({ sourcedId, roles = [] }) => [sourcedId, ...roles.map((one) => one.role)].join(' '));
  };
  const expected = [
    'ana aide', 'cal ext:chaplain', 'pat teacher', 'tom teacher', 'una teacher principal',
    'ana student', 'cal relative', 'dot student student', 'gil guardian', 'kid student', 'pat parent', 'tom parent', 'zoe student parent',
  ];
  assert.deepEqual(await shown(''), expected);
  assert.deepEqual([...(await shown('?limit=7')), ...(await shown('?limit=7&offset=7'))], expected);
  assert.deepEqual(await shown("?filter=roles.role%3D'parent'"), ['pat parent', 'tom parent', 'zoe student parent']);
  assert.deepEqual(await shown("?filter=roles.role%3D'teacher'"), ['pat teacher', 'tom teacher', 'una teacher principal']);
  const kids = (await (await client.v12(undefined, '/users?filter=' + encodeURIComponent("sourcedId='kid'"))).json()) as { users: Shown[] };
  assert.deepEqual(kids.users.map((user) => idsIn(user.agents ?? [])), [['cal', 'gil', 'pat', 'tom', 'zoe']]);
});

test('an earlier version shows who had which role then', async () => {
  const school = '9990003';
  await service.addSchool(school);
  const base = { orgs: given.orgs ?? [], academicSessions: given.academicSessions ?? [], courses: given.courses ?? [], classes: given.classes ?? [] };
  const states: readonly (readonly GivenRole[])[] = [
    [role('teacher', 'north')],
    [role('teacher', 'north'), role('parent', 'south', 'secondary')],
    [role('parent', 'south'), role('aide', 'south', 'secondary')],
  ];
  const staff = await service.addClient('then-staff', [school], 'School,Staff');
  const contact = await service.addClient('then-contact', [school], 'School,Contact');
  const versions: string[] = [];
  for (const roles of states) {
    const users = [person('tom', roles), person('kid', rolesOf.kid ?? [], { agents: ['tom'] })];
    const enrollments = [{ sourcedId: 'e', user: 'tom', role: 'teacher', class: 'cls-n', school: 'north' }];
    assert.equal((await loadSource(service, school, madeUpSource({ ...base, users, enrollments }))).outcome, 'done');
    versions.push((await staff.v12(school, '/orgs')).headers.get('x-roster-version') ?? '');
  }
  assert.equal(new Set(versions).size, 3);
  const at = async (dialect: TestedDialect, client: Client, path: string, version: number) =>
    (await list(dialect, client, path, { 'if-roster-version': versions[version] ?? '' }, school)).map(({ sourcedId, role: main, roles }) =>
      [sourcedId, ...(main ? [main] : []), ...(roles ?? []).map((one) => one.role)].join(' '),
    );
  const expected: [dialect: TestedDialect, client: Client, users: string[], teachers: string[]][] = [
    [later, staff, ['tom teacher', 'tom teacher', 'tom aide'], ['tom teacher', 'tom teacher', '']],
    [later, contact, ['', 'tom parent', 'tom parent'], []],
    [byName.B, staff, ['tom teacher', 'tom teacher', ''], ['tom teacher', 'tom teacher', '']],
    [byName.B, contact, ['', '', 'tom parent'], []],
  ];
  for (const [dialect, client, users, teachers] of expected) {
    for (const [version, shown] of users.entries()) {
      for (const query of ['', '?limit=10'])
        assert.deepEqual(await at(dialect, client, `/users${query}`, version), [shown].filter(Boolean), `${dialect.name} ${version}${query}`);
      const one = await dialect.read(client, school, '/users/tom', { 'if-roster-version': versions[version] ?? '' });
      assert.equal(one.status, shown === '' ? 404 : 200);
    }
    for (const [version, shown] of teachers.entries())
      assert.deepEqual(await at(dialect, client, '/teachers', version), [shown].filter(Boolean), `teachers ${version}`);
  }
  for (const [version, path] of [[1, 'parent'], [2, 'aide']] as const) {
    const filter = `/users?filter=${encodeURIComponent(`roles.role='${path}'`)}`;
    assert.equal((await at(later, contact, filter, version)).length, path === 'parent' ? 1 : 0);
    assert.equal((await at(later, staff, filter, version)).length, path === 'aide' ? 1 : 0);
    assert.deepEqual(await at(later, staff, filter, 0), []);
  }
  // The teacher's enrolment is of the main role once nothing else of the person is of a teacher.
  for (const [version, ofStaff] of [true, true, false].entries()) {
    assert.deepEqual(await at(later, staff, '/enrollments', version), ofStaff ? ['e teacher'] : [], `enrolment at ${version}`);
    assert.deepEqual(await at(later, contact, '/enrollments', version), ofStaff ? [] : ['e teacher'], `enrolment at ${version}`);
    assert.deepEqual(await at(later, staff, '/schools/north/teachers', version), ofStaff ? ['tom teacher'] : [], `north at ${version}`);
    assert.deepEqual(await at(later, staff, '/schools/south/teachers', version), [], `south at ${version}`);
    assert.deepEqual(await at(later, staff, '/users/tom/classes', version), ofStaff ? ['cls-n'] : [], `classes at ${version}`);
    if (version > 0) assert.deepEqual(await at(later, contact, '/users/tom/classes', version), ofStaff ? [] : ['cls-n'], `classes at ${version}`);
  }
});

// ---- Many of them: totals and deep offsets ----------------------------------------------------------------------------

const crowd = '9990004';
const mixes: readonly (readonly GivenRole[])[] = [
  [role('teacher', 'north'), role('parent', 'north', 'secondary')], [role('parent', 'north')], [role('student', 'north')],
  [role('parent', 'south'), role('aide', 'north', 'secondary')], [role('student', 'north'), role('proctor', 'north', 'secondary')], [role('teacher', 'north')],
];
/** Bunched, so that before the first milestones there is none of some kinds. */
const mixAt = (at: number) => mixes[at < 1100 ? at % 2 : at < 1500 ? 2 : (at * 5) % mixes.length] ?? [];
const people = Array.from({ length: 2600 }, (_, at) => ({
  id: `p${String(at).padStart(4, '0')}`, roles: mixAt(at), status: at % 7 === 0 ? ('tobedeleted' as const) : ('active' as const),
}));
await service.addSchool(crowd);
const { orgs = [], academicSessions = [], courses = [], classes = [] } = given;
const crowded = await loadSource(
  service,
  crowd,
  madeUpSource({
    orgs, academicSessions, courses, classes,
    users: people.map(({ id, roles, status }) => ({ ...person(id, roles), status })),
    // Each in the last of their roles.
    enrollments: people.map(({ id, roles }) => ({ sourcedId: `e-${id}`, user: id, role: roles.at(-1)?.role, class: 'cls-n', school: 'north' })),
  }),
);
assert.equal(crowded.outcome, 'done');

for (const scopes of [['Staff'], ['Contact'], ['Student'], ['Staff', 'Contact']] as const) {
  test(`deep offsets among many who have several roles, for ${scopes.join(' and ')}`, async () => {
    const client = await service.addClient(`crowd-${scopes.join('-')}`, [crowd], scopes.join());
    const isOpen = (word: string | undefined) => (scopes as readonly string[]).includes(scopeOf(word ?? ''));
    for (const dialect of testedDialects) {
      const [all, one] = dialect === later ? [(roles: readonly GivenRole[]) => roles, -1] : [(roles: readonly GivenRole[]) => roles.slice(0, 1), 0];
      const open = people.filter(({ roles }) => all(roles).some(({ role: word }) => isOpen(word)));
      const check = async (path: string, expected: readonly string[], offset: number) => {
        const response = await dialect.read(client, crowd, `${path}limit=3&offset=${offset}`);
        const rows = Object.values((await response.json()) as Record<string, Shown[]>)[0] ?? [];
        assert.deepEqual(idsIn(rows), expected.slice(offset, offset + 3), `${dialect.name} ${path} offset ${offset}`);
        assert.equal(response.headers.get('x-total-count'), String(expected.length), `${dialect.name} ${path}`);
      };
      for (const status of [undefined, 'active', 'tobedeleted']) {
        const expected = open.filter((person) => status === undefined || person.status === status).map(({ id }) => id);
        const filter = status === undefined ? '' : `filter=status%3D'${status}'&`;
        for (const offset of [0, 400, 999, 1001, 1600, expected.length - 1]) await check(`/users?${filter}`, expected, offset);
      }
      // Of the kind of their own role, or in 1.1 of the person's main one.
      const enrolled = people.filter(({ roles }) => isOpen(roles.at(one)?.role)).map(({ id }) => `e-${id}`);
      for (const offset of [0, 700, 1001, enrolled.length - 1]) await check('/enrollments?', enrolled, offset);
      const teachers = people.filter(({ roles }) => all(roles).some(({ role: word }) => word === 'teacher')).map(({ id }) => id);
      if (dialect.asksFreely && isOpen('teacher')) for (const offset of [0, 600, teachers.length - 1]) await check('/teachers?', teachers, offset);
      const whole = await list(dialect, client, '/users', {}, crowd);
      assert.deepEqual(idsIn(whole), open.map(({ id }) => id));
      if (dialect === later) assert.ok(whole.every(({ roles = [] }) => roles.length > 0 && roles.every(({ role: word }) => isOpen(word))));
    }
  });
}

