/** Renders a row of CSV as RFC 4180 describes it. Only cells that need quotation marks get them. */
export function renderCsvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}

/** Lets spreadsheets recognise a file as UTF-8. */
export const byteOrderMark = '\ufeff';

/** A cell that a spreadsheet would run as a formula. */
const formulaStart = /^[=+\-@\t\r\n|%]/;

/** Renders a row for people, with a quote before each formula so that a spreadsheet shows it as text. */
export function renderSheetRow(cells: readonly string[]): string {
  return renderCsvRow(cells.map((cell) => (formulaStart.test(cell) ? `'${cell}` : cell)));
}

/** Puts a quote before notes that a spreadsheet would run, and before those that begin with one, so that `unescapeNotes` can tell it. */
export function escapeNotes(notes: string): string {
  return formulaStart.test(notes) || notes.startsWith("'") ? `'${notes}` : notes;
}

/** Removes the quote that `escapeNotes` added. Other notes that begin with a quote stay as they are. */
export function unescapeNotes(notes: string): string {
  const rest = notes.slice(1);
  return notes.startsWith("'") && (formulaStart.test(rest) || rest.startsWith("'")) ? rest : notes;
}
