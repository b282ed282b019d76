// Covers the rules for one CSV file and for the manifest: every fault names file, line, column, value and rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csvPackage } from '../../../../test/csv-package.ts';
import { noRoster } from '../../../../test/no-roster.ts';
import { collections } from '../../../roster/collections.ts';
import type { CollectionName } from '../../../roster/resource.ts';
import { Problems, shownValueLength, SourceError, type Problem } from '../../problem.ts';
import type { Mode, SourceRow } from '../../source.ts';
import { createRowCheck } from './check-row.ts';
import { openCsvSource } from './csv-source.ts';

type Cells = Readonly<Record<string, string>>;

/** Headers of the standard, and a row of each file that breaks no rule. */
const headers: Record<CollectionName, string> = {
  orgs: 'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId',
  academicSessions: 'sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear',
  courses: 'sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes',
  classes:
    'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods',
  users:
    'sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,' +
      'email,sms,phone,agentSourcedIds,grades,password',
  enrollments: 'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
  demographics:
    'sourcedId,status,dateLastModified,birthDate,sex,americanIndianOrAlaskaNative,asian,blackOrAfricanAmerican,' +
      'nativeHawaiianOrOtherPacificIslander,white,demographicRaceTwoOrMoreRaces,hispanicOrLatinoEthnicity,countryOfBirthCode,' +
      'stateOfBirthAbbreviation,cityOfBirth,publicSchoolResidenceStatus',
};
const required: Record<CollectionName, Cells> = {
  orgs: { name: 'School', type: 'school' },
  academicSessions: { title: 'Autumn', type: 'term', startDate: '2026-09-01', endDate: '2026-12-19', schoolYear: '2027' },
  courses: { title: 'Maths', orgSourcedId: 'o1' },
  classes: { title: '7A', courseSourcedId: 'c1', classType: 'homeroom', schoolSourcedId: 'o1', termSourcedIds: 't1' },
  users: { enabledUser: 'true', orgSourcedIds: 'o1', role: 'student', username: 'ada', givenName: 'Ada', familyName: 'L' },
  enrollments: { classSourcedId: 'k1', schoolSourcedId: 'o1', userSourcedId: 'u1', role: 'student' },
  demographics: {},
};
const flags = [
  'americanIndianOrAlaskaNative', 'asian', 'blackOrAfricanAmerican', 'nativeHawaiianOrOtherPacificIslander', 'white',
  'demographicRaceTwoOrMoreRaces', 'hispanicOrLatinoEthnicity',
];
const names = Object.keys(headers) as CollectionName[];

function checkCells(name: CollectionName, header: string[], cells: string[], mode: Mode = 'bulk', line = 7) {
  const problems: Problem[] = [];
  const row = createRowCheck(collections[name], mode, { line: 1, cells: header }, 'v1p1')({ line, cells }, (problem) => problems.push(problem));
  return { row, problems };
}

function check(name: CollectionName, given: Cells, mode: Mode = 'bulk') {
  const extra = Object.keys(given).filter((column) => column.startsWith('metadata.'));
  const header = [...headers[name].split(','), ...extra];
  const cells: Cells = {
    sourcedId: 'x1', ...(mode === 'delta' ? { status: 'active', dateLastModified: '2026-09-01T08:00:00.000Z' } : {}), ...required[name], ...given,
  };
  return checkCells(
    name, header, header.map((column) => cells[column] ?? ''), mode,
  );
}

function assertBroken(name: CollectionName, given: Cells, column: string, rule: RegExp, mode: Mode = 'bulk', value = given[column]): void {
  const { row, problems } = check(name, given, mode);
  assert.deepEqual(
    problems.map((problem) => ({ ...problem, rule: '' })),
    [{ file: `${name}.csv`, line: 7, column, value: value ?? '', rule: '' }],
    `${name} ${JSON.stringify(given)}`,
  );
  assert.match(problems[0]?.rule ?? '', rule);
  assert.ok('rejected' in row);
}

function assertFine(name: CollectionName, given: Cells, mode: Mode = 'bulk'): SourceRow {
  const { row, problems } = check(name, given, mode);
  assert.deepEqual(problems, [], `${name} ${JSON.stringify(given)}`);
  assert.ok(!('rejected' in row));
  return row;
}

const valueOf = (name: CollectionName, row: SourceRow, field: string) => row.values[collections[name].fields.findIndex((one) => one.name === field)];

test('rows with nothing but what is required are fine in both modes', () => {
  for (const name of names) for (const mode of ['bulk', 'delta'] as const) assert.equal(assertFine(name, {}, mode).sourcedId, 'x1');
});

test('a header that lacks a column names it', () => {
  for (const name of names) {
    for (const column of headers[name].split(',')) {
      const header = headers[name].split(',').filter((one) => one !== column);
      assert.throws(
        () => checkCells(name, header, []),
        (error) =>
          error instanceof SourceError &&
          error.problem.file === `${name}.csv` &&
          error.problem.line === 1 &&
          error.problem.column === column &&
          /lacks/.test(error.problem.rule),
      );
    }
  }
});

test('a header with an unknown, a misspelt or a doubled column names it', () => {
  const header = headers.users.split(',');
  const refused: [string[], string, RegExp][] = [
    [[...header, 'nickname'], 'nickname', /not a column/],
    [[...header, 'metadata.'], 'metadata.', /not a column/],
    [[...header, ''], '', /not a column/],
    [header.map((one) => (one === 'role' ? 'Role' : one)), 'role', /lacks.*case-sensitive/],
    [[...header, 'role'], 'role', /twice/],
    [[...header, 'metadata.house', 'metadata.house'], 'metadata.house', /twice/],
  ];
  for (const [cells, column, rule] of refused) {
    assert.throws(
      () => checkCells('users', cells, []),
      (error) => error instanceof SourceError && error.problem.line === 1 && error.problem.column === column && rule.test(error.problem.rule),
      cells.join(),
    );
  }
});

test('a row with too few or too many fields is rejected, and its record is known', () => {
  const header = headers.orgs.split(',');
  for (const cells of [['x1'], ['x1', '', '', 'School', 'school', ''], ['x1', '', '', 'School', 'school', '', '', '']]) {
    const { row, problems } = checkCells('orgs', header, cells);
    assert.deepEqual(problems, [{ file: 'orgs.csv', line: 7, column: null, value: null, rule: `the row has ${cells.length} fields, the header 7` }]);
    assert.deepEqual(row, { rejected: 'x1' });
  }
});

test('a blank required cell is rejected, be it empty, spaces or a list of nothing', () => {
  for (const name of names) {
    for (const column of ['sourcedId', ...Object.keys(required[name])]) {
      for (const blank of ['', '  ']) assertBroken(name, { [column]: blank }, column, /blank/, 'bulk', column === 'sourcedId' ? '' : blank);
    }
  }
  for (const list of [',', ' , ,']) {
    assertBroken('users', { orgSourcedIds: list }, 'orgSourcedIds', /blank/);
    assertBroken('classes', { termSourcedIds: list }, 'termSourcedIds', /blank/);
  }
});

test('every enumeration takes its vocabulary and nothing else', () => {
  const roles = ['administrator', 'aide', 'guardian', 'parent', 'proctor', 'relative', 'student', 'teacher'];
  const vocabularies: [CollectionName, string, string[], string[]][] = [
    ['orgs', 'type', ['department', 'school', 'district', 'local', 'state', 'national'], ['School', 'university']],
    ['academicSessions', 'type', ['gradingPeriod', 'semester', 'schoolYear', 'term'], ['gradingperiod', 'half-term']],
    ['classes', 'classType', ['homeroom', 'scheduled'], ['Homeroom', 'club']],
    ['users', 'role', roles, ['pupil', 'Teacher', 'student,teacher']],
    ['enrollments', 'role', ['administrator', 'proctor', 'student', 'teacher'], ['learner', 'TEACHER']],
    ['demographics', 'sex', ['male', 'female'], ['M', 'Female']],
  ];
  for (const [name, column, right, wrong] of vocabularies) {
    for (const value of right) assert.equal(valueOf(name, assertFine(name, { [column]: value }), column), value);
    for (const value of wrong) assertBroken(name, { [column]: value }, column, /must be one of/);
  }
  assertFine('demographics', { sex: '' });
});

test('the status is active or tobedeleted, required in a delta; inactive is read as tobedeleted', () => {
  for (const name of names) {
    for (const mode of ['bulk', 'delta'] as const) {
      for (const status of ['active', 'tobedeleted', 'inactive'])
        assert.equal(assertFine(name, { status }, mode).status, status === 'active' ? 'active' : 'tobedeleted');
      for (const status of ['deleted', 'Active']) assertBroken(name, { status }, 'status', /active or tobedeleted/, mode);
    }
    assert.equal(assertFine(name, { status: '' }).status, 'active');
    assertBroken(name, { status: '' }, 'status', /delta/, 'delta');
    for (const dateLastModified of ['', 'yesterday', '01/09/2026']) assertBroken(name, { dateLastModified }, 'dateLastModified', /date and time/, 'delta');
    for (const dateLastModified of ['2026-09-01', '2026-09-01T08:00:00Z', '2026-09-01T08:00:00.000Z']) assertFine(name, { dateLastModified }, 'delta');
  }
});

test('dates are days of the calendar', () => {
  const columns: [CollectionName, string][] = [
    ['academicSessions', 'startDate'],
    ['academicSessions', 'endDate'],
    ['enrollments', 'beginDate'],
    ['enrollments', 'endDate'],
    ['demographics', 'birthDate'],
  ];
  for (const [name, column] of columns) {
    for (const date of [
      '2026-02-30', '2027-02-29', '01/09/2026', '2026-13-01', '2026-00-10', '2026-9-1', '20260901', '2026-09-01T00:00:00Z', '0000-01-01', '46266',
      'today',
    ])
      assertBroken(name, { [column]: date }, column, /YYYY-MM-DD/);
    for (const date of ['2026-09-01', '2028-02-29', '1999-12-31']) assert.equal(valueOf(name, assertFine(name, { [column]: date }), column), date);
  }
});

test('a school year has four digits', () => {
  for (const schoolYear of ['26', '2026/27', '2026-2027', '20266', 'MMXXVI']) assertBroken('academicSessions', { schoolYear }, 'schoolYear', /YYYY/);
});

test('booleans are true or false in any case', () => {
  for (const [name, column] of [['users', 'enabledUser'], ['enrollments', 'primary'], ...flags.map((flag) => ['demographics', flag] as const)] as [
    CollectionName,
    string,
  ][]) {
    for (const value of ['1', '0', 'yes', 'N', 'wahr']) assertBroken(name, { [column]: value }, column, /true or false/);
    for (const value of ['true', 'false', 'TRUE', 'False']) assert.equal(valueOf(name, assertFine(name, { [column]: value }), column), value.toLowerCase());
  }
});

test('userIds are {Type:Id}, several separated by commas', () => {
  for (const userIds of [
    'LDAP:ada', '{LDAP}', '{LDAP:}', '{:ada}', '{ : }', '{LDAP:ada', '{LDAP:ada}{LTI:7}', '{LDAP:ada};{LTI:7}', '{LDAP:ada},', '{{LDAP:ada}}',
  ])
    assertBroken('users', { userIds }, 'userIds', /\{Type:Id\}/);
  assert.deepEqual(valueOf('users', assertFine('users', { userIds: '{LDAP:ada},{LTI:7}, {Fed:urn:x:1}' }), 'userIds'), [
    { type: 'LDAP', identifier: 'ada' },
    { type: 'LTI', identifier: '7' },
    { type: 'Fed', identifier: 'urn:x:1' },
  ]);
});

test('an id has at most 255 characters, in every column that holds one', () => {
  const columns: [CollectionName, string, boolean][] = [
    ...names.map((name) => [name, 'sourcedId', false] as [CollectionName, string, boolean]),
    ['orgs', 'parentSourcedId', false],
    ['academicSessions', 'parentSourcedId', false],
    ['courses', 'schoolYearSourcedId', false],
    ['courses', 'orgSourcedId', false],
    ['classes', 'courseSourcedId', false],
    ['classes', 'schoolSourcedId', false],
    ['classes', 'termSourcedIds', true],
    ['users', 'orgSourcedIds', true],
    ['users', 'agentSourcedIds', true],
    ['enrollments', 'classSourcedId', false],
    ['enrollments', 'schoolSourcedId', false],
    ['enrollments', 'userSourcedId', false],
  ];
  const [longest, tooLong] = ['a/@-_.'.repeat(43).slice(0, 255), 'i'.repeat(256)];
  for (const [name, column, list] of columns) {
    assertFine(name, { [column]: longest });
    assertBroken(name, { [column]: list ? `ok,${tooLong}` : tooLong }, column, /longer than 255/, 'bulk', tooLong);
  }
});

test('control characters and what a wrong encoding leaves behind are rejected in every column', () => {
  for (const character of ['\u0000', '\u0001', '\u0008', '\u000b', '\u001f', '\ufffd'])
    assertBroken('orgs', { name: `Sch${character}ool` }, 'name', /control characters/);
  for (const name of names) {
    for (const column of headers[name].split(','))
      assert.ok(
        check(name, { [column]: 'a\u0001b' }).problems.some(
          (problem) => problem.column === column && problem.value === (column === 'password' ? null : 'a\u0001b') && /control/.test(problem.rule),
        ),
        `${name} ${column}`,
      );
  }
  assertBroken('users', { 'metadata.house': 'a\u0000b' }, 'metadata.house', /control characters/);
  assert.equal(valueOf('orgs', assertFine('orgs', { name: 'a\tb\r\nc' }), 'name'), 'a\tb\r\nc');
});

test('a text that is far too long is rejected, and a problem shows only its beginning', async () => {
  assertFine('users', { familyName: 'x'.repeat(255) });
  const long = 'x'.repeat(5000);
  assertBroken('users', { familyName: long }, 'familyName', /longer than/);
  const problems = new Problems();
  const source = await openCsvSource(csvPackage({ users: [{ sourcedId: 'u1', ...required.users, familyName: long }] }));
  for (const { read } of source.collections) for await (const batch of read(problems, noRoster)) assert.equal(batch.rows.length, 0);
  assert.equal(problems.listed[0]?.value?.length, shownValueLength);
});

test('every fault of a row is named, not only the first', () => {
  const { row, problems } = check('enrollments', { status: 'gone', role: 'learner', beginDate: 'soon', primary: 'perhaps', userSourcedId: '' });
  assert.deepEqual(problems.map((problem) => problem.column).toSorted(), ['beginDate', 'primary', 'role', 'status', 'userSourcedId']);
  assert.deepEqual(row, { rejected: 'x1' });
});

test('values are read as they are meant: lists, metadata, blanks, columns in another order', () => {
  const row = assertFine('classes', { grades: '07, 08,', termSourcedIds: 't1,t2', subjects: '', 'metadata.set': ' A ', 'metadata.empty': ' ' });
  assert.deepEqual(
    [valueOf('classes', row, 'grades'), valueOf('classes', row, 'terms'), valueOf('classes', row, 'subjects')],
    [['07', '08'], ['t1', 't2'], undefined],
  );
  assert.deepEqual(JSON.parse(row.metadata ?? ''), { set: ' A ' });
  const turned = checkCells('orgs', headers.orgs.split(',').toReversed(), ['', '', 'school', 'School', '', '', 'x1']);
  assert.deepEqual(turned.problems, []);
});

const properties = (changes: Record<string, string | undefined> = {}) => ({
  'manifest.version': '1.0', 'oneroster.version': '1.1', 'file.orgs': 'bulk', 'file.users': 'absent', 'file.results': 'absent', ...changes,
});
const manifestOf = (given: Record<string, string | undefined>) =>
  `propertyName,value\n${Object.entries(given)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name},${value}\n`]))
    .join('')}`;
const goodRows = [{ sourcedId: 'o1', ...required.orgs }];

const manifestFaults: [name: string, manifest: string, at: Partial<Problem>, rule: RegExp][] = [
  ['an empty manifest', '', { file: 'manifest.csv' }, /empty/],
  ['a wrong header', 'name,value\nmanifest.version,1.0\n', { file: 'manifest.csv', line: 1, value: 'name,value' }, /propertyName,value/],
  [
    'a wrong manifest version',
    manifestOf(properties({ 'manifest.version': '2.0' })),
    { file: 'manifest.csv', line: 2, column: 'manifest.version', value: '2.0' },
    /1\.0/,
  ],
  ['no manifest version', manifestOf(properties({ 'manifest.version': undefined })), { file: 'manifest.csv', column: 'manifest.version' }, /1\.0/],
  [
    'a package of OneRoster 1.3',
    manifestOf(properties({ 'oneroster.version': '1.3' })),
    { file: 'manifest.csv', line: 3, column: 'oneroster.version', value: '1.3' },
    /must be 1\.1 or 1\.2 or 1\.2\.1/,
  ],
  ['no OneRoster version', manifestOf(properties({ 'oneroster.version': undefined })), { file: 'manifest.csv', column: 'oneroster.version' }, /1\.1/],
  [
    'a mode that is none',
    manifestOf(properties({ 'file.orgs': 'full' })),
    { file: 'manifest.csv', line: 4, column: 'file.orgs', value: 'full' },
    /absent, bulk or delta/,
  ],
  [
    'a mode in another case',
    manifestOf(properties({ 'file.orgs': 'Bulk' })),
    { file: 'manifest.csv', line: 4, column: 'file.orgs', value: 'Bulk' },
    /absent, bulk or delta/,
  ],
  ['a file that is declared but not there', manifestOf(properties({ 'file.users': 'bulk' })), { file: 'manifest.csv' }, /not in the package/],
  ['a gradebook file that is declared but not there', manifestOf(properties({ 'file.results': 'bulk' })), { file: 'manifest.csv' }, /not in the package/],
  ['a file that is there but declared absent', manifestOf(properties({ 'file.orgs': 'absent' })), { file: 'manifest.csv' }, /absent/],
  ['a file that is there but not declared', manifestOf(properties({ 'file.orgs': undefined })), { file: 'manifest.csv' }, /absent/],
  ['a property given twice', `${manifestOf(properties())}file.orgs,delta\n`, { file: 'manifest.csv', line: 7, column: 'file.orgs' }, /twice/],
];
for (const [name, manifest, at, rule] of manifestFaults) {
  test(`the manifest: ${name} is refused by name`, async () => {
    const error = await openCsvSource(csvPackage({ orgs: goodRows }, { raw: { 'manifest.csv': manifest } })).then(() => undefined, (thrown: unknown) => thrown);
    assert.ok(error instanceof SourceError, `expected a SourceError, got ${String(error)}`);
    assert.deepEqual({ ...error.problem, ...at }, error.problem);
    assert.match(error.problem.rule, rule);
    if (error.problem.file !== 'manifest.csv') assert.equal(error.problem.line, null, 'a line of the manifest is no line of the file that is named');
  });
}

test('the manifest: what it does not know is named, what rostering does not read is ignored, the order is free', async () => {
  const stranger = openCsvSource(csvPackage({ orgs: goodRows }, { raw: { 'Users.csv': 'x' } }));
  await assert.rejects(stranger, (error) => error instanceof SourceError && error.problem.file === 'Users.csv' && /case-sensitive/.test(error.problem.rule));
  const source = await openCsvSource(
    csvPackage(
      { orgs: goodRows },
      {
        raw: {
          'results.csv': 'anything',
          'manifest.csv': manifestOf(Object.fromEntries(Object.entries(properties({ 'file.results': 'delta', 'source.systemName': 'MIS' })).toReversed())),
        },
      },
    ),
  );
  assert.deepEqual([source.collections.map(({ resource, mode }) => [resource.collection, mode]), source.ignored], [[['orgs', 'bulk']], ['results.csv']]);
});

test('a file that is empty, in UTF-16 without a mark, or separated by semicolons is refused by name', async () => {
  const csv = `${headers.orgs}\no1,,,School,school,,\n`;
  for (const content of ['', '\n\n', Buffer.from(csv, 'utf16le'), csv.replaceAll(',', ';'), csv.replaceAll('\n', '\r')]) {
    const source = await openCsvSource(csvPackage({}, { raw: { 'orgs.csv': content } }));
    const reading = (async () => {
      for (const { read } of source.collections) for await (const batch of read(new Problems(), noRoster)) assert.equal(batch.rows.length, 0);
    })();
    await assert.rejects(reading, (error) => error instanceof SourceError && error.problem.file === 'orgs.csv' && error.problem.line === 1);
  }
});
