// In charge of query strings: decoded strictly, so that bad percent-encoding, bad UTF-8 and NUL are refused with a
// clear error instead of being guessed at. Every parameter keeps all its values: repetition is for the reader to judge.
import { SchoolbellError } from '../errors.ts';

export type Query = Readonly<Record<string, readonly string[]>>;

const malformed: unique symbol = Symbol('malformed');
type ParsedQuery = Record<string, string[]> & { [malformed]?: string };

/** Never throws: it runs in the router, where nothing would catch it. */
export function parseQuery(text: string): Query {
  const query: ParsedQuery = Object.create(null) as ParsedQuery;
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const cut = pair.indexOf('=');
    try {
      const name = decode(cut < 0 ? pair : pair.slice(0, cut));
      const value = cut < 0 ? '' : decode(pair.slice(cut + 1));
      (query[name] ??= []).push(value);
    } catch {
      query[malformed] ??= pair.slice(0, 60);
    }
  }
  return query;
}

function decode(text: string): string {
  const decoded = decodeURIComponent(text.replaceAll('+', ' '));
  if (decoded.includes('\0')) throw new URIError('NUL');
  return decoded;
}

export function requireWellFormed(query: Query): void {
  const bad = (query as ParsedQuery)[malformed];
  if (bad !== undefined) throw new SchoolbellError('invalid_request', `The query is not valid percent-encoded UTF-8 at "${bad}".`);
}
