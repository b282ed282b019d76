// Covers the judging of marks on a real database: each fault alone, all of them at once, who was on roll when, which
// day it is, and that 5,000 marks cost one statement.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heardStatements } from '../../test/heard-statements.ts';
import { csvPackage, type Rows } from '../../test/csv-package.ts';
import { useService } from '../../test/service.ts';
import { faultCodes, judgeMarks, type Fault, type FaultCode } from './judge-marks.ts';
import { parseMarksBody } from './marks-body.ts';

type Row = Rows[number];

const user = (sourcedId: string, role = 'student'): Row => ({
  sourcedId, enabledUser: 'true', orgSourcedIds: 'o1', role, username: sourcedId, givenName: 'Given', familyName: sourcedId,
});
const session = (sourcedId: string, type: string, startDate: string, endDate: string, parentSourcedId = ''): Row => ({
  sourcedId, title: sourcedId, type, startDate, endDate, parentSourcedId, schoolYear: '2027',
});
const enrolment = (sourcedId: string, userSourcedId: string, endDate = ''): Row => ({
  sourcedId, userSourcedId, classSourcedId: 'k1', schoolSourcedId: 'o1', role: 'student', beginDate: endDate && '2026-09-01', endDate,
});
const gone = (row: Row): Row => ({ ...row, status: 'tobedeleted', dateLastModified: '2026-10-01T08:00:00.000Z' });

const leavers = ['left', 'left-ended', 'left-open'];
const enrolments = [
  enrolment('e1', 'left-ended', '2026-09-12'), enrolment('e2', 'left-ended', '2026-09-19'), enrolment('e3', 'left-open', '2026-09-19'),
  enrolment('e4', 'left-open'),
];
const school = {
  orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }],
  academicSessions: [
    session('old', 'term', '2024-06-03', '2024-09-30'),
    session('t', 'term', '2026-09-01', '2026-12-19'),
    session('t1', 'gradingPeriod', '2026-09-01', '2026-10-24', 't'),
    session('t2', 'gradingPeriod', '2026-11-02', '2026-12-19', 't'),
  ],
  courses: [{ sourcedId: 'c1', title: 'Maths', orgSourcedId: 'o1' }],
  classes: [{ sourcedId: 'k1', title: 'Class', courseSourcedId: 'c1', classType: 'scheduled', schoolSourcedId: 'o1', termSourcedIds: 't' }],
  users: [...Array.from({ length: 2500 }, (_, at) => user(`s${at}`)), user('teacher', 'teacher'), ...leavers.map((id) => user(id))],
  enrollments: enrolments,
};

const service = await useService();
const { db } = service;
const estab = '3281102';
await service.addSchool(estab, csvPackage(school));
const leaving = csvPackage({ users: leavers.map((id) => gone(user(id))), enrollments: enrolments.map(gone) }, { mode: 'delta' });
await service.load(estab, leaving, { approve: true });
// The school learned of its leavers at half past midnight of 1 October, by its own clock.
await db`update roster_version set instant = '2026-09-30T23:30:00Z' where estab = ${estab} and version = 2`;
await service.addSchool('other', csvPackage({ orgs: school.orgs, users: [user('elsewhere')] }));

const now = new Date('2026-10-14T09:00:00Z');
const date = '2026-10-14';
const fine = { StudentId: 's1', MarkType: 'S', Date: date, Session: 'AM', Mark: '/' };
const judge = (marks: unknown[], at = now) => judgeMarks(db, { estab, timeZone: 'Europe/London', now: at }, parseMarksBody({ Marks: marks }).marks);
const brief = ({ Index, Field, Code, Suggestion }: Fault) => [Index, Field, Code, ...(Suggestion === undefined ? [] : [Suggestion])];

type Expected = [Fault['Field'], FaultCode, Suggestion?: string][];
const judged: [string, unknown, Expected][] = [
  ['nothing wrong', fine, []],
  ['nothing wrong, all given', { ...fine, Mark: 'L', Mins: 12, Notes: 'Bus' }, []],
  ['no object', 7, [['Marks', 'Malformed']]],
  [
    'nothing given',
    {},
    [
      ['StudentId', 'Missing'],
      ['MarkType', 'Missing'],
      ['Date', 'Missing'],
      ['Session', 'Missing'],
      ['Mark', 'Missing'],
    ],
  ],
  [
    'wrong types',
    { ...fine, StudentId: 1, MarkType: [], Date: 20261014, Session: true, Mark: {}, Mins: {}, Notes: 5 },
    [
      ['StudentId', 'Malformed'],
      ['MarkType', 'Malformed'],
      ['Date', 'Malformed'],
      ['Session', 'Malformed'],
      ['Mark', 'Malformed'],
      ['Mins', 'Malformed'],
      ['Notes', 'Malformed'],
    ],
  ],
  ['nobody', { ...fine, StudentId: 'nobody' }, [['StudentId', 'UnknownStudent']]],
  ['another case', { ...fine, StudentId: 'S1' }, [['StudentId', 'UnknownStudent']]],
  ['no student', { ...fine, StudentId: 'teacher' }, [['StudentId', 'UnknownStudent']]],
  ['a student of another school', { ...fine, StudentId: 'elsewhere' }, [['StudentId', 'UnknownStudent']]],
  ['a character that nothing can store', { ...fine, StudentId: 's1\0' }, [['StudentId', 'Malformed']]],
  ['left', { ...fine, StudentId: 'left' }, [['StudentId', 'NotOnRoll']]],
  ['a lesson', { ...fine, MarkType: 'L' }, [['MarkType', 'InvalidMarkType']]],
  ['in small letters', { ...fine, MarkType: 's', Session: ' am ' }, []],
  ['no such day', { ...fine, Date: '2026-09-31' }, [['Date', 'InvalidDate']]],
  ['no such month', { ...fine, Date: '2026-13-01' }, [['Date', 'InvalidDate']]],
  ['a date with a time', { ...fine, Date: '2026-10-14T00:00:00' }, [['Date', 'InvalidDate']]],
  ['an English date', { ...fine, Date: '14/10/2026' }, [['Date', 'InvalidDate']]],
  ['the year 0', { ...fine, Date: '0000-01-01' }, [['Date', 'InvalidDate']]],
  ['tomorrow', { ...fine, Date: '2026-10-15' }, [['Date', 'FutureDate']]],
  ['a Sunday', { ...fine, Date: '2026-10-11' }, [['Date', 'NotASchoolDay']]],
  ['holidays', { ...fine, Date: '2026-08-31' }, [['Date', 'NotASchoolDay']]],
  ['half-term to come', { ...fine, Date: '2026-10-27' }, [['Date', 'FutureDate'], ['Date', 'NotASchoolDay']]],
  ['no session', { ...fine, Session: 'Morning' }, [['Session', 'InvalidSession']]],
  ['no code', { ...fine, Mark: '?' }, [['Mark', 'UnknownMark']]],
  ['a code in small letters', { ...fine, Mark: 'y1' }, [['Mark', 'UnknownMark', 'Y1']]],
  ['a code with a space', { ...fine, Mark: '/ ' }, [['Mark', 'UnknownMark', '/']]],
  ['a withdrawn code in small letters', { ...fine, Mark: 'h' }, [['Mark', 'UnknownMark']]],
  ['H', { ...fine, Mark: 'H' }, [['Mark', 'MarkNotValidForDate', 'C']]],
  ['J', { ...fine, Mark: 'J' }, [['Mark', 'MarkNotValidForDate', 'J1']]],
  ['Y', { ...fine, Mark: 'Y' }, [['Mark', 'MarkNotValidForDate', 'Y1']]],
  ['H on the last school day it was in use', { ...fine, Date: '2024-08-16', Mark: 'H' }, []],
  ['H on the first day it was not', { ...fine, Date: '2024-08-19', Mark: 'H' }, [['Mark', 'MarkNotValidForDate', 'C']]],
  ['Q before it was', { ...fine, Date: '2024-08-16', Mark: 'Q' }, [['Mark', 'MarkNotValidForDate', 'Y']]],
  ['Q since', { ...fine, Date: '2024-08-19', Mark: 'Q' }, []],
  ['no mark recorded', { ...fine, Mark: '-' }, [['Mark', 'MarkNotWritable']]],
  ['closed', { ...fine, Mark: '#' }, [['Mark', 'MarkNotWritable']]],
  ['not on roll', { ...fine, Mark: 'Z' }, [['Mark', 'MarkNotWritable']]],
  ['/ in the afternoon', { ...fine, Session: 'pm' }, [['Mark', 'WrongSessionMark', '\\']]],
  ['\\ in the morning', { ...fine, Mark: '\\' }, [['Mark', 'WrongSessionMark', '/']]],
  ['minutes below nothing', { ...fine, Mins: -1 }, [['Mins', 'InvalidMins']]],
  ['half a minute', { ...fine, Mins: 0.5 }, [['Mins', 'InvalidMins']]],
  ['a thousand minutes', { ...fine, Mins: '1000' }, [['Mins', 'InvalidMins']]],
  ['minutes in words', { ...fine, Mins: 'ten' }, [['Mins', 'InvalidMins']]],
  ['minutes as text', { ...fine, Mins: '999' }, []],
  ['501 characters', { ...fine, Notes: '😀'.repeat(501) }, [['Notes', 'NotesTooLong']]],
  ['500 characters', { ...fine, Notes: '😀'.repeat(500) }, []],
  ['Y7 without a word', { ...fine, Mark: 'Y7', Notes: '  ' }, [['Notes', 'NotesRequired']]],
  ['Y7 with its reason', { ...fine, Mark: 'Y7', Notes: 'Flood' }, []],
];

for (const [name, mark, expected] of judged) {
  test(`alone: ${name}`, async () => {
    const { faults, good } = await judge([mark]);
    assert.deepEqual(faults.map(brief), expected.map((fault) => [0, ...fault]));
    assert.equal(good.length, expected.length === 0 ? 1 : 0);
    for (const { Message } of faults) assert.match(Message, /^\S.*\.$/s);
  });
}

test('all at once, each with its index, and the good ones beside them', async () => {
  // Each with a date of its own would be a fault of its own, so those that need another day have just that one more.
  const alone = judged.filter(([, mark]) => typeof mark === 'object');
  const students = alone.map(([, mark], at) => ({
    ...(mark as object),
    ...((mark as { StudentId?: unknown }).StudentId === 's1' ? { StudentId: `s${at + 10}` } : {}),
  }));
  const { faults, good } = await judge([...students, students[0]]);
  const expected: unknown[] = alone.flatMap(([, mark, own], index) => {
    const given = (mark as { Date?: unknown }).Date;
    const other = typeof given === 'string' && given !== date && !own.some(([, code]) => code === 'InvalidDate');
    const at = own.findIndex(([field]) => field === 'Date' || field === 'Mark');
    const all = other ? own.toSpliced(at === -1 ? own.length : at, 0, ['Date', 'SeveralDates']) : own;
    return all.map((fault) => [index, ...fault]);
  });
  assert.deepEqual(faults.map(brief), [...expected, [students.length, 'StudentId', 'Duplicate']]);
  const faulty = new Set(faults.map((fault) => fault.Index));
  assert.deepEqual(good.map((row) => row.line), alone.map((_, index) => index).filter((index) => !faulty.has(index)));
  assert.deepEqual(new Set(faults.map((fault) => fault.Code)), new Set(Object.keys(faultCodes)), 'every code there is');
});

test('a good mark is handed on in one spelling', async () => {
  const { good } = await judge([
    { ...fine, MarkType: 's', Session: 'pm', Mark: 'L', Mins: '07', Notes: ' Bus ' },
    { ...fine, StudentId: 's2', Notes: ' ', Mins: '' },
  ]);
  assert.deepEqual(good, [
    { line: 0, studentId: 's1', date, session: 'PM', mark: 'L', minutesLate: 7, notes: ' Bus ' },
    { line: 1, studentId: 's2', date, session: 'AM', mark: '/', minutesLate: undefined, notes: undefined },
  ]);
});

test('the same student and session again: the later mark is at fault and names the earlier', async () => {
  const { faults, good } = await judge([
    fine,
    { ...fine, Session: 'PM', Mark: '\\' },
    { ...fine, Session: 'am', Mark: 'N' },
    { ...fine, StudentId: 's2' },
    { ...fine, Date: 'today' },
  ]);
  assert.deepEqual(faults.map(brief), [
    [2, 'StudentId', 'Duplicate'],
    [4, 'StudentId', 'Duplicate'],
    [4, 'Date', 'InvalidDate'],
  ]);
  assert.match(faults[0]?.Message ?? '', /"s1" already has a mark for AM at index 0/);
  assert.deepEqual(good.map((row) => row.line), [0, 1, 3]);
});

test('one date per call: the first that can be read', async () => {
  const { faults } = await judge([
    { ...fine, Date: 'x' },
    { ...fine, StudentId: 's2', Date: '2026-10-13' },
    { ...fine, StudentId: 's3' },
    { ...fine, StudentId: 's2' },
    { ...fine, StudentId: 's4', Date: '2026-10-13' },
  ]);
  assert.deepEqual(faults.map(brief), [
    [0, 'Date', 'InvalidDate'],
    [2, 'Date', 'SeveralDates'],
    [3, 'Date', 'SeveralDates'],
  ]);
});

test('Y names every code that took its place', async () => {
  assert.match((await judge([{ ...fine, Mark: 'Y' }])).faults[0]?.Message ?? '', /use Y1, or Y2 to Y7 or Q/);
});

test('today is the day at the school', async () => {
  const at = async (instant: string, day: string) => (await judge([{ ...fine, Date: day }], new Date(instant))).faults.map((fault) => fault.Code);
  assert.deepEqual(await at('2026-10-14T22:30:00Z', '2026-10-15'), ['FutureDate']);
  assert.deepEqual(await at('2026-10-14T23:30:00Z', '2026-10-15'), [], 'summer time until 25 October');
  assert.deepEqual(await at('2026-11-10T23:30:00Z', '2026-11-11'), ['FutureDate']);
});

test('a leaver was on roll until the school learned of it, or until the last enrolment ended', async () => {
  const onRoll = async (StudentId: string, day: string) => (await judge([{ ...fine, StudentId, Date: day }])).faults.length === 0;
  const table: [string, string, boolean][] = [
    ['left', '2026-09-30', true],
    ['left', '2026-10-01', true],
    ['left', '2026-10-02', false],
    ['left-ended', '2026-09-14', true],
    ['left-ended', '2026-09-18', true],
    ['left-ended', '2026-09-21', false],
    ['left-open', '2026-10-01', true],
    ['left-open', '2026-10-02', false],
  ];
  for (const [student, day, expected] of table) assert.equal(await onRoll(student, day), expected, `${student} on ${day}`);
  assert.deepEqual((await judge([{ ...fine, StudentId: 'left', Date: 'x' }])).faults.map(brief), [[0, 'Date', 'InvalidDate']]);
});

test('5,000 marks are judged with one statement', async () => {
  const marks = Array.from({ length: 5000 }, (_, at) => ({
    ...fine,
    StudentId: `s${at % 2500}`,
    ...(at < 2500 ? {} : { Session: 'PM', Mark: at === 4000 ? '/' : '\\' }),
  }));
  let judged: Awaited<ReturnType<typeof judge>> | undefined;
  assert.equal((await heardStatements(async () => (judged = await judge(marks)))).length, 1);
  const { faults, good } = judged ?? assert.fail();
  assert.deepEqual(faults.map(brief), [[4000, 'Mark', 'WrongSessionMark', '\\']]);
  assert.equal(good.length, 4999);
});
