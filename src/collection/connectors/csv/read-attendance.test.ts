// Covers attendance.csv: every fault names file, line, column, value and rule, and the rest of the file is still read;
// and that a package may hold it beside the files of the standard.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { csvPackage } from '../../../../test/csv-package.ts';
import type { MarkRow } from '../../mark.ts';
import { Problems, SourceError, type Problem } from '../../problem.ts';
import { openCsvSource } from './csv-source.ts';
import { hasAttendance, maxMarks, readAttendance } from './read-attendance.ts';

const header = 'studentSourcedId,date,session,mark,minutesLate,notes';

function fileOf(content: string | Iterable<string>) {
  return {
    name: 'attendance.csv',
    size: 0,
    open: async () => Readable.from(typeof content === 'string' ? [Buffer.from(content)] : pieces(content), { objectMode: true }),
  };
}

function* pieces(content: Iterable<string>): Generator<Buffer> {
  for (const text of content) yield Buffer.from(text);
}

async function read(content: string | Iterable<string>): Promise<{ rows: MarkRow[]; problems: Problem[] }> {
  const problems = new Problems();
  const rows: MarkRow[] = [];
  for await (const batch of readAttendance(fileOf(content), problems)) rows.push(...batch);
  return { rows, problems: problems.listed };
}

async function refusalOf(content: string | Iterable<string>): Promise<Problem> {
  const error = await read(content).then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof SourceError, String(error));
  return error.problem;
}

test('a mark is read with all it says', async () => {
  const { rows, problems } = await read(
    `${header}\r\ns1,2026-11-13,AM,/,,\r\ns1,2026-11-13,PM,\\,,\r\ns2,2026-11-13,AM,L,7,"Bus, again"\r\ns3,2026-11-13,AM,Y7,0,"two\nlines"\r\n`,
  );
  assert.deepEqual(problems, []);
  assert.deepEqual(rows, [
    { line: 2, studentId: 's1', date: '2026-11-13', session: 'AM', mark: '/', minutesLate: undefined, notes: undefined },
    { line: 3, studentId: 's1', date: '2026-11-13', session: 'PM', mark: '\\', minutesLate: undefined, notes: undefined },
    { line: 4, studentId: 's2', date: '2026-11-13', session: 'AM', mark: 'L', minutesLate: 7, notes: 'Bus, again' },
    { line: 5, studentId: 's3', date: '2026-11-13', session: 'AM', mark: 'Y7', minutesLate: 0, notes: 'two\nlines' },
  ]);
});

test('a blank mark and a hyphen are no mark', async () => {
  const { rows, problems } = await read(`${header}\ns1,2026-11-13,AM,,,\ns1,2026-11-13,PM,-,,\ns2,2026-11-13,PM,  ,,\n`);
  assert.deepEqual([rows.map(({ mark }) => mark), problems], [[undefined, undefined, undefined], []]);
});

test('columns come in any order, spaces around a cell do not count, and the last two columns may be missing', async () => {
  const turned = await read('\ufeffmark,notes,session,date,minutesLate,studentSourcedId\n L ,  , AM , 2026-11-13 , 12 , s1 \n');
  assert.deepEqual(turned, {
    rows: [{ line: 2, studentId: 's1', date: '2026-11-13', session: 'AM', mark: 'L', minutesLate: 12, notes: undefined }],
    problems: [],
  });
  const short = await read('studentSourcedId,date,session,mark\ns1,2026-11-13,AM,I\n');
  assert.deepEqual(short, {
    rows: [{ line: 2, studentId: 's1', date: '2026-11-13', session: 'AM', mark: 'I', minutesLate: undefined, notes: undefined }],
    problems: [],
  });
});

const headerFaults: [name: string, content: string, column: string | null, rule: RegExp][] = [
  ['lacks a column', 'studentSourcedId,date,session\n', 'mark', /lacks the column mark/],
  ['lacks several', 'date,session\n', 'studentSourcedId, mark', /lacks the columns/],
  ['has a name in another case', 'studentsourcedid,date,session,mark\n', 'studentSourcedId', /case-sensitive/],
  ['has a column of its own', `${header},lesson\n`, 'lesson', /not a column of this file/],
  ['names a column twice', `${header},mark\n`, 'mark', /twice/],
  ['is not there', '', null, /is empty/],
];

for (const [name, content, column, rule] of headerFaults) {
  test(`a header that ${name} is refused`, async () => {
    const problem = await refusalOf(content);
    assert.deepEqual([problem.file, problem.line, problem.column], ['attendance.csv', 1, column]);
    assert.match(problem.rule, rule);
  });
}

test('a file with nothing but its header has no marks', async () => assert.deepEqual(await read(`${header}\n`), { rows: [], problems: [] }));

type Cells = Partial<Record<'studentSourcedId' | 'date' | 'session' | 'mark' | 'minutesLate' | 'notes', string>>;
const fine: Required<Cells> = { studentSourcedId: 's1', date: '2026-11-13', session: 'AM', mark: 'L', minutesLate: '5', notes: 'x' };
const render = (cells: Cells) => Object.values({ ...fine, ...cells }).map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');

const faults: [column: keyof Cells, values: string[], rule: RegExp][] = [
  ['studentSourcedId', ['', '  '], /must not be blank/],
  ['studentSourcedId', ['s'.repeat(256)], /longer than 255/],
  ['studentSourcedId', ['s\n1', 's\u00001', 's\ufffd1'], /control characters/],
  ['date', ['', '13/11/2026', '2026-02-30', '2027-02-29', '2026-13-01', '0000-01-01', '2026-11-13T09:00:00Z', '20261113', 'today'], /YYYY-MM-DD/],
  ['session', ['', 'am', 'Pm', 'A', 'AM PM', '1'], /must be AM or PM/],
  ['mark', ['ABC', 'J1 ext', '---'], /longer than 2/],
  ['mark', ['A\u0007', '\u0000', '\u007fA', '\ufffd'], /control characters/],
  ['minutesLate', ['-1', '1000', '7.5', '7 min', '0x7', '1e2', '0007'], /whole number from 0 to 999/],
  ['notes', ['n'.repeat(501)], /longer than 500/],
  ['notes', ['a\u0000b', 'a\ufffdb'], /control characters/],
];

test('every cell that breaks a rule is named, and the other rows are read', async () => {
  for (const [column, values, rule] of faults) {
    for (const value of values) {
      const { rows, problems } = await read(`${header}\n${render({ [column]: value })}\n${render({ session: 'PM' })}\n`);
      assert.deepEqual(
        problems.map((problem) => ({ ...problem, rule: '' })),
        [{ file: 'attendance.csv', line: 2, column, value: value.trim().slice(0, 200).replaceAll('\0', '\ufffd'), rule: '' }],
        `${column} ${JSON.stringify(value)}`,
      );
      assert.match(problems[0]?.rule ?? '', rule);
      assert.deepEqual(rows.map(({ session }) => session), ['PM']);
    }
  }
});

test('what is at the edge of a rule is fine', async () => {
  for (const cells of [
    { date: '2028-02-29' },
    { mark: 'C1' },
    { mark: '#' },
    { minutesLate: '0' },
    { minutesLate: '999' },
    { minutesLate: '' },
    { notes: 'n'.repeat(500) },
    { notes: 'tab\tand\nline' },
    { studentSourcedId: 's'.repeat(255) },
  ] as Cells[]) {
    const { rows, problems } = await read(`${header}\n${render(cells)}\n`);
    assert.deepEqual([rows.length, problems], [1, []], JSON.stringify(cells));
  }
});

test('several faults of one row are all named', async () => {
  const { rows, problems } = await read(`${header}\n,yesterday,noon,LATE,soon,${'n'.repeat(501)}\n`);
  assert.deepEqual([rows, problems.map(({ column }) => column)], [[], ['studentSourcedId', 'date', 'session', 'mark', 'minutesLate', 'notes']]);
});

test('a row with too few or too many fields is named', async () => {
  const { rows, problems } = await read(`${header}\ns1,2026-11-13,AM\ns1,2026-11-13,AM,/,,,\ns2,2026-11-13,AM,/,,\n`);
  assert.deepEqual(problems.map(({ line, rule }) => [line, rule]), [[2, 'the row has 3 fields, the header 6'], [3, 'the row has 7 fields, the header 6']]);
  assert.deepEqual(rows.map(({ studentId }) => studentId), ['s2']);
});

test('the second mark for a student, date and session is named with the line of the first, however far apart', async () => {
  function* content(): Generator<string> {
    yield `${header}\ns1,2026-11-13,AM,/,,\n`;
    for (let student = 2; student <= 20_000; student += 1) yield `s${student},2026-11-13,AM,/,,\n`;
    yield 's1,2026-11-13,PM,\\,,\ns1,2026-11-12,AM,/,,\ns1,2026-11-13,AM,I,,\n S1 ,2026-11-13,AM,I,,\n';
  }
  const { rows, problems } = await read(content());
  assert.deepEqual(problems, [
    {
      file: 'attendance.csv', line: 20_004, column: 'studentSourcedId', value: 's1',
      rule: 'there must be one mark for a student, date and session; line 2 has it already',
    },
  ]);
  assert.equal(rows.length, 20_003);
});

test('a file of more marks than a school can have is refused at the first too many', async () => {
  const [students, most] = [50, 300];
  function* content(days: number, more = ''): Generator<string> {
    yield `${header}\n`;
    for (let day = 0; day < days; day += 1) {
      const date = new Date(Date.UTC(2026, 8, 1 + day)).toISOString().slice(0, 10);
      yield Array.from({ length: students }, (_, at) => `s${at},${date},AM,/,,\n`).join('');
    }
    yield more;
  }
  const readUpTo = async (given: Iterable<string>) => {
    const problems = new Problems();
    let rows = 0;
    for await (const batch of readAttendance(fileOf(given), problems, undefined, most)) rows += batch.length;
    return [rows, problems.listed.length];
  };
  assert.deepEqual(await readUpTo(content(most / students, 's0,2026-09-01,AM,/,,\n')), [most, 1], 'a second mark for a register is not one more');
  const error = await readUpTo(content(most / students, 's0,2026-12-01,AM,/,,\n')).then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(error instanceof SourceError);
  assert.match(error.problem.rule, /more than 300 marks/);
  assert.equal(error.problem.line, most + 2);
  assert.equal(maxMarks, 2_000_000);
});

test('a package may hold attendance.csv: it is neither a stranger nor ignored', async () => {
  const files = { orgs: [{ sourcedId: 'o1', name: 'School', type: 'school' }] };
  const opened = csvPackage(files, { raw: { 'attendance.csv': `${header}\n` } });
  const source = await openCsvSource(opened);
  assert.deepEqual([source.ignored, source.collections.map(({ resource }) => resource.file), hasAttendance(opened)], [[], ['orgs.csv'], true]);
  assert.equal(hasAttendance(csvPackage(files)), false);
  const stranger = await openCsvSource(csvPackage(files, { raw: { 'Attendance.csv': `${header}\n` } })).then(() => undefined, (thrown: unknown) => thrown);
  assert.ok(stranger instanceof SourceError && stranger.problem.file === 'Attendance.csv');
});
