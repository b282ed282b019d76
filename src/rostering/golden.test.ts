// Every operation in every dialect, on the small school of test/fixtures: each answer is compared with one that was
// reviewed against the CSV and committed in golden/<dialect>/<operation>.json, and with the schema that documents it.
// After an intended change, `UPDATE_GOLDEN=1 node_modules/.bin/node --test src/rostering/golden.test.ts` writes the
// answers anew; read the difference before committing it.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import Papa from 'papaparse';
import { createValidate, readDocuments, successOf } from '../../test/described.ts';
import { asking, byName, testedDialects, type TestedDialect } from '../../test/dialects.ts';
import { useService } from '../../test/service.ts';
import { listOperations } from '../reference/document.ts';
import { operations } from './operations.ts';

const estab = '8881001';
const updating = process.env.UPDATE_GOLDEN === '1';
const fixture = join(import.meta.dirname, '../../test/fixtures/small-school');
/** A school whose package is of OneRoster 1.2, with every field that there is. */
const second = '8881002';
const secondFixture = join(import.meta.dirname, '../../test/fixtures/school-1p2');
const goldenFolder = join(import.meta.dirname, 'golden');

const north = 'sch/north@ashdown';
const maths = '9A/Ma1@north';

/** The standard's operation, path and wrapper, then the ids that the golden answer was asked with. */
type Row = [name: string, path: string, wrapper: string, ...ids: string[]];

const standard: Row[] = [
  ['getAllAcademicSessions', '/academicSessions', 'academicSessions'],
  ['getAcademicSession', '/academicSessions/{}', 'academicSession', 'Y2027'],
  ['getAllClasses', '/classes', 'classes'],
  ['getClass', '/classes/{}', 'class', maths],
  ['getAllCourses', '/courses', 'courses'],
  ['getCourse', '/courses/{}', 'course', 'crs-french'],
  ['getAllGradingPeriods', '/gradingPeriods', 'academicSessions'],
  ['getGradingPeriod', '/gradingPeriods/{}', 'academicSession', 'gp-old'],
  ['getAllDemographics', '/demographics', 'demographics'],
  ['getDemographics', '/demographics/{}', 'demographics', 'stu/001@north'],
  ['getAllEnrollments', '/enrollments', 'enrollments'],
  ['getEnrollment', '/enrollments/{}', 'enrollment', 'enr-02'],
  ['getAllOrgs', '/orgs', 'orgs'],
  ['getOrg', '/orgs/{}', 'org', 'trust'],
  ['getAllSchools', '/schools', 'orgs'],
  ['getSchool', '/schools/{}', 'org', north],
  ['getAllStudents', '/students', 'users'],
  ['getStudent', '/students/{}', 'user', 'stu-002'],
  ['getAllTeachers', '/teachers', 'users'],
  ['getTeacher', '/teachers/{}', 'user', 'tch-1'],
  ['getAllTerms', '/terms', 'academicSessions'],
  ['getTerm', '/terms/{}', 'academicSession', 'T1-27'],
  ['getAllUsers', '/users', 'users'],
  ['getUser', '/users/{}', 'user', 'stu/001@north'],
  ['getCoursesForSchool', '/schools/{}/courses', 'courses', north],
  ['getEnrollmentsForClassInSchool', '/schools/{}/classes/{}/enrollments', 'enrollments', north, maths],
  ['getStudentsForClassInSchool', '/schools/{}/classes/{}/students', 'users', north, maths],
  ['getTeachersForClassInSchool', '/schools/{}/classes/{}/teachers', 'users', north, maths],
  ['getEnrollmentsForSchool', '/schools/{}/enrollments', 'enrollments', 'sch-south'],
  ['getStudentsForSchool', '/schools/{}/students', 'users', north],
  ['getTeachersForSchool', '/schools/{}/teachers', 'users', north],
  ['getTermsForSchool', '/schools/{}/terms', 'academicSessions', 'sch-south'],
  ['getClassesForTerm', '/terms/{}/classes', 'classes', 'T2-27'],
  ['getGradingPeriodsForTerm', '/terms/{}/gradingPeriods', 'academicSessions', 'T1-27'],
  ['getClassesForCourse', '/courses/{}/classes', 'classes', 'crs-french'],
  ['getClassesForStudent', '/students/{}/classes', 'classes', 'stu/001@north'],
  ['getClassesForTeacher', '/teachers/{}/classes', 'classes', 'tch-1'],
  ['getClassesForSchool', '/schools/{}/classes', 'classes', 'sch-south'],
  ['getClassesForUser', '/users/{}/classes', 'classes', 'tch-2'],
  ['getStudentsForClass', '/classes/{}/students', 'users', maths],
  ['getTeachersForClass', '/classes/{}/teachers', 'users', '9B-Fr'],
];

/** What is asked of the second school, with its own ids; every list is asked for as it is. */
const ofSecond: Readonly<Record<string, readonly string[]>> = {
  getAcademicSession: ['S1'], getClass: ['chess'], getCourse: ['crs-ger'], getGradingPeriod: ['G1'], getDemographics: ['stu-1'], getEnrollment: ['e3'],
  getOrg: ['camp/1'], getSchool: ['sch-west'], getStudent: ['stu-1'], getTeacher: ['tch/01@7'], getTerm: ['T1'], getUser: ['tch/01@7'],
  getCoursesForSchool: ['sch-west'], getEnrollmentsForClassInSchool: ['sch/east@7', '10A'], getStudentsForClassInSchool: ['sch/east@7', '10A'],
  getTeachersForClassInSchool: ['sch/east@7', '10A'], getEnrollmentsForSchool: ['sch/east@7'], getStudentsForSchool: ['sch-west'],
  getTeachersForSchool: ['sch/east@7'], getTermsForSchool: ['sch/east@7'], getClassesForTerm: ['T1'], getGradingPeriodsForTerm: ['T1'],
  getClassesForCourse: ['crs-ger'], getClassesForStudent: ['stu-1'], getClassesForTeacher: ['tch/01@7'], getClassesForSchool: ['sch-west'],
  getClassesForUser: ['proc-1'], getStudentsForClass: ['10A'], getTeachersForClass: ['10A'],
};

const ofVariantA = ['Org', 'User', 'Class', 'Course', 'Enrollment', 'AcademicSession']
  .map((one) => `get${one}`)
  .concat(['Orgs', 'Users', 'Classes', 'Courses', 'Enrollments', 'AcademicSessions'].map((many) => `getAll${many}`));

const service = await useService();
const importStarted = Date.now();
const report = await service.addSchool(estab, fixture);
const secondReport = await service.addSchool(second, secondFixture);
const client = await service.addClient('app', [estab]);
const secondClient = await service.addClient('second', [second]);
const read = (dialect: TestedDialect, path: string, school = estab) => dialect.read(school === second ? secondClient : client, school, path);
const documents = await readDocuments(service.app);
const validators = new Map(testedDialects.map(({ name, surface }) => [name, createValidate(documents[surface])]));

const fill = (path: string, ids: readonly string[]) => ids.reduce((filled, id) => filled.replace('{}', encodeURIComponent(id)), path);
const folderOf = ({ suffix }: TestedDialect, school = estab) => (school === estab ? suffix.toLowerCase() : `school-1p2-${suffix.toLowerCase()}`);

test('the fixture is as awkward as it is meant to be, and loads whole', () => {
  const text = (file: string) => readFileSync(join(fixture, file), 'utf8');
  assert.ok(text('users.csv').startsWith('\uFEFF'), 'a byte order mark');
  for (const file of readdirSync(fixture)) assert.ok(!/[^\r]\n/.test(text(file)), `${file}: CRLF`);
  assert.equal(report?.outcome, 'done');
  assert.deepEqual(report?.problems, []);
  assert.equal(report?.added, 7 + 9 + 6 + 7 + 12 + 13 + 4);
});

test('the fixture of 1.2 has every column filled somewhere, and loads whole', () => {
  assert.deepEqual([secondReport?.outcome, secondReport?.problems], ['done', []]);
  for (const file of readdirSync(secondFixture).filter((one) => one !== 'manifest.csv')) {
    const text = readFileSync(join(secondFixture, file), 'utf8').replace('\uFEFF', '');
    const { data: [header = [], ...rows] } = Papa.parse<string[]>(text, { skipEmptyLines: true });
    assert.deepEqual(header.filter((_, at) => rows.every((row) => row[at] === '')), [], file);
  }
});

test('the operations are the 41 of the standard', () => {
  assert.equal(standard.length, 41);
  const named = (list: readonly (readonly [string, string])[]) => list.map(([name, path]) => `${name} ${path}`).sort();
  assert.deepEqual(
    named(operations.map(({ name, path }) => [name, path.replace(/:\w+/g, '{}')] as const)),
    named(standard.map(([name, path]) => [name, path] as const)),
  );
});

test('variant A offers twelve of them, variant B and 1.2 all', () => {
  assert.deepEqual(byName.A.offered.map(({ name }) => name).sort(), ofVariantA.toSorted());
  for (const { offered } of asking) assert.equal(offered.length, 41);
});

for (const dialect of testedDialects) {
  for (const [name, path, wrapper, ...ids] of standard) {
    if (dialect.asksFreely || ofVariantA.includes(name)) test(`${dialect.name} ${name}`, () => checkGolden(dialect, name, fill(path, ids), wrapper));
  }
}

for (const dialect of asking) {
  for (const [name, path, wrapper] of standard)
    test(`${dialect.name} ${name}, of a school whose source is 1.2`, () => checkGolden(dialect, name, fill(path, ofSecond[name] ?? []), wrapper, second));
}

async function checkGolden(dialect: TestedDialect, name: string, path: string, wrapper: string, school = estab): Promise<void> {
  const response = await read(dialect, path, school);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(response.headers.get('link'), null, 'a whole list is not paged');
  const body: unknown = JSON.parse(text);
  checkSchema(dialect, name, wrapper, body);
  checkInstants(text);

  const total = response.headers.get('x-total-count');
  const golden = { request: `GET ${path}`, ...(total === null ? {} : { total }), body };
  const rendered = `${JSON.stringify(golden, null, 2)}\n`
    .replace(/("dateLastModified": )"[^"]*"/g, '$1"{instant of the import}"')
    .replaceAll(service.url, '{base}');
  const folder = join(goldenFolder, folderOf(dialect, school));
  const file = join(folder, `${name}.json`);
  if (updating) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, rendered);
  }
  assert.deepEqual(JSON.parse(rendered), JSON.parse(readFileSync(file, 'utf8')));
}

function checkSchema({ name: dialect, suffix, surface }: TestedDialect, name: string, wrapper: string, body: unknown): void {
  const operation = listOperations(documents[surface].paths).find((one) => one.operation.operationId === `${name}_${suffix}`)?.operation;
  assert.ok(operation, `${name} is described`);
  const { schema } = successOf(operation);
  assert.ok(schema);
  assert.deepEqual(schema.required, [wrapper]);
  assert.deepEqual(validators.get(dialect)?.(schema, body), []);
}

/** All records came with one import, whatever the source said about some of them. */
function checkInstants(text: string): void {
  const instants = new Set([...text.matchAll(/"dateLastModified":"([^"]*)"/g)].map((match) => match[1] ?? ''));
  assert.equal(instants.size, 1);
  for (const instant of instants) assert.ok(Date.parse(instant) >= importStarted && Date.parse(instant) <= Date.now(), instant);
}

test('the variants give the same records, each with references under its own root', async () => {
  for (const [name, path, , ...ids] of standard.filter(([name]) => ofVariantA.includes(name))) {
    const { A, B } = byName;
    const [a, b] = [await (await read(A, fill(path, ids))).text(), await (await read(B, fill(path, ids))).text()];
    assert.ok(!a.includes(`${service.url}${B.root}`), name);
    assert.equal(a.replaceAll(`${service.url}${A.root}`, `${service.url}${B.root}`), b, name);
  }
});

test('every reference leads to the record it names, in the variant that gave it', async () => {
  for (const dialect of testedDialects) {
    const text = (
      await Promise.all(
        ['orgs', 'users', 'classes', 'courses', 'enrollments', 'academicSessions'].map(async (collection) => (await read(dialect, `/${collection}`)).text()),
      )
    ).join('');
    const references = new Map(
      [...text.matchAll(/\{"href":"([^"]*)","sourcedId":"([^"]*)","type":"([^"]*)"\}/g)].map(([, href = '', sourcedId = '', type = '']) => [
        href,
        { sourcedId, type },
      ]),
    );
    assert.ok(references.size > 25);
    const authorization = `Bearer ${await dialect.token(client, estab)}`;
    for (const [href, { sourcedId, type }] of references) {
      const response = await fetch(href, { headers: { authorization } });
      assert.equal(response.status, 200, href);
      assert.equal(((await response.json()) as Record<string, { sourcedId: string }>)[type]?.sourcedId, sourcedId);
    }
  }
});

test('a record of another sub-type, an unknown parent and a class of another school are not there', async () => {
  const missing = [
    '/schools/trust', '/students/tch-1', '/teachers/Adm-1', '/terms/Y2027', '/gradingPeriods/T1-27', '/users/nobody', '/demographics/tch-1',
    '/schools/dep-MATHS/classes', '/schools/nowhere/courses', '/terms/GP1-27/classes', '/courses/none/classes', '/students/par-1/classes',
    '/teachers/stu-002/classes', '/users/nobody/classes', '/classes/none/students', '/schools/sch-south/classes/9B-Fr/students',
    '/schools/nowhere/classes/9B-Fr/teachers',
  ];
  for (const path of missing) for (const dialect of asking) assert.equal((await read(dialect, path)).status, 404, `${dialect.name} ${path}`);
});

test('a list that nothing belongs to is an empty list', async () => {
  for (const [path, wrapper] of [
    ['/users/par-1/classes', 'classes'],
    ['/terms/T3-27/gradingPeriods', 'academicSessions'],
    ['/classes/9B-Mu/teachers', 'users'],
    ['/courses/crs-latin/classes', 'classes'],
  ] as const) {
    for (const dialect of asking) {
      const response = await read(dialect, path);
      assert.equal(response.headers.get('x-total-count'), '0');
      assert.equal(await response.text(), `{"${wrapper}":[]}`);
    }
  }
});

test('no golden answer is left over, and none holds a password', () => {
  const files = (folder: string) => readdirSync(join(goldenFolder, folder)).sort();
  assert.deepEqual(files('a'), ofVariantA.map((name) => `${name}.json`).sort());
  for (const folder of ['b', '1p2', 'school-1p2-b', 'school-1p2-1p2']) assert.deepEqual(files(folder), standard.map(([name]) => `${name}.json`).sort());
  assert.ok(readFileSync(join(fixture, 'users.csv'), 'utf8').includes('hunter2'));
  assert.ok(readFileSync(join(secondFixture, 'users.csv'), 'utf8').includes('secret-never-leaves'));
  for (const folder of readdirSync(goldenFolder))
    for (const file of files(folder)) assert.ok(!/hunter2|secret-never-leaves|"password":/i.test(readFileSync(join(goldenFolder, folder, file), 'utf8')), file);
});
