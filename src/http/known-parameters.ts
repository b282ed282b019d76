// Refuses parameters that a route does not know, and suggests the nearest known name: a misspelt parameter must not be ignored silently.
import type { FastifyRequest } from 'fastify';
import { SchoolbellError } from '../errors.ts';
import type { Query } from './query.ts';

const longestQuote = 60;

/** Returns the names of the query parameters that the route describes. */
export function describedParameters({ routeOptions }: FastifyRequest): string[] {
  const query = routeOptions.schema?.querystring as { properties?: object } | undefined;
  return Object.keys(query?.properties ?? {});
}

/** Throws if `given`, a query or a body, has a name that is not known, in any case. where: the operation, for the message. */
export function requireKnownNames(given: object, known: readonly string[], where: string): void {
  const unknown = Object.keys(given).find((name) => !known.some((one) => one.toLowerCase() === name.toLowerCase()));
  if (unknown === undefined) return;
  const quoted = unknown.slice(0, longestQuote);
  const nearest = findNearest(quoted, known);
  const taken = known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`;
  throw new SchoolbellError(
    'invalid_request',
    `"${quoted}" is not a parameter of ${where}: ${taken}.${nearest === undefined ? '' : ` Did you mean ${nearest}?`} ` +
      'If it belongs to the value of another parameter, percent-encode that value as a whole (& as %26).',
  );
}

/** Throws if the query has a name that the route does not describe. where: the operation; without it, the path. */
export function requireDescribedQuery(request: FastifyRequest, where?: string): void {
  const path = (request.routeOptions.url ?? '').replace(/:(\w+)/g, '{$1}');
  requireKnownNames(request.query as Query, describedParameters(request), where ?? path);
}

/** Wraps an authentication step, so that a request with an unknown parameter is refused once its caller is known. */
export function withKnownParameters<A extends readonly unknown[], C>(
  requireCaller: (request: FastifyRequest, ...more: A) => Promise<C>,
): (request: FastifyRequest, ...more: A) => Promise<C> {
  return async (request, ...more) => {
    const caller = await requireCaller(request, ...more);
    // These routes read the query themselves, because they report its faults to a callbackUrl.
    if (!request.routeOptions.config.readsMalformedQuery) requireDescribedQuery(request);
    return caller;
  };
}

/** Returns the known name with the fewest edits, unless more than half of its characters differ. */
function findNearest(name: string, known: readonly string[]): string | undefined {
  const [nearest] = known
    .map((one) => ({ one, edits: countEdits(name.toLowerCase(), one.toLowerCase()) }))
    .filter(({ one, edits }) => edits <= Math.max(one.length, name.length) / 2)
    .toSorted((a, b) => a.edits - b.edits);
  return nearest?.one;
}

/** Returns the Levenshtein distance, row by row. */
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (let at = 0; at < to.length; at += 1)
      next.push(Math.min((next[at] ?? 0) + 1, (row[at + 1] ?? 0) + 1, (row[at] ?? 0) + (character === to[at] ? 0 : 1)));
    row = next;
  }
  return row[to.length] ?? 0;
}
