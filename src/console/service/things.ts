// In charge of how pages about the service say things of it: an id, what was given as JSON, and how long something is kept.
import type { Config } from '../../config.ts';
import { html, type Html, type HtmlValue } from '../../http/html.ts';
import { formatMany } from '../../http/pages/figures.ts';

export const renderId = (id: string): Html => html`<span class="id">${id}</span>`;

/** What was settled or replaced and may name somebody; nothing of people is kept longer than they are. */
export const keptFor = ({ purgeAfterDays }: Pick<Config, 'purgeAfterDays'>, days = 30): string => formatMany(Math.min(days, purgeAfterDays), 'day');

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
