// In charge of writing CSV: RFC 4180, a cell quoted only where it must be.

export function renderCsvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`;
}
