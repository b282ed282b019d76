// In charge of readers that hold a long answer open without reading it: one that takes less than the least rate for
// too long is cut off by a reset, so that it can never mistake what it got for the whole.
import type { ServerResponse } from 'node:http';

export type SlowReaderLimit = { bytesPerSecond: number; seconds: number };

export const slowReaderLimit: SlowReaderLimit = { bytesPerSecond: 64 * 1024, seconds: 30 };

export function cutOffSlowReader(response: ServerResponse, limit: SlowReaderLimit): void {
  const everyMs = Math.min(1000, (limit.seconds * 1000) / 10);
  const samples: number[] = [];
  const timer = setInterval(() => {
    const { socket } = response;
    if (!socket) return;
    // Only time in which bytes wait for the reader counts; the server's own slowness is not the reader's fault.
    if (socket.writableLength === 0) {
      samples.length = 0;
      return;
    }
    samples.push(socket.bytesWritten - socket.writableLength);
    if (samples.length * everyMs <= limit.seconds * 1000) return;
    const taken = (samples.at(-1) ?? 0) - (samples.shift() ?? 0);
    if (taken < limit.bytesPerSecond * limit.seconds) socket.resetAndDestroy();
  }, everyMs).unref();
  response.once('close', () => clearInterval(timer));
}
