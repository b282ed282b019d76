// In charge of reading one CSV file as a stream: UTF-8 (a byte order mark is skipped), RFC 4180 quoting, CRLF or LF,
// with the line on which each record begins. Memory stays flat: a record that does not end is refused, not collected.
import { SourceError } from '../../problem.ts';
import { NotAsBefore } from '../../taken.ts';
import { cutPieces, type Piece } from './cut-pieces.ts';
import type { PieceReading } from './note-pieces.ts';
import type { PackageFile } from './package.ts';

export type CsvRecord = { line: number; cells: string[] };

export const maxRecordCharacters = 1024 * 1024;

/** Pieces are small; what is made of them is handed on in batches. */
const recordsAtOnce = 2_000;

type LowLevelParser = {
  parse(input: string, baseIndex: number, ignoreLastRow: boolean): { data: string[][]; errors: { code: string; row: number }[]; meta: { cursor: number } };
};

/** known: they are as they were the last time. */
export type CsvBatch = Readonly<{ records: CsvRecord[]; known: boolean }>;

export async function* readCsv(file: PackageFile, onBytes: (count: number) => void): AsyncGenerator<CsvRecord[]> {
  for await (const { records } of readCsvPieces(file, onBytes)) yield records;
}

/** Piece by piece, where it is to be known which of them are as they were. */
export async function* readCsvPieces(file: PackageFile, onBytes: (count: number) => void, pieces?: PieceReading): AsyncGenerator<CsvBatch> {
  const { default: Papa } = await import('papaparse');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // Papa.parse would read ahead without a bound; its parser, fed piece by piece, is also five times as fast as
  // the streaming parsers that were measured.
  const parser = new (Papa as unknown as { Parser: new (config: object) => LowLevelParser }).Parser({ delimiter: ',', newline: '\n', quoteChar: '"' });
  let rest = '';
  let line = 1;

  const tooLong = (at: number) =>
    new SourceError(file.name, `a record is longer than ${maxRecordCharacters} characters, or a quote is never closed`, { line: at });

  const take = (text: string, last: boolean): CsvRecord[] => {
    const { data, errors, meta } = parser.parse(text, 0, !last);
    const fault = errors.find((error) => error.code === 'MissingQuotes' || error.code === 'InvalidQuotes');
    if (fault && (last || fault.row < data.length))
      throw new SourceError(file.name, 'a quoted field does not end where it should (quotes inside must be doubled)', {
        line: lineOfRow(data, fault.row, line),
      });
    rest = text.slice(meta.cursor);
    if (rest.length > maxRecordCharacters) throw tooLong(lineOfRow(data, data.length, line));
    const records: CsvRecord[] = [];
    for (const cells of data) {
      const begins = line;
      if (text.length > maxRecordCharacters && cells.reduce((sum, cell) => sum + cell.length, 0) > maxRecordCharacters) throw tooLong(begins);
      line += linesIn(cells);
      const end = cells.length - 1;
      // Lines may end in CRLF or LF, even within one file.
      if (cells[end]?.endsWith('\r')) cells[end] = cells[end].slice(0, -1);
      if (cells.length > 1 || cells[0] !== '') records.push({ line: begins, cells });
    }
    return records;
  };

  const watch = file.watch?.();
  const stream = await file.open();
  let [begun, pending]: [boolean, CsvRecord[]] = [false, []];
  try {
    for await (const { bytes, last } of pieces ? cutPieces(listen()) : asPieces(listen())) {
      if (rest !== '') pieces?.spoil();
      // The first says what the columns are.
      const known = pieces !== undefined && pieces.isKnown(bytes) && begun;
      const text = rest + decode(bytes, !last);
      const records = last && text === '' ? [] : take(text, last);
      if (!begun && records[0]) pieces?.begin(JSON.stringify(records[0].cells));
      begun ||= records.length > 0;
      if (known) {
        if (pending.length > 0) yield { records: pending, known: false };
        pending = [];
        yield { records, known };
      } else {
        pending = pending.length > 0 ? [...pending, ...records] : records;
        if (pending.length < recordsAtOnce && !last && pieces) continue;
        if (pending.length > 0) yield { records: pending, known: false };
        pending = [];
      }
    }
  } catch (error) {
    if (error instanceof SourceError || error instanceof NotAsBefore) throw error;
    throw new SourceError(file.name, `cannot be read (${(error as Error).message})`, { line });
  } finally {
    stream.destroy();
  }

  async function* listen(): AsyncGenerator<Buffer> {
    for await (const bytes of stream as AsyncIterable<Buffer>) {
      onBytes(bytes.length);
      watch?.bytes(bytes);
      yield bytes;
    }
    watch?.end();
  }

  function decode(bytes: Buffer | undefined, more: boolean): string {
    try {
      return decoder.decode(bytes, { stream: more });
    } catch {
      // What a lenient reading replaces is where it is wrong; nothing, when it was wrong at the end of the piece before.
      const lenient = new TextDecoder().decode(bytes);
      const before = rest + lenient.slice(0, Math.max(0, lenient.indexOf('\ufffd')));
      throw new SourceError(file.name, 'the file is not valid UTF-8; save it as UTF-8', { line: line + linesIn([before]) - 1 });
    }
  }
}

async function* asPieces(stream: AsyncIterable<Buffer>): AsyncGenerator<Piece> {
  for await (const bytes of stream) yield { bytes, last: false };
  yield { bytes: Buffer.alloc(0), last: true };
}

function linesIn(cells: readonly string[]): number {
  let lines = 1;
  for (const cell of cells) for (let at = cell.indexOf('\n'); at >= 0; at = cell.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

function lineOfRow(data: readonly string[][], row: number, firstLine: number): number {
  return data.slice(0, row).reduce((line, cells) => line + linesIn(cells), firstLine);
}
