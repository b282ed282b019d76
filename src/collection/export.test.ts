// Covers the export of a roster as a CSV package: importing it elsewhere gives the same roster again, the active records of
// it or all, exporting that gives the same bytes, and an export that fails leaves no file.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { readRoster } from '../rostering/read-roster.ts';
import { openPackage, type CsvPackage } from './connectors/csv/package.ts';
import { demoPackage } from './connectors/demo/demo-package.ts';
import { exportRoster } from './export.ts';
import type { ExportReading } from './export-rows.ts';

const headers: Record<string, string> = {
  'manifest.csv': 'propertyName,value',
  'academicSessions.csv': 'sourcedId,status,dateLastModified,title,type,startDate,endDate,parentSourcedId,schoolYear',
  'classes.csv':
    'sourcedId,status,dateLastModified,title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods',
  'courses.csv': 'sourcedId,status,dateLastModified,schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes',
  'demographics.csv':
    'sourcedId,status,dateLastModified,birthDate,sex,americanIndianOrAlaskaNative,asian,blackOrAfricanAmerican,' +
      'nativeHawaiianOrOtherPacificIslander,white,demographicRaceTwoOrMoreRaces,hispanicOrLatinoEthnicity,countryOfBirthCode,' +
      'stateOfBirthAbbreviation,cityOfBirth,publicSchoolResidenceStatus',
  'enrollments.csv': 'sourcedId,status,dateLastModified,classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate',
  'orgs.csv': 'sourcedId,status,dateLastModified,name,type,identifier,parentSourcedId',
  'users.csv':
    'sourcedId,status,dateLastModified,enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,' +
      'email,sms,phone,agentSourcedIds,grades,password',
};
const lists = ['orgs', 'academicSessions', 'courses', 'classes', 'users', 'enrollments', 'demographics'];

const service = await useService();
const { db } = service;
const folder = mkdtempSync(join(tmpdir(), 'schoolbell-export-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const newPath = () => join(mkdtempSync(join(folder, 'x')), `${(made += 1)}.zip`);

type Written = { path: string; files: Record<string, string>; counts: Record<string, number>; leftOut: number };

async function exportOf(estab: string, leavers = false): Promise<Written> {
  const path = newPath();
  const { collections: counts, leftOut } = await exportRoster(await readRoster(db, estab), path, { leavers });
  const opened = await openPackage(path);
  const files: Record<string, string> = {};
  for (const [name, file] of opened.files) {
    const pieces: Buffer[] = [];
    for await (const piece of await file.open()) pieces.push(piece as Buffer);
    files[name] = Buffer.concat(pieces).toString();
  }
  await opened.close();
  return { path, files, counts, leftOut };
}

/** Everything that the API shows, dateLastModified aside. */
async function shown(estab: string): Promise<Record<string, unknown[]>> {
  const client = await service.addClient(`reader-of-${estab}-${(made += 1)}`, [estab]);
  const all: Record<string, unknown[]> = {};
  for (const list of lists) {
    const response = await client.b(estab, `/${list}`);
    assert.equal(response.status, 200);
    const records = ((await response.json()) as Record<string, Record<string, unknown>[]>)[list] ?? [];
    assert.equal(response.headers.get('x-total-count'), String(records.length));
    all[list] = records.map((record) => ({ ...record, dateLastModified: typeof record.dateLastModified }));
  }
  return all;
}

/** Without those that left, and without references to them. */
function activeOf(whole: Record<string, unknown[]>): Record<string, unknown[]> {
  type Known = { status: string; sourcedId: string } & Record<string, unknown>;
  const left = new Set(
    Object.entries(whole).flatMap(([list, records]) =>
      list === 'demographics' ? [] : (records as Known[]).filter((one) => one.status !== 'active').map((one) => one.sourcedId),
    ),
  );
  return Object.fromEntries(
    Object.entries(whole).map(([list, records]) => [
      list,
      (records as Known[])
        .filter((one) => one.status === 'active')
        .map((one) => {
          if (!Array.isArray(one.agents)) return one;
          const agents = (one.agents as Known[]).filter((agent) => !left.has(agent.sourcedId));
          return agents.length > 0 ? { ...one, agents } : Object.fromEntries(Object.entries(one).filter(([name]) => name !== 'agents'));
        }),
    ]),
  );
}

const odd = 'say "hi", she said,\r\nand\tleft\n\\N \\. {} NULL 😀 ﬁ é';
const oddId = 'a/b@c_d.e-f%2F é"\'{}\\';
const oddRows: Record<string, Rows> = {
  orgs: [
    {
      sourcedId: oddId, name: odd, type: 'school', identifier: ' spaces ', 'metadata.a,b "c"': odd, 'metadata.2': 'two', 'metadata.10': 'ten',
      'metadata.Ünïcode 😀': '1',
    },
    { sourcedId: '0', name: '"', type: 'local', parentSourcedId: oddId, 'metadata.2': ',' },
  ],
  academicSessions: [
    { sourcedId: 'y@/1', title: odd, type: 'schoolYear', startDate: '2026-09-01', endDate: '2027-07-31', schoolYear: '2027' },
    { sourcedId: 'g', title: "'", type: 'gradingPeriod', startDate: '0099-01-01', endDate: '9999-12-31', parentSourcedId: 'y@/1', schoolYear: '0001' },
  ],
  courses: [
    {
      sourcedId: 'c"1', title: odd, orgSourcedId: oddId, schoolYearSourcedId: 'y@/1', courseCode: '=1+1', grades: '07,Other', subjects: 'a "b",{c}',
      subjectCodes: '\\,NULL',
    },
  ],
  classes: [
    {
      sourcedId: 'k/1', title: odd, courseSourcedId: 'c"1', classType: 'homeroom', schoolSourcedId: oddId, termSourcedIds: 'y@/1,g', location: '\n',
      classCode: odd, periods: '1,2,"',
    },
  ],
  users: [
    {
      sourcedId: oddId, enabledUser: 'false', orgSourcedIds: `${oddId},0`, role: 'student', username: odd,
      userIds: '{LDAP:cn=Ada,ou="x"},{Fed:urn:a:1}', givenName: odd, familyName: ',', middleName: '"', email: 'ö@example.org', sms: '+44',
      phone: ' ', agentSourcedIds: 'p,q/1', grades: '07', password: 'secret', 'metadata.house': 'a\r\nb',
    },
    { sourcedId: 'q/1', enabledUser: 'true', orgSourcedIds: oddId, role: 'relative', username: 'q', givenName: 'Q', familyName: 'Q', agentSourcedIds: oddId },
    { sourcedId: 'p', enabledUser: 'true', orgSourcedIds: '0', role: 'teacher', username: 'p', givenName: 'P', familyName: 'P' },
  ],
  enrollments: [
    {
      sourcedId: 'e@1', classSourcedId: 'k/1', schoolSourcedId: oddId, userSourcedId: oddId, role: 'student', primary: 'false',
      beginDate: '2026-09-01', endDate: '2027-07-31',
    },
    { sourcedId: 'e@2', classSourcedId: 'k/1', schoolSourcedId: '0', userSourcedId: 'p', role: 'teacher', primary: 'true' },
  ],
  demographics: [
    { sourcedId: oddId, birthDate: '2014-02-28', sex: 'female', asian: 'true', white: 'false', cityOfBirth: odd, publicSchoolResidenceStatus: '01652' },
  ],
};

const schools: [name: string, given: () => CsvPackage][] = [['the demo school', demoPackage], ['an awkward school', () => csvPackage(oddRows)]];
for (const [index, [name, given]] of schools.entries()) {
  test(`${name} is the same roster after export and import, and exports to the same bytes`, async () => {
    const [first, second] = [`F${index}`, `G${index}`];
    const report = await service.addSchool(first, given());
    assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
    // Some records leave, so that there is something tobedeleted in every package.
    await service.load(first, csvPackage({ demographics: [{ sourcedId: index === 0 ? 'none' : 'p', sex: 'male' }] }), { partial: true, approve: true });
    const whole = await shown(first);
    const active = activeOf(whole);
    for (const [leavers, expected] of [[true, whole], [false, active]] as const) {
      const to = `${second}${leavers ? '-all' : ''}`;
      const exported = await exportOf(first, leavers);
      const imported = await service.addSchool(to, exported.path);
      assert.equal(imported?.outcome, 'done', JSON.stringify(imported?.problems));
      assert.equal(imported.added, Object.values(exported.counts).reduce((sum, count) => sum + count, 0));
      assert.equal(exported.leftOut, 0);
      assert.deepEqual(await shown(to), expected);
      const again = await exportOf(to, leavers);
      const withoutInstants = (files: Record<string, string>) =>
        Object.fromEntries(Object.entries(files).map(([file, content]) => [file, content.replaceAll(/(active|tobedeleted),[^,]+Z/g, '$1,then')]));
      assert.deepEqual(withoutInstants(again.files), withoutInstants(exported.files));
      assert.deepEqual((await exportOf(first, leavers)).files, exported.files);
      const same = await service.load(first, exported.path);
      assert.deepEqual([same.problems, same.added + same.removed], [[], 0]);
      if (leavers) assert.equal(same.outcome, 'unchanged');
    }
  });
}

test('the files have the headers of the standard, own columns behind them, and no password', async () => {
  const { files } = await exportOf('F1');
  assert.deepEqual(Object.keys(files).toSorted(), Object.keys(headers).toSorted());
  for (const [name, header] of Object.entries(headers)) {
    const own = { 'orgs.csv': ',metadata.10,metadata.2,"metadata.a,b ""c""",metadata.Ünïcode 😀', 'users.csv': ',metadata.house' }[name] ?? '';
    const first = files[name]?.split('\r\n')[0] ?? '';
    assert.ok(first.startsWith(header), `${name}: ${first}`);
    assert.deepEqual(first.slice(header.length).split(',').toSorted(), own.split(',').toSorted());
  }
  assert.ok(!files['users.csv']?.includes('secret'));
});

test('the manifest declares all thirteen files and the versions', async () => {
  await service.addSchool('M1', csvPackage({ orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }] }));
  const { files, counts } = await exportOf('M1');
  assert.deepEqual([Object.keys(files).toSorted(), counts], [['manifest.csv', 'orgs.csv'], { orgs: 1 }]);
  const [header, ...lines] = (files['manifest.csv'] ?? '').trimEnd().split('\r\n');
  assert.equal(header, 'propertyName,value');
  const absent = [
    'academicSessions', 'categories', 'classes', 'classResources', 'courses', 'courseResources', 'demographics', 'enrollments', 'lineItems',
    'resources', 'results', 'users',
  ];
  assert.deepEqual(
    lines.filter((line) => !line.startsWith('source.')).toSorted(),
    ['manifest.version,1.0', 'oneroster.version,1.1', 'file.orgs,bulk', ...absent.map((file) => `file.${file},absent`)].toSorted(),
  );
});

test('a record has only its own metadata, whatever the keys are called', async () => {
  const org = (sourcedId: string, more: Rows[number] = {}) => ({ sourcedId, name: sourcedId, type: 'school', ...more });
  await service.addSchool(
    'M5',
    csvPackage({
      orgs: [org('o1', { 'metadata.constructor': '1', 'metadata.__proto__': '2', 'metadata.toString': '3' }), org('o2', { 'metadata.house': '4' }), org('o3')],
    }),
  );
  const { files } = await exportOf('M5');
  assert.deepEqual(
    (files['orgs.csv'] ?? '')
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) =>
        line
          .split(',')
          .slice(7)
          .filter((cell) => cell !== '')
          .toSorted(),
      ),
    [['1', '2', '3'], ['4'], []],
  );
});

test('an empty roster exports to a manifest alone, which imports', async () => {
  await service.addSchool('M2');
  const { files, path } = await exportOf('M2');
  assert.deepEqual(Object.keys(files), ['manifest.csv']);
  assert.equal((await service.load('M2', path)).outcome, 'unchanged');
});

test('a bulk package holds active records, status and date blank; with leavers it is a delta package, and they stay left', async () => {
  const org = (sourcedId: string) => ({ sourcedId, name: sourcedId, type: 'school' });
  await service.addSchool('M3', csvPackage({ orgs: [org('o1'), org('o2')] }));
  await service.load('M3', csvPackage({ orgs: [org('o1')] }));
  const bulk = await exportOf('M3');
  assert.match(bulk.files['orgs.csv'] ?? '', /^sourcedId[^\r]+\r\no1,,,o1,school,,\r\n$/);
  assert.match(bulk.files['manifest.csv'] ?? '', /^file\.orgs,bulk\r$/m);
  const { files, path } = await exportOf('M3', true);
  const at = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`;
  assert.match(files['orgs.csv'] ?? '', new RegExp(`\\r\\no1,active,${at},o1,school,,\\r\\no2,tobedeleted,${at},o2,school,,\\r\\n$`));
  assert.match(files['manifest.csv'] ?? '', /^file\.orgs,delta\r$/m);
  await service.addSchool('M4', path);
  const rows = await db`select sourced_id, status from roster_org where estab = 'M4' order by 1`;
  assert.deepEqual(rows.map((row) => [row.sourced_id, row.status]), [['o1', 'active'], ['o2', 'tobedeleted']]);
});

test('a bulk package is whole in itself: references to what left are left out, with what cannot be without them', async () => {
  const person = (sourcedId: string, more: Rows[number] = {}) => ({
    sourcedId, enabledUser: 'true', orgSourcedIds: 'o1,o2', role: 'student', username: sourcedId, givenName: 'G', familyName: 'F', ...more,
  });
  const everything = {
    orgs: ['o1', 'o2'].map((sourcedId) => ({ sourcedId, name: sourcedId, type: 'school' })),
    academicSessions: [{ sourcedId: 't', title: 't', type: 'term', startDate: '2026-09-01', endDate: '2027-07-31', schoolYear: '2027' }],
    courses: ['c1', 'c2'].map((sourcedId) => ({ sourcedId, title: sourcedId, orgSourcedId: 'o1' })),
    classes: ['c1', 'c2'].map((courseSourcedId, at) => ({
      sourcedId: `k${at + 1}`, title: 'K', courseSourcedId, classType: 'scheduled', schoolSourcedId: 'o1', termSourcedIds: 't',
    })),
    users: [person('u1', { agentSourcedIds: 'u2' }), person('u2')],
    enrollments: ['k1', 'k2'].map((classSourcedId) => ({
      sourcedId: `e-${classSourcedId}`, classSourcedId, schoolSourcedId: 'o1', userSourcedId: 'u1', role: 'student',
    })),
    demographics: [{ sourcedId: 'u1', sex: 'male' }, { sourcedId: 'u2', sex: 'male' }],
  };
  await service.addSchool('M6', csvPackage(everything));
  const leaving = (rows: Rows, id: string) =>
    rows.filter(({ sourcedId }) => sourcedId === id).map((row) => ({ ...row, status: 'tobedeleted', dateLastModified: '2026-11-01T00:00:00.000Z' }));
  const { orgs, courses, users } = everything;
  const gone = csvPackage({ orgs: leaving(orgs, 'o2'), courses: leaving(courses, 'c2'), users: leaving(users, 'u2') }, { mode: 'delta' });
  assert.equal((await service.load('M6', gone)).removed, 3);
  const { path, counts, leftOut, files } = await exportOf('M6');
  assert.deepEqual(counts, { orgs: 1, academicSessions: 1, courses: 1, classes: 1, users: 1, enrollments: 1, demographics: 1 });
  assert.equal(leftOut, 3, 'the class of the course, its enrolment, and the details of the person');
  assert.match(files['users.csv'] ?? '', /\r\nu1,,,true,o1,student,u1,,G,F,,,,,,,,\r\n$/);
  const imported = await service.addSchool('M7', path);
  assert.deepEqual([imported?.outcome, imported?.problems], ['done', []]);
});

const failures: [name: string, change: (reading: ExportReading) => Partial<ExportReading>][] = [
  ['the counts', () => ({ count: async () => Promise.reject(new Error('the database is gone')) })],
  ['the metadata keys', () => ({ metadataKeys: async () => Promise.reject(new Error('the database is gone')) })],
  ['the first records', () => ({ records: () => { throw new Error('the database is gone'); } })],
  ['records in the middle', (reading) => ({ records: async function* (resource, status) {
    yield* reading.records(resource, status);
    if (resource.collection === 'users') throw new Error('the database is gone');
  } })],
];
for (const [name, change] of failures) {
  test(`an export that fails while it reads ${name} says so and leaves no file`, { timeout: 120_000 }, async () => {
    const path = newPath();
    const reading = await readRoster(db, 'F1');
    await assert.rejects(exportRoster({ ...reading, ...change(reading) }, path), /the database is gone/);
    await pause(100);
    assert.deepEqual(readdirSync(join(path, '..')), []);
  });
}

test('an export into a folder that is not there says so', { timeout: 120_000 }, async () => {
  await assert.rejects(exportRoster(await readRoster(db, 'F1'), join(folder, 'missing', 'x.zip')), /x\.zip: its folder does not exist/);
});

test('an export onto a folder says so and leaves no file', { timeout: 120_000 }, async () => {
  const taken = newPath();
  mkdirSync(join(taken, 'inside'), { recursive: true });
  await assert.rejects(exportRoster(await readRoster(db, 'F1'), taken));
  assert.equal(readdirSync(join(taken, '..')).length, 1);
});

test('an export replaces the file that is there, whole or not at all', async () => {
  const path = newPath();
  writeFileSync(path, 'an older export');
  const reading = await readRoster(db, 'F1');
  await exportRoster(reading, path);
  const opened = await openPackage(path);
  assert.equal(opened.files.size, 8);
  await opened.close();
});
