// In charge of charts: bars of one or two colours above a time axis that begins at zero, made here as SVG, with a title, a
// description and the same figures as a table for those who cannot see them.
import { html, type Html } from '../html.ts';
import { formatCount, formatMany } from './figures.ts';
import { renderTable } from './table.ts';

/** bad: the part of it that went wrong, drawn in the second colour. */
export type Bar = { label: string; value: number; bad: number };
/** of: one and many of them. each: what a bar stands for. badly: "refused or failed". every: so many bars from one label to the next. */
export type Chart = {
  id: string; title: string; of: readonly [string, string]; each: 'hour' | 'day'; badly: string; bars: readonly Bar[]; every: number;
};

const [width, height, left, bottom] = [600, 140, 0, 18] as const;

export function renderChart({ id, title, of, each, badly, bars, every }: Chart): Html {
  const top = niceTop(Math.max(1, ...bars.map(({ value }) => value)));
  const total = bars.reduce((sum, { value }) => sum + value, 0);
  const bad = bars.reduce((sum, one) => sum + one.bad, 0);
  const all = `${formatMany(total, ...of)}, ${formatCount(bad)} ${badly}`;
  const words = `${all}; at most ${formatCount(Math.max(0, ...bars.map(({ value }) => value)))} in ${each === 'hour' ? 'an hour' : 'a day'}.`;
  return html`<figure class="chart" id="${id}">
<figcaption><strong>${title}</strong> <span class="quiet">${all}</span></figcaption>
<svg viewBox="0 0 ${width} ${height + bottom}" role="img" aria-labelledby="${id}-title ${id}-words">
<title id="${id}-title">${title}</title><desc id="${id}-words">${words}</desc>
<line class="rule" x1="${left}" x2="${width}" y1="${height}" y2="${height}"/><line class="rule" x1="${left}" x2="${width}" y1="0.5" y2="0.5"/>
<text x="${left}" y="11">${formatCount(top)}</text>
${bars.map((bar, at) => renderBar(bar, at, bars.length, top, every))}
</svg>
<details><summary>As a table</summary>
${renderTable({
  id: `${id}-table`,
  caption: title,
  columns: ['When', { label: of[1], number: true }, { label: badly, number: true }],
  rows: bars.map(({ label, value, bad: wrong }) => [label, formatCount(value), formatCount(wrong)]),
})}
</details>
</figure>`;
}

function renderBar({ label, value, bad }: Bar, at: number, count: number, top: number, every: number): Html {
  const step = width / count;
  const [x, wide] = [round(at * step + step * 0.1), round(step * 0.8)];
  const [all, wrong] = [round((value / top) * height), round((Math.min(bad, value) / top) * height)];
  return html`<g><title>${label}: ${formatCount(value)}${bad > 0 && ` (${formatCount(bad)})`}</title>
<rect class="bar" x="${x}" y="${round(height - all)}" width="${wide}" height="${round(all - wrong)}"/>
${wrong > 0 && html`<rect class="bar bad" x="${x}" y="${round(height - wrong)}" width="${wide}" height="${wrong}"/>`}
${at % every === 0 && html`<text x="${round(at * step)}" y="${height + 14}">${label}</text>`}</g>
`;
}

const round = (value: number) => Math.round(value * 10) / 10;

/** The next of 1, 2, 5, 10, 20 … */
function niceTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= most) ?? most;
}
