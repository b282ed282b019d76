// Covers the rules for one record of a provider's JSON: what is read however it is written, and what is named as a fault.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collections } from '../../../roster/collections.ts';
import type { CollectionName } from '../../../roster/resource.ts';
import type { Problem } from '../../problem.ts';
import { createRecordCheck } from './check-record.ts';

const to = (sourcedId: unknown) => ({ href: 'https://elsewhere.example/', sourcedId, type: 'any' });
const required: Record<CollectionName, Record<string, unknown>> = {
  orgs: { name: 'School', type: 'school' },
  academicSessions: { title: 'Autumn', type: 'term', startDate: '2026-09-01', endDate: '2026-12-19', schoolYear: '2027' },
  courses: { title: 'Maths', org: to('o1') },
  classes: { title: '7A', course: to('c1'), classType: 'homeroom', school: to('o1'), terms: [to('t1')] },
  users: { enabledUser: 'true', orgs: [to('o1')], role: 'student', username: 'ada', givenName: 'Ada', familyName: 'L' },
  enrollments: { class: to('k1'), school: to('o1'), user: to('u1'), role: 'student' },
  demographics: {},
};
const names = Object.keys(required) as CollectionName[];

function check(name: CollectionName, given: Record<string, unknown>) {
  const problems: Problem[] = [];
  const record = { sourcedId: 'x1', status: 'active', ...required[name], ...given };
  const row = createRecordCheck(collections[name], 'v1p1')(record, 7, (problem) => problems.push(problem));
  return { row, problems };
}

function rowOf(name: CollectionName, given: Record<string, unknown>) {
  const { row, problems } = check(name, given);
  assert.deepEqual(problems, [], JSON.stringify(given));
  assert.ok(!('rejected' in row));
  return row;
}
const valueOf = (name: CollectionName, field: string, value: unknown) =>
  rowOf(name, { [field]: value }).values[collections[name].fields.findIndex((one) => one.name === field)];

function assertBroken(name: CollectionName, field: string, value: unknown, rule: RegExp): void {
  const { row, problems } = check(name, { [field]: value });
  assert.deepEqual(problems.map(({ file, line, column }) => [file, line, column]), [[name, 7, field]], JSON.stringify(value));
  assert.match(problems[0]?.rule ?? '', rule);
  assert.deepEqual(row, { rejected: field === 'sourcedId' ? undefined : 'x1' });
}

test('records with nothing but what is required are fine', () => {
  for (const name of names) assert.deepEqual({ ...rowOf(name, {}), values: 0 }, { line: 7, sourcedId: 'x1', status: 'active', values: 0, metadata: undefined });
});

test('what is required must be there; null, blanks and empty lists count as absent, and so they do where it is optional', () => {
  for (const name of names) {
    for (const field of Object.keys(required[name])) for (const absent of [undefined, null, '', '  ']) assertBroken(name, field, absent, /blank/);
    for (const absent of [undefined, null, '', ' ', {}, []]) assertBroken(name, 'sourcedId', absent, /blank/);
  }
  for (const [name, field] of [
    ['users', 'orgs'],
    ['classes', 'terms'],
  ] as const)
    for (const nothing of [[], [null], ['', ' ']]) assertBroken(name, field, nothing, /blank/);
  for (const absent of [null, '', ' ', []])
    assert.deepEqual(
      [valueOf('users', 'grades', absent), valueOf('users', 'userIds', absent), valueOf('users', 'agents', absent)],
      [undefined, undefined, undefined],
    );
  for (const absent of [null, '', ' '])
    assert.deepEqual(
      [valueOf('users', 'email', absent), valueOf('orgs', 'parent', absent), valueOf('enrollments', 'primary', absent)],
      [undefined, undefined, undefined],
    );
});

test('providers write the same value in many ways', () => {
  for (const [written, read] of [
    [true, 'true'],
    [false, 'false'],
    ['True', 'true'],
    ['false', 'false'],
  ])
    assert.equal(valueOf('users', 'enabledUser', written), read);
  for (const written of [2027, '2027', ' 2027 ']) assert.equal(valueOf('academicSessions', 'schoolYear', written), '2027');
  for (const written of ['09', ['09'], [' 09 ', null, '']]) assert.deepEqual(valueOf('users', 'grades', written), ['09']);
  assert.deepEqual(valueOf('classes', 'subjects', ['Design, technology', 7]), ['Design, technology', '7']);
  for (const written of [to('o2'), { sourcedId: 'o2' }, 'o2', to(' o2 ')]) assert.equal(valueOf('courses', 'org', written), 'o2');
  for (const written of [[to('o2')], to('o2'), 'o2', ['o2', null]]) assert.deepEqual(valueOf('users', 'orgs', written), ['o2']);
  assert.equal(valueOf('courses', 'org', to(17)), '17');
  assert.equal(rowOf('orgs', { sourcedId: 17 }).sourcedId, '17');
  for (const written of [[{ type: 'LDAP', identifier: 'ada' }], { type: ' LDAP ', identifier: 'ada', more: 1 }])
    assert.deepEqual(valueOf('users', 'userIds', written), [{ type: 'LDAP', identifier: 'ada' }]);
  assert.equal(valueOf('orgs', 'name', ' a\tb\nc '), ' a\tb\nc ');
});

test('what is derived, unknown or secret is read past', () => {
  const { values } = rowOf('users', { orgSourcedIds: ['o9'], password: 'secret', surprise: { deep: [1] } });
  assert.ok(!JSON.stringify(values).includes('o9') && !JSON.stringify(values).includes('secret'));
  assert.equal(valueOf('orgs', 'children', [to('o2')]), undefined);
});

test('the status: inactive is read as tobedeleted, none as active', () => {
  for (const [written, read] of [
    ['active', 'active'],
    ['tobedeleted', 'tobedeleted'],
    ['inactive', 'tobedeleted'],
    [undefined, 'active'],
    ['', 'active'],
  ])
    assert.equal(rowOf('orgs', { status: written }).status, read);
  for (const wrong of ['deleted', 'Active', 1, {}, ['active']]) assertBroken('orgs', 'status', wrong, /active or tobedeleted/);
});

test('a value that breaks a rule of the roster is named', () => {
  const broken: [CollectionName, string, unknown[], RegExp][] = [
    ['users', 'role', ['pupil', 'Student', 7], /must be one of/],
    ['academicSessions', 'startDate', ['2026-02-30', '2026-09-01T00:00:00Z', 20260901], /YYYY-MM-DD/],
    ['academicSessions', 'schoolYear', ['2026/27', 27], /YYYY/],
    ['users', 'enabledUser', ['yes', 1], /true or false/],
    ['users', 'userIds', ['LDAP:ada', [{ type: 'LDAP' }], [{ type: '', identifier: 'x' }]], /a type and an identifier/],
    ['users', 'givenName', [{ first: 'Ada' }, ['Ada'], 'a\u0000b', 'a\ufffdb', 'x'.repeat(4001), 'half \ud83d'], /text|control|longer|half/],
    ['users', 'grades', [[['09']], { grade: '09' }, ['0\u00019']], /text|control/],
    ['users', 'orgs', [[{}], [{ id: 'o1' }], [to(null)], [to('')], ['i'.repeat(256)], [to('a\nb')], [[]]], /reference|longer than 255|line breaks/],
    ['courses', 'org', [{}, [to('o1')], to({}), to(2 ** 60), to('\ud800')], /reference|half/],
    ['orgs', 'sourcedId', ['i'.repeat(256), 'a\nb', 'a\u0000b', '\ud800', 2 ** 60], /longer|line breaks|control|half|blank/],
  ];
  for (const [name, field, values, rule] of broken) {
    for (const value of values) {
      const { row, problems } = check(name, { [field]: value });
      assert.deepEqual(problems.map(({ file, line, column }) => [file, line, column]), [[name, 7, field]], JSON.stringify(value));
      assert.match(problems[0]?.rule ?? '', rule);
      assert.ok('rejected' in row);
    }
  }
});

test('every fault of a record is named, and its record is known', () => {
  const { row, problems } = check('enrollments', { status: 'gone', role: 'learner', beginDate: 'soon', primary: 'perhaps', user: null });
  assert.deepEqual(problems.map(({ column }) => column).toSorted(), ['beginDate', 'primary', 'role', 'status', 'user']);
  assert.deepEqual(
    problems.find(({ column }) => column === 'beginDate'),
    { file: 'enrollments', line: 7, column: 'beginDate', value: 'soon', rule: 'must be a date of the calendar, written YYYY-MM-DD' },
  );
  assert.deepEqual(row, { rejected: 'x1' });
});

test('metadata is kept as text, in one order, without what is nested or blank', () => {
  const given = JSON.parse('{"z":"1","house":"Red","n":7,"flag":false,"nested":{"a":1},"list":[1],"none":null,"blank":" ","__proto__":"kept"}') as unknown;
  assert.equal(rowOf('users', { metadata: given }).metadata, '{"__proto__":"kept","flag":"false","house":"Red","n":"7","z":"1"}');
  for (const nothing of [null, {}, [], 'text', { a: null }]) assert.equal(rowOf('users', { metadata: nothing }).metadata, undefined);
  for (const wrong of [{ house: 'a\u0000' }, { 'a\u0000': 'house' }, { house: '\ud800' }])
    assert.match(check('users', { metadata: wrong }).problems[0]?.column ?? '', /^metadata\./);
});

/** Records of 1.2: what is shown of each, and what is kept. */
const second: Record<string, { given: Record<string, unknown>; values: Record<string, unknown>; lacks?: string[] }> = {
  'somebody with several roles': {
    given: {
      enabledUser: true, givenName: 'Ada', familyName: 'L', email: 'ada@x.example', primaryOrg: to('o2'), preferredFirstName: 'A', role: 'ignored',
      orgs: [to('x')],
      roles: [
        { roleType: 'secondary', role: 'parent', org: to('o1') },
        { roleType: 'primary', role: 'teacher', org: to('o1'), beginDate: '2026-09-01', endDate: null, userProfile: 'urn:p1' },
        { roleType: 'primary', role: 'counselor', org: 'o2' },
      ],
      userProfiles: [
        { profileId: 'urn:p1', profileType: 'LMS', vendorId: 'v', credentials: [{ type: 'Basic', username: 'ada.lms', password: 'never' }], applicationId: '' },
      ],
    },
    values: {
      username: 'ada.lms', role: 'aide', orgs: ['o1', 'o2'], primaryOrg: 'o2', preferredFirstName: 'A',
      roles: [
        { roleType: 'secondary', role: 'parent', org: 'o1' },
        { roleType: 'primary', role: 'teacher', org: 'o1', userProfile: 'urn:p1', beginDate: '2026-09-01' },
        { roleType: 'primary', role: 'counselor', org: 'o2' },
      ],
      userProfiles: [{ profileId: 'urn:p1', profileType: 'LMS', vendorId: 'v', credentials: [{ type: 'Basic', username: 'ada.lms' }] }],
    },
    lacks: ['username'],
  },
  'a user name by the e-mail address': {
    given: { enabledUser: 'true', givenName: 'A', familyName: 'B', email: 'a@b.example', roles: [{ roleType: 'primary', role: 'principal', org: to('o1') }] },
    values: { username: 'a@b.example', role: 'administrator' },
    lacks: ['username'],
  },
  'a user name by the id, and a role of the provider\u2019s own': {
    given: { enabledUser: 'true', givenName: 'A', familyName: 'B', roles: [{ roleType: 'primary', role: 'ext:librarian', org: to('o1') }] },
    values: { username: 'x1', role: 'aide' },
    lacks: ['username'],
  },
  'a user name that is there': {
    given: { enabledUser: 'true', givenName: 'A', familyName: 'B', username: 'own', roles: [{ roleType: 'primary', role: 'student', org: to('o1') }] },
    values: { username: 'own', role: 'student' },
  },
  'roles of which the type is left out: one is primary at each organisation': {
    given: {
      enabledUser: 'true', givenName: 'A', familyName: 'B', username: 'own',
      roles: [
        { role: 'parent', org: to('o1') },
        { roleType: null, role: 'teacher', org: 'o2' },
        { roleType: '', role: 'aide', org: to('o2') },
        { roleType: 'primary', role: 'teacher', org: to(' o1 ') },
        { roleType: 'secondary', role: 'aide', org: to('o3') },
        { role: 'proctor', org: to('o3') },
      ],
    },
    values: {
      role: 'teacher', orgs: ['o1', 'o2', 'o3'],
      roles: [
        { roleType: 'secondary', role: 'parent', org: 'o1' },
        { roleType: 'primary', role: 'teacher', org: 'o2' },
        { roleType: 'secondary', role: 'aide', org: 'o2' },
        { roleType: 'primary', role: 'teacher', org: 'o1' },
        { roleType: 'secondary', role: 'aide', org: 'o3' },
        { roleType: 'primary', role: 'proctor', org: 'o3' },
      ],
    },
  },
};

test('records of 1.2 are read with what 1.1 shows of them', () => {
  for (const [what, { given, values, lacks }] of Object.entries(second)) {
    const row = createRecordCheck(collections.users, 'v1p2')({ sourcedId: 'x1', ...given }, 7, (problem) => assert.fail(`${what}: ${problem.rule}`));
    assert.ok(!('rejected' in row), what);
    const kept = Object.fromEntries(collections.users.fields.map(({ name }, at) => [name, row.values[at]]));
    assert.deepEqual(Object.fromEntries(Object.keys(values).map((name) => [name, kept[name]])), values, what);
    assert.deepEqual(row.lacks, lacks, what);
  }
  const others: [CollectionName, Record<string, unknown>, string, unknown, string[] | undefined][] = [
    ['classes', { title: '7A', course: to('c1'), school: to('o1'), terms: [to('t1')] }, 'classType', 'scheduled', ['classType']],
    ['classes', { ...required.classes, classType: 'ext:club' }, 'classType', 'ext:club', undefined],
    ['courses', { title: 'Maths' }, 'org', undefined, undefined],
    ['orgs', { name: 'School', type: 'ext:cluster' }, 'type', 'ext:cluster', undefined],
    ['enrollments', { ...required.enrollments, role: 'ext:aide' }, 'role', 'aide', undefined],
    ['demographics', { sex: 'other' }, 'sex', 'other', undefined],
  ];
  for (const [name, given, field, value, lacks] of others) {
    const row = createRecordCheck(collections[name], 'v1p2')({ sourcedId: 'x1', ...given }, 7, (problem) => assert.fail(`${name}: ${problem.rule}`));
    assert.ok(!('rejected' in row));
    assert.deepEqual([row.values[collections[name].fields.findIndex((one) => one.name === field)], row.lacks], [value, lacks], `${name} ${field}`);
  }
});

test('what is wrong with a record of 1.2 is named', () => {
  const role = { roleType: 'primary', role: 'student', org: to('o1') };
  const person = { enabledUser: 'true', givenName: 'A', familyName: 'B' };
  const wrong: [CollectionName, Record<string, unknown>, string, RegExp][] = [
    ['users', person, 'roles', /blank/],
    ['users', { ...person, roles: [] }, 'roles', /blank/],
    ['users', { ...person, status: 'tobedeleted', roles: [{ ...role, org: null }] }, 'roles', /org must not be blank/],
    ['users', { ...person, roles: ['student'] }, 'roles', /an object with roleType, role, org/],
    ['users', { ...person, roles: [{ ...role, roleType: 'main' }] }, 'roles', /roleType must be one of primary, secondary$/],
    ['users', { ...person, roles: [{ ...role, role: 'administrator' }] }, 'roles', /role must be one of aide.*, or a word of your own that begins with ext:/],
    ['users', { ...person, roles: [{ ...role, org: null }] }, 'roles', /org must not be blank/],
    ['users', { ...person, roles: [{ ...role, beginDate: 'soon' }] }, 'roles', /beginDate must be a date/],
    ['users', { ...person, roles: [role], userProfiles: [{ profileId: 'urn:x', vendorId: 'v' }] }, 'userProfiles', /profileType must not be blank/],
    ['enrollments', { ...required.enrollments, role: 'ext:monitor' }, 'role', /administrator, proctor, student, teacher, ext:aide, ext:guardian/],
  ];
  for (const [name, given, column, rule] of wrong) {
    const problems: Problem[] = [];
    const row = createRecordCheck(collections[name], 'v1p2')({ sourcedId: 'x1', ...given }, 7, (problem) => problems.push(problem));
    assert.deepEqual([row, problems.map((one) => one.column)], [{ rejected: 'x1' }, [column]], JSON.stringify(given));
    assert.match(problems[0]?.rule ?? '', rule);
  }
});

test('what is wrong below userProfiles is said without its value, which may be a password', () => {
  const role = { roleType: 'primary', role: 'student', org: to('o1') };
  const profile = { profileId: 'urn:p1', profileType: 'LMS', vendorId: 'v' };
  for (const userProfiles of [
    'hush',
    ['hush'],
    [{ ...profile, vendorId: { password: 'hush' } }],
    [{ ...profile, profileId: 'hush\n1' }],
    [{ ...profile, credentials: ['hush'] }],
    [{ ...profile, credentials: [{ type: 'Basic', username: ['hush'] }] }],
    [{ ...profile, credentials: [{ type: 'Basic', username: 'hush\u0000' }] }],
  ]) {
    const problems: Problem[] = [];
    const record = { sourcedId: 'x1', enabledUser: 'true', givenName: 'A', familyName: 'B', roles: [role], userProfiles };
    createRecordCheck(collections.users, 'v1p2')(record, 7, (problem) => problems.push(problem));
    assert.deepEqual(problems.map(({ column, value }) => [column, value]), [['userProfiles', null]], JSON.stringify(userProfiles));
    assert.doesNotMatch(JSON.stringify(problems), /hush/);
  }
});
