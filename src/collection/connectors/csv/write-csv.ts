// In charge of writing CSV: RFC 4180, a cell quoted only where it must be.

export function renderCsvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}

/** So that spreadsheets take a file for UTF-8. */
export const byteOrderMark = '\ufeff';

/** For a spreadsheet, which would run what begins like a formula: that is made text. */
export function renderSheetRow(cells: readonly string[]): string {
  return renderCsvRow(cells.map((cell) => (/^[=+\-@\t\r\n|%]/.test(cell) ? `'${cell}` : cell)));
}
