// In charge of attendance.csv: the marks of a package as checked rows. A cell that breaks a rule is a problem that names
// the rule; its row is then left out. Whether the student exists is for those who know the roster.
import type { Field } from '../../../roster/resource.ts';
import { attendanceFile, type MarkRow, type Session } from '../../mark.ts';
import { SourceError, type Problems } from '../../problem.ts';
import { checkValue, idRule, textRule } from '../../value-rules.ts';
import type { CsvPackage, PackageFile } from './package.ts';
import { readCsv, type CsvRecord } from './read-csv.ts';
import { unescapeNotes } from './write-csv.ts';

export const attendanceColumns = ['studentSourcedId', 'date', 'session', 'mark', 'minutesLate', 'notes'] as const;
const requiredColumns = attendanceColumns.slice(0, 4);
type Column = (typeof attendanceColumns)[number];

const maxMarkCharacters = 2;
const maxNotesCharacters = 500;
/** Every register that was seen is remembered to notice a second entry. A large school writes 800,000 marks a year. */
export const maxMarks = 2_000_000;
const dateField: Field = { name: 'date', type: 'date', column: 'date', about: 'The day of the mark.' };

export function hasAttendance({ files }: Pick<CsvPackage, 'files'>): boolean {
  return files.has(attendanceFile);
}

type OnBytes = (count: number) => void;

export async function* readAttendance(file: PackageFile, problems: Problems, onBytes: OnBytes = () => {}, most = maxMarks): AsyncGenerator<MarkRow[]> {
  let check: MarkCheck | undefined;
  const findEarlier = createRegisterMemory(most);
  for await (const records of readCsv(file, onBytes)) {
    const rows: MarkRow[] = [];
    for (const record of records) {
      if (!check) {
        check = createMarkCheck(record);
        continue;
      }
      const row = check(record, problems);
      const earlier = row && findEarlier(row);
      if (row && earlier === undefined) rows.push(row);
      else if (row)
        problems.add({
          file: attendanceFile,
          line: row.line,
          column: 'studentSourcedId',
          value: row.studentId,
          rule: `there must be one mark for a student, date and session; line ${earlier} has it already`,
        });
    }
    if (rows.length > 0) yield rows;
  }
  if (!check) throw new SourceError(attendanceFile, 'is empty; the first line must name the columns', { line: 1 });
}

type MarkCheck = (record: CsvRecord, problems: Problems) => MarkRow | undefined;

/** Reads the header and gives the check for the rows below it. */
function createMarkCheck(header: CsvRecord): MarkCheck {
  const columns = header.cells.map((name) => name.trim());
  requireColumns(columns, header.line);
  const at = Object.fromEntries(attendanceColumns.map((name) => [name, columns.indexOf(name)])) as Record<Column, number>;

  return ({ line, cells }, problems) => {
    if (cells.length !== columns.length) {
      problems.add({ file: attendanceFile, line, column: null, value: null, rule: `the row has ${cells.length} fields, the header ${columns.length}` });
      return undefined;
    }
    let failed = false;
    const read = (column: Column, findFault: (text: string) => string | undefined): string => {
      const cell = cells[at[column]] ?? '';
      // Notes keep their outer spaces, so that those of a writeback come back as they were.
      const text = column === 'notes' ? unescapeNotes(cell) : cell.trim();
      const rule = findFault(text);
      if (rule !== undefined) {
        failed = true;
        problems.add({ file: attendanceFile, line, column, value: text, rule });
      }
      return text;
    };
    const studentId = read('studentSourcedId', (text) => idRule(text) ?? textRule(text));
    const date = read('date', dateFault);
    const session = read('session', (text) => (text === 'AM' || text === 'PM' ? undefined : 'must be AM or PM'));
    const mark = read('mark', markFault);
    const minutesLate = read('minutesLate', (text) => (/^\d{0,3}$/.test(text) ? undefined : 'must be a whole number from 0 to 999'));
    const notes = read('notes', notesFault);
    if (failed) return undefined;
    return {
      line,
      studentId,
      date,
      session: session as Session,
      // SIMS writes a hyphen where no mark was recorded.
      mark: mark === '' || mark === '-' ? undefined : mark,
      minutesLate: minutesLate === '' ? undefined : Number(minutesLate),
      notes: notes.trim() === '' ? undefined : notes,
    };
  };
}

function requireColumns(columns: readonly string[], line: number): void {
  const missing = requiredColumns.filter((name) => !columns.includes(name));
  const stranger = columns.find((name) => !(attendanceColumns as readonly string[]).includes(name));
  const twice = columns.find((name, position) => columns.indexOf(name) !== position);
  if (missing.length > 0)
    throw new SourceError(attendanceFile, `the header lacks the column${missing.length > 1 ? 's' : ''} ${missing.join(', ')} (names are case-sensitive)`, {
      line,
      column: missing.join(', '),
    });
  if (stranger !== undefined)
    throw new SourceError(attendanceFile, `"${stranger}" is not a column of this file: ${attendanceColumns.join(', ')}`, { line, column: stranger });
  if (twice !== undefined) throw new SourceError(attendanceFile, 'the header names this column twice', { line, column: twice });
}

function dateFault(text: string): string | undefined {
  let fault: string | undefined;
  checkValue(dateField, text, (_value, rule) => (fault = rule), 'v1p1');
  return fault;
}

function markFault(text: string): string | undefined {
  if (text.length > maxMarkCharacters) return `must not be longer than ${maxMarkCharacters} characters`;
  return text === '' ? undefined : (idRule(text) ?? textRule(text));
}

function notesFault(text: string): string | undefined {
  if ([...text].length > maxNotesCharacters) return `must not be longer than ${maxNotesCharacters} characters`;
  return textRule(text);
}

/** Gives the line on which a register already had the student, or undefined and remembers this one. */
function createRegisterMemory(most: number): (row: MarkRow) => number | undefined {
  const registers = new Map<string, Map<string, number>>();
  // A cell is a slice of the text it was read from and would keep all of it; one copy per student is kept instead.
  const students = new Map<string, string>();
  let marks = 0;
  return ({ studentId, date, session, line }) => {
    const register = registers.get(`${date} ${session}`) ?? new Map<string, number>();
    if (register.size === 0) registers.set(`${date} ${session}`, register);
    const student = students.get(studentId) ?? Buffer.from(studentId).toString();
    students.set(student, student);
    const earlier = register.get(student);
    if (earlier !== undefined) return earlier;
    marks += 1;
    if (marks > most) throw new SourceError(attendanceFile, `has more than ${most} marks; hand over one school year at most`, { line });
    register.set(student, line);
    return undefined;
  };
}
