// In charge of the HTTP server itself: limits, and errors that happen before any route is reached.
import compress from '@fastify/compress';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, { LogController, type FastifyError, type FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';
import { createTroubleLog } from '../db/trouble-log.ts';
import { SchoolbellError } from '../errors.ts';
import { answerInTime } from './deadline.ts';
import { acceptEmptyBodies } from './empty-body.ts';
import { encodings } from './encodings.ts';
import { sendError, type ErrorShape } from './error-shape.ts';
import { refuseUnknown } from './known-addresses.ts';
import { createLeaving, type Leaving } from './leaving.ts';
import type { LogStream } from './log-lines.ts';
import { logSerializers } from './log-serializers.ts';
import { parseQuery, requireWellFormed, type Query } from './query.ts';
import { followRequest, followRequests, makeRequestId, requestIdHeader, type TellEnded } from './request-log.ts';
import { createRequestMeter, type RequestMeter } from './request-meter.ts';
import { closeUnread, destroyLater } from './unread-body.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler itself says what is wrong with a query that cannot be decoded. */
    readsMalformedQuery?: boolean;
  }
}

/** All headers of a request together; more is a 431. */
export const maxHeaderBytes = 16 * 1024;
export const maxBodyBytes = 1024 * 1024;
const longestHeadMs = 30_000;
/** Milliseconds until Node ends a request that has not arrived, longer than any upload may take. `answerInTime` answers other requests sooner. */
const longestRequestMs = 630_000;
const requestEncodings = ['gzip', 'deflate', 'br', 'identity'] as const;

export type ServerOptions = {
  logLevel: string;
  /** Where lines go; undefined: to standard output, as JSON. */
  logTo?: LogStream | undefined;
  meter?: RequestMeter | undefined;
  /** Who keeps requests that are over. */
  tellEnded?: TellEnded | undefined;
  /** How it ends. */
  leaving?: Leaving | undefined;
  trustProxy: readonly string[];
  shapeFor: (path: string, accept: string | undefined) => ErrorShape;
};

export function createServer({ logLevel, logTo, meter = createRequestMeter(), tellEnded, trustProxy, shapeFor, ...parts }: ServerOptions): FastifyInstance {
  const { leaving = createLeaving() } = parts;
  const app = Fastify({
    logger: { level: logLevel, serializers: logSerializers, ...(logTo ? { stream: logTo } : {}) },
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: makeRequestId,
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    bodyLimit: maxBodyBytes,
    requestIdHeader: false,
    // A request without a host, or one that comes while the service ends, is answered like any other that is refused.
    http: { maxHeaderSize: maxHeaderBytes, headersTimeout: longestHeadMs, requireHostHeader: false },
    return503OnClosing: false,
    requestTimeout: longestRequestMs,
    routerOptions: {
      ignoreTrailingSlash: true,
      caseSensitive: false,
      maxParamLength: maxHeaderBytes,
      querystringParser: (text) => parseQuery(text) as Record<string, unknown>,
    },
    frameworkErrors: (error, request, reply) => {
      followRequest(request, reply, meter, { tellEnded });
      sendError(error, shapeFor(request.url, request.headers.accept), request, reply);
    },
    clientErrorHandler: refuseUnparsable,
  }).withTypeProvider<TypeBoxTypeProvider>();

  app.decorate('troubles', createTroubleLog(app.log));
  followRequests(app as unknown as FastifyInstance, meter, tellEnded);
  app.setErrorHandler((error: FastifyError | SchoolbellError, request, reply) => {
    return sendError(error, shapeFor(request.url, request.headers.accept), request, reply);
  });
  refuseUnknown(app as unknown as FastifyInstance);
  app.addHook('preValidation', async (request) => {
    if (!request.routeOptions.config.readsMalformedQuery) requireWellFormed(request.query as Query);
  });
  app.removeContentTypeParser('text/plain');
  closeUnread(app as unknown as FastifyInstance);
  acceptEmptyBodies(app as unknown as FastifyInstance);
  leaving.follow(app as unknown as FastifyInstance);
  requireHost(app as unknown as FastifyInstance);
  answerInTime(app as unknown as FastifyInstance);
  app.register(compress, { encodings: [...encodings], threshold: 1024, requestEncodings: [...requestEncodings], onUnsupportedRequestEncoding: refuseEncoding });
  return app as unknown as FastifyInstance;
}

function refuseEncoding(encoding: string): SchoolbellError {
  const message = `Content-Encoding "${encoding.slice(0, 40)}" is not taken: send the body as it is, or as ${requestEncodings.join(' or ')}.`;
  return new SchoolbellError('unsupported_media_type', message);
}

function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    if (raw.httpVersion === '1.1' && raw.headers.host === undefined) throw new SchoolbellError('invalid_request', 'There is no Host header.');
  });
  // What else is expected than to be told to go on may be ignored.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
}

/** What cannot be parsed as HTTP has no route and no shape: a status line and a sentence, then the connection ends. */
function refuseUnparsable(this: FastifyInstance, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, text] = parserRefusals[error.code ?? ''] ?? ['400 Bad Request', 'This is not a valid HTTP request.'];
  const requestId = makeRequestId();
  this.log.info({ requestId, status: Number.parseInt(status, 10), code: error.code, address: socket.remoteAddress }, 'what came was no request');
  const headers = `connection: close\r\n${requestIdHeader}: ${requestId}\r\ncontent-type: text/plain; charset=utf-8`;
  socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  destroyLater(socket);
}

const parserRefusals: Readonly<Record<string, readonly [status: string, text: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', `The headers exceed ${maxHeaderBytes} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request did not arrive in time.'],
};
