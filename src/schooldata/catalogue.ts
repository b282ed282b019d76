// In charge of the list of data endpoints: one row each, with what it needs, what it takes and what it gives. The
// endpoint Queries is this table describing itself.
import type { Scope } from '../access/scopes.ts';
import type { DatabaseName } from '../collection/connector.ts';
import { attendanceCodes } from './attendance-codes.ts';
import { attendance, calendar, contacts, counts, groups, schoolInfo, staff, students, type Projection } from './projections.ts';

/** oneOf: the values there are, in any case. */
export type Parameter = Readonly<{ name: string; kind: 'date' | 'text' | { oneOf: readonly string[] }; required: boolean; description: string }>;

export type Endpoint = Readonly<{
  name: string;
  description: string;
  scope: Scope;
  databases: readonly DatabaseName[];
  parameters: readonly Parameter[];
  fields: readonly string[];
  /** Rows out of the database, or the same for everybody. */
  source: Projection | { constant: readonly Record<string, unknown>[] };
  /** Says something even before anything was collected. */
  servedAlways?: true;
  /** Its rows can be asked for one by one, by their Id; what of an Id is a value of a parameter narrows what is read. Undefined: no Id of these rows. */
  valuesOfId?: (id: string) => Readonly<Record<string, string>> | undefined;
}>;

export const longestRangeDays = 31;

const list = (fields: string) => fields.split(', ');
const person = 'Id, Forename, MiddleName, Surname, DisplayName, Email';
const mark = list('Id, StudentId, Date, Type, Session, Mark, MinsLate, Notes, LastUpdated');
const date = (name: string, description: string): Parameter => ({ name, kind: 'date', required: true, description });
const narrowing: readonly Parameter[] = [
  { name: 'sessionType', kind: { oneOf: ['AM', 'PM'] }, required: false, description: 'AM or PM' },
  { name: 'id', kind: 'text', required: false, description: 'one student, by the Id of Students' },
];
/** The Id of a record is its sourcedId, whatever that looks like. */
const anyId = () => ({});
const markId = /^(?<id>.+)\.(?<date>\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\.(?<sessionType>AM|PM)$/s;

/** What every data endpoint takes besides. A single row has no pages and no changes. */
export const commonParameters: readonly Readonly<{ name: string; description: string; ofLists: boolean }>[] = [
  { name: 'select', description: 'the fields to give, separated by commas', ofLists: false },
  { name: 'page', description: 'the number of the page, from 1', ofLists: true },
  { name: 'pageSize', description: 'how many rows a page has; left out, there is one page', ofLists: true },
  { name: 'updatedSince', description: 'only what changed after this time, and the ids gone since', ofLists: true },
  { name: 'onlyGetDBStatus', description: 'true: how the databases stand, in place of rows', ofLists: false },
  { name: 'callbackUrl', description: 'the URL to call when the data is ready', ofLists: false },
];

export const endpoints: readonly Endpoint[] = [
  {
    name: 'SchoolInfo',
    description: 'The school',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [],
    fields: list('Estab, Name, Email, TimeZone, Connector, LastUpdated'),
    source: schoolInfo,
    servedAlways: true,
  },
  {
    name: 'Students',
    description: 'Students on roll',
    scope: 'Student',
    databases: ['SchoolData'],
    parameters: [{ name: 'yearGroup', kind: 'text', required: false, description: 'only students of this year group, such as 7 or 07' }],
    valuesOfId: anyId,
    fields: list(`${person}, YearGroup, RegistrationGroup, LastUpdated`),
    source: students,
  },
  {
    name: 'Staff',
    description: 'Teachers and other staff',
    scope: 'Staff',
    databases: ['SchoolData'],
    parameters: [],
    valuesOfId: anyId,
    fields: list(`${person}, Role, LastUpdated`),
    source: staff,
  },
  {
    name: 'Contacts',
    description: 'Parents, guardians and relatives',
    scope: 'Contact',
    databases: ['SchoolData'],
    parameters: [],
    valuesOfId: anyId,
    fields: list('Id, Forename, Surname, DisplayName, Email, Phone, Role, StudentIds, LastUpdated'),
    source: contacts,
  },
  {
    name: 'Groups',
    description: 'Registration and teaching groups with their members',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [{ name: 'type', kind: { oneOf: ['RegGrp', 'TeachingGrp'] }, required: false, description: 'RegGrp or TeachingGrp' }],
    valuesOfId: anyId,
    fields: list('Id, Name, Code, Type, Subject, StaffIds, StudentIds, LastUpdated'),
    source: groups,
  },
  {
    name: 'Calendar',
    description: 'Each day of the school years around today',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [],
    fields: list('Date, IsSchoolDay, Term'),
    source: calendar,
  },
  {
    name: 'Counts',
    description: 'How many active records there are',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [],
    fields: list('Area, Count'),
    source: counts,
  },
  {
    name: 'AttendanceCodes',
    description: 'The codes of attendance marks, with the days on which each is valid',
    scope: 'Attendance',
    databases: [],
    parameters: [],
    fields: list('Mark, Description, Meaning, ValidFrom, ValidTo, Writable'),
    source: {
      constant: attendanceCodes.map((code) => ({
        Mark: code.mark,
        Description: code.description,
        Meaning: code.meaning,
        ValidFrom: code.validFrom ?? null,
        ValidTo: code.validTo ?? null,
        Writable: code.writable,
      })),
    },
    servedAlways: true,
  },
  {
    name: 'AttendanceForDate',
    description: 'Marks of one day',
    scope: 'Attendance',
    databases: ['SchoolData', 'Attendance'],
    parameters: [date('date', 'the day, YYYY-MM-DD'), ...narrowing],
    valuesOfId: (id) => markId.exec(id)?.groups,
    fields: mark,
    source: attendance,
  },
  {
    name: 'AttendanceForDateRange',
    description: `Marks of up to ${longestRangeDays} days`,
    scope: 'Attendance',
    databases: ['SchoolData', 'Attendance'],
    parameters: [date('dateFrom', 'the first day, YYYY-MM-DD'), date('dateTo', 'the last day, YYYY-MM-DD'), ...narrowing],
    fields: mark,
    source: attendance,
  },
];

export function findEndpoint(name: string): Endpoint | undefined {
  return endpoints.find((endpoint) => endpoint.name.toLowerCase() === name.toLowerCase());
}
