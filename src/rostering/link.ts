// In charge of the Link header of a page: first, prev, next and last, absolute, with the other parameters kept.
import type { Query } from '../http/query.ts';

/** `wish` is a parameter that all but the first carry: whoever begins anew begins with what is newest. */
export function renderLinks(address: string, query: Query, page: { limit: number; offset: number; total: number }, wish: readonly [string, string]): string {
  const { limit, offset, total } = page;
  const kept = Object.entries(query).flatMap(([name, values]) => (name === 'limit' || name === 'offset' ? [] : values.map((value) => [name, value] as const)));
  const link = (rel: string, at: number) => {
    const parameters = [...kept, ['limit', String(limit)] as const, ['offset', String(at)] as const, ...(rel === 'first' ? [] : [wish])];
    return `<${address}?${parameters.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')}>; rel="${rel}"`;
  };
  const links = [link('first', 0)];
  if (offset > 0) links.push(link('prev', Math.max(0, offset - limit)));
  if (offset + limit < total) links.push(link('next', offset + limit));
  links.push(link('last', total === 0 ? 0 : Math.floor((total - 1) / limit) * limit));
  return links.join(', ');
}

/** Commas and quotes too, because readers split the header at them. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll("'", '%27');
}
