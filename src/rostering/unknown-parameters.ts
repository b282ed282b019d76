// Names the query parameters that an operation ignores. The standard requires a server to ignore unknown parameters; the header
// X-Unknown-Parameters shows a client which of its own had no effect.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { describedParameters } from '../http/known-parameters.ts';

export const unknownParametersHeader = 'X-Unknown-Parameters';
const maxNames = 10;
const maxCharacters = 60;

/** A hook for onSend, so that errors have the header too. */
export async function reportUnknownParameters(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const known = describedParameters(request);
  const unknown = Object.keys(request.query as object).filter((name) => !known.includes(name));
  if (unknown.length > 0) reply.header(unknownParametersHeader, unknown.slice(0, maxNames).map(encodeName).join(', '));
}

function encodeName(name: string): string {
  return encodeURIComponent([...name].slice(0, maxCharacters).join('').toWellFormed());
}
