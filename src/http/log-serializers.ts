// How values are written to the log. No line contains a query string or the rows that PostgreSQL quotes in its errors.
import type { IncomingMessage } from 'node:http';
import { EnvironmentFault } from '../environment-fault.ts';

type Fault = Error & { code?: string; constraint?: string; table?: string; routine?: string; errors?: readonly Fault[] };

/** Number of errors of an AggregateError that are logged. There can be one for each school. */
const maxErrors = 10;

/**
 * The query of a path or URL, up to the next space or line break, without a closing quote before it: a raw request may hold quotes, angle brackets and
 * other white space. The lookbehind comes after the question mark, and stops at the one before, so that the time grows only with the length of the
 * text: callers choose some of what is logged.
 */
const queryOfPath = /\?(?<=\/[^ \r\n?]*\?)[^ \r\n]+?(?="?(?:[ \r\n]|$))/g;

function removeQueries(text: string): string {
  return text.replace(queryOfPath, '?…');
}

type Logged = Record<string, unknown> & { type: string; message: string; stack: string };

/** Serializes an error. A fault of the environment has no stack, nor has its cause: its message has the remedy, and the code is not at fault. */
function serializeError(fault: Fault, withStack = !(fault instanceof EnvironmentFault)): Logged {
  if (!(fault instanceof Error)) return { type: typeof fault, message: removeQueries(String(fault)), stack: '' };
  const { name, message, stack = '', code, constraint, table, routine, cause, errors } = fault;
  return {
    type: name,
    message: removeQueries(message),
    stack: withStack ? removeQueries(stack) : '',
    code,
    constraint,
    table,
    routine,
    ...(cause ? { cause: serializeError(cause as Fault, withStack && !(cause instanceof EnvironmentFault)) } : {}),
    ...(Array.isArray(errors) ? { errors: errors.slice(0, maxErrors).map((one) => serializeError(one)), errorsTotal: errors.length } : {}),
  };
}

export const logSerializers = {
  msg: removeQueries,
  err: (fault: Fault) => serializeError(fault),
  req: ({ method, url }: Pick<IncomingMessage, 'method' | 'url'>) => ({ method, path: url?.split('?', 1)[0] }),
};
