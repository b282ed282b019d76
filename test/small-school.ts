// In charge of one small school for tests of school data: three pupils, a leaver, two of staff, contacts noted both
// ways round, a registration group and a teaching group.
import type { CollectionName } from '../src/roster/resource.ts';
import { csvPackage, type PackageOptions, type Rows } from './csv-package.ts';

export type Row = Rows[number];
export type SchoolFiles = Record<CollectionName, Row[]>;

export const user = (sourcedId: string, role: string, more: Row = {}): Row => ({
  sourcedId,
  enabledUser: 'true',
  orgSourcedIds: 'o1',
  role,
  username: sourcedId,
  givenName: `Given ${sourcedId}`,
  familyName: 'Family',
  ...more,
});
export const enrolment = (sourcedId: string, userSourcedId: string, classSourcedId: string, more: Row = {}): Row => ({
  sourcedId,
  userSourcedId,
  classSourcedId,
  schoolSourcedId: 'o1',
  role: 'student',
  ...more,
});
export const schoolClass = (sourcedId: string, title: string, more: Row = {}): Row => ({
  sourcedId,
  title,
  courseSourcedId: 'c1',
  classType: 'scheduled',
  schoolSourcedId: 'o1',
  termSourcedIds: 't1',
  ...more,
});

export const smallSchool: SchoolFiles = {
  orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }],
  academicSessions: [
    { sourcedId: 'y1', title: '2026/27', type: 'schoolYear', startDate: '2026-09-01', endDate: '2027-07-23', schoolYear: '2027' },
    { sourcedId: 't1', title: 'Autumn', type: 'term', startDate: '2026-09-01', endDate: '2026-12-19', parentSourcedId: 'y1', schoolYear: '2027' },
  ],
  courses: [{ sourcedId: 'c1', title: 'Mathematics', orgSourcedId: 'o1', subjects: 'Maths' }],
  classes: [
    schoolClass('g1', '7A', { classType: 'homeroom', classCode: '7A', subjects: 'Registration' }),
    schoolClass('g2', '7B', { classType: 'homeroom' }),
    schoolClass('k1', '7x/Ma1', { classCode: 'Ma1' }),
  ],
  users: [
    user('p1', 'student', { grades: '07', middleName: 'Middle', email: 'p1@school.example', agentSourcedIds: 'a2' }),
    user('p2', 'student', { grades: '08,09', agentSourcedIds: 'a2' }),
    user('p3', 'student'),
    user('p9', 'student', { agentSourcedIds: 'a2' }),
    user('s1', 'teacher', { email: 's1@school.example' }),
    user('s2', 'aide'),
    user('a1', 'parent', { agentSourcedIds: 'p2,p1,p9', phone: '01234', sms: '07700' }),
    user('a2', 'guardian', { sms: '07701', email: 'a2@home.example' }),
  ],
  enrollments: [
    enrolment('e1', 'p1', 'g1'),
    enrolment('e2', 'p2', 'g1'),
    enrolment('e3', 'p9', 'g1'),
    enrolment('e4', 's1', 'g1', { role: 'teacher', primary: 'true' }),
    enrolment('e5', 'p1', 'k1'),
    enrolment('e6', 's1', 'k1', { role: 'teacher', primary: 'true' }),
    enrolment('e7', 's2', 'k1', { role: 'aide' }),
    enrolment('e8', 'p3', 'k1'),
  ],
  demographics: [],
};

/** The school with some of its files replaced. */
export const smallPackage = (files: Partial<SchoolFiles> = {}, options: PackageOptions = {}) =>
  csvPackage(Object.fromEntries(Object.entries({ ...smallSchool, ...files }).filter(([, rows]) => rows.length > 0)), options);

export const deltaPackage = (files: Partial<SchoolFiles>, status: 'active' | 'tobedeleted' = 'active') =>
  csvPackage(
    Object.fromEntries(
      Object.entries(files).map(([name, rows]) => [name, rows.map((row) => ({ ...row, status, dateLastModified: '2026-09-01T08:00:00.000Z' }))]),
    ),
    { mode: 'delta' },
  );

export const attendanceCsv = (...lines: readonly string[]) => ['studentSourcedId,date,session,mark,minutesLate,notes', ...lines, ''].join('\r\n');
