// In charge of how long ago something was, or how soon it will be: in words, and to the second for whoever points at it or prints the page.
import { html, type Html } from '../html.ts';

const steps = [[60, 'second', 1], [3_600, 'minute', 60], [86_400, 'hour', 3_600], [30 * 86_400, 'day', 86_400]] as const;

export function renderAgo(at: Date | null | undefined, now: number, never = 'never'): Html {
  if (!at) return html`<span class="quiet">${never}</span>`;
  const exact = formatExact(at);
  return html`<time datetime="${at.toISOString()}" title="${exact}">${formatAgo(at, now)}<span class="exact"> (${exact})</span></time>`;
}

function formatAgo(at: Date, now: number): string {
  const seconds = Math.round((now - at.getTime()) / 1000);
  const step = steps.find(([below]) => Math.abs(seconds) < below);
  if (!step) return new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(at);
  const [, unit, size] = step;
  const count = Math.floor(Math.abs(seconds) / size);
  if (count === 0 || (unit === 'second' && count < 5)) return seconds < 0 ? 'in a moment' : 'just now';
  const words = `${count} ${unit}${count === 1 ? '' : 's'}`;
  return seconds < 0 ? `in ${words}` : `${words} ago`;
}

export function formatExact(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
