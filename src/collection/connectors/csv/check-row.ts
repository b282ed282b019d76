// In charge of the rules for one CSV file: its header, and every cell of every row. A cell that breaks a rule is a
// problem that names the rule; the row is then rejected as a whole.
import { isRequired, type Edition, type Field, type Resource, type UserId, type Value } from '../../../roster/resource.ts';
import { createRestorePaired } from '../../paired-lists.ts';
import { SourceError, type Problem } from '../../problem.ts';
import type { Mode, SourceRow } from '../../source.ts';
import { checkId, checkValue, idRule, isDateTime, textRule, writtenStatuses, type Broken } from '../../value-rules.ts';
import type { CsvRecord } from './read-csv.ts';

const metadataPrefix = 'metadata.';
const passwordColumn = 'password';

/** What a file has to be checked by: its name, its columns in each edition, and what stands in them. */
export type CheckedFile = Pick<Resource, 'file' | 'headers' | 'fields'>;

export type RowCheck = (record: CsvRecord, fail: (problem: Problem) => void) => SourceRow | { rejected: string | undefined };

/** Reads the header and gives the check for the rows below it. */
export function createRowCheck(resource: CheckedFile, mode: Mode, header: CsvRecord, edition: Edition): RowCheck {
  const { file } = resource;
  const columns = header.cells.map((name) => name.trim());
  const position = requirePositions(resource.file, resource.headers[edition], header.line, columns);
  // Of the row that is being checked: of a million rows, each would else make a function for every cell.
  let row: { line: number; failed: boolean; fail: (problem: Problem) => void } = { line: 0, failed: false, fail: () => {} };
  const broken = (column: string | null, value: string | null, rule: string) => {
    row.failed = true;
    row.fail({ file, line: row.line, column, value, rule });
  };
  const read = resource.fields.map((field) => {
    const { csv } = field;
    if (csv === undefined || (field.only ?? edition) !== edition) return undefined;
    return { field, at: position(csv), broken: (value: string, rule: string) => broken(csv, value, rule) };
  });
  const metadata = columns.flatMap((name, at) => (name.startsWith(metadataPrefix) ? [{ key: name.slice(metadataPrefix.length), at }] : []));
  const restorePaired = createRestorePaired(resource, edition, columns);
  const [sourcedIdAt, statusAt, modifiedAt] = [position('sourcedId'), position('status'), position('dateLastModified')];

  return ({ line, cells }, fail) => {
    row = { line, failed: false, fail };
    const sourcedId = (cells[sourcedIdAt] ?? '').trim();
    if (cells.length !== columns.length) {
      broken(null, null, `the row has ${cells.length} fields, the header ${columns.length}`);
      // In a row that is out of step, only a first column is where it should be.
      return { rejected: (sourcedIdAt === 0 && sourcedId) || undefined };
    }
    for (let at = 0; at < cells.length; at += 1) {
      const cell = cells[at] as string;
      const fault = cell === '' ? undefined : textRule(cell);
      // A password stands in no report either.
      if (fault) broken(columns[at] ?? null, columns[at] === passwordColumn ? null : cell, fault);
    }
    const idFault = idRule(sourcedId);
    if (idFault) broken('sourcedId', sourcedId, idFault);
    const status = checkStatus(cells[statusAt]?.trim() ?? '', cells[modifiedAt]?.trim() ?? '', mode, broken);
    const restored = restorePaired(cells);
    const values = read.map((column) => column && checkCell(column.field, restored[column.at] ?? '', column.broken, edition));
    if (row.failed) return { rejected: sourcedId || undefined };
    return { line, sourcedId, status, values, metadata: readMetadata(metadata, restored) };
  };
}

/** Of a file that was issued with two headers, what only one of them has may be missing. */
function requirePositions(file: string, headers: readonly string[], line: number, columns: readonly string[]): (name: string) => number {
  const issued = headers.map((header) => header.split(','));
  const standard = [...new Set(issued.flat())];
  const missing = standard.filter((name) => !columns.includes(name) && issued.every((one) => one.includes(name)));
  const stranger = columns.find((name) => !standard.includes(name) && !(name.startsWith(metadataPrefix) && name.length > metadataPrefix.length));
  const twice = columns.find((name, at) => columns.indexOf(name) !== at);
  if (missing.length > 0)
    throw new SourceError(file, `the header lacks the column${missing.length > 1 ? 's' : ''} ${missing.join(', ')} (names are case-sensitive)`, {
      line,
      column: missing.join(', '),
    });
  if (stranger !== undefined)
    throw new SourceError(file, `"${stranger}" is not a column of this file; own columns are named metadata.…`, { line, column: stranger });
  if (twice !== undefined) throw new SourceError(file, 'the header names this column twice', { line, column: twice });
  return (name) => columns.indexOf(name);
}

function checkStatus(status: string, modified: string, mode: Mode, broken: (column: string, value: string, rule: string) => void): 'active' | 'tobedeleted' {
  if (status === '' && mode === 'delta') broken('status', status, 'must be active or tobedeleted in a delta file');
  else if (!writtenStatuses.includes(status)) broken('status', status, 'must be active or tobedeleted');
  if (mode === 'delta' && !isDateTime(modified))
    broken('dateLastModified', modified, 'must be a date and time such as 2026-09-01T08:00:00.000Z in a delta file');
  return status === '' || status === 'active' ? 'active' : 'tobedeleted';
}

function checkCell(field: Field, cell: string, broken: Broken, edition: Edition): Value {
  const text = cell.trim();
  if (text === '') {
    if (isRequired(field, 'v1p1')) broken(cell, 'must not be blank');
    return undefined;
  }
  switch (field.type) {
    case 'list':
      return checkList(field, cell, broken);
    case 'refs':
      return checkList(field, cell, broken)?.map((id) => checkId(id, broken));
    case 'userIds':
      return checkUserIds(text, broken);
    default:
      return checkValue(field, cell, broken, edition);
  }
}

function checkList(field: Field, cell: string, broken: Broken): string[] | undefined {
  if (!cell.includes(',')) return [cell.trim()];
  const items = cell.split(',').map((item) => item.trim()).filter(Boolean);
  if (items.length > 0) return items;
  if (isRequired(field, 'v1p1')) broken(cell, 'must not be blank: it names nothing');
  return undefined;
}

function checkUserIds(text: string, broken: Broken): UserId[] {
  const items = [...text.matchAll(/\{([^:{}]+):([^{}]+)\}/g)].map(([, type = '', identifier = '']) => ({ type: type.trim(), identifier: identifier.trim() }));
  const wellFormed = /^\{[^:{}]+:[^{}]+\}(\s*,\s*\{[^:{}]+:[^{}]+\})*$/.test(text) && items.every(({ type, identifier }) => type !== '' && identifier !== '');
  if (!wellFormed) broken(text, 'must be written {Type:Id}, several separated by commas');
  return items;
}

function readMetadata(columns: readonly { key: string; at: number }[], cells: readonly string[]): string | undefined {
  const entries = columns.flatMap(({ key, at }) => (cells[at]?.trim() ? [[key, cells[at]] as const] : []));
  return entries.length > 0 ? JSON.stringify(Object.fromEntries(entries)) : undefined;
}
