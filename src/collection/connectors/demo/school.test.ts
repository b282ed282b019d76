// In charge of proving that the demo school is the same everywhere, sound in its references and
// as varied as the import of a real school would be.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { DemoFile } from './demo-file.ts';
import { demoEstablishment, demoSchool } from './school.ts';
import { drawStaff } from './staff.ts';
import { upnCheckLetter } from './upn.ts';

/** Changes only when the demo school is meant to change. */
const fingerprint = '3b8f2dacf795dbf17770fa188a629338edf2f1ca05668e66f9e2766e2c54f862';

type Entry = (column: string) => string;

const files = demoSchool();
const sessions = entries('academicSessions');
const orgs = entries('orgs');
const courses = entries('courses');
const classes = entries('classes');
const users = entries('users');
const enrolments = entries('enrollments');
const demographics = entries('demographics');
const students = users.filter((user) => user('role') === 'student');
const contacts = users.filter((user) => ['parent', 'guardian', 'relative'].includes(user('role')));
const staff = users.filter((user) => ['teacher', 'administrator', 'aide', 'proctor'].includes(user('role')));
const userById = byId(users);
const classById = byId(classes);
const courseById = byId(courses);

test('every call gives the same school', () => {
  assert.equal(digest(files), digest(demoSchool()));
  assert.equal(digest(files), fingerprint);
});

test('the package holds the standard files with the standard headers', () => {
  const common = 'sourcedId,status,dateLastModified';
  assert.deepEqual(
    files.map(({ name, header }) => `${name}: ${header.join()}`),
    [
      'manifest.csv: propertyName,value',
      `academicSessions.csv: ${common},title,type,startDate,endDate,parentSourcedId,schoolYear`,
      `orgs.csv: ${common},name,type,identifier,parentSourcedId`,
      `courses.csv: ${common},schoolYearSourcedId,title,courseCode,grades,orgSourcedId,subjects,subjectCodes`,
      `classes.csv: ${common},title,grades,courseSourcedId,classCode,classType,location,schoolSourcedId,termSourcedIds,subjects,subjectCodes,periods`,
      `users.csv: ${common},enabledUser,orgSourcedIds,role,username,userIds,givenName,familyName,middleName,identifier,email,sms,phone,` +
        'agentSourcedIds,grades,password,metadata.house,metadata.tutorGroup',
      `enrollments.csv: ${common},classSourcedId,schoolSourcedId,userSourcedId,role,primary,beginDate,endDate`,
      `demographics.csv: ${common},birthDate,sex,americanIndianOrAlaskaNative,asian,blackOrAfricanAmerican,` +
        'nativeHawaiianOrOtherPacificIslander,white,demographicRaceTwoOrMoreRaces,hispanicOrLatinoEthnicity,countryOfBirthCode,' +
        'stateOfBirthAbbreviation,cityOfBirth,publicSchoolResidenceStatus',
    ],
  );
  for (const { name, header, rows } of files) {
    for (const row of rows) {
      assert.equal(row.length, header.length, name);
      assert.ok(row.every((cell) => !/[\r\n]/.test(cell) && cell === cell.trim() && cell === cell.normalize('NFC')), row.join());
    }
  }
});

test('the manifest declares the files that are there as bulk and the others as absent', () => {
  const properties = new Map((files[0]?.rows ?? []).map(([name = '', value = '']) => [name, value]));
  const declared = [...properties].filter(([name]) => name.startsWith('file.'));
  const present = files.slice(1).map(({ name }) => `file.${name.replace('.csv', '')}`);
  assert.equal(declared.length, 13);
  for (const [name, mode] of declared) assert.equal(mode, present.includes(name) ? 'bulk' : 'absent', name);
  assert.equal(properties.get('manifest.version'), '1.0');
  assert.equal(properties.get('oneroster.version'), '1.1');
});

test('the school has the size of a secondary school', () => {
  const between = (count: number, least: number, most: number): void => assert.ok(count >= least && count <= most, `${count}`);
  between(students.length, 1150, 1250);
  between(staff.length, 88, 95);
  between(staff.filter((member) => member('role') === 'teacher').length, 62, 70);
  between(contacts.length, 1200, 2400);
  between(classes.length, 400, 700);
  between(courses.length, 100, 200);
  between(enrolments.length, 14000, 16000);
  assert.equal(sessions.length, 14);
  assert.equal(orgs.length, 12);
  assert.equal(demographics.length, students.length);
});

test('ids and user names are unique and well formed', () => {
  for (const { name, rows } of files.slice(1)) {
    const ids = rows.map(([id = '']) => id);
    assert.equal(new Set(ids).size, ids.length, name);
    assert.ok(ids.every((id) => /^[0-9A-Za-z._-]+$/.test(id)), name);
  }
  for (const column of ['username', 'identifier']) {
    assert.ok(users.every((user) => user(column) !== ''), column);
    assert.equal(new Set(users.map((user) => user(column))).size, users.length, column);
  }
  const emails = users.map((user) => user('email')).filter((email) => email !== '');
  assert.equal(new Set(emails).size, emails.length);
  assert.ok(emails.every((email) => /^[0-9a-z.]+@[a-z.]+\.example$/.test(email)));
  assert.ok(users.every((user) => user('password') === ''));
});

test('every reference resolves', () => {
  resolves(sessions, 'parentSourcedId', sessions);
  resolves(orgs, 'parentSourcedId', orgs);
  resolves(courses, 'schoolYearSourcedId', sessions);
  resolves(courses, 'orgSourcedId', orgs);
  resolves(classes, 'courseSourcedId', courses);
  resolves(classes, 'schoolSourcedId', orgs);
  resolves(classes, 'termSourcedIds', sessions);
  resolves(users, 'orgSourcedIds', orgs);
  resolves(users, 'agentSourcedIds', users);
  resolves(enrolments, 'classSourcedId', classes);
  resolves(enrolments, 'userSourcedId', users);
  resolves(demographics, 'sourcedId', students);
  const school = orgs.find((org) => org('type') === 'school');
  assert.equal(school?.('identifier'), demoEstablishment.estab);
  assert.ok([...classes, ...enrolments].every((entry) => entry('schoolSourcedId') === school('sourcedId')));
});

test('children and their contacts list each other', () => {
  for (const user of [...students, ...contacts]) {
    const agents = user('agentSourcedIds').split(',');
    assert.ok(agents.every((id) => id !== ''), user('sourcedId'));
    for (const id of agents) assert.ok(find(userById, id)('agentSourcedIds').split(',').includes(user('sourcedId')));
  }
  assert.ok(contacts.filter((contact) => contact('agentSourcedIds').includes(',')).length > 100);
});

test('pupils are in one registration group and in lessons of their year that never overlap', () => {
  const diaries = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const enrolment of enrolments.filter((entry) => entry('role') === 'student')) {
    const pupil = find(userById, enrolment('userSourcedId'));
    const group = find(classById, enrolment('classSourcedId'));
    assert.equal(pupil('role'), 'student');
    assert.equal(group('grades'), pupil('grades'));
    const key = `${pupil('sourcedId')} ${group('sourcedId')}`;
    assert.ok(!seen.has(key), key);
    seen.add(key);
    if (enrolment('status') === '') diaries.set(pupil('sourcedId'), [...(diaries.get(pupil('sourcedId')) ?? []), ...group('periods').split(',')]);
  }
  for (const diary of diaries.values()) {
    assert.equal(new Set(diary).size, diary.length);
    assert.equal(diary.filter((period) => period === 'Reg').length, 1);
  }
  assert.equal(diaries.size, students.filter((student) => student('status') === '').length);
});

test('every class that goes on has one primary teacher, and its teachers teach the subject', () => {
  const taught = new Map(drawStaff().map((member) => [member.id, member.subjects.map((subject) => subject.toUpperCase())]));
  const primary = new Map<string, number>();
  for (const enrolment of enrolments.filter((entry) => entry('role') === 'teacher')) {
    const teacher = find(userById, enrolment('userSourcedId'));
    const group = find(classById, enrolment('classSourcedId'));
    const code = find(courseById, group('courseSourcedId'))('courseCode').slice(2);
    assert.equal(teacher('role'), 'teacher');
    if (group('classType') === 'scheduled') assert.ok(taught.get(teacher('sourcedId'))?.includes(code), group('title'));
    if (enrolment('status') === '' && enrolment('primary') === 'true') primary.set(group('sourcedId'), (primary.get(group('sourcedId')) ?? 0) + 1);
  }
  for (const group of classes) assert.equal(primary.get(group('sourcedId')) ?? 0, group('status') === '' ? 1 : 0, group('title'));
  assert.deepEqual(new Set(enrolments.map((entry) => entry('role'))), new Set(['student', 'teacher', 'administrator', 'proctor']));
});

test('UPNs are unique and carry the right check letter', () => {
  assert.equal(upnCheckLetter('801200005001'), 'B');
  assert.equal(upnCheckLetter('823432113104'), 'N');
  for (const student of students) {
    const upn = student('identifier');
    assert.match(upn, /^[A-HJ-NP-RT-Z]\d{11}[0-9A-HJ-NP-RT-Z]$/);
    assert.equal(upn.charAt(0), upnCheckLetter(upn.slice(1)));
    assert.match(student('userIds'), new RegExp(`^\\{UPN:${upn}\\}(,\\{Fed:[^{},]+\\})?$`));
  }
  assert.equal(new Set(students.map((student) => student('identifier'))).size, students.length);
});

test('birth dates fit the year group', () => {
  for (const entry of demographics) {
    const year = Number(find(userById, entry('sourcedId'))('grades'));
    assert.ok(entry('birthDate') >= `${2021 - year}-09-01` && entry('birthDate') <= `${2022 - year}-08-31`, entry('sourcedId'));
    assert.match(entry('sex'), /^(male|female)$/);
  }
});

test('names are as varied as in a city school', () => {
  const names = users.map((user) => `${user('givenName')} ${user('familyName')}`);
  for (const letter of ['é', 'ö', 'ł', 'ñ', 'ç', 'ş', 'Ø', "'", '’', '-']) assert.ok(names.some((name) => name.includes(letter)), letter);
  for (const name of ["O'Brien", "D'Souza", "N'Golo"]) assert.ok(names.some((full) => full.includes(name)), name);
  assert.ok(names.some((name) => /[\u0100-\uffff]/.test(name)));
  assert.ok(users.some((user) => user('middleName').includes(' ')));
});

test('what ended in the autumn is marked as to be deleted, with all that belongs to it', () => {
  const gone = (list: readonly Entry[]): Entry[] => list.filter((entry) => entry('status') === 'tobedeleted');
  assert.equal(gone(students).length, 12);
  assert.equal(gone(staff).length, 3);
  assert.equal(gone(classes).length, 2);
  assert.equal(gone(demographics).length, 12);
  const ids = new Set([...gone(users), ...gone(classes)].map((entry) => entry('sourcedId')));
  const belonging = enrolments.filter((entry) => ids.has(entry('userSourcedId')) || ids.has(entry('classSourcedId')));
  assert.ok(belonging.length > 100 && belonging.every((entry) => entry('status') === 'tobedeleted'));
  assert.ok(gone(enrolments).length - belonging.length >= 5);
  assert.ok(demographics.every((entry) => entry('status') === find(userById, entry('sourcedId'))('status')));
  for (const entry of [...sessions, ...orgs, ...courses, ...classes, ...users, ...enrolments, ...demographics]) {
    assert.match(entry('status'), /^(tobedeleted)?$/);
    assert.equal(entry('dateLastModified'), entry('status') === '' ? '' : '2026-10-16T16:00:00.000Z');
  }
});

function entries(name: string): Entry[] {
  const found = files.find((file) => file.name === `${name}.csv`);
  assert.ok(found, name);
  const positions = new Map(found.header.map((column, position) => [column, position]));
  return found.rows.map((row) => (column) => {
    const cell = row[positions.get(column) ?? -1];
    assert.ok(cell !== undefined, `${name}: ${column}`);
    return cell;
  });
}

function byId(list: readonly Entry[]): Map<string, Entry> {
  return new Map(list.map((entry) => [entry('sourcedId'), entry]));
}

function find(index: ReadonlyMap<string, Entry>, id: string): Entry {
  const entry = index.get(id);
  assert.ok(entry, id);
  return entry;
}

/** Blank cells refer to nothing; a list cell refers to each of its items. */
function resolves(list: readonly Entry[], column: string, targets: readonly Entry[]): void {
  const known = byId(targets);
  for (const entry of list) for (const id of entry(column).split(',')) assert.ok(id === '' || known.has(id), `${column}: ${id}`);
}

function digest(school: readonly DemoFile[]): string {
  return createHash('sha256').update(JSON.stringify(school)).digest('hex');
}
