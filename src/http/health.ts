// In charge of /healthz (the process is alive) and /readyz (it can serve: database reachable and migrated).
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { Db } from '../db/connect.ts';
import { isMigrated } from '../db/migrate.ts';
import { refuseOtherMethods } from './server.ts';

const status = Type.Object({ status: Type.String() });

export function healthRoutes(app: FastifyInstance, db: Db): void {
  app.get('/healthz', { schema: { summary: 'Alive', response: { 200: status } } }, async () => ({ status: 'ok' }));
  app.get('/readyz', { schema: { summary: 'Ready to serve', response: { 200: status, 503: status } } }, async (request, reply) => {
    const migrated = await isMigrated(db).catch((error: unknown) => {
      request.log.warn({ err: error }, 'the database does not answer');
      return undefined;
    });
    if (migrated) return { status: 'ok' };
    return reply.code(503).send({ status: migrated === undefined ? 'the database does not answer' : 'the database is not migrated' });
  });
  refuseOtherMethods(app, '/healthz', ['GET']);
  refuseOtherMethods(app, '/readyz', ['GET']);
}
