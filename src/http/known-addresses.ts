// In charge of which addresses there are: whoever asks at one that is none is told so, and whoever asks at a known one
// with a verb that it does not take is told which it does. A body that nobody wants is not looked at.
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { SchoolbellError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route that is there to say no. */
    refuses?: true;
  }
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'HEAD'] as const;

/** Where it says which addresses there are. */
const helpLink = { link: '</docs>; rel="help"' };

type Known = { matches: RegExp; rank: string; taken: Set<string> };

export function refuseUnknown(app: FastifyInstance): void {
  const known = new Map<string, Known>();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.refuses) return;
    const one = known.get(url) ?? { matches: matcherOf(url), rank: rankOf(url), taken: new Set<string>() };
    for (const verb of [method].flat()) one.taken.add(verb);
    known.set(url, one);
  });
  app.addHook('onRequest', async (request) => {
    if (!request.is404) return;
    const path = request.url.split('?', 1)[0] ?? '';
    const [nearest] = [...known.values()].filter(({ matches }) => matches.test(path)).toSorted((a, b) => (a.rank < b.rank ? -1 : 1));
    throw nearest ? notTaken([...nearest.taken]) : new SchoolbellError('not_found', 'There is nothing at this address.', { headers: helpLink });
  });
}

export function notTaken(taken: readonly string[]): SchoolbellError {
  const list = methods.filter((method) => taken.includes(method)).join(', ');
  return new SchoolbellError('method_not_allowed', `This address takes ${list}.`, { headers: { allow: list } });
}

/**
 * For an address within a wider one, such as /api/v1/:name: the routes of that would take the other verbs, and know nothing of
 * this one. Elsewhere no route takes them, and they are refused by themselves.
 */
export function refuseOtherMethods(app: FastifyInstance, path: string, allowed: readonly string[]): void {
  const taken = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed;
  refuseAt(app, path, methods.filter((method) => !taken.includes(method)), () => notTaken(taken));
}

/** All verbs, or these. */
export function refuseAt(app: FastifyInstance, path: string, verbs: readonly string[] | undefined, judge: (request: FastifyRequest) => Error): void {
  app.route({
    method: [...(verbs ?? methods)],
    url: path,
    config: { refuses: true },
    schema: { hide: true },
    preParsing: async (request) => {
      throw judge(request);
    },
    handler: async () => {},
  });
}

/** As the router would: parameters and what stands behind a star, in any case, with or without a slash at the end. */
function matcherOf(url: string): RegExp {
  const pattern = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/:[A-Za-z0-9_]+/g, '[^/]+').replace('*', '.*');
  return new RegExp(`^${pattern.replace(/\/$/, '')}/?$`, 'i');
}

/** The router goes by what is written out before parameters, and by these before a star. */
function rankOf(url: string): string {
  return url.split('/').map((part) => (part.includes('*') ? 2 : part.includes(':') ? 1 : 0)).join('');
}
