// In charge of the scripts of our own pages: where something moves, and nowhere else. Each page works without.
import type { FastifyInstance } from 'fastify';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** follow: what the page shows changes by itself. search: it changes with what is typed. */
export const scriptPaths = { follow: '/follow.js', search: '/search.js' } as const;

export function scriptRoutes(app: FastifyInstance): void {
  for (const path of Object.values(scriptPaths)) {
    const script = readFileSync(join(import.meta.dirname, path), 'utf8');
    app.get(path, { schema: { hide: true } }, async (_request, reply) => {
      return reply
        .type('text/javascript; charset=utf-8')
        .headers({ 'cache-control': 'public, max-age=3600', 'x-content-type-options': 'nosniff' })
        .send(script);
    });
  }
}
