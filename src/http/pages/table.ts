// In charge of tables: each has a caption, and one that is too wide scrolls in its own box, also by keyboard.
import { html, type Html, type HtmlValue } from '../html.ts';

export type Column = string | { label: string; number: true };
/** stacked: on a phone each row stands on its own, one line for each cell, because its last cell matters most. */
export type Table = { id: string; caption: HtmlValue; columns: readonly Column[]; rows: readonly (readonly HtmlValue[])[]; stacked?: boolean };

export function renderTable({ id, caption, columns, rows, stacked = false }: Table): Html {
  const labels = columns.map((column) => (typeof column === 'string' ? column : column.label));
  const numeric = columns.map((column) => typeof column !== 'string' && html` class="number"`);
  // Once a style sheet has stacked it, a table is only a table to a screen reader if it says so.
  const role = (name: string) => stacked && html` role="${name}"`;
  const renderCell = (cell: HtmlValue, at: number) =>
    html`<td${numeric[at]}${role('cell')}${stacked && html` data-label="${labels[at]}"`}><div>${cell}</div></td>`;
  return html`<div class="scroll" role="region" aria-labelledby="${id}-caption" tabindex="0">
<table id="${id}"${stacked && html` class="stacked"`}${role('table')}>
<caption id="${id}-caption">${caption}</caption>
<thead${role('rowgroup')}><tr${role('row')}>${labels.map((label, at) => html`<th scope="col"${numeric[at]}${role('columnheader')}>${label}</th>`)}</tr></thead>
<tbody${role('rowgroup')}>
${rows.map((row) => html`<tr${role('row')}>${row.map(renderCell)}</tr>\n`)}
</tbody>
</table>
</div>`;
}
