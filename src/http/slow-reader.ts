// In charge of readers that hold a long answer open without reading it: one that takes less than the least rate for
// too long is cut off by a reset, so that it can never mistake what it got for the whole.
import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';

export type SlowReaderLimit = { bytesPerSecond: number; seconds: number };

export const slowReaderLimit: SlowReaderLimit = { bytesPerSecond: 64 * 1024, seconds: 30 };

/** What a kernel may hold for a reader: it takes bytes in bursts, so that within one window a fair reader can look slow. */
const burstBytes = 1.5 * 1024 * 1024;
/** Over this many windows a burst no longer matters. */
const longWindows = 4;

/** Sends what may take long to read. One who was told meanwhile that it took too long gets nothing more. */
export function sendRead(reply: FastifyReply, body: Buffer | Readable | undefined, limit: SlowReaderLimit): FastifyReply {
  if (reply.sent) {
    if (body instanceof Readable) body.destroy();
    return reply;
  }
  cutOffSlowReader(reply.raw, limit);
  return reply.send(body);
}

function cutOffSlowReader(response: ServerResponse, limit: SlowReaderLimit): void {
  const everyMs = Math.min(1000, (limit.seconds * 1000) / 10);
  const perWindow = Math.round((limit.seconds * 1000) / everyMs);
  const least = limit.bytesPerSecond * limit.seconds;
  const samples: number[] = [];
  const tooLittle = (windows: number): boolean => {
    const from = samples.at(-1 - windows * perWindow);
    if (from === undefined) return false;
    return (samples.at(-1) ?? 0) - from < Math.max(windows * least - burstBytes, least / 10);
  };
  const timer = setInterval(() => {
    const { socket } = response;
    if (!socket) return;
    // Only time in which bytes wait for the reader counts; the server's own slowness is not the reader's fault.
    if (socket.writableLength === 0) {
      samples.length = 0;
      return;
    }
    samples.push(socket.bytesWritten - socket.writableLength);
    if (samples.length > longWindows * perWindow + 1) samples.shift();
    if (tooLittle(1) || tooLittle(longWindows)) socket.resetAndDestroy();
  }, everyMs).unref();
  response.once('close', () => clearInterval(timer));
}
