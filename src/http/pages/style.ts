// In charge of the one style sheet of all pages.
import type { FastifyInstance } from 'fastify';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const stylePath = '/style.css';
const style = readFileSync(join(import.meta.dirname, 'style.css'), 'utf8');

export function styleRoute(app: FastifyInstance): void {
  app.get(stylePath, { schema: { hide: true } }, async (_request, reply) => {
    return reply.type('text/css; charset=utf-8').header('cache-control', 'public, max-age=3600').send(style);
  });
}
