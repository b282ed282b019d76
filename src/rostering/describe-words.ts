// In charge of what an operation is called in words: its name for a list of operations, and what to know before calling it.
import type { CollectionName } from '../roster/resource.ts';
import type { Dialect } from './dialects/dialect.ts';
import type { Operation } from './operations.ts';
import { acceptedScopes, neededScopes } from './visibility.ts';

export type Thing = Readonly<{ collection: CollectionName; kinds?: readonly string[] | undefined }>;

type Words = readonly [one: string, many: string];

const ofCollection: Readonly<Record<CollectionName, Words>> = {
  orgs: ['organisation', 'organisations'],
  academicSessions: ['academic session', 'academic sessions'],
  courses: ['course', 'courses'],
  classes: ['class', 'classes'],
  users: ['person', 'people'],
  enrollments: ['enrolment', 'enrolments'],
  demographics: ['demographics record', 'demographics'],
};

const ofKind: Readonly<Record<string, Words>> = {
  school: ['school', 'schools'],
  term: ['term', 'terms'],
  gradingPeriod: ['grading period', 'grading periods'],
  student: ['student', 'students'],
  teacher: ['teacher', 'teachers'],
};

const wordsOf = ({ collection, kinds }: Thing): Words => ofKind[kinds?.[0] ?? ''] ?? ofCollection[collection];
export const nameOne = (thing: Thing): string => wordsOf(thing)[0];
const nameMany = (thing: Thing): string => wordsOf(thing)[1];
const withArticle = (word: string) => `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;

export function summarise(operation: Operation): string {
  if (operation.single) return `Read ${withArticle(nameOne(operation))}`;
  const owners = (operation.parents ?? []).toReversed().map((parent) => withArticle(nameOne(parent)));
  return owners.length === 0 ? `List ${nameMany(operation)}` : `List ${nameMany(operation)} of ${owners.join(' in ')}`;
}

const members: Partial<Record<string, string>> = {
  getCoursesForSchool: 'Those that the school offers itself, and those that are taught in one of its classes.',
  getTermsForSchool: 'Those in which the school holds classes.',
  getStudentsForClass: 'Those with an active enrolment as a student.',
  getStudentsForClassInSchool: 'Those with an active enrolment as a student.',
  getTeachersForClass: 'Staff with an active enrolment as a teacher, whatever their role at the school.',
  getTeachersForClassInSchool: 'Staff with an active enrolment as a teacher, whatever their role at the school.',
  getClassesForStudent: 'Those in which the student has an active enrolment.',
  getClassesForTeacher: 'Those in which the teacher has an active enrolment.',
  getClassesForUser: 'Those in which the person has an active enrolment.',
  getStudentsForSchool: 'Those who belong to the school.',
  getTeachersForSchool: 'Those who belong to the school.',
};

/** Where somebody may be both. */
const membersByAnyKind: typeof members = {
  getClassesForStudent: 'Those in which the student has an active enrolment as a student.',
  getClassesForTeacher: 'Those in which the teacher has an active enrolment as a teacher.',
};

export function explain(operation: Operation, dialect: Dialect): string {
  const scope = acceptedScopes(dialect.scopes, operation.scope).map((one) => `\`${one}\``).join(' or ');
  const needs = `Needs a grant of ${neededScopes[operation.collection]} by the school; a token that was narrowed needs ${scope}.`;
  const own = (dialect.byAnyKind ? membersByAnyKind[operation.name] : undefined) ?? members[operation.name];
  const hasPeople = operation.collection === 'users' || operation.collection === 'enrollments';
  const hidden = hasPeople ? ' Only people whom the granted scopes open are shown, and references to others are left out.' : '';
  if (operation.single) return `One record by its sourcedId, also when it has left (\`tobedeleted\`). ${needs}${hidden}`;
  const filter = dialect.filter.ignoredOn.includes(operation.collection) ? '' : " unless filtered by `status='active'`";
  return `${own ? `${own} ` : ''}Holds records that have left (\`tobedeleted\`)${filter}. Without \`limit\` the list is complete and streamed; with it, follow \
\`Link\`, whose pages are all of one version although imports go on meanwhile. ${needs}${hidden}`;
}
