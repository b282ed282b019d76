// The operations of OneRoster rostering, which are the same in all its editions: one row each. A nested route has a list of parents that must exist,
// and a relation that ties the records to them. Path parameters have the names of the standard's discovery
// document, because some clients look for these names.
import type { Fragment, Sql } from '../db/connect.ts';
import type { CollectionName, Resource } from '../roster/resource.ts';
import { collections } from '../roster/collections.ts';
import type { OneRosterScope } from '../access/scopes.ts';

/** The rows of a collection at the version that is asked for, to select from. */
export type RowsOf = (resource: Resource) => Fragment;

/**
 * roleAt: of somebody with several roles, whether one that is asked for is at this organisation. isOpen: whether the caller may see this
 * enrolment of somebody whom the caller may see. isAs: whether it is one in this role, where somebody may be of several kinds.
 */
export type RelationContext = Readonly<{
  estab: string;
  rowsOf: RowsOf;
  roleAt: (org: string) => Fragment;
  isOpen: (enrolment: Fragment) => Fragment;
  isAs: (enrolment: Fragment, role: string) => Fragment;
}>;

/** Ties a record t of the answer to the parents, whose ids come from the path. The establishment of t is tied by the plan. */
export type Relation = (sql: Sql, ids: readonly string[], context: RelationContext) => Fragment;

export type Parent = Readonly<{ collection: CollectionName; kinds?: readonly string[]; within?: Relation }>;

export type Operation = Readonly<{
  name: string;
  path: string;
  collection: CollectionName;
  /** The sub-type: only records of these kinds. */
  kinds?: readonly string[];
  single?: true;
  parents?: readonly Parent[];
  relation?: Relation;
  scope: OneRosterScope;
}>;

const school: Parent = { collection: 'orgs', kinds: ['school'] };
const term: Parent = { collection: 'academicSessions', kinds: ['term'] };
const course: Parent = { collection: 'courses' };
const aClass: Parent = { collection: 'classes' };
const student: Parent = { collection: 'users', kinds: ['student'] };
const teacher: Parent = { collection: 'users', kinds: ['teacher'] };
const anyone: Parent = { collection: 'users' };
const ofSchool: Relation = (sql, ids) => sql`t.school_id = ${ids[0] ?? ''}`;
const classInSchool: readonly Parent[] = [school, { collection: 'classes', within: ofSchool }];

const memberOfSchool: Relation = (sql, ids, { roleAt }) => sql`t.org_ids @> ${[ids[0] ?? '']}::text[] and ${roleAt(ids[0] ?? '')}`;
const inClass: Relation = (sql, ids) => sql`t.class_id = ${ids.at(-1) ?? ''}`;
const offeredBySchool: Relation = (sql, ids, { estab, rowsOf }) => sql`(t.org_id = ${ids[0] ?? ''} or exists (
  select from ${rowsOf(collections.classes)} c where c.estab = ${estab} and c.school_id = ${ids[0] ?? ''} and c.course_id = t.sourced_id))`;
const usedBySchool: Relation = (sql, ids, { estab, rowsOf }) => sql`exists (
  select from ${rowsOf(collections.classes)} c where c.estab = ${estab} and c.school_id = ${ids[0] ?? ''} and c.term_ids @> array[t.sourced_id])`;
const inTerm: Relation = (sql, ids) => sql`t.term_ids @> ${[ids[0] ?? '']}::text[]`;
const partOfTerm: Relation = (sql, ids) => sql`t.parent_id = ${ids[0] ?? ''}`;
const ofCourse: Relation = (sql, ids) => sql`t.course_id = ${ids[0] ?? ''}`;
const attendedAs = (role?: string): Relation => (sql, ids, { estab, rowsOf, isOpen, isAs }) => sql`t.sourced_id in (
  select e.class_id from ${rowsOf(collections.enrollments)} e where e.estab = ${estab} and e.user_id = ${ids[0] ?? ''} and e.status = 'active'
    and ${isOpen(sql`e`)} ${role === undefined ? sql`` : sql`and ${isAs(sql`e`, role)}`})`;
/** Members of a class are those with an active enrolment of that role. */
const enrolledAs = (role: string): Relation => (sql, ids, { estab, rowsOf, isOpen }) => sql`t.sourced_id in (
  select e.user_id from ${rowsOf(collections.enrollments)} e where e.estab = ${estab} and e.class_id = ${ids.at(-1) ?? ''} and e.role = ${role}
    and e.status = 'active' and ${isOpen(sql`e`)})`;

type Row = [name: string, path: string, collection: CollectionName, more?: Omit<Operation, 'name' | 'path' | 'collection' | 'scope'>];

const core: Row[] = [
  ['getAllAcademicSessions', '/academicSessions', 'academicSessions'],
  ['getAcademicSession', '/academicSessions/:sourcedId', 'academicSessions', { single: true }],
  ['getAllClasses', '/classes', 'classes'],
  ['getClass', '/classes/:sourcedId', 'classes', { single: true }],
  ['getAllCourses', '/courses', 'courses'],
  ['getCourse', '/courses/:sourcedId', 'courses', { single: true }],
  ['getAllGradingPeriods', '/gradingPeriods', 'academicSessions', { kinds: ['gradingPeriod'] }],
  ['getGradingPeriod', '/gradingPeriods/:sourcedId', 'academicSessions', { kinds: ['gradingPeriod'], single: true }],
  ['getAllEnrollments', '/enrollments', 'enrollments'],
  ['getEnrollment', '/enrollments/:sourcedId', 'enrollments', { single: true }],
  ['getAllOrgs', '/orgs', 'orgs'],
  ['getOrg', '/orgs/:sourcedId', 'orgs', { single: true }],
  ['getAllSchools', '/schools', 'orgs', { kinds: ['school'] }],
  ['getSchool', '/schools/:sourcedId', 'orgs', { kinds: ['school'], single: true }],
  ['getAllStudents', '/students', 'users', { kinds: ['student'] }],
  ['getStudent', '/students/:sourcedId', 'users', { kinds: ['student'], single: true }],
  ['getAllTeachers', '/teachers', 'users', { kinds: ['teacher'] }],
  ['getTeacher', '/teachers/:sourcedId', 'users', { kinds: ['teacher'], single: true }],
  ['getAllTerms', '/terms', 'academicSessions', { kinds: ['term'] }],
  ['getTerm', '/terms/:sourcedId', 'academicSessions', { kinds: ['term'], single: true }],
  ['getAllUsers', '/users', 'users'],
  ['getUser', '/users/:sourcedId', 'users', { single: true }],
];

const nested: Row[] = [
  ['getCoursesForSchool', '/schools/:schoolSourcedId/courses', 'courses', { parents: [school], relation: offeredBySchool }],
  [
    'getEnrollmentsForClassInSchool',
    '/schools/:schoolSourcedId/classes/:classSourcedId/enrollments',
    'enrollments',
    { parents: classInSchool, relation: inClass },
  ],
  [
    'getStudentsForClassInSchool',
    '/schools/:schoolSourcedId/classes/:classSourcedId/students',
    'users',
    { kinds: ['student'], parents: classInSchool, relation: enrolledAs('student') },
  ],
  [
    'getTeachersForClassInSchool',
    '/schools/:schoolSourcedId/classes/:classSourcedId/teachers',
    'users',
    { kinds: ['teacher', 'staff'], parents: classInSchool, relation: enrolledAs('teacher') },
  ],
  ['getEnrollmentsForSchool', '/schools/:schoolSourcedId/enrollments', 'enrollments', { parents: [school], relation: ofSchool }],
  ['getStudentsForSchool', '/schools/:schoolSourcedId/students', 'users', { kinds: ['student'], parents: [school], relation: memberOfSchool }],
  ['getTeachersForSchool', '/schools/:schoolSourcedId/teachers', 'users', { kinds: ['teacher'], parents: [school], relation: memberOfSchool }],
  ['getTermsForSchool', '/schools/:schoolSourcedId/terms', 'academicSessions', { kinds: ['term'], parents: [school], relation: usedBySchool }],
  ['getClassesForTerm', '/terms/:termSourcedId/classes', 'classes', { parents: [term], relation: inTerm }],
  ['getGradingPeriodsForTerm', '/terms/:termSourcedId/gradingPeriods', 'academicSessions', { kinds: ['gradingPeriod'], parents: [term], relation: partOfTerm }],
  ['getClassesForCourse', '/courses/:courseSourcedId/classes', 'classes', { parents: [course], relation: ofCourse }],
  ['getClassesForStudent', '/students/:studentSourcedId/classes', 'classes', { parents: [student], relation: attendedAs('student') }],
  ['getClassesForTeacher', '/teachers/:teacherSourcedId/classes', 'classes', { parents: [teacher], relation: attendedAs('teacher') }],
  ['getClassesForSchool', '/schools/:schoolSourcedId/classes', 'classes', { parents: [school], relation: ofSchool }],
  ['getClassesForUser', '/users/:userSourcedId/classes', 'classes', { parents: [anyone], relation: attendedAs() }],
  ['getStudentsForClass', '/classes/:classSourcedId/students', 'users', { kinds: ['student'], parents: [aClass], relation: enrolledAs('student') }],
  ['getTeachersForClass', '/classes/:classSourcedId/teachers', 'users', { kinds: ['teacher', 'staff'], parents: [aClass], relation: enrolledAs('teacher') }],
];

const demographics: Row[] = [
  ['getAllDemographics', '/demographics', 'demographics'],
  ['getDemographics', '/demographics/:sourcedId', 'demographics', { single: true }],
];

const toOperation = (scope: OneRosterScope) => ([name, path, collection, more]: Row): Operation => ({ name, path, collection, scope, ...more });

export const operations: readonly Operation[] = [
  ...core.map(toOperation('core')),
  ...nested.map(toOperation('roster')),
  ...demographics.map(toOperation('demographics')),
];

/** The names of the path's parameters, in their order. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map((match) => match[1] ?? '');
}
