// In charge of what kinds of records are called by people who run a school's data: a student is a pupil, a homeroom a registration
// group.
import type { CollectionName } from '../roster/resource.ts';
import type { FindableKind } from './find-records.ts';

type Words = Readonly<{ one: string; many: string }>;

export const findableWords: Readonly<Record<FindableKind, Words>> = {
  student: { one: 'Pupil', many: 'Pupils' },
  teacher: { one: 'Teacher', many: 'Teachers' },
  staff: { one: 'Other staff', many: 'Other staff' },
  contact: { one: 'Contact', many: 'Contacts' },
  class: { one: 'Class', many: 'Classes and groups' },
  course: { one: 'Course', many: 'Courses' },
  org: { one: 'Organisation', many: 'Organisations' },
  session: { one: 'Term or year', many: 'Terms and years' },
};

const ofCollection: Readonly<Record<CollectionName, string>> = {
  orgs: 'Organisation',
  academicSessions: 'Term or year',
  courses: 'Course',
  classes: 'Class',
  users: 'Person',
  enrollments: 'Enrolment',
  demographics: 'Details of a person',
};

const ofRole: Readonly<Record<string, string>> = {
  homeroom: 'Registration group',
  scheduled: 'Teaching group',
  schoolYear: 'School year',
  gradingPeriod: 'Grading period',
};

/** A record by its collection, and a person by their kind. */
export function describeKind(collection: CollectionName, kind: string): string {
  return collection === 'users' ? (findableWords[kind as FindableKind]?.one ?? kind) : ofCollection[collection];
}

/** The role of a person, or the type of what has one. */
export function describeRole(role: string | null): string {
  if (role === null || role === 'course') return '';
  return ofRole[role] ?? role.charAt(0).toUpperCase() + role.slice(1);
}

/** Of people, as in "one of": pupils. */
export function manyOfKind(kind: string): string {
  return Object.hasOwn(findableWords, kind) ? findableWords[kind as FindableKind].many.toLowerCase() : 'this kind';
}
