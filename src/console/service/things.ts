// In charge of how pages about the service say things of it: an id, what was given as JSON, and how long something is kept.
import type { Retained } from '../../describe-retention.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { formatMany } from '../../http/pages/figures.ts';

export const renderId = (id: string): Html => html`<span class="id">${id}</span>`;

/** How long what stands in a table is kept here, which its row of the retention says and no page by itself. */
export const keptFor = (retained: readonly Retained[], table: string) => formatMany(daysKept(retained, table), 'day');

export function daysKept(retained: readonly Retained[], table: string): number {
  const days = retained.find(({ where }) => where.includes(table))?.days;
  if (days === undefined) throw new Error(`no number of days is said of ${table}`);
  return days;
}

/** As names and values, so that it can be read; what is nested stays JSON. */
export function renderDetail(detail: Readonly<Record<string, unknown>>): HtmlValue {
  const entries = Object.entries(detail).filter(([, value]) => value !== null);
  const items = entries.map(([name, value]) => html`<li><span class="quiet">${name}</span> ${sayValue(value)}</li>`);
  return items.length > 0 && html`<ul class="detail">${items}</ul>`;
}

export function sayValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ');
  return JSON.stringify(value) ?? '';
}
