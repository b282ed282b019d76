// In charge of the list of data endpoints: one row each, with what it needs, what it takes and what it gives. The
// endpoint Queries is this table describing itself.
import type { Scope } from '../access/scopes.ts';
import type { DatabaseName } from '../collection/connector.ts';
import { attendanceCodes } from './attendance-codes.ts';
import { attendance, calendar, contacts, counts, groups, schoolInfo, staff, students, type Projection } from './projections.ts';

export type Parameter = Readonly<{ name: string; kind: 'date' | 'session' | 'text'; required: boolean; description: string }>;

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
}>;

export const longestRangeDays = 31;

const list = (fields: string) => fields.split(', ');
const person = 'Id, Forename, MiddleName, Surname, DisplayName, Email';
const mark = list('Id, StudentId, Date, Type, Session, Mark, MinsLate, Notes, LastUpdated');
const date = (name: string, description: string): Parameter => ({ name, kind: 'date', required: true, description });
const narrowing: readonly Parameter[] = [
  { name: 'sessionType', kind: 'session', required: false, description: 'AM or PM' },
  { name: 'id', kind: 'text', required: false, description: 'one student' },
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
    parameters: [],
    fields: list(`${person}, YearGroup, RegistrationGroup, LastUpdated`),
    source: students,
  },
  {
    name: 'Staff',
    description: 'Teachers and other staff',
    scope: 'Staff',
    databases: ['SchoolData'],
    parameters: [],
    fields: list(`${person}, Role, LastUpdated`),
    source: staff,
  },
  {
    name: 'Contacts',
    description: 'Parents, guardians and relatives',
    scope: 'Contact',
    databases: ['SchoolData'],
    parameters: [],
    fields: list('Id, Forename, Surname, DisplayName, Email, Phone, Role, StudentIds, LastUpdated'),
    source: contacts,
  },
  {
    name: 'Groups',
    description: 'Registration and teaching groups with their members',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [],
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
