// In charge of the fields of the data endpoints' rows: each named and described once, for answers, for what a school reads
// before it decides, for Queries and for the documentation.
import type { TSchema } from '../http/json-schema.ts';
import { day, flag, instant, listOf, oneOf, orNull, text, whole } from '../http/describe-route.ts';
import type { Meaning } from './attendance-codes.ts';

/** In their order. */
export type RowFields = Readonly<Record<string, TSchema>>;

export const groupTypes = ['RegGrp', 'TeachingGrp'] as const;
export const sessionTypes = ['AM', 'PM'] as const;
const meanings: readonly Meaning[] = [
  'Present', 'Approved educational activity', 'Authorised absence', 'Unauthorised absence', 'Not counted', 'Administrative',
];

const moved = { LastUpdated: instant('When something that the row shows last changed here (UTC).') };
const id = (of: string) => ({ Id: text(`The sourcedId of the ${of} in the roster; stable.`) });
const name = { DisplayName: text('Forename and surname.'), Email: orNull(text('E-mail address.')) };
const person = {
  Forename: text('Given name.'),
  MiddleName: orNull(text('Middle names.')),
  Surname: text('Family name.'),
  ...name,
};
const students = (whose: string) => ({ StudentIds: listOf(text('The Id of a student.'), `${whose}; empty unless Student is granted.`) });

export const schoolInfoFields: RowFields = {
  Estab: text('The establishment identifier.'),
  Name: text('The name of the school.'),
  Email: text('The address of record.'),
  TimeZone: text('The IANA name of its time zone, by which its days are counted.'),
  Connector: orNull(oneOf(['csv', 'oneroster', 'demo'], 'How its data comes here; null before it is connected.')),
  LastUpdated: orNull(instant('When SchoolData was last collected; null before the first time.')),
};
export const studentFields: RowFields = {
  ...id('student'),
  ...person,
  YearGroup: orNull(text('The first grade of the roster, as the MIS writes it.')),
  RegistrationGroup: orNull(text('The name of the registration group.')),
  ...moved,
};
export const staffFields: RowFields = { ...id('member of staff'), ...person, Role: text('teacher, administrator, aide or proctor.'), ...moved };
export const contactFields: RowFields = {
  ...id('contact'),
  Forename: text('Given name.'),
  Surname: text('Family name.'),
  ...name,
  Phone: orNull(text('Telephone number, else the mobile number.')),
  Role: text('parent, guardian or relative.'),
  ...students('The children'),
  ...moved,
};
export const groupFields: RowFields = {
  ...id('class'),
  Name: text('The name of the group.'),
  Code: orNull(text('Its code in the MIS.')),
  Type: oneOf(groupTypes, 'RegGrp is a registration group, TeachingGrp any other.'),
  Subject: orNull(text('The first subject of the class, else of its course.')),
  StaffIds: listOf(text('The Id of a member of staff.'), 'Who teaches it; empty unless Staff is granted.'),
  ...students('The members'),
  ...moved,
};
export const calendarFields: RowFields = {
  Date: day('The day.'),
  IsSchoolDay: flag('Whether the school is open.'),
  Term: orNull(text('The term around it; also on weekends and in half-terms.')),
};
export const countFields: RowFields = {
  Area: text('What is counted, such as Students.'),
  Count: whole('Number of active records of the kinds that your scopes open.'),
};
export const codeFields: RowFields = {
  Mark: text('The code, exactly as it is written.'),
  Description: text('What it says of the student.'),
  Meaning: oneOf(meanings, 'How it counts in the statistics.'),
  ValidFrom: orNull(day('The first day on which it may be entered; null: as far back as registers go.')),
  ValidTo: orNull(day('The last day; null: still in use.')),
  Writable: flag('Whether an application may enter it.'),
};
export const markFields: RowFields = {
  Id: text('StudentId.Date.Session, such as p1.2026-11-12.AM.'),
  StudentId: text('The Id of the student.'),
  Date: day('The day.'),
  Type: oneOf(['S'], 'S: a session mark.'),
  Session: oneOf(sessionTypes, 'Morning or afternoon.'),
  Mark: text('The code; AttendanceCodes lists what each means.'),
  MinsLate: orNull(whole('Minutes late.')),
  Notes: orNull(text('Notes to the mark.')),
  ...moved,
};
