// In charge of what will end: the one table of addresses that are deprecated. Every answer of theirs says so in its headers
// (RFC 9745, RFC 8594), the documents call them deprecated, and the line of each request in the log does, with who was calling.
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyContextConfig {
    deprecation?: Deprecation;
  }
}

export type Deprecation = Readonly<{
  /** A route's pattern, or what it begins with: a whole part of a path, as in /api/v1. */
  path: string;
  /** Of that verb alone; HEAD goes with GET. */
  method?: string;
  /** Days, as YYYY-MM-DD: from which on it is deprecated, and from which on it may no longer answer. */
  since: string;
  sunset?: string;
  /** What to use in its place, in a sentence. */
  instead: string;
}>;

/** Nothing is, today. What is added here appears at /docs/changes by itself. */
export const deprecations: readonly Deprecation[] = [];

export const changesPath = '/docs/changes';

/** To be called before there are routes. */
export function announceDeprecations(app: FastifyInstance, table: readonly Deprecation[], publicUrl: string): void {
  if (table.length === 0) return;
  const link = `<${publicUrl}${changesPath}>; rel="deprecation"; type="text/html"`;
  app.addHook('onRoute', (route) => {
    const row = table.find((one) => covers(one, route.url, [route.method].flat()));
    if (!row) return;
    route.config = { ...route.config, deprecation: row };
    route.schema = { ...route.schema, deprecated: true } as typeof route.schema;
  });
  // On the raw answer for whoever writes to it directly, and again at the end: an error takes away what was said before.
  app.addHook('onRequest', async (request, reply) => {
    const { deprecation } = request.routeOptions.config;
    if (deprecation) for (const [name, value] of Object.entries({ ...renderHeaders(deprecation), link })) reply.raw.setHeader(name, value);
  });
  app.addHook('onSend', async (request, reply) => {
    const { deprecation } = request.routeOptions.config;
    if (!deprecation) return;
    const given = reply.getHeader('link');
    reply.headers({ ...renderHeaders(deprecation), link: given === undefined || given === link ? link : `${String(given)}, ${link}` });
  });
}

function covers({ path, method }: Deprecation, url: string, methods: readonly string[]): boolean {
  const [whole, begin] = [url.toLowerCase(), path.toLowerCase()];
  const isVerb = method === undefined || methods.includes(method) || (method === 'GET' && methods.includes('HEAD'));
  return (whole === begin || whole.startsWith(`${begin}/`)) && isVerb;
}

function renderHeaders({ since, sunset }: Deprecation): Record<string, string> {
  return {
    deprecation: `@${Date.parse(since) / 1000}`,
    ...(sunset === undefined ? {} : { sunset: new Date(sunset).toUTCString() }),
  };
}
