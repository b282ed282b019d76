// In charge of requests that are answered before they were read to their end: their connection closes, so that nobody's
// next request waits behind a body which is not taken.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { hasBody } from './deadline.ts';

/** Who is still sending finds the answer only if nothing is reset under it: what comes is thrown away for so long. */
const lingerMs = 2_000;

export function closeUnread(app: FastifyInstance): void {
  const closing = new WeakSet<Socket>();
  // What follows on a connection that closes has no answer to hope for, and must have no effect either.
  app.addHook('onRequest', (request, reply, done) => {
    if (closing.has(request.raw.socket)) reply.hijack();
    else done();
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const refused = isRefusedUnpacking(request, reply);
    if (!isUnread(request.raw) && !refused) {
      done(null, payload);
      return;
    }
    // A body that came along with its headers is complete by then.
    setImmediate(() => {
      if (refused || isUnread(request.raw)) {
        const { socket } = request.raw;
        closing.add(socket);
        reply.header('connection', 'close');
        // Node ends a connection that closes at once, with a reset where something was left unread.
        socket.destroySoon = () => void socket.end();
      }
      done(null, payload);
    });
  });
  app.server.on('request', (request, response) => response.once('finish', () => throwAway(request, closing.has(request.socket))));
}

/** What was being unpacked may be stuck anywhere between the connection and who would have read it. */
function isRefusedUnpacking({ headers, body }: FastifyRequest, { statusCode }: FastifyReply): boolean {
  return statusCode >= 400 && body === undefined && (headers['content-encoding'] ?? 'identity') !== 'identity' && hasBody({ headers });
}

/** Node says that a request without a body is complete only after it was handed on. */
function isUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && hasBody({ headers });
}

/** Whoever had begun to read it has stopped: left alone, it would hold the connection until the request times out. */
function throwAway(request: IncomingMessage, closes: boolean): void {
  const { socket } = request;
  if (closes && request.complete) socket.destroy();
  if (!isUnread(request) || socket.destroyed) return;
  const timer = destroyLater(socket);
  request.once('end', () => {
    clearTimeout(timer);
    if (closes) socket.destroy();
  });
  request.unpipe();
  request.resume();
}

/** Closes a connection whose last response has been written, even if the other side keeps its half open. */
export function destroyLater(socket: Socket): NodeJS.Timeout {
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
  return timer;
}
