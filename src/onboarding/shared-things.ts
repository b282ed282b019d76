// In charge of what each scope opens: kinds of people and things, and every field of theirs, derived from what describes
// the records and the answers themselves.
import { visiblePeople, type Opening, type Scope } from '../access/scopes.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { findPlainName } from './plain-names.ts';

/** A kind of person or thing. first: the fields that matter most to whoever decides. */
export type Thing = Readonly<{
  title: string;
  collection?: CollectionName;
  kinds?: readonly string[];
  answers?: readonly string[];
  first: readonly string[];
}>;
/** A field by its plain name, with the names that programs know it by. */
export type ThingField = { label: string; first: boolean; sources: { of: string; field: string }[] };

const names = ['givenName', 'familyName', 'email'];
const places = (scope: Scope): Thing => ({
  title: 'Each place in a class',
  collection: 'enrollments',
  kinds: visiblePeople([scope]),
  first: ['user', 'class', 'role', 'beginDate'],
});

const things: Readonly<Record<Scope, readonly Thing[]>> = {
  School: [
    { title: 'The school', collection: 'orgs', answers: ['SchoolInfo', 'Counts'], first: ['name', 'Estab', 'Email'] },
    { title: 'Each class or group', collection: 'classes', answers: ['Groups'], first: ['title', 'location', 'course', 'terms'] },
    { title: 'Each course', collection: 'courses', first: ['title', 'subjects'] },
    { title: 'Each term or school year, and the calendar', collection: 'academicSessions', answers: ['Calendar'], first: ['title', 'startDate', 'endDate'] },
  ],
  Student: [
    {
      title: 'Each student', collection: 'users', kinds: visiblePeople(['Student']), answers: ['Students'],
      first: [...names, 'grades', 'RegistrationGroup', 'agents', 'userIds', 'metadata', 'phone'],
    },
    places('Student'),
  ],
  Staff: [
    { title: 'Each member of staff', collection: 'users', kinds: visiblePeople(['Staff']), answers: ['Staff'], first: [...names, 'role', 'phone', 'metadata'] },
    places('Staff'),
  ],
  Contact: [
    {
      title: 'Each parent, guardian or relative', collection: 'users', kinds: visiblePeople(['Contact']), answers: ['Contacts'],
      first: [...names, 'phone', 'sms', 'role', 'agents'],
    },
    places('Contact'),
  ],
  StudentDemographic: [
    { title: 'Each student', collection: 'demographics', kinds: ['student'], first: collections.demographics.fields.map(({ name }) => name) },
  ],
  Attendance: [
    { title: 'Each mark', answers: ['AttendanceForDate', 'AttendanceForDateRange'], first: ['StudentId', 'Date', 'Session', 'Mark', 'MinsLate', 'Notes'] },
    { title: 'The codes', answers: ['AttendanceCodes'], first: ['Mark'] },
  ],
  WritebackAttendance: [{ title: 'Each mark that it enters', answers: ['Writeback'], first: ['StudentId', 'Date', 'Session', 'Mark', 'PreviousMark'] }],
  Identity: [
    { title: 'Each student and member of staff', answers: ['GetUsers'], first: ['DisplayName', 'UserName', 'WorkEmail', 'Roles', 'LastLoggedIn'] },
    { title: 'Each person who signs in to the application', answers: ['SignIn'], first: ['name', 'email', 'role'] },
  ],
};

/** What no thing speaks of is a thing of its own: an answer that is new cannot be left out. */
export function listThings(scope: Scope, openings: readonly Opening[]): Thing[] {
  const known = things[scope];
  const strangers = openings.filter((opening) => opening.scope === scope && !known.some(({ answers }) => answers?.includes(opening.name)));
  return [...known, ...strangers.map(({ name, fields }): Thing => ({ title: name, answers: [name], first: fields }))];
}

/** In the order of the record, those first that matter most. */
export function listFields({ collection, answers = [], first }: Thing, openings: readonly Opening[]): ThingField[] {
  const sources = [
    ...(collection ? ['sourcedId', 'status', 'dateLastModified', 'metadata', ...collections[collection].fields.map(({ name }) => name)] : []).map((field) => ({
      of: collection as string,
      field,
    })),
    ...openings.filter(({ name }) => answers.includes(name)).flatMap(({ name, fields }) => fields.map((field) => ({ of: name, field }))),
  ];
  const fields = new Map<string, ThingField>();
  for (const source of sources) {
    const label = findPlainName(source.of, source.field) ?? source.field;
    const field = fields.get(label) ?? { label, first: false, sources: [] };
    field.sources.push(source);
    field.first ||= first.includes(source.field);
    fields.set(label, field);
  }
  const rank = (field: ThingField) => Math.min(...field.sources.map(({ field: name }) => (first.includes(name) ? first.indexOf(name) : first.length)));
  return [...fields.values()].toSorted((a, b) => rank(a) - rank(b));
}
