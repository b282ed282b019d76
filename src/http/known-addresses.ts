// In charge of which addresses there are: whoever asks at one that is none is told so, and whoever asks at a known one
// with a verb that it does not take is told which it does. A body that nobody wants is not looked at.
import type { FastifyInstance } from 'fastify';
import { SchoolbellError } from '../errors.ts';

export function refuseUnknown(app: FastifyInstance): void {
  const methodsAt = new Map<string, { matches: RegExp; methods: Set<string> }>();
  app.addHook('onRoute', ({ url, method }) => {
    const known = methodsAt.get(url) ?? { matches: matcherOf(url), methods: new Set<string>() };
    for (const one of [method].flat()) known.methods.add(one);
    methodsAt.set(url, known);
  });
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return;
    const path = request.url.split('?', 1)[0] ?? '';
    const taken = [...methodsAt.values()].filter(({ matches }) => matches.test(path)).flatMap(({ methods }) => [...methods]);
    throw taken.length === 0 ? new SchoolbellError('not_found', 'There is nothing at this address.') : notTaken([...new Set(taken)]);
  });
}

export function notTaken(taken: readonly string[]): SchoolbellError {
  const list = taken.join(', ');
  return new SchoolbellError('method_not_allowed', `This address takes ${list}.`, { headers: { allow: list } });
}

/** As the router would: parameters and what stands behind a star, in any case, with or without a slash at the end. */
function matcherOf(url: string): RegExp {
  const pattern = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z0-9_]+/g, '[^/]+').replace('*', '.*');
  return new RegExp(`^${pattern.replace(/\/$/, '')}/?$`, 'i');
}
