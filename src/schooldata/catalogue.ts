// In charge of the list of data endpoints: one row each, with what it needs, what it takes and what it gives. The
// endpoint Queries is this table describing itself.
import { Type, type TSchema } from '../http/json-schema.ts';
import type { Scope } from '../access/scopes.ts';
import type { DatabaseName } from '../collection/connector.ts';
import { exampleDay, exampleStudent } from '../collection/connectors/demo/named-in-reference.ts';
import { attendanceCodes } from './attendance-codes.ts';
import {
  calendarFields, codeFields, contactFields, countFields, groupFields, groupTypes, markFields, schoolInfoFields, sessionTypes, staffFields, studentFields,
  type RowFields,
} from './row-fields.ts';
import { attendance, calendar, contacts, counts, groups, schoolInfo, staff, students, type Projection } from './projections.ts';

/** oneOf: the values there are, in any case. */
export type Parameter = Readonly<{
  name: string;
  kind: 'date' | 'text' | { oneOf: readonly string[] };
  required: boolean;
  description: string;
  /** Of the demo school. */
  example: string;
}>;

export type Endpoint = Readonly<{
  name: string;
  description: string;
  scope: Scope;
  databases: readonly DatabaseName[];
  parameters: readonly Parameter[];
  fields: readonly string[];
  row: RowFields;
  /** Rows out of the database, or the same for everybody. */
  source: Projection | { constant: readonly Record<string, unknown>[] };
  /** Says something even before anything was collected. */
  servedAlways?: true;
  /** Its rows can be asked for one by one, by their Id; what of an Id is a value of a parameter narrows what is read. Undefined: no Id of these rows. */
  valuesOfId?: (id: string) => Readonly<Record<string, string>> | undefined;
  /** One of the demo school. */
  exampleId?: string;
}>;

export const longestRangeDays = 31;

const date = (name: string, description: string): Parameter => ({ name, kind: 'date', required: true, description, example: exampleDay });
const narrowing: readonly Parameter[] = [
  { name: 'sessionType', kind: { oneOf: sessionTypes }, required: false, description: 'AM or PM', example: 'AM' },
  { name: 'id', kind: 'text', required: false, description: 'one student, by the Id of Students', example: exampleStudent },
];
/** The Id of a record is its sourcedId, whatever that looks like. */
const anyId = () => ({});
const markId = /^(?<id>.+)\.(?<date>\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\.(?<sessionType>AM|PM)$/s;

/** What every data endpoint takes besides. A single row has no pages and no changes. */
export const commonParameters: readonly Readonly<{ name: string; description: string; ofLists: boolean; schema: TSchema }>[] = [
  { name: 'select', description: 'the fields to give, separated by commas', ofLists: false, schema: Type.String() },
  { name: 'page', description: 'the number of the page, from 1', ofLists: true, schema: Type.Integer({ minimum: 1, examples: [1] }) },
  {
    name: 'pageSize',
    description: 'how many rows a page has; left out, there is one page',
    ofLists: true,
    schema: Type.Integer({ minimum: 1, maximum: 999_999_999, examples: [2] }),
  },
  {
    name: 'updatedSince',
    description: 'only what changed after this time, and the ids gone since',
    ofLists: true,
    schema: Type.String({ format: 'date-time', examples: ['2026-09-01T08:00:00Z'] }),
  },
  { name: 'onlyGetDBStatus', description: 'true: how the databases stand, in place of rows', ofLists: false, schema: Type.Boolean({ examples: [false] }) },
  {
    name: 'callbackUrl',
    description: 'the URL to call when the data is ready',
    ofLists: false,
    schema: Type.String({ format: 'uri', examples: ['https://app.example/ready?school=9990001'] }),
  },
];

const described: readonly Omit<Endpoint, 'fields'>[] = [
  {
    name: 'SchoolInfo',
    description: 'The school',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [],
    row: schoolInfoFields,
    source: schoolInfo,
    servedAlways: true,
  },
  {
    name: 'Students',
    description: 'Students on roll',
    scope: 'Student',
    databases: ['SchoolData'],
    parameters: [{ name: 'yearGroup', kind: 'text', required: false, description: 'only students of this year group, such as 7 or 07', example: '7' }],
    valuesOfId: anyId,
    exampleId: exampleStudent,
    row: studentFields,
    source: students,
  },
  {
    name: 'Staff',
    description: 'Teachers and other staff',
    scope: 'Staff',
    databases: ['SchoolData'],
    parameters: [],
    valuesOfId: anyId,
    exampleId: 'u-e-tkpdh8rbk6',
    row: staffFields,
    source: staff,
  },
  {
    name: 'Contacts',
    description: 'Parents, guardians and relatives',
    scope: 'Contact',
    databases: ['SchoolData'],
    parameters: [],
    valuesOfId: anyId,
    exampleId: 'u-c-dbf0gxcxbr',
    row: contactFields,
    source: contacts,
  },
  {
    name: 'Groups',
    description: 'Registration and teaching groups with their members',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [{ name: 'type', kind: { oneOf: groupTypes }, required: false, description: 'RegGrp or TeachingGrp', example: 'RegGrp' }],
    valuesOfId: anyId,
    exampleId: 'cls-27-7a-02wqw',
    row: groupFields,
    source: groups,
  },
  {
    name: 'Calendar',
    description: 'Each day of the school years around today',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [],
    row: calendarFields,
    source: calendar,
  },
  {
    name: 'Counts',
    description: 'How many active records there are of each kind that your scopes open',
    scope: 'School',
    databases: ['SchoolData'],
    parameters: [],
    row: countFields,
    source: counts,
  },
  {
    name: 'AttendanceCodes',
    description: 'The codes of attendance marks, with the days on which each is valid',
    scope: 'Attendance',
    databases: [],
    parameters: [],
    row: codeFields,
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
    exampleId: `${exampleStudent}.${exampleDay}.AM`,
    row: markFields,
    source: attendance,
  },
  {
    name: 'AttendanceForDateRange',
    description: `Marks of up to ${longestRangeDays} days`,
    scope: 'Attendance',
    databases: ['SchoolData', 'Attendance'],
    parameters: [date('dateFrom', 'the first day, YYYY-MM-DD'), date('dateTo', 'the last day, YYYY-MM-DD'), ...narrowing],
    row: markFields,
    source: attendance,
  },
];

export const endpoints: readonly Endpoint[] = described.map((one) => ({ ...one, fields: Object.keys(one.row) }));

export function findEndpoint(name: string): Endpoint | undefined {
  return endpoints.find((endpoint) => endpoint.name.toLowerCase() === name.toLowerCase());
}
