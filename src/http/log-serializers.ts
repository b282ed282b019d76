// How values are written to the log. No line contains a query string or the rows that PostgreSQL quotes in its errors.
import type { IncomingMessage } from 'node:http';

type Fault = Error & { code?: string; constraint?: string; table?: string; routine?: string; errors?: readonly Fault[] };

/** Number of errors of an AggregateError that are logged. There can be one for each school. */
const maxErrors = 10;

/**
 * The query of a path or URL. The lookbehind comes after the question mark, and stops at the one before, so that the time grows only with the length
 * of the text: callers choose some of what is logged.
 */
const queryOfPath = /\?(?<=\/[^\s?"`<>]*\?)[^\s"`<>]+/g;

function removeQueries(text: string): string {
  return text.replace(queryOfPath, '?…');
}

function serializeError(fault: Fault): Record<string, unknown> & { type: string; message: string; stack: string } {
  if (!(fault instanceof Error)) return { type: typeof fault, message: removeQueries(String(fault)), stack: '' };
  const { name, message, stack = '', code, constraint, table, routine, cause, errors } = fault;
  return {
    type: name,
    message: removeQueries(message),
    stack: removeQueries(stack),
    code,
    constraint,
    table,
    routine,
    ...(cause ? { cause: serializeError(cause as Fault) } : {}),
    ...(Array.isArray(errors) ? { errors: errors.slice(0, maxErrors).map(serializeError), errorsTotal: errors.length } : {}),
  };
}

export const logSerializers = {
  msg: removeQueries,
  err: serializeError,
  req: ({ method, url }: Pick<IncomingMessage, 'method' | 'url'>) => ({ method, path: url?.split('?', 1)[0] }),
};
