// What a filter and a sort mean, sentence by sentence, through HTTP on a small school made up for it, in every dialect that takes them all.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addApplication } from '../access/applications.ts';
import { authorise } from '../access/authorisations.ts';
import { addEstablishment } from '../access/establishments.ts';
import { createApp, createPools } from '../app.ts';
import { openCsvSource } from '../collection/connectors/csv/csv-source.ts';
import { importRoster } from '../collection/import.ts';
import { readConfig } from '../config.ts';
import { connect } from '../db/connect.ts';
import { migrate } from '../db/migrate.ts';
import { csvPackage } from '../../test/csv-package.ts';
import { asking, type TestedDialect } from '../../test/dialects.ts';
import { rootB, useService } from '../../test/service.ts';

const estab = 'S1';
const service = await useService();

const person = (sourcedId: string, familyName: string, more: Record<string, string> = {}) => ({
  sourcedId, familyName, enabledUser: 'true', orgSourcedIds: 'School', role: 'student', username: sourcedId, givenName: 'Sam', ...more,
});
const course = (sourcedId: string, title: string, courseCode = '') => ({ sourcedId, title, courseCode, orgSourcedId: 'School' });
const aClass = (sourcedId: string, more: Record<string, string>) => ({
  sourcedId, title: sourcedId, courseSourcedId: 'c1', classType: 'scheduled', schoolSourcedId: 'School', termSourcedIds: 't1', ...more,
});
const enrolment = (sourcedId: string, more: Record<string, string> = {}) => ({
  sourcedId, classSourcedId: 'k1', schoolSourcedId: 'School', userSourcedId: 'p01', role: 'student', ...more,
});

await service.addSchool(
  estab,
  csvPackage({
    orgs: [
      { sourcedId: 'School', name: 'Small School', type: 'school' },
      { sourcedId: 'school', name: 'Other', type: 'department', parentSourcedId: 'School' },
    ],
    academicSessions: ['t1', 't2', 'T1'].map((sourcedId) => ({
      sourcedId, title: sourcedId, type: 'term', startDate: '2026-09-01', endDate: '2026-12-18', schoolYear: '2027',
    })),
    courses: [
      course('c1', 'Zebra', 'K'), course('c2', 'apple', 'K'), course('c3', 'Émile'), course('c4', 'zoo', 'J'), course('c5', '😀 smile'),
      course('c6', 'Ａ wide', 'k'), course('C9', 'Apple', 'K'),
    ],
    classes: [
      aClass('k1', { grades: '07,08', subjects: 'Maths,Art & Design', termSourcedIds: 't1,t2', periods: 'Mon1,Tue2' }),
      aClass('k2', { grades: '08', subjects: 'Art', termSourcedIds: 'T1' }),
      aClass('k3', { subjects: 'MATHS' }),
    ],
    users: [
      person('p01', 'ÉCOLE'), person('p02', 'école'), person('p03', 'İpek'), person('p04', 'i\u0307pek'), person('p05', 'ipek'),
      person('p06', 'Straße'), person('p07', 'STRASSE'), person('p08', 'STRAẞE'), person('p09', 'ΟΔΥΣΣΕΥΣ'), person('p10', 'οδυσσευς'),
      person('p11', 'οδυσσευσ'), person('p12', '𐐀'), person('p13', "O'Brien", { middleName: 'Ann', email: 'Ann@School.Example' }),
      person('p14', '100% _sure_ \\'),
      person('Ab', 'Upper', { role: 'teacher', enabledUser: 'false', userIds: '{LDAP:aB},{Fed:x@y}', 'metadata.House': 'Blue', 'metadata.a.b-c': 'Dotted' }),
      person('aB', 'Lower', { role: 'parent', agentSourcedIds: 'p01,p02', userIds: '{ldap:other}', 'metadata.House': 'red' }),
    ],
    enrollments: [
      enrolment('e1', { primary: 'true', beginDate: '2026-09-01', endDate: '2026-12-18' }),
      enrolment('e2', { primary: 'false', beginDate: '2026-09-02', classSourcedId: 'k2', userSourcedId: 'p02', role: 'aide' }),
      enrolment('e3', { classSourcedId: 'k3', userSourcedId: 'Ab', role: 'teacher' }),
    ],
    demographics: [
      { sourcedId: 'p01', birthDate: '2014-02-28', sex: 'female', asian: 'true' },
      { sourcedId: 'p02', sex: 'male', cityOfBirth: 'İzmir' },
      { sourcedId: 'p03' },
    ],
  }),
);
await service.load(
  estab,
  csvPackage(
    {
      enrollments: [
        {
          ...enrolment('e2', { primary: 'false', beginDate: '2026-09-02', classSourcedId: 'k2', userSourcedId: 'p02', role: 'aide' }),
          status: 'tobedeleted',
          dateLastModified: '2026-10-01',
        },
      ],
    },
    { mode: 'delta' },
  ),
);
const client = await service.addClient('app', [estab]);

async function ask({ read }: TestedDialect, path: string, query: Record<string, string>): Promise<Response> {
  return read(client, estab, `${path}?${new URLSearchParams(query)}`);
}

async function idsOf(dialect: TestedDialect, path: string, query: Record<string, string>): Promise<string[]> {
  const response = await ask(dialect, path, query);
  const text = await response.text();
  assert.equal(response.status, 200, `${dialect.name} ${path} ${JSON.stringify(query)}: ${text}`);
  const [records] = Object.values(JSON.parse(text) as Record<string, { sourcedId: string }[]>);
  const ids = (records ?? []).map((record) => record.sourcedId);
  assert.equal(response.headers.get('x-total-count'), String(ids.length), `X-Total-Count of ${dialect.name} ${path} ${JSON.stringify(query)}`);
  return ids;
}

const everyone = ['Ab', 'aB', 'p01', 'p02', 'p03', 'p04', 'p05', 'p06', 'p07', 'p08', 'p09', 'p10', 'p11', 'p12', 'p13', 'p14'];
const but = (...ids: string[]) => everyone.filter((id) => !ids.includes(id));

/** {root} stands for where the dialect's records are, {role} for what it calls a role; what only one dialect has is told by its name. */
type Case = [path: string, filter: string, ids: string[], only?: TestedDialect['name']];
const filters: Record<string, Case[]> = {
  'sourcedId compares exactly': [
    ['/users', "sourcedId='Ab'", ['Ab']],
    ['/users', "sourcedId='ab'", []],
    ['/users', "sourcedId!='Ab'", but('Ab')],
    ['/users', "sourcedId~'B'", ['aB']],
    ['/users', "sourcedId<'a'", ['Ab']],
    ['/users', "sourcedId<='aB'", ['Ab', 'aB']],
    ['/users', "sourcedId>'p13'", ['p14']],
    ['/enrollments', "user.sourcedId='Ab'", ['e3']],
    ['/enrollments', "user.sourcedId='ab'", []],
    ['/enrollments', "class.sourcedId>='k2'", ['e2', 'e3']],
    ['/orgs', "parent.sourcedId='School'", ['school']],
    ['/orgs', "children.sourcedId='school'", ['School']],
    ['/orgs', "children.sourcedId='School'", []],
    ['/users', "orgSourcedIds='School'", everyone, 'B'],
    ['/users', "orgSourcedIds='school'", [], 'B'],
    ['/users', "roles.org.sourcedId='School'", everyone, '1.2'],
    ['/users', "roles.org.sourcedId='school'", [], '1.2'],
    ['/users', "primaryOrg.sourcedId='School'", everyone, '1.2'],
    ['/users', "primaryOrg.sourcedId='school'", [], '1.2'],
    // What stands in for a number is compared like any number.
    ['/orgs', "identifier='SCHOOL'", [], 'B'],
    ['/orgs', "identifier='SCHOOL'", ['School', 'school'], '1.2'],
    ['/orgs', "identifier!='x'", ['School', 'school']],
    ['/courses', "courseCode='C5'", [], 'B'],
    ['/courses', "courseCode='C5'", ['c5'], '1.2'],
    ['/classes', "terms.sourcedId~'T1'", ['k2']],
  ],
  'other text compares by its lower-cased value': [
    ['/users', "familyName='école'", ['p01', 'p02']],
    ['/users', "familyName='École'", ['p01', 'p02']],
    ['/users', "familyName='Ecole'", []],
    ['/users', "familyName!='ÉCOLE'", but('p01', 'p02')],
    ['/users', "familyName='İPEK'", ['p03', 'p04']],
    ['/users', "familyName='i\u0307PEK'", ['p03', 'p04']],
    ['/users', "familyName='IPEK'", ['p05']],
    ['/users', "familyName='straße'", ['p06', 'p08']],
    ['/users', "familyName='strasse'", ['p07']],
    ['/users', "familyName='Οδυσσευς'", ['p09', 'p10']],
    ['/users', "familyName='ΟΔΥΣΣΕΥΣ'", ['p09', 'p10']],
    ['/users', "familyName='οδυσσευσ'", ['p11']],
    ['/users', "familyName='𐐨'", ['p12']],
    ['/users', "familyName='o''BRIEN'", ['p13']],
    ['/users', "email='ann@school.example'", ['p13']],
    ['/demographics', "cityOfBirth='i\u0307ZMIR'", ['p02']],
    ['/enrollments', `class.href='${service.url.toUpperCase()}{root}/classes/K1'`, ['e1']],
    ['/enrollments', "class.type='CLASS' and user.type='User' and school.type!='orgs'", ['e1', 'e2', 'e3']],
  ],
  'text is ordered by code point of its lower-cased value': [
    ['/courses', "title<'b'", ['C9', 'c2']],
    ['/courses', "title<='APPLE'", ['C9', 'c2']],
    ['/courses', "title>'y'", ['c1', 'c3', 'c4', 'c5', 'c6']],
    ['/courses', "title>='ZEBRA'", ['c1', 'c3', 'c4', 'c5', 'c6']],
    ['/courses', "title>'zzz'", ['c3', 'c5', 'c6']],
    ['/courses', "title>='Ａ'", ['c5', 'c6']],
    ['/courses', "title>'\uffef'", ['c5']],
  ],
  '~ on text means contains': [
    ['/users', "familyName~'COL'", ['p01', 'p02']],
    ['/users', "familyName~'ipe'", ['p05']],
    ['/users', "familyName~'ß'", ['p06', 'p08']],
    ['/users', "familyName~''''", ['p13']],
    ['/users', "familyName~'%'", ['p14']],
    ['/users', "familyName~'_'", ['p14']],
    ['/users', "familyName~'\\'", ['p14']],
    ['/users', "familyName~'.*'", []],
    ['/users', "middleName~''", ['p13']],
    ['/courses', "title~'App'", ['C9', 'c2']],
  ],
  'enumerations compare like text': [
    ['/users', "role='TEACHER'", ['Ab'], 'B'],
    ['/users', "role!='Student'", ['Ab', 'aB'], 'B'],
    ['/users', "role~'each'", ['Ab'], 'B'],
    ['/users', "role='pupil'", [], 'B'],
    ['/users', "role>'student'", ['Ab'], 'B'],
    ['/users', "roles.role='TEACHER'", ['Ab'], '1.2'],
    ['/users', "roles.role!='Student'", ['Ab', 'aB'], '1.2'],
    ['/users', "roles.role~'teacher,PARENT'", ['Ab', 'aB'], '1.2'],
    ['/users', "roles.role='pupil'", [], '1.2'],
    ['/users', "roles.roleType='PRIMARY'", everyone, '1.2'],
    ['/users', "roles.org.type='ORG'", everyone, '1.2'],
    ['/users', `roles.org.href~'${service.url}{root}/orgs/School'`, everyone, '1.2'],
    ['/users', "roles.beginDate!='2026-09-01'", everyone, '1.2'],
    ['/enrollments', "role='AIDE'", ['e2'], 'B'],
    ['/enrollments', "role='EXT:aide'", [], 'B'],
    ['/enrollments', "role='EXT:aide'", ['e2'], '1.2'],
    ['/enrollments', "role='aide'", [], '1.2'],
    ['/enrollments', "role~'xt:'", ['e2'], '1.2'],
    ['/enrollments', "role='teacher'", ['e3']],
    ['/enrollments', "status='ACTIVE'", ['e1', 'e3']],
    ['/enrollments', "status='tobedeleted'", ['e2']],
    ['/enrollments', "status!='active'", ['e2']],
    ['/enrollments', "status='nonsense'", []],
    ['/demographics', "sex='MALE'", ['p02']],
    ['/demographics', "sex~'male'", ['p01', 'p02']],
    ['/academicSessions', "schoolYear>='2027' and schoolYear<'2028'", ['T1', 't1', 't2']],
  ],
  'booleans are the texts true and false': [
    ['/users', "enabledUser='false'", ['Ab']],
    ['/users', "enabledUser='FALSE'", ['Ab']],
    ['/users', "enabledUser!='True'", ['Ab']],
    ['/users', "enabledUser='0'", []],
    ['/enrollments', "primary='true'", ['e1']],
    ['/enrollments', "primary!='true'", ['e2', 'e3']],
    ['/enrollments', "primary~'al'", ['e2'], 'B'],
    ['/enrollments', "primary~'al'", ['e2', 'e3'], '1.2'],
    ['/enrollments', "primary='false'", ['e2'], 'B'],
    ['/enrollments', "primary='false'", ['e2', 'e3'], '1.2'],
    ['/enrollments', "primary>'false'", ['e1']],
    ['/demographics', "asian='true'", ['p01']],
  ],
  'dates compare in time, a date being midnight UTC': [
    ['/enrollments', "beginDate='2026-09-01'", ['e1']],
    ['/enrollments', "beginDate='2026-09-01T00:00:00Z'", ['e1']],
    ['/enrollments', "beginDate='2026-09-01T01:00:00+01:00'", ['e1']],
    ['/enrollments', "beginDate='2026-08-31T19:00:00.000-05:00'", ['e1']],
    ['/enrollments', "beginDate='2026-09-01T00:00:00+01:00'", []],
    ['/enrollments', "beginDate='2026-09-01T00:00:00.001Z'", []],
    ['/enrollments', "beginDate>'2026-09-01'", ['e2']],
    ['/enrollments', "beginDate>'2026-08-31T23:59:59.999Z'", ['e1', 'e2']],
    ['/enrollments', "beginDate>='2026-09-01T00:00:00.0004Z'", ['e2']],
    ['/enrollments', "beginDate>='2026-09-01T00:30:00+01:00'", ['e1', 'e2']],
    ['/enrollments', "beginDate<'2026-09-02'", ['e1']],
    ['/enrollments', "beginDate<='2026-09-02T00:00:00Z'", ['e1', 'e2']],
    ['/enrollments', "beginDate!='2026-09-01T00:00:00Z'", ['e2', 'e3']],
    ['/demographics', "birthDate<'2014-03-01'", ['p01']],
    ['/academicSessions', "startDate='2026-09-01' and endDate>'2026-12-17T23:00:00-01:00'", []],
    ['/academicSessions', "startDate='2026-09-01' and endDate>='2026-12-17T23:00:00-01:00'", ['T1', 't1', 't2']],
  ],
  'on lists = means all, ~ any, != not all': [
    ['/classes', "grades='08'", ['k1', 'k2']],
    ['/classes', "grades='07,08'", ['k1']],
    ['/classes', "grades='08,07'", ['k1']],
    ['/classes', "grades='08,08'", ['k1', 'k2']],
    ['/classes', "grades='07,09'", []],
    ['/classes', "grades~'07,09'", ['k1']],
    ['/classes', "grades~'09,08'", ['k1', 'k2']],
    ['/classes', "grades~'9'", []],
    ['/classes', "grades!='08'", ['k3']],
    ['/classes', "grades!='07,08'", ['k2', 'k3']],
    ['/classes', "subjects='MATHS'", ['k1', 'k3']],
    ['/classes', "subjects~'art'", ['k2']],
    ['/classes', "subjects='maths,ART & design'", ['k1']],
    ['/classes', "terms.sourcedId='t1,t2'", ['k1']],
    ['/classes', "terms.sourcedId!='t1'", ['k2']],
    ['/classes', "terms.type='ACADEMICSESSION'", ['k1', 'k2', 'k3']],
    ['/classes', `terms.href~'${service.url}{root}/academicSessions/t2'`, ['k1']],
    ['/users', "userIds.type='LDAP'", ['Ab', 'aB']],
    ['/users', "userIds.type='fed,ldap'", ['Ab']],
    ['/users', "userIds.identifier~'AB,nothing'", ['Ab']],
    ['/users', "userIds.type!='fed'", but('Ab')],
    ['/users', "agents.sourcedId='p01,p02'", ['aB']],
  ],
  'metadata by its key, which is exact': [
    ['/users', "metadata.House='BLUE'", ['Ab']],
    ['/users', "metadata.house='BLUE'", []],
    ['/users', "metadata.a.b-c~'otte'", ['Ab']],
    ['/users', "metadata.House!='blue'", but('Ab')],
    ['/users', "metadata.nothing!='x' and metadata.House>'b'", ['Ab', 'aB']],
  ],
  'and binds tighter than or': [
    ['/users', "{role}='teacher' or {role}='parent' and enabledUser='false'", ['Ab']],
    ['/users', "enabledUser='false' and {role}='parent' OR familyName='𐐨' Or sourcedId='p14'", ['p12', 'p14']],
  ],
};

for (const [name, cases] of Object.entries(filters)) {
  test(name, async () => {
    for (const dialect of asking) {
      for (const [path, text, ids] of cases.filter(([, , , only = dialect.name]) => only === dialect.name)) {
        const filter = text.replaceAll('{root}', dialect.root).replaceAll('{role}', dialect.words.role);
        assert.deepEqual(await idsOf(dialect, path, { filter }), ids, `${dialect.name} ${path} ${filter}`);
      }
    }
  });
}

test('a missing field matches no comparison but !=', async () => {
  const missing: [path: string, field: string, value: string, without: string[], only?: TestedDialect['name']][] = [
    ['/enrollments', 'endDate', '2026-12-18', ['e2', 'e3']],
    ['/enrollments', 'primary', 'true', ['e3'], 'B'],
    ['/orgs', 'identifier', 'x', ['School', 'school'], 'B'],
    ['/users', 'preferredFirstName', 'x', everyone, '1.2'],
    ['/users', 'roles.endDate', '2026-12-18', everyone, '1.2'],
    ['/users', 'userProfiles.credentials.username', 'x', everyone, '1.2'],
    ['/users', 'middleName', 'Ann', but('p13')],
    ['/users', 'metadata.House', 'Blue', but('Ab', 'aB')],
    ['/users', 'metadata.nowhere', 'x', everyone],
    ['/orgs', 'parent.sourcedId', 'School', ['School']],
    ['/orgs', 'parent.href', 'x', ['School']],
    ['/orgs', 'parent.type', 'org', ['School']],
    ['/demographics', 'birthDate', '2014-02-28', ['p02', 'p03']],
    ['/classes', 'grades', '08', ['k3']],
    ['/classes', 'subjectCodes', 'x', ['k1', 'k2', 'k3']],
    ['/users', 'userIds.type', 'LDAP', but('Ab', 'aB')],
    ['/users', 'agents.sourcedId', 'p01', but('aB')],
  ];
  const lists = ['grades', 'subjectCodes', 'userIds.type', 'agents.sourcedId', 'roles.endDate', 'userProfiles.credentials.username'];
  for (const [at, [path, field, value, without, only]] of missing.entries()) {
    for (const [turn, operator] of (lists.includes(field) ? ['=', '~'] : ['=', '>', '>=', '<', '<=', '~']).entries()) {
      const dialect = asking.find(({ name }) => name === only) ?? asking[(at + turn) % asking.length] ?? assert.fail();
      const found = await idsOf(dialect, path, { filter: `${field}${operator}'${value}'` });
      assert.deepEqual(found.filter((id) => without.includes(id)), [], `${dialect.name} ${path} ${field} ${operator}`);
    }
    for (const dialect of asking.filter(({ name }) => name === (only ?? name))) {
      const found = await idsOf(dialect, path, { filter: `${field}!='${value}'` });
      assert.deepEqual(found.filter((id) => without.includes(id)), without, `${dialect.name} ${path} ${field} !=`);
    }
  }
});

for (const dialect of asking) test(`dateLastModified compares in time: ${dialect.name}`, async () => {
  const { enrollments } = (await (await ask(dialect, '/enrollments', {})).json()) as { enrollments: { sourcedId: string; dateLastModified: string }[] };
  const [first, second] = ['e1', 'e2'].map((id) => enrollments.find((one) => one.sourcedId === id)?.dateLastModified ?? '');
  assert.ok(first && second && first < second);
  const inParis = (stamp: string) => new Date(Date.parse(stamp) + 2 * 3_600_000).toISOString().replace('Z', '+02:00');
  for (const write of [(stamp: string) => stamp, inParis, (stamp: string) => stamp.replace('Z', ''), (stamp: string) => stamp.toLowerCase()]) {
    const cases = { '=': ['e1', 'e3'], '!=': ['e2'], '>': ['e2'], '>=': ['e1', 'e2', 'e3'], '<': [], '<=': ['e1', 'e3'] };
    for (const [operator, ids] of Object.entries(cases))
      assert.deepEqual(await idsOf(dialect, '/enrollments', { filter: `dateLastModified${operator}'${write(first)}'` }), ids, `${operator} ${write(first)}`);
  }
  assert.deepEqual(await idsOf(dialect, '/enrollments', { filter: `dateLastModified>'${first}' and dateLastModified<='${second}'` }), ['e2']);
  assert.deepEqual(await idsOf(dialect, '/enrollments', { filter: `dateLastModified>'${first.slice(0, -1)}4Z'` }), ['e2'], 'finer than a millisecond');
  assert.deepEqual(await idsOf(dialect, '/enrollments', { filter: "dateLastModified<'2001-01-01' or dateLastModified>'2999-12-31'" }), []);
  assert.deepEqual(await idsOf(dialect, '/enrollments', { sort: 'dateLastModified', orderBy: 'desc' }), ['e2', 'e1', 'e3']);
});

test('what does not apply is refused and named', async () => {
  const refused: [path: string, filter: string, named: RegExp, only?: TestedDialect['name']][] = [
    ['/classes', "grades>'07'", /"grades" at position 1/],
    ['/users', "role='x' and orgSourcedIds<='y'", /"orgSourcedIds" at position 14/, 'B'],
    ['/users', "roles.role='x' and roles.org.sourcedId<='y'", /"roles.org.sourcedId" at position 20/, '1.2'],
    ['/enrollments', "beginDate>'soon'", /"beginDate" at position 1.*"soon"/],
    ['/enrollments', "dateLastModified=''", /"dateLastModified" at position 1/],
    ['/users', "surname='x'", /"surname" at position 1/],
    ['/users', "FamilyName='x'", /"FamilyName" at position 1/],
    ['/enrollments', "status='active' and class.title='x'", /"class.title" at position 21/],
    ['/users', "metadata='x'", /"metadata" at position 1/],
    ['/users', "password='x'", /"password" at position 1/],
    // What the other edition has.
    ['/users', "roles.role='teacher'", /"roles.role" at position 1/, 'B'],
    ['/users', "primaryOrg.sourcedId='School'", /"primaryOrg.sourcedId" at position 1/, 'B'],
    ['/users', "role='teacher'", /"role" at position 1.*roles/, '1.2'],
    ['/users', "orgs.sourcedId='School'", /"orgs.sourcedId" at position 1/, '1.2'],
    ['/users', "orgSourcedIds='School'", /"orgSourcedIds" at position 1/, '1.2'],
    // Items are named by what they have.
    ['/users', "roles='teacher'", /"roles" at position 1.*roles\.role, roles\.org\.sourcedId/, '1.2'],
    ['/users', "roles.org='School'", /"roles.org" at position 1.*roles\.org\.sourcedId/, '1.2'],
    ['/users', "roles.nothing='x'", /"roles.nothing" at position 1/, '1.2'],
    ['/users', "roles.role.sourcedId='x'", /"roles.role.sourcedId" at position 1/, '1.2'],
    ['/users', "userProfiles.credentials.password='x'", /"userProfiles.credentials.password" at position 1/, '1.2'],
  ];
  for (const dialect of asking) {
    for (const [path, filter, named] of refused.filter(([, , , only = dialect.name]) => only === dialect.name)) {
      const response = await ask(dialect, path, { filter });
      assert.equal(response.status, 400, `${dialect.name} ${filter}`);
      const { message, minor } = dialect.readError(await response.text());
      assert.equal(minor, 'invalid_filter_field');
      assert.match(message, named);
    }
  }
});

test('a selection has the fields of its edition and no others', async () => {
  const own: Record<string, string[]> = { B: ['role', 'orgs', 'orgSourcedIds'], '1.2': ['roles', 'primaryOrg'] };
  for (const dialect of asking) {
    for (const [name, fields] of Object.entries(own)) {
      for (const field of fields) {
        const response = await ask(dialect, '/users/Ab', { fields: field });
        const text = await response.text();
        if (name === dialect.name) assert.deepEqual(Object.keys((JSON.parse(text) as { user: object }).user), [field]);
        else assert.deepEqual([response.status, dialect.readError(text).minor], [400, 'invalid_selection_field'], `${dialect.name} ${field}`);
      }
    }
  }
});

test('1.2 takes no notice of a sort by what it has not', async () => {
  const later = asking[1] ?? assert.fail();
  for (const sort of ['role', 'orgs', 'orgSourcedIds', 'roles', 'roles.org', 'nothing', ''])
    assert.deepEqual(await idsOf(later, '/users', { sort, orderBy: 'desc' }), everyone, sort);
});

const sorts: [what: string, path: string, sort: string, ascending: string[], descending: string[], only?: TestedDialect['name']][] = [
  [
    'by code point: capitals first, what is beyond the BMP last',
    '/courses',
    'title',
    ['C9', 'c1', 'c2', 'c4', 'c3', 'c6', 'c5'],
    ['c5', 'c6', 'c3', 'c4', 'c2', 'c1', 'C9'],
  ],
  [
    'ties by sourcedId and what is missing last, either way',
    '/courses',
    'courseCode',
    ['c4', 'C9', 'c1', 'c2', 'c6', 'c3', 'c5'],
    ['c6', 'C9', 'c1', 'c2', 'c4', 'c3', 'c5'],
    'B',
  ],
  [
    'what stands in for a code sorts by that',
    '/courses',
    'courseCode',
    ['c4', 'C9', 'c1', 'c2', 'c3', 'c5', 'c6'],
    ['c6', 'c5', 'c3', 'C9', 'c1', 'c2', 'c4'],
    '1.2',
  ],
  ['what is missing last, either way', '/users', 'middleName', ['p13', ...but('p13')], ['p13', ...but('p13')]],
  ['a role', '/users', 'role', ['aB', ...but('Ab', 'aB'), 'Ab'], ['Ab', ...but('Ab', 'aB'), 'aB'], 'B'],
  ['roles', '/users', 'roles.role', ['aB', ...but('Ab', 'aB'), 'Ab'], ['Ab', ...but('Ab', 'aB'), 'aB'], '1.2'],
  ['roles of enrolments', '/enrollments', 'role', ['e2', 'e1', 'e3'], ['e3', 'e1', 'e2']],
  ['dates', '/enrollments', 'beginDate', ['e1', 'e2', 'e3'], ['e2', 'e1', 'e3']],
  ['booleans', '/enrollments', 'primary', ['e2', 'e1', 'e3'], ['e1', 'e2', 'e3'], 'B'],
  ['booleans, one of which is false because none was given', '/enrollments', 'primary', ['e2', 'e3', 'e1'], ['e1', 'e2', 'e3'], '1.2'],
  ['the reference', '/enrollments', 'user.sourcedId', ['e3', 'e1', 'e2'], ['e2', 'e1', 'e3']],
  ['the sourcedId itself', '/academicSessions', 'sourcedId', ['T1', 't1', 't2'], ['t2', 't1', 'T1']],
  ['metadata', '/users', 'metadata.House', ['Ab', 'aB', ...but('Ab', 'aB')], ['aB', 'Ab', ...but('Ab', 'aB')]],
  ['all equal', '/users', 'givenName', everyone, everyone],
];

for (const dialect of asking) {
  for (const [what, path, sort, ascending, descending] of sorts.filter(([, , , , , only = dialect.name]) => only === dialect.name)) {
    test(`sorted in ${dialect.name}: ${what}`, async () => {
      assert.deepEqual(await idsOf(dialect, path, { sort }), ascending);
      assert.deepEqual(await idsOf(dialect, path, { sort, orderBy: 'asc' }), ascending);
      assert.deepEqual(await idsOf(dialect, path, { sort, orderBy: 'desc' }), descending);
    });
  }
}

test('sorted by code point also where the database has an order of its own', async () => {
  const name = `${new URL(service.databaseUrl).pathname.slice(1)}_icu`;
  await service.db.unsafe(`create database ${name} template template0 locale_provider icu icu_locale 'en-GB'`);
  const db = connect(service.databaseUrl.replace(/[^/]*$/, name), { max: 4, name: 'test' });
  const config = readConfig({ DATABASE_URL: 'postgres://elsewhere/x', SECRET_KEY: 'a key for tests that is long enough', LOG_LEVEL: 'silent' });
  const app = createApp({ config, pools: createPools(() => db), seal: service.seal });
  try {
    await migrate(db);
    await addEstablishment(db, { estab, name: 'Small School', email: 'office@s1.example' });
    const orgs = ['b', 'A', 'é', 'a', 'Z'].map((mark, at) => ({
      sourcedId: `o${at}-${mark}`, name: mark, type: 'school', identifier: mark, 'metadata.mark': mark,
    }));
    const options = { estab, dataDir: service.dataDir, partial: false, force: false, shrinkLimitPercent: 20 };
    await importRoster(db, () => openCsvSource(csvPackage({ orgs })), options);
    await addApplication(db, service.seal, { rp: 'app', name: 'App', callbackUrl: 'http://127.0.0.1:9/', scopes: 'School', redirectUris: [] });
    const { schoolSecret } = await authorise(db, { rp: 'app', estab });
    const { access_token: token } = (
      await app.inject({
        method: 'POST',
        url: `${rootB}/auth/token`,
        headers: { authorization: `Basic ${Buffer.from(`app|${estab}:${schoolSecret}`).toString('base64')}` },
      })
    ).json<{ access_token: string }>();
    for (const sort of ['name', 'identifier', 'metadata.mark']) {
      const { orgs: sorted } = (await app.inject({ url: `${rootB}/orgs?sort=${sort}`, headers: { authorization: `Bearer ${token}` } })).json<{
        orgs: { name: string }[];
      }>();
      assert.equal(sorted.map((org) => org.name).join(''), 'AZabé', sort);
    }
  } finally {
    await app.close();
    await db.end({ timeout: 5 });
    await service.db.unsafe(`drop database ${name} with (force)`);
  }
});
