// In charge of the HTTP server itself: limits, logging without queries, bodies or credentials, and errors that
// happen before any route is reached.
import compress from '@fastify/compress';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';
import { SchoolbellError } from '../errors.ts';
import { answerInTime } from './deadline.ts';
import { envelopeShape, sendError, useErrorShape, type ErrorShape } from './error-shape.ts';
import { parseQuery, requireWellFormed, type Query } from './query.ts';

/** All headers of a request together; more is a 431. */
export const maxHeaderBytes = 16 * 1024;
export const maxBodyBytes = 1024 * 1024;
const longestHeadMs = 30_000;
/** Of any request, the largest upload over a slow line included; `deadline` cuts off the others much earlier. */
const longestRequestMs = 630_000;
/** How long the end waits for answers that are still being read. */
const longestEndMs = 10_000;
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'] as const;

export type ServerOptions = { logLevel: string; trustProxy: readonly string[]; shapeFor: (path: string, accept: string | undefined) => ErrorShape };

export function createServer({ logLevel, trustProxy, shapeFor }: ServerOptions): FastifyInstance {
  const app = Fastify({
    logger: {
      level: logLevel,
      serializers: {
        req: (request) => ({ method: request.method, path: request.url.split('?', 1)[0], address: request.ip }),
        res: (reply) => ({ status: reply.statusCode }),
      },
    },
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    bodyLimit: maxBodyBytes,
    requestIdHeader: false,
    http: { maxHeaderSize: maxHeaderBytes, headersTimeout: longestHeadMs },
    requestTimeout: longestRequestMs,
    routerOptions: {
      ignoreTrailingSlash: true,
      caseSensitive: false,
      maxParamLength: maxHeaderBytes,
      querystringParser: (text) => parseQuery(text) as Record<string, unknown>,
    },
    frameworkErrors: (error, request, reply) => void sendError(error, shapeFor(request.url, request.headers.accept), request, reply),
    clientErrorHandler: refuseUnparsable,
  }).withTypeProvider<TypeBoxTypeProvider>();

  useErrorShape(app as unknown as FastifyInstance, envelopeShape);
  app.setNotFoundHandler((request, reply) => {
    return sendError(new SchoolbellError('not_found', 'There is nothing at this address.'), shapeFor(request.url, request.headers.accept), request, reply);
  });
  app.addHook('preValidation', async (request) => requireWellFormed(request.query as Query));
  app.removeContentTypeParser('text/plain');
  endIdleConnectionsOnClose(app as unknown as FastifyInstance);
  answerInTime(app as unknown as FastifyInstance);
  app.register(compress, { encodings: ['gzip'], threshold: 1024 });
  return app as unknown as FastifyInstance;
}

/** Requests in flight finish; a connection that has none, or only half of one, does not hold up the end. */
function endIdleConnectionsOnClose(app: FastifyInstance): void {
  const inFlight = new Map<Socket, number>();
  let closing = false;
  app.server.on('connection', (socket) => {
    inFlight.set(socket, 0);
    socket.once('close', () => inFlight.delete(socket));
  });
  app.server.on('request', ({ socket }, response) => {
    inFlight.set(socket, (inFlight.get(socket) ?? 0) + 1);
    response.once('close', () => {
      if (!inFlight.has(socket)) return;
      inFlight.set(socket, (inFlight.get(socket) ?? 1) - 1);
      if (closing && inFlight.get(socket) === 0) socket.destroySoon();
    });
  });
  app.addHook('preClose', async () => {
    closing = true;
    for (const [socket, requests] of inFlight) if (requests === 0) socket.destroy();
    setTimeout(() => app.server.closeAllConnections(), longestEndMs).unref();
  });
}

/** A known address answers other verbs with 405 and says which it takes. */
export function refuseOtherMethods(app: FastifyInstance, path: string, allowed: readonly string[]): void {
  const taken = allowed.includes('GET') ? [...allowed, 'HEAD'] : [...allowed];
  const others = methods.filter((method) => !taken.includes(method));
  app.route({
    method: others,
    url: path,
    schema: { hide: true },
    preParsing: async () => {
      throw new SchoolbellError('method_not_allowed', `This address takes ${taken.join(', ')}.`, { headers: { allow: taken.join(', ') } });
    },
    handler: async () => {},
  });
}

/** What cannot be parsed as HTTP has no route and no shape: a status line and a sentence, then the connection ends. */
function refuseUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const [status, text] = tooLarge
    ? ['431 Request Header Fields Too Large', `The headers exceed ${maxHeaderBytes} bytes.`]
    : ['400 Bad Request', 'This is not a valid HTTP request.'];
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
}
