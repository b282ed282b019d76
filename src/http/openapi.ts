// In charge of the description of the API, generated from the schemas that the routes validate and serialise with.
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';

export function describeApi(app: FastifyInstance): void {
  app.register(swagger, {
    refResolver: { buildLocalReference: (schema, _base, _fragment, index) => (typeof schema.$id === 'string' ? schema.$id : `schema-${index}`) },
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Schoolbell', description: 'Rosters, identity and notifications between schools and applications', version: '1' },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
    },
  });
}
