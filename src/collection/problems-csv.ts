// In charge of all problems of an import as a CSV that a spreadsheet opens, and of nothing in it that a spreadsheet would
// run: what begins like a formula is made text.
import { Readable } from 'node:stream';
import { byteOrderMark, renderCsvRow, renderSheetRow } from './connectors/csv/write-csv.ts';
import { readFaults } from './faults.ts';
import type { Problem } from './problem.ts';
import type { Db } from '../db/connect.ts';
import type { ImportRun } from './source-view.ts';

const header = ['File', 'Line', 'Column', 'Value', 'What to put right', 'Rows that refer to it'];
const rowsAtOnce = 500;

/** It is a file to be kept, whatever stands in it. */
export function problemsHeaders(estab: string, { at }: ImportRun): Record<string, string> {
  return {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="problems-${estab}-${at.toISOString().slice(0, 10)}.csv"`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  };
}

export function renderProblemsCsv(db: Db, estab: string, { id, report }: ImportRun): Readable {
  return Readable.from(render(db, estab, id, report.problems, report.problemsTotal), { objectMode: false });
}

async function* render(db: Db, estab: string, run: string, listed: readonly Problem[], total: number): AsyncGenerator<string> {
  let [count, text] = [0, byteOrderMark + renderCsvRow(header)];
  for await (const fault of readFaults(db, estab, run, listed)) {
    text += renderProblem(fault);
    count += 1;
    if (count % rowsAtOnce > 0) continue;
    yield text;
    text = '';
  }
  if (total > count) text += renderCsvRow([`and ${total - count} more, which were not kept`]);
  yield text;
}

function renderProblem({ file, line, column, value, rule, dependants = 0 }: Problem): string {
  return renderSheetRow([file.split('/').at(-1) ?? '', String(line ?? ''), column ?? '', value ?? '', rule, String(dependants)]);
}
