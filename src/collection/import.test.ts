// Covers imports on a real database: bulk and delta, references, partial imports, the deletion guard, what is derived,
// and that an import which fails in any way leaves the roster exactly as it was.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { csvPackage, type PackageOptions, type Rows } from '../../test/csv-package.ts';
import { heardStatements } from '../../test/heard-statements.ts';
import { attendanceCsv } from '../../test/small-school.ts';
import { until } from '../../test/until.ts';
import { useService } from '../../test/service.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { connect } from '../db/connect.ts';
import { openCsvSource } from './connectors/csv/csv-source.ts';
import type { CsvPackage, PackageFile } from './connectors/csv/package.ts';
import { importRoster } from './import.ts';
import type { ImportReport } from './import-report.ts';
import { listedProblems, type Problem } from './problem.ts';

type Row = Rows[number];
type Files = Partial<Record<CollectionName, Rows>>;

const service = await useService();
const { db } = service;
let schools = 0;

const user = (sourcedId: string, role: string, more: Row = {}): Row => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'o1', role, username: sourcedId, givenName: 'Given', familyName: `Family ${sourcedId}`, ...more,
});
const enrolment = (sourcedId: string, userSourcedId: string, classSourcedId: string, role = 'student'): Row => ({
  sourcedId, userSourcedId, classSourcedId, schoolSourcedId: 'o1', role,
});
const schoolClass = (sourcedId: string, more: Row = {}): Row => ({
  sourcedId, title: sourcedId, courseSourcedId: 'c1', classType: 'scheduled', schoolSourcedId: 'o1', termSourcedIds: 't1', ...more,
});
const many = (count: number, make: (id: string) => Row, prefix: string) =>
  Array.from({ length: count }, (_, at) => make(`${prefix}${String(at + 1).padStart(4, '0')}`));
const gone = (row: Row): Row => ({ ...row, status: 'tobedeleted', dateLastModified: '2026-09-01T08:00:00.000Z' });
const live = (row: Row): Row => ({ ...row, status: 'active', dateLastModified: '2026-09-01T08:00:00.000Z' });

/** A whole small school of 18 records. */
const small: Record<CollectionName, Row[]> = {
  orgs: [
    { sourcedId: 'd1', name: 'District', type: 'district' },
    { sourcedId: 'o1', name: 'School', type: 'school', parentSourcedId: 'd1' },
  ],
  academicSessions: [
    { sourcedId: 'y1', title: 'Year', type: 'schoolYear', startDate: '2026-09-01', endDate: '2027-07-31', schoolYear: '2027' },
    { sourcedId: 't1', title: 'Term', type: 'term', startDate: '2026-09-01', endDate: '2026-12-31', parentSourcedId: 'y1', schoolYear: '2027' },
  ],
  courses: [{ sourcedId: 'c1', title: 'Maths', orgSourcedId: 'o1', schoolYearSourcedId: 'y1' }],
  classes: [schoolClass('k1'), schoolClass('k2')],
  users: [
    user('p1', 'student', { agentSourcedIds: 'a1' }), user('p2', 'student'), user('p3', 'student'), user('s1', 'teacher'),
    user('a1', 'parent', { agentSourcedIds: 'p1' }),
  ],
  enrollments: [enrolment('e1', 'p1', 'k1'), enrolment('e2', 'p2', 'k1'), enrolment('e3', 'p3', 'k2'), enrolment('e4', 's1', 'k1', 'teacher')],
  demographics: [{ sourcedId: 'p1', sex: 'female' }, { sourcedId: 'p2', sex: 'male', birthDate: '2014-02-28' }],
};
const smallCount = 18;

async function newSchool(files: Files = small): Promise<string> {
  const estab = `S${(schools += 1)}`;
  const report = await service.addSchool(estab, csvPackage(files));
  assert.equal(report?.outcome, 'done', JSON.stringify(report?.problems));
  return estab;
}

const load = (estab: string, files: Files, options: PackageOptions & { partial?: boolean; force?: boolean; approve?: boolean } = {}) =>
  service.load(estab, csvPackage(files, options), options);
const numbers = ({ added, changed, removed, unchanged, rejected }: ImportReport) => ({ added, changed, removed, unchanged, rejected });
const none = { added: 0, changed: 0, removed: 0, unchanged: 0, rejected: 0 };

/** Everything that is kept of a roster, its history of imports aside. */
async function contents(estab: string): Promise<Record<string, unknown[]>> {
  const tables: Record<string, unknown[]> = {};
  for (const table of ['establishment', 'roster', 'roster_version', 'roster_total', 'roster_milestone', ...allResources.map((resource) => resource.table)])
    tables[table] = [...(await db`select to_jsonb(t) as row from ${db(table)} t where estab = ${estab} order by to_jsonb(t)::text collate "C"`)];
  return tables;
}

async function statuses(estab: string, name: CollectionName): Promise<Record<string, string>> {
  const rows = await db<
    { id: string; status: string }[]
  >`select sourced_id as id, status from ${db(collections[name].table)} where estab = ${estab} order by sourced_id`;
  return Object.fromEntries(rows.map(({ id, status }) => [id, status]));
}

const versionsOf = async (estab: string, name: CollectionName) =>
  Object.fromEntries(
    (await db`select sourced_id, version from ${db(collections[name].table)} where estab = ${estab}`).map((row) => [
      row.sourced_id as string,
      row.version as number,
    ]),
  );
const find = (report: ImportReport, wanted: Partial<Problem>) =>
  report.problems.find((problem) => Object.entries(wanted).every(([key, value]) => problem[key as keyof Problem] === value));

async function assertRefused(estab: string, work: () => Promise<ImportReport>, outcome: 'refused' | 'held' = 'refused'): Promise<ImportReport> {
  const before = await contents(estab);
  const report = await work();
  assert.equal(report.outcome, outcome, JSON.stringify(report.problems.slice(0, 3)));
  assert.deepEqual(await contents(estab), before);
  assert.deepEqual({ ...numbers(report), rejected: 0 }, none);
  return report;
}

// Stands first: the first school must be the first that the database has.
test('for a second school the database reads about as many rows as for the first', async () => {
  const people = many(2000, (id) => user(id, 'student'), 'u');
  const files = {
    ...small,
    users: [...small.users, ...people],
    enrollments: people.flatMap((person) => many(4, (id) => enrolment(`${person.sourcedId}-${id}`, person.sourcedId ?? '', 'k1'), 'e')),
  };
  const [first, second] = [await rowsReadFor(files), await rowsReadFor(files)];
  assert.ok(first > 10_000 && second < 3 * first, `${first} for the first, ${second} for the second`);
});

/** What the import of a new school makes the database go through, index entries and staged rows included. */
async function rowsReadFor(files: Files): Promise<number> {
  const statistics = () => db<{ rows: number }[]>`select tup_returned::float8 as rows from pg_stat_database where datname = current_database()`;
  const read = async () => (await statistics())[0]?.rows ?? 0;
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab);
  const before = await read();
  const counted = connect(service.databaseUrl, { max: 4, name: 'counted' });
  const options = { estab, dataDir: service.dataDir, partial: false, force: false, shrinkLimitPercent: 20 };
  const report = await importRoster(counted, () => openCsvSource(csvPackage(files)), options);
  assert.equal(report.outcome, 'done', JSON.stringify(report.problems));
  // A connection says what it read when it ends.
  await counted.end({ timeout: 60 });
  await until('its connections have ended', async () => (await db`select from pg_stat_activity where application_name like '%counted%'`).length === 0);
  return (await read()) - before;
}

test('a first import adds everything, counts every collection, and sets the connector', async () => {
  const estab = `S${(schools += 1)}`;
  await service.addSchool(estab);
  await assertRefused(estab, () => load(estab, { users: small.users }));
  const report = await load(estab, small);
  assert.deepEqual(numbers(report), { ...none, added: smallCount });
  assert.equal(report.outcome, 'done');
  assert.equal(report.version, 1);
  for (const [name, rows] of Object.entries(small)) assert.deepEqual(report.collections[name as CollectionName], { mode: 'bulk', ...none, added: rows.length });
  assert.equal((await db`select connector from establishment where estab = ${estab}`)[0]?.connector, 'csv');
  const totals = await db`select collection, kind, status, count from roster_total where estab = ${estab} order by collection, kind`;
  assert.deepEqual(
    totals.map((row) => `${row.collection} ${row.kind} ${row.status} ${row.count}`),
    [
      'academicSessions other active 1', 'academicSessions term active 1', 'classes class active 2', 'courses course active 1',
      'demographics student active 2', 'enrollments student active 3', 'enrollments teacher active 1', 'orgs other active 1', 'orgs school active 1',
      'users contact active 1', 'users student active 3', 'users teacher active 1',
    ],
  );
});

test('an equal package changes nothing, in whatever order its rows are', async () => {
  const estab = await newSchool();
  const before = await contents(estab);
  for (const files of [small, Object.fromEntries(Object.entries(small).map(([name, rows]) => [name, rows.toReversed()]))]) {
    const report = await load(estab, files);
    assert.deepEqual([report.outcome, report.version, numbers(report)], ['unchanged', 1, { ...none, unchanged: smallCount }]);
    assert.deepEqual(await contents(estab), before);
  }
});

test('a bulk import adds, changes, removes and leaves alone, and its numbers add up', async () => {
  const estab = await newSchool();
  const report = await load(estab, {
    users: [
      user('p1', 'student', { agentSourcedIds: 'a1' }), user('p2', 'student', { email: 'new@example.org' }), user('s1', 'teacher'),
      user('a1', 'parent', { agentSourcedIds: 'p1' }), user('p4', 'student'),
    ],
    enrollments: [enrolment('e1', 'p1', 'k2'), enrolment('e2', 'p2', 'k1'), enrolment('e4', 's1', 'k1', 'teacher'), enrolment('e5', 'p4', 'k1')],
    demographics: [{ sourcedId: 'p1', sex: 'female' }],
  });
  assert.equal(report.outcome, 'done');
  assert.deepEqual(report.collections.users, { mode: 'bulk', ...none, added: 1, changed: 1, removed: 1, unchanged: 3 });
  assert.deepEqual(report.collections.enrollments, { mode: 'bulk', ...none, added: 1, changed: 1, removed: 1, unchanged: 2 });
  assert.deepEqual(report.collections.demographics, { mode: 'bulk', ...none, removed: 1, unchanged: 1 });
  assert.deepEqual(numbers(report), { added: 2, changed: 2, removed: 3, unchanged: 6, rejected: 0 });
  assert.deepEqual(await statuses(estab, 'users'), { a1: 'active', p1: 'active', p2: 'active', p3: 'tobedeleted', p4: 'active', s1: 'active' });
  assert.deepEqual(await versionsOf(estab, 'users'), { a1: 1, p1: 1, p2: 2, p3: 2, p4: 2, s1: 1 });
  const back = await load(estab, small);
  assert.deepEqual(await statuses(estab, 'users'), { a1: 'active', p1: 'active', p2: 'active', p3: 'active', p4: 'tobedeleted', s1: 'active' });
  assert.equal(back.removed, 2);
});

test('dateLastModified is one instant for all that an import changed, later than the one before', async () => {
  const estab = await newSchool();
  const client = await service.addClient('clock-watcher', [estab]);
  await db`update roster_version set instant = now() + interval '1 hour' where estab = ${estab}`;
  await load(estab, { users: small.users.map((row) => ({ ...row, phone: '1' })), enrollments: small.enrollments.slice(1) });
  const changed = async (path: string) =>
    Object.values((await (await client.b(estab, path)).json()) as Record<string, { dateLastModified: string }[]>)
      .flat()
      .map((one) => one.dateLastModified);
  const stamps = new Set([...(await changed('/users')), ...(await changed("/enrollments?filter=status%3D'tobedeleted'"))]);
  assert.equal(stamps.size, 1);
  assert.ok(Date.parse([...stamps].join()) > Date.now() + 59 * 60_000);
});

test('absent files and delta files without rows remove nothing', async () => {
  const estab = await newSchool();
  const before = await contents(estab);
  const absent = await load(estab, { orgs: small.orgs });
  assert.deepEqual([absent.outcome, numbers(absent)], ['unchanged', { ...none, unchanged: 2 }]);
  const noChanges = await load(estab, { users: [], enrollments: [] }, { mode: 'delta' });
  assert.deepEqual([noChanges.outcome, noChanges.ignored], ['unchanged', ['users.csv (no rows)', 'enrollments.csv (no rows)']]);
  const alone = await load(estab, {});
  assert.equal(alone.outcome, 'unchanged');
  assert.deepEqual(await contents(estab), before);
});

test('a bulk row may be marked tobedeleted, and inactive means the same', async () => {
  const estab = await newSchool();
  const report = await load(estab, {
    users: [
      ...small.users.slice(0, 3).map((row, at) => (at === 0 ? row : { ...row, status: at === 1 ? 'tobedeleted' : 'inactive' })),
      ...small.users.slice(3),
      { ...user('p9', 'student'), status: 'tobedeleted' },
    ],
  });
  assert.deepEqual(report.collections.users, { mode: 'bulk', ...none, added: 1, removed: 2, unchanged: 3 });
  assert.deepEqual(await statuses(estab, 'users'), { a1: 'active', p1: 'active', p2: 'tobedeleted', p3: 'tobedeleted', p9: 'tobedeleted', s1: 'active' });
});

test('a delta changes what it names and nothing else', async () => {
  const estab = await newSchool();
  const report = await load(
    estab,
    {
      users: [live(user('p4', 'student')), gone(user('p3', 'student')), live(user('p2', 'student', { email: 'new@example.org' })), live(user('s1', 'teacher'))],
      enrollments: [live(enrolment('e5', 'p4', 'k1')), gone(enrolment('e3', 'p3', 'k2'))],
      demographics: [live({ sourcedId: 'p3', sex: 'male' })],
    },
    { mode: 'delta' },
  );
  assert.deepEqual(report.collections.users, { mode: 'delta', ...none, added: 1, changed: 1, removed: 1, unchanged: 1 });
  assert.deepEqual(numbers(report), { added: 3, changed: 1, removed: 2, unchanged: 1, rejected: 0 });
  assert.deepEqual(await statuses(estab, 'users'), { a1: 'active', p1: 'active', p2: 'active', p3: 'tobedeleted', p4: 'active', s1: 'active' });
  assert.deepEqual(await statuses(estab, 'enrollments'), { e1: 'active', e2: 'active', e3: 'tobedeleted', e4: 'active', e5: 'active' });
  const again = await load(estab, { users: [gone(user('p3', 'student'))] }, { mode: 'delta' });
  assert.deepEqual([again.outcome, numbers(again)], ['unchanged', { ...none, unchanged: 1 }]);
});

test('a delta may refer to what is known, not to what is unknown, and needs status and date', async () => {
  const estab = await newSchool();
  const unknown = await assertRefused(estab, () =>
    load(estab, { enrollments: [live(enrolment('e5', 'p1', 'k2')), live(enrolment('e6', 'nobody', 'k2'))] }, { mode: 'delta' }),
  );
  assert.deepEqual(
    unknown.problems.map(({ file, line, column, value }) => ({ file, line, column, value })),
    [{ file: 'enrollments.csv', line: 3, column: 'userSourcedId', value: 'nobody' }],
  );
  const blank = await assertRefused(estab, () => load(estab, { users: [user('p4', 'student')] }, { mode: 'delta' }));
  assert.deepEqual(blank.problems.map(({ line, column }) => ({ line, column })), [{ line: 2, column: 'status' }, { line: 2, column: 'dateLastModified' }]);
});

const references: [CollectionName, column: string, cell: string][] = [
  ['orgs', 'parentSourcedId', 'nobody'],
  ['academicSessions', 'parentSourcedId', 'nobody'],
  ['courses', 'schoolYearSourcedId', 'nobody'],
  ['courses', 'orgSourcedId', 'nobody'],
  ['classes', 'courseSourcedId', 'nobody'],
  ['classes', 'schoolSourcedId', 'nobody'],
  ['classes', 'termSourcedIds', 't1,nobody'],
  ['users', 'orgSourcedIds', 'nobody,o1'],
  ['users', 'agentSourcedIds', 'p1,nobody,a1'],
  ['enrollments', 'classSourcedId', 'nobody'],
  ['enrollments', 'schoolSourcedId', 'nobody'],
  ['enrollments', 'userSourcedId', 'nobody'],
  ['demographics', 'sourcedId', 'nobody'],
];
test('an unknown reference in any column is refused by file, line, column and value', async () => {
  const estab = await newSchool();
  const before = await contents(estab);
  for (const [name, column, cell] of references) {
    const rows = small[name];
    const report = await load(estab, { [name]: [...rows.slice(0, -1), { ...rows.at(-1), [column]: cell }] });
    assert.equal(report.outcome, 'refused');
    const problem = find(report, { file: `${name}.csv`, line: rows.length + 1, column, value: 'nobody' });
    assert.match(problem?.rule ?? '', /no such record/, `${name}.${column}: ${JSON.stringify(report.problems)}`);
  }
  assert.deepEqual(await contents(estab), before);
});

test('a bulk file must hold all that is referred to, though the roster still knows it', async () => {
  const estab = await newSchool();
  const report = await assertRefused(estab, () => load(estab, { ...small, classes: small.classes.slice(0, 1) }));
  assert.deepEqual(
    report.problems.map(({ file, line, column, value }) => ({ file, line, column, value })),
    [{ file: 'enrollments.csv', line: 4, column: 'classSourcedId', value: 'k2' }],
  );
  assert.equal((await load(estab, { classes: small.classes.slice(0, 1) })).removed, 1);
});

test('a sourcedId given twice names the line that has it already', async () => {
  const estab = await newSchool();
  const report = await assertRefused(estab, () => load(estab, { users: [...small.users, user('p2', 'student', { email: 'second@example.org' })] }));
  assert.deepEqual(
    report.problems.map(({ file, line, column, value }) => ({ file, line, column, value })),
    [{ file: 'users.csv', line: 7, column: 'sourcedId', value: 'p2' }],
  );
  assert.match(report.problems[0]?.rule ?? '', /line 3\b/);
  const partial = await load(estab, { users: [...small.users, user('p2', 'student', { email: 'second@example.org' })] }, { partial: true });
  assert.deepEqual([partial.outcome, numbers(partial)], ['unchanged', { ...none, unchanged: 5, rejected: 1 }]);
});

test('a package that cannot be read changes nothing, with or without partial', async () => {
  const estab = await newSchool();
  const row = (id: string, more = '') => `${id},,,true,o1,student,${id}${more},,Jos\u00e9,B,,,,,,,,\n`;
  const raws: Record<string, string | Buffer>[] = [
    { 'manifest.csv': 'broken' },
    { 'users.csv': 'sourcedId\nx\n' },
    { 'users.csv': `${collections.users.headers.v1p1[0]}\n${row('p7')}${row('"p8"x')}` },
    { 'users.csv': Buffer.from(`${collections.users.headers.v1p1[0]}\n${row('p7')}`, 'latin1') },
  ];
  for (const partial of [false, true]) {
    for (const raw of raws) {
      const report = await assertRefused(estab, () =>
        load(estab, { orgs: [...small.orgs, { sourcedId: 'o9', name: 'New', type: 'school' }] }, { raw, partial }),
      );
      assert.equal(report.problemsTotal, 1);
      assert.equal(report.problems[0]?.file, Object.keys(raw)[0]);
    }
  }
});

test('partial imports what is right; rejected rows remove nothing', async () => {
  const estab = await newSchool();
  const users = [
    user('p1', 'student', { agentSourcedIds: 'a1' }), user('p2', 'pupil'), user('p3', 'student', { agentSourcedIds: 'nobody' }),
    user('a1', 'parent', { agentSourcedIds: 'p1' }), user('p4', 'student'), user('p5', 'student', { orgSourcedIds: 'nobody' }),
  ];
  await assertRefused(estab, () => load(estab, { users }));
  const demographics = [...small.demographics, { sourcedId: 'p3', birthDate: 'soon' }];
  const report = await load(estab, { users, demographics }, { partial: true, approve: true });
  assert.equal(report.outcome, 'done');
  assert.deepEqual({ ...report.collections.users, mode: 'bulk' }, { mode: 'bulk', added: 1, changed: 0, removed: 1, unchanged: 2, rejected: 3 });
  assert.deepEqual(numbers(report), { added: 1, changed: 0, removed: 1, unchanged: 4, rejected: 4 });
  assert.equal(report.problemsTotal, 4);
  assert.deepEqual(await statuses(estab, 'users'), { a1: 'active', p1: 'active', p2: 'active', p3: 'active', p4: 'active', s1: 'tobedeleted' });
  assert.deepEqual(await versionsOf(estab, 'users'), { a1: 1, p1: 1, p2: 1, p3: 1, p4: 2, s1: 2 });
});

test('a rejected row whose id was lost removes nothing either', async () => {
  const estab = await newSchool();
  const report = await load(estab, { users: [...small.users.slice(0, 2), user('', 'student'), ...small.users.slice(3)] }, { partial: true });
  assert.equal(report.rejected, 1);
  assert.equal((await statuses(estab, 'users')).p3, 'active');
});

test('what refers to a rejected record falls with it, unless the roster knows the record', async () => {
  const estab = await newSchool();
  const report = await load(
    estab,
    {
      ...small, classes: [schoolClass('k1', { classType: 'wrong' }), schoolClass('k2'), schoolClass('k3', { courseSourcedId: 'nobody' })],
      users: [...small.users, user('p4', 'student', { orgSourcedIds: 'nobody' }), user('p5', 'student')],
      enrollments: [...small.enrollments, enrolment('e5', 'p5', 'k3'), enrolment('e6', 'p4', 'k1'), enrolment('e7', 'p5', 'k1')],
    },
    { partial: true },
  );
  assert.deepEqual(report.problems.map(({ file, line, column, dependants = 0 }) => `${file} ${line} ${column} ${dependants}`), [
    'classes.csv 2 classType 0', 'classes.csv 4 courseSourcedId 1', 'users.csv 7 orgSourcedIds 1',
  ]);
  assert.deepEqual(numbers(report), { added: 2, changed: 0, removed: 0, unchanged: smallCount - 1, rejected: 5 });
  assert.deepEqual(await statuses(estab, 'enrollments'), { e1: 'active', e2: 'active', e3: 'active', e4: 'active', e7: 'active' });
});

test('the demographics of a rejected user fall with the user', async () => {
  const estab = await newSchool();
  const report = await load(
    estab,
    { users: [...small.users, user('p4', 'student', { orgSourcedIds: 'nobody' })], demographics: [...small.demographics, { sourcedId: 'p4', sex: 'male' }] },
    { partial: true },
  );
  assert.deepEqual(report.problems.map(({ file, line, column, dependants = 0 }) => `${file} ${line} ${column} ${dependants}`), [
    'users.csv 7 orgSourcedIds 1',
  ]);
  assert.deepEqual(await statuses(estab, 'demographics'), { p1: 'active', p2: 'active' });
});

test('the report of a partial import names the mode of every collection', async () => {
  const report = await load(await newSchool(), { users: [...small.users, user('p4', 'pupil')] }, { partial: true });
  assert.equal(report.collections.users?.mode, 'bulk');
});

test('chains within one collection fall from the broken end; rings are fine', async () => {
  const estab = await newSchool();
  const org = (sourcedId: string, parentSourcedId: string) => ({ sourcedId, name: sourcedId, type: 'school', parentSourcedId });
  const report = await load(
    estab,
    { orgs: [...small.orgs, org('x1', 'x2'), org('x2', 'x3'), org('x3', 'nobody'), org('r1', 'r2'), org('r2', 'r1'), org('r3', 'r3'), org('z1', 'd1')] },
    { partial: true },
  );
  assert.deepEqual(report.problems.map(({ line, value, dependants }) => `${line} ${value} ${dependants}`), ['6 nobody 2']);
  assert.deepEqual(Object.keys(await statuses(estab, 'orgs')), ['d1', 'o1', 'r1', 'r2', 'r3', 'z1']);
});

test('thousands of problems are counted, and the first are listed', async () => {
  const estab = await newSchool();
  const report = await assertRefused(estab, () =>
    load(estab, { users: [...many(2500, (id) => user(id, 'pupil'), 'x'), ...many(1500, (id) => user(id, 'student', { orgSourcedIds: 'nobody' }), 'y')] }),
  );
  assert.deepEqual([report.problemsTotal, report.problems.length, report.rejected], [4000, listedProblems, 4000]);
  assert.deepEqual([report.problems[0]?.line, report.problems.at(-1)?.line], [2, listedProblems + 1]);
});

test('more than a fifth and more than five of a kind wait for approval, and --force approves them', async () => {
  const students = (count: number) => many(count, (id) => user(id, 'student'), 'u');
  const cases: [files: Files, next: Files, held: string | undefined, options?: PackageOptions][] = [
    [{ users: students(50) }, { users: students(40) }, undefined],
    [{ users: students(50) }, { users: students(39) }, 'users student 50 11 22'],
    [{ users: students(6) }, { users: students(1) }, undefined],
    [{ users: students(7) }, { users: students(1) }, 'users student 7 6 85.7'],
    [{ users: students(49) }, { users: students(1) }, 'users student 49 48 98'],
    [{ users: students(1000) }, { users: students(799) }, 'users student 1000 201 20.1'],
    [
      { users: [...students(200), ...many(50, (id) => user(id, 'teacher'), 't')] },
      { users: [...students(200), ...many(39, (id) => user(id, 'teacher'), 't')] },
      'users teacher 50 11 22',
    ],
    [{ users: students(50) }, { users: students(11).map(gone) }, 'users student 50 11 22', { mode: 'delta' }],
    [{ users: students(50) }, { users: students(10).map(gone) }, undefined, { mode: 'delta' }],
    [{ users: students(50) }, { users: students(50).map((row, at) => (at < 11 ? gone(row) : row)) }, 'users student 50 11 22'],
    [{ classes: many(50, schoolClass, 'k') }, { classes: many(39, schoolClass, 'k') }, 'classes null 50 11 22'],
  ];
  await Promise.all(cases.map(async ([files, next, held, options = {}]) => {
    const estab = await newSchool({ orgs: small.orgs, academicSessions: small.academicSessions, courses: small.courses, ...files });
    if (held === undefined) {
      const report = await load(estab, next, options);
      assert.deepEqual([report.outcome, report.shrinkage], ['done', []], JSON.stringify(numbers(report)));
      return;
    }
    const report = await assertRefused(estab, () => load(estab, next, options), 'held');
    assert.deepEqual(report.shrinkage.map((one) => `${one.collection} ${one.role} ${one.active} ${one.removed} ${one.percent}`), [held]);
    const forced = await load(estab, next, { ...options, force: true });
    assert.deepEqual([forced.outcome, forced.removed], ['done', Number(held.split(' ')[3])]);
  }));
});

test('rejected rows do not count for the deletion guard', async () => {
  const estab = await newSchool({ orgs: small.orgs, users: many(50, (id) => user(id, 'student'), 'u') });
  const report = await load(estab, { users: many(50, (id) => user(id, id < 'u0031' ? 'pupil' : 'student'), 'u') }, { partial: true });
  assert.deepEqual([report.outcome, numbers(report)], ['unchanged', { ...none, unchanged: 20, rejected: 30 }]);
});

test('children follow their parents, and a parent whose children change has changed', async () => {
  const estab = await newSchool();
  const children = async (name: 'orgs' | 'academicSessions', id: string) =>
    (await db`select child_ids, late, version from ${db(collections[name].table)} where estab = ${estab} and sourced_id = ${id}`)[0];
  assert.deepEqual(
    [(await children('orgs', 'd1'))?.child_ids, (await children('academicSessions', 'y1'))?.child_ids, (await children('orgs', 'o1'))?.child_ids],
    [['o1'], ['t1'], null],
  );
  const second = { sourcedId: 'o2', name: 'Second', type: 'school', parentSourcedId: 'd1' };
  await load(estab, { orgs: [live(second)] }, { mode: 'delta' });
  assert.deepEqual([(await children('orgs', 'd1'))?.child_ids, await versionsOf(estab, 'orgs')], [['o1', 'o2'], { d1: 2, o1: 1, o2: 2 }]);
  assert.match(String((await children('orgs', 'd1'))?.late), /"children":\[.*"o1".*"o2"/);
  await load(estab, { orgs: [live({ ...second, parentSourcedId: 'o1' })] }, { mode: 'delta' });
  assert.deepEqual(
    [(await children('orgs', 'd1'))?.child_ids, (await children('orgs', 'o1'))?.child_ids, await versionsOf(estab, 'orgs')],
    [['o1'], ['o2'], { d1: 3, o1: 3, o2: 3 }],
  );
  await load(estab, { orgs: [gone({ ...second, parentSourcedId: 'o1' })] }, { mode: 'delta' });
  assert.deepEqual(
    [(await children('orgs', 'o1'))?.child_ids, (await children('orgs', 'o1'))?.late, await versionsOf(estab, 'orgs')],
    [null, '', { d1: 3, o1: 4, o2: 4 }],
  );
});

test('a change of role moves the enrolments and demographics of the person', async () => {
  const estab = await newSchool();
  const client = await service.addClient('role-watcher', [estab], 'School,Student,StudentDemographic');
  const ids = async (path: string) =>
    Object.values((await (await client.b(estab, path)).json()) as Record<string, { sourcedId: string }[]>)
      .flat()
      .map((one) => one.sourcedId);
  assert.deepEqual(
    [await ids('/users'), await ids('/enrollments'), await ids('/demographics')],
    [
      ['p1', 'p2', 'p3'],
      ['e1', 'e2', 'e3'],
      ['p1', 'p2'],
    ],
  );
  await load(estab, { users: [live(user('p2', 'teacher'))] }, { mode: 'delta' });
  assert.deepEqual([await ids('/users'), await ids('/enrollments'), await ids('/demographics')], [['p1', 'p3'], ['e1', 'e3'], ['p1']]);
  assert.equal((await client.b(estab, '/enrollments?limit=1')).headers.get('x-total-count'), '2');
});

test('totals and marks are those of the roster, after the first import and after a change', async () => {
  const estab = await newSchool({ orgs: small.orgs, users: many(2600, (id) => user(id, id.endsWith('7') ? 'teacher' : 'student'), 'u') });
  await load(estab, { users: [...many(40, (id) => live(user(id, 'student')), 'a'), ...many(30, (id) => gone(user(id, 'student')), 'u')] }, { mode: 'delta' });
  const rows = await db<
    { id: string; label: string }[]
  >`select sourced_id as id, kind || ' ' || status as label from roster_user where estab = ${estab} order by sourced_id`;
  const count = (part: (typeof rows)[number][]) =>
    Object.fromEntries([...new Set(rows.map((row) => row.label))].toSorted().map((label) => [label, part.filter((row) => row.label === label).length]));
  const totals = await db`select kind || ' ' || status as label, count from roster_total where estab = ${estab} and collection = 'users'`;
  assert.deepEqual(Object.fromEntries(totals.map((row) => [row.label as string, row.count as number]).toSorted()), count(rows));
  const marks = await db`select sourced_id as id, preceding from roster_milestone where estab = ${estab} and collection = 'users' order by sourced_id`;
  assert.deepEqual(
    marks.map((mark) => [mark.id, Object.fromEntries(Object.entries(mark.preceding as object).toSorted())]),
    [1000, 2000].map((at) => [rows[at]?.id, count(rows.slice(0, at))]),
  );
});

/** A package whose users are handed over only when the gate opens. */
function gated(files: Files): { given: CsvPackage; reached: Promise<void>; open: () => void } {
  const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const made = csvPackage(files);
  const wait = (file: PackageFile): PackageFile => ({ ...file, open: async () => (reached.resolve(), await gate.promise, file.open()) });
  return {
    given: { ...made, files: new Map([...made.files].map(([name, file]) => [name, name === 'users.csv' ? wait(file) : file])) },
    reached: reached.promise,
    open: gate.resolve,
  };
}

test('while a source is read nothing of the database is held; a newer reading goes first, and the older one comes too late', { timeout: 120_000 }, async () => {
  const [one, other] = [await newSchool(), await newSchool()];
  const slow = gated({ users: [...small.users, user('p4', 'student')] });
  const first = service.load(one, slow.given);
  await slow.reached;
  const held = () => db`select query from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null
    and backend_type = 'client backend'`;
  // The service may still write down what was read a test ago; a transaction of the import would last as long as the gate is shut.
  await until('nothing is held', async () => (await held()).length === 0, held);
  assert.equal((await load(other, { users: [...small.users, user('p6', 'student')] })).outcome, 'done');
  assert.equal((await load(one, { users: [...small.users, user('p5', 'student')] })).version, 2);
  slow.open();
  const late = await first;
  assert.deepEqual([late.outcome, late.version, late.added, late.problems.map((problem) => problem.rule)], [
    'refused',
    2,
    0,
    ['a newer one was merged while this one was read; import what is current'],
  ]);
  assert.deepEqual(await statuses(one, 'users'), { a1: 'active', p1: 'active', p2: 'active', p3: 'active', p5: 'active', s1: 'active' });
});

const grown = {
  orgs: [...small.orgs, { sourcedId: 'o9', name: 'New', type: 'school' }],
  users: [...small.users, user('p4', 'student')],
  enrollments: [...small.enrollments, enrolment('e5', 'p4', 'k1')],
};

/** Ends the one connection that runs a statement like this, and is none of those that were ended before. */
async function terminate(like: string, before: number[] = []): Promise<void> {
  const known = before.length;
  const end = () => db<{ pid: number }[]>`
    select pid, pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and pid <> all(${before}::int[]) and query ilike ${like} and state <> 'idle'`;
  await until(`something runs ${like}`, async () => before.push(...(await end()).map(({ pid }) => pid)) > known);
}

test('a connection that is killed while rows are merged leaves nothing behind: the merge is done again on another, once', { timeout: 120_000 }, async () => {
  const estab = await newSchool();
  const before = await contents(estab);
  const loadKilled = (times: number) =>
    db.begin(async (tx) => {
      await tx`lock table roster_enrollment in share mode`;
      const loading = load(estab, grown).then((report) => report.added, () => 'failed');
      const ended: number[] = [];
      for (let time = 0; time < times; time += 1) await terminate('%insert into "roster_enrollment"%', ended);
      return { loading };
    });
  assert.equal(await (await loadKilled(2)).loading, 'failed');
  assert.deepEqual(await contents(estab), before);
  assert.equal(await (await loadKilled(1)).loading, 3);
  assert.equal((await load(estab, grown)).added, 0);
});

test('every ending is recorded with its report', async () => {
  const estab = await newSchool({ orgs: small.orgs, users: many(50, (id) => user(id, 'student'), 'u') });
  await load(estab, { orgs: small.orgs });
  await load(estab, { users: many(1, (id) => user(id, 'student'), 'u') });
  const refused = await load(estab, { users: [user('x', 'pupil')] });
  const unread = await load(estab, {}, { raw: { 'manifest.csv': '' } });
  const runs = await db`select outcome, version, report, finished_at >= started_at as in_order from import_run where estab = ${estab} order by started_at`;
  assert.deepEqual(
    runs.map((run) => [run.outcome, run.version, run.in_order]),
    [
      ['done', 1, true],
      ['unchanged', 1, true],
      ['held', 1, true],
      ['refused', 1, true],
      ['refused', 1, true],
    ],
  );
  assert.deepEqual(
    runs.slice(-2).map((run) => run.report),
    [refused, unread],
  );
});

test('a connection that is killed while rows are copied leaves nothing behind', { timeout: 120_000 }, async () => {
  const estab = await newSchool();
  const before = await contents(estab);
  const failing = await db.begin(async (tx) => {
    await tx`lock table stage_user in share mode`;
    const rejected = assert.rejects(load(estab, grown));
    await terminate('copy "stage_user"%');
    return { rejected };
  });
  await failing.rejected;
  await pause(200); // An exception that nobody catches would end the service: it must show here.
  assert.deepEqual(await contents(estab), before);
  assert.equal((await load(estab, grown)).added, 3);
});

test("a version's instant is taken when only the commit is left", async () => {
  const estab = await newSchool();
  const given = csvPackage(grown, { raw: { 'attendance.csv': attendanceCsv('p1,2026-11-12,AM,/,,') } });
  const heard = await heardStatements(() => service.load(estab, given));
  const brief = heard.map((text) => text.trim().split(/\s+/).slice(0, 3).join(' '));
  const end = brief.indexOf('commit');
  const sealed = (table: string) => ['select max(instant) as', 'select clock_timestamp() as', `insert into ${table}`];
  const noted = ['select r.id, r.version,', 'insert into roster_standing'];
  assert.deepEqual(brief.slice(end - 8, end + 1), [...sealed('attendance_version'), ...sealed('roster_version'), ...noted, 'commit']);
});
