// In charge of the one script of a school's pages, which follows an import.
import type { FastifyInstance } from 'fastify';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const followPath = '/school/follow.js';
const script = readFileSync(join(import.meta.dirname, 'follow.js'), 'utf8');

export function followRoute(app: FastifyInstance): void {
  app.get(followPath, { schema: { hide: true } }, async (_request, reply) => {
    return reply
      .type('text/javascript; charset=utf-8')
      .headers({ 'cache-control': 'public, max-age=3600', 'x-content-type-options': 'nosniff' })
      .send(script);
  });
}
