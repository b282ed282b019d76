// In charge of the way on through a long list, by the key of the last row that was seen: the next page costs what the first did.
import { html, type Html } from '../html.ts';

/** The address of a list with these parameters; those that are empty are left out. */
export function addressOf(path: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams(Object.entries(parameters).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '')).toString();
  return query === '' ? path : `${path}?${query}`;
}

/** first: where a reader who is not on the first page gets back to. */
export function renderPager({ first, next }: { first?: string | undefined; next?: string | undefined }): Html | undefined {
  if (first === undefined && next === undefined) return undefined;
  return html`<nav class="pager" aria-label="Pages of this list">
${first !== undefined && html`<a href="${first}">First page</a>`}
${next !== undefined && html`<a href="${next}" rel="next">Next page</a>`}
</nav>`;
}
