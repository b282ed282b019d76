// In charge of how lists look on a terminal: a heading, columns in line, times in the zone of this machine, which is named.
// Nothing that came from outside can steer the terminal. What is cut short stands whole in --json.
import { printable } from '../http/printable.ts';

export type Cell = string | number | boolean | Date | null | undefined;
/** most: where a cell is cut; of the last column nothing is, since nothing stands behind it. */
export type Column<Row> = Readonly<{ title: string; of(row: Row): Cell; right?: true; most?: number }>;

const gap = '  ';
const segmenter = new Intl.Segmenter('en');
const widthOf = (text: string) => (/^[\x20-\x7e]*$/.test(text) ? text.length : [...segmenter.segment(text)].length);

/** A column of which no row has anything is left out; without rows there is a sentence. */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<NoInfer<Row>>[], none: string): string[] {
  if (rows.length === 0) return [none];
  const cells = columns.map(({ of }) => rows.map((row) => renderCell(of(row))));
  const shown = columns
    .map((column, at) => ({ ...column, cells: cells[at] ?? [] }))
    .filter((column) => column.cells.some((cell) => cell !== ''))
    .map((column, at, all) => (at === all.length - 1 ? column : { ...column, cells: column.cells.map((cell) => cut(cell, column.most)) }));
  const widths = shown.map(({ title, cells: of }) => Math.max(widthOf(title), ...of.map(widthOf)));
  const line = (texts: readonly string[]) => texts.map((text, at) => pad(text, widths[at] ?? 0, shown[at]?.right)).join(gap).trimEnd();
  return [line(shown.map(({ title }) => title.toUpperCase())), ...rows.map((_, at) => line(shown.map((column) => column.cells[at] ?? '')))];
}

/** One thing, with a name before each of its values. */
export function renderPairs(pairs: Readonly<Record<string, Cell>>): string[] {
  const width = Math.max(0, ...Object.keys(pairs).map(widthOf));
  return Object.entries(pairs).map(([name, value]) => `${pad(name, width)}${gap}${renderCell(value)}`.trimEnd());
}

/** As 2026-11-16 09:30:00 GMT: the order of days is the order of letters, and the zone is that of the day. */
export function renderTime(at: Date, timeZone?: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
    ...(timeZone === undefined ? {} : { timeZone }),
  });
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`;
}

function renderCell(value: Cell): string {
  if (value === null || value === undefined) return '';
  if (value instanceof Date) return renderTime(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return Number.isInteger(value) ? value.toLocaleString('en-GB') : String(value);
  return printable(value, ' ');
}

function cut(text: string, most: number | undefined): string {
  if (most === undefined || widthOf(text) <= most) return text;
  return `${[...segmenter.segment(text)].slice(0, most - 1).map(({ segment }) => segment).join('').trimEnd()}…`;
}

function pad(text: string, width: number, right?: true): string {
  const blank = ' '.repeat(Math.max(0, width - widthOf(text)));
  return right ? blank + text : text + blank;
}
