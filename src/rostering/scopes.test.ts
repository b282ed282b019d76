// What each scope opens, alone and together, in every dialect: collections that are refused, people who are hidden and
// every way in which they could show: lists, totals, ids, enrolments, references, filters, sorting and parents.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../test/csv-package.ts';
import { asking, byName, offers, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { useService, type Client } from '../../test/service.ts';
import { scopeNames, type Scope } from '../access/scopes.ts';

const estab = '9990001';
const roleOf: Record<string, string> = {
  pupil: 'student', pupil2: 'student', pupil3: 'student', teacher: 'teacher', head: 'administrator', aide: 'aide', proctor: 'proctor', mum: 'parent',
  guardian: 'guardian', gran: 'relative',
};
const agentsOf: Record<string, string> = { pupil: 'mum,teacher,gran', pupil2: 'teacher', mum: 'pupil,pupil2', head: 'mum' };
const enrolled = ['pupil', 'pupil2', 'teacher', 'aide', 'guardian'];
const described = ['pupil', 'pupil2', 'teacher', 'mum'];
const session = (sourcedId: string, type: string, parentSourcedId: string) => ({
  sourcedId, title: sourcedId, type, startDate: '2025-09-01', endDate: '2026-08-31', parentSourcedId, schoolYear: '2026',
});

const service = await useService();
await service.addSchool(
  estab,
  csvPackage({
    orgs: [{ sourcedId: 'sch', name: 'School', type: 'school' }],
    academicSessions: [session('yr', 'schoolYear', ''), session('aut', 'term', 'yr'), session('gp', 'gradingPeriod', 'aut')],
    courses: [{ sourcedId: 'crs', title: 'Maths', orgSourcedId: 'sch' }],
    classes: [{ sourcedId: 'cls', title: 'Maths 1', courseSourcedId: 'crs', classType: 'scheduled', schoolSourcedId: 'sch', termSourcedIds: 'aut' }],
    users: Object.entries(roleOf).map(([sourcedId, role]) => ({
      sourcedId, enabledUser: 'true', orgSourcedIds: 'sch', role, username: `u-${sourcedId}`, givenName: sourcedId, familyName: 'Lee',
      agentSourcedIds: agentsOf[sourcedId] ?? '',
    })),
    enrollments: enrolled.map((id) => ({ sourcedId: `e-${id}`, classSourcedId: 'cls', schoolSourcedId: 'sch', userSourcedId: id, role: roleOf[id] ?? '' })),
    demographics: described.map((sourcedId) => ({ sourcedId, cityOfBirth: 'Ely' })),
  }),
);

const peopleBy: Partial<Record<Scope, string[]>> = {
  Student: ['pupil', 'pupil2', 'pupil3'],
  Staff: ['teacher', 'head', 'aide', 'proctor'],
  Contact: ['mum', 'guardian', 'gran'],
};
const peopleOf = (scopes: readonly Scope[]) => scopes.flatMap((scope) => peopleBy[scope] ?? []).toSorted();

let clients = 0;
async function clientWith(scopes: readonly Scope[]): Promise<Client> {
  clients += 1;
  return service.addClient(`app${clients}`, [estab], scopes.join(','));
}

type Row = { sourcedId: string; user?: { sourcedId: string }; agents?: { sourcedId: string }[] };
async function list(response: Response): Promise<{ rows: Row[]; ids: string[]; total: number }> {
  assert.equal(response.status, 200, await response.clone().text());
  const rows = Object.values((await response.json()) as Record<string, Row[]>)[0] ?? [];
  return { rows, ids: rows.map((row) => row.sourcedId), total: Number(response.headers.get('x-total-count')) };
}

const schoolPaths = [
  '/orgs', '/schools', '/academicSessions', '/terms', '/gradingPeriods', '/courses', '/classes', '/orgs/sch', '/schools/sch', '/academicSessions/yr',
  '/terms/aut', '/gradingPeriods/gp', '/courses/crs', '/classes/cls', '/schools/sch/courses', '/schools/sch/terms', '/schools/sch/classes',
  '/terms/aut/classes', '/terms/aut/gradingPeriods', '/courses/crs/classes',
];
const anyonePaths = ['/users', '/enrollments', '/schools/sch/enrollments', '/schools/sch/classes/cls/enrollments'];
const studentPaths = [
  '/students', '/students/pupil', '/users/pupil', '/enrollments/e-pupil', '/schools/sch/students', '/classes/cls/students',
  '/schools/sch/classes/cls/students',
];
const teacherPaths = [
  '/teachers', '/teachers/teacher', '/users/teacher', '/enrollments/e-teacher', '/schools/sch/teachers', '/classes/cls/teachers',
  '/schools/sch/classes/cls/teachers',
];
const demographicsPaths = ['/demographics', '/demographics/pupil'];
const every = [...schoolPaths, ...anyonePaths, ...studentPaths, ...teacherPaths, ...demographicsPaths];
/** By id a hidden person is not there; a collection of which nothing is open is refused. */
const hiddenById = ['/users/pupil', '/users/teacher', '/enrollments/e-pupil', '/enrollments/e-teacher'];
const opened: Record<Scope, readonly string[]> = {
  School: schoolPaths,
  Student: [...anyonePaths, ...studentPaths],
  Staff: [...anyonePaths, ...teacherPaths],
  Contact: anyonePaths,
  StudentDemographic: demographicsPaths,
  Attendance: [],
  WritebackAttendance: [],
  Identity: [],
};
const combinations: readonly (readonly Scope[])[] = [
  ...scopeNames.map((scope) => [scope]),
  ['School', 'Student'],
  ['Student', 'Contact'],
  ['Staff', 'Contact'],
  ['School', 'Staff', 'StudentDemographic'],
  ['Attendance', 'Identity', 'Contact'],
  scopeNames,
];

const combined = await Promise.all(combinations.map(async (scopes) => ({ scopes, client: await clientWith(scopes) })));

for (const [at, { scopes, client }] of combined.entries()) {
  const open = scopes.flatMap((scope) => opened[scope]);
  const people = peopleOf(scopes);

  test(`${scopes.join(' and ')}: what is opened and what is refused`, async () => {
    for (const [turn, path] of every.entries()) {
      const hidden = people.length > 0 && hiddenById.includes(path) && !open.includes(path);
      // Every scope alone in all of them; several together in variant A and in one of the others.
      const some = scopes.length === 1 ? testedDialects : [byName.A, asking[(turn + at) % asking.length] ?? byName.B];
      for (const dialect of some.filter((one) => offers(one, path))) {
        const { name, errors } = dialect;
        const response = await dialect.read(client, estab, path);
        const text = await response.text();
        const refusal = open.includes(path) ? undefined : hidden ? errors.notFound : errors.forbidden;
        assert.equal(response.status, refusal?.status ?? 200, `${name} ${path}: ${text}`);
        if (refusal) assert.equal(dialect.readError(text).minor, refusal.minor, `${name} ${path}`);
        else assert.doesNotMatch(text, /:\[\]\}$/, `${name} ${path} is empty`);
      }
    }
  });

  if (people.length === 0) continue;
  test(`${scopes.join(' and ')}: people in lists, totals, enrolments and references`, async () => {
    const enrolments = enrolled.filter((id) => people.includes(id)).map((id) => `e-${id}`).toSorted();
    for (const dialect of testedDialects) {
      const get = (path: string) => dialect.read(client, estab, path);
      const queries = ['', '?limit=100', "?limit=100&filter=status%3D'active'", "?filter=status%3D'active'"];
      // Each question in two of the three.
      const isAsked = (_: unknown, index: number) => (index + at + testedDialects.indexOf(dialect)) % testedDialects.length > 0;
      for (const query of queries.filter(isAsked)) {
        const [users, enrollments] = [await list(await get(`/users${query}`)), await list(await get(`/enrollments${query}`))];
        assert.deepEqual([users.ids, users.total], [people, people.length], `users${query}`);
        assert.deepEqual([enrollments.ids, enrollments.total], [enrolments, enrolments.length], `enrollments${query}`);
        assert.ok(users.rows.every(({ agents }) => agents === undefined || agents.length > 0), 'no empty list of agents');
        for (const { sourcedId, agents } of users.rows)
          assert.deepEqual(
            (agents ?? []).map((agent) => agent.sourcedId),
            (agentsOf[sourcedId] ?? '').split(',').filter((id) => people.includes(id)),
            `agents of ${sourcedId}`,
          );
      }
      assert.equal((await list(await get('/users?limit=1&offset=1'))).total, people.length);
      for (const id of Object.keys(roleOf).filter(isAsked)) assert.equal((await get(`/users/${id}`)).status, people.includes(id) ? 200 : 404, id);
      for (const id of enrolled.filter(isAsked)) assert.equal((await get(`/enrollments/e-${id}`)).status, people.includes(id) ? 200 : 404, id);
    }
  });

  test(`${scopes.join(' and ')}: hidden people do not show through filters and sorting`, async () => {
    const seen = (id: string) => (agentsOf[id] ?? '').split(',').filter((agent) => people.includes(agent));
    const withRole = (role: string) => people.filter((one) => roleOf[one] === role);
    const having = (agent: string) => people.filter((id) => seen(id).includes(agent));
    const ask = async (dialect: TestedDialect, path: string, filter: string, expected: string[]) => {
      const { ids } = await list(await dialect.read(client, estab, `${path}?limit=100&filter=${encodeURIComponent(filter)}`));
      assert.deepEqual(ids, expected, `${dialect.name} ${path} ${filter}`);
    };
    let turn = at;
    const nextInTurn = () => asking[(turn += 1) % asking.length] ?? assert.fail();
    for (const agent of ['mum', 'teacher', 'gran', 'pupil', 'nobody']) {
      const dialect = nextInTurn();
      await ask(dialect, '/users', `agents.sourcedId='${agent}'`, having(agent));
      await ask(nextInTurn(), '/users', `agents.sourcedId~'${agent},nobody'`, having(agent));
      await ask(dialect, '/users', `agents.sourcedId!='${agent}'`, people.filter((id) => !seen(id).includes(agent)));
      await ask(dialect, '/users', `agents.href~'${service.url}${dialect.root}/users/${agent}'`, having(agent));
    }
    await ask(nextInTurn(), '/users', "agents.type='user'", people.filter((id) => seen(id).length > 0));
    await ask(nextInTurn(), '/users', "agents.type!='user'", people.filter((id) => seen(id).length === 0));
    for (const [id, role] of Object.entries(roleOf)) {
      const visible = people.includes(id) ? [id] : [];
      await ask(nextInTurn(), '/users', `sourcedId='${id}'`, visible);
      await ask(nextInTurn(), '/enrollments', `user.sourcedId='${id}'`, enrolled.includes(id) && visible.length > 0 ? [`e-${id}`] : []);
      const dialect = nextInTurn();
      await ask(dialect, '/users', `username='u-${id}' or ${dialect.words.role}='none'`, visible);
      for (const one of asking) {
        const word = one.name === '1.2' && id === 'head' ? 'siteAdministrator' : role;
        await ask(one, '/users', `${one.words.role}='${word}'`, withRole(role));
      }
    }
    for (const dialect of asking) {
      for (const orderBy of ['asc', 'desc']) {
        const { ids } = await list(await dialect.read(client, estab, `/users?sort=agents.sourcedId&orderBy=${orderBy}`));
        const without = people.filter((id) => seen(id).length === 0);
        assert.deepEqual(ids.slice(-without.length || ids.length), without, 'whose agents are all hidden sorts like who has none');
      }
    }
  });
}

test('demographics need StudentDemographic; of anyone but students also the scope that opens the person', async () => {
  const expected: [scopes: Scope[], ids: string[]][] = [
    [['StudentDemographic'], ['pupil', 'pupil2']],
    [['StudentDemographic', 'School'], ['pupil', 'pupil2']],
    [['StudentDemographic', 'Student'], ['pupil', 'pupil2']],
    [['StudentDemographic', 'Staff'], ['pupil', 'pupil2', 'teacher']],
    [['StudentDemographic', 'Contact'], ['mum', 'pupil', 'pupil2']],
    [[...scopeNames], ['mum', 'pupil', 'pupil2', 'teacher']],
  ];
  for (const [scopes, ids] of expected) {
    const client = await clientWith(scopes);
    for (const { name, read } of asking) {
      for (const query of ['', '?limit=100']) {
        const listed = await list(await read(client, estab, `/demographics${query}`));
        assert.deepEqual([listed.ids, listed.total], [ids, ids.length], `${name} ${scopes.join()}`);
      }
      for (const id of described)
        assert.equal((await read(client, estab, `/demographics/${id}`)).status, ids.includes(id) ? 200 : 404, `${name} ${scopes.join()}: ${id}`);
    }
    assert.equal((await byName.A.read(client, estab, '/demographics')).status, 404, 'variant A has none');
  }
  const without = await clientWith(scopeNames.filter((scope) => scope !== 'StudentDemographic'));
  for (const path of ['/demographics', '/demographics/pupil', '/demographics/nobody'])
    for (const { name, read } of asking) assert.equal((await read(without, estab, path)).status, 403, `${name} ${path}`);
});

test('a hidden person is no parent', async () => {
  const parents: [path: string, opener: Scope][] = [
    ['/students/pupil/classes', 'Student'],
    ['/users/pupil/classes', 'Student'],
    ['/teachers/teacher/classes', 'Staff'],
    ['/users/teacher/classes', 'Staff'],
    ['/users/aide/classes', 'Staff'],
    ['/users/guardian/classes', 'Contact'],
  ];
  for (const scopes of [
    ['School'],
    ['School', 'Student'],
    ['School', 'Staff'],
    ['School', 'Contact'],
    ['School', 'Student', 'Staff', 'Contact'],
  ] as Scope[][]) {
    const client = await clientWith(scopes);
    for (const [path, opener] of parents) {
      for (const { name, read } of asking) {
        const response = await read(client, estab, path);
        assert.equal(response.status, scopes.includes(opener) ? 200 : 404, `${name} ${scopes.join()}: ${path}`);
        if (response.status === 200) assert.deepEqual((await list(response)).ids, ['cls']);
      }
    }
  }
  for (const scopes of [['Student'], ['Staff'], ['Contact', 'Student']] as Scope[][]) {
    const client = await clientWith(scopes);
    for (const [path] of parents)
      for (const { name, read } of asking) assert.equal((await read(client, estab, path)).status, 403, `classes need School: ${name} ${scopes.join()} ${path}`);
  }
});

test('applications with different scopes never see each other’s pages', async () => {
  const [wide, narrow] = [await clientWith(scopeNames), await clientWith(['School', 'Student'])];
  for (const { read } of asking) {
    for (const path of [
      '/users?limit=100', '/users', '/enrollments?limit=100', '/users/pupil', "/users?limit=100&filter=status%3D'active'",
      '/schools/sch/enrollments?limit=100',
    ]) {
      for (let round = 0; round < 2; round += 1) {
        assert.match(await (await read(wide, estab, path)).text(), /teacher/, path);
        const response = await read(narrow, estab, path);
        assert.equal(response.status, 200);
        assert.doesNotMatch(await response.text(), /teacher|mum|gran|aide|head|proctor/, path);
      }
    }
    const tag = (await read(wide, estab, '/users?limit=100')).headers.get('etag') ?? '';
    assert.equal((await read(narrow, estab, '/users?limit=100', { 'if-none-match': tag })).status, 200);
  }
});
