// In charge of bodies that are none: many clients name a content type with every call. Whether a body is missing is for
// each address to say, in its own words.
import type { FastifyInstance } from 'fastify';

export function acceptEmptyBodies(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
    if (Number(length) === 0 && encoding === undefined) delete request.headers['content-type'];
    done();
  });
  // Sent in chunks, it is known to be empty only once it was read.
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser('application/json');
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (String(body).trim() === '') done(null, undefined);
    else void parseJson(request, String(body), done);
  });
}
