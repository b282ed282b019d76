// In charge of a file of a package as checked rows, in batches, each with what is left of it where it broke a rule.
import type { Edition } from '../../../roster/resource.ts';
import { SourceError, type Problems } from '../../problem.ts';
import type { KnownRow, Mode, RejectedRow, SourceRow } from '../../source.ts';
import { storableText } from '../../value-rules.ts';
import { createRowCheck, type CheckedFile, type RowCheck } from './check-row.ts';
import type { PieceReading } from './note-pieces.ts';
import type { PackageFile } from './package.ts';
import { readCsvPieces } from './read-csv.ts';

/** cellOf: what stands in a column, as far as the row is in step with its header. */
export type ReadRow = Readonly<{ row: SourceRow } | { rejected: RejectedRow; cellOf(column: string): string | undefined }>;

/** known: where rows that are as they were are not checked again, but told. */
export type FileReading = Readonly<{
  checked: CheckedFile;
  mode: Mode;
  file: PackageFile;
  edition: Edition;
  onBytes: (count: number) => void;
  known?: Readonly<{ pieces: PieceReading; tell(rows: readonly KnownRow[]): void }>;
}>;

export async function* readRows({ checked, mode, file, edition, onBytes, known }: FileReading, problems: Problems): AsyncGenerator<ReadRow[]> {
  let check: RowCheck | undefined;
  let columns: readonly string[] = [];
  for await (const { records, known: asBefore } of readCsvPieces(file, onBytes, known?.pieces)) {
    const rows: ReadRow[] = [];
    if (asBefore) {
      const [id, status] = [columns.indexOf('sourcedId'), columns.indexOf('status')];
      known?.tell(records.map(({ cells }) => ({ sourcedId: cells[id]?.trim() ?? '', active: ['', 'active'].includes(cells[status]?.trim() ?? '') })));
    }
    for (const record of asBefore ? [] : records) {
      if (!check) {
        check = createRowCheck(checked, mode, record, edition);
        columns = record.cells.map((name) => name.trim());
        continue;
      }
      const fault = problems.total + 1;
      const row = check(record, (problem) => problems.add(problem));
      if (!('rejected' in row)) rows.push({ row });
      else
        rows.push({
          rejected: { line: record.line, sourcedId: row.rejected && storableText(row.rejected), fault },
          cellOf: (column) => (record.cells.length === columns.length ? storableText(record.cells[columns.indexOf(column)]?.trim() ?? '') : undefined),
        });
    }
    yield rows;
  }
  if (!check) throw new SourceError(checked.file, 'is empty; the first line must name the columns', { line: 1 });
}
