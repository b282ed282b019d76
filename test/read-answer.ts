// In charge of reading an answer to its last byte as it was sent: not unzipped, and with what went wrong on the way.
import { Agent, get } from 'node:http';

/** fault: what the connection ended in, where the answer did not come whole. */
export type RawAnswer = { status: number; headers: Record<string, string | undefined>; body: Buffer; fault: string | undefined };

const agent = new Agent({ keepAlive: true, maxSockets: 50 });

/** `onBytes` is told how many there are so far, and may take its time. */
export function readAnswer(url: string, headers: Record<string, string>, onBytes?: (bytes: number) => Promise<void>): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { 'accept-encoding': 'identity', ...headers } }, (response) => {
      const received: Buffer[] = [];
      let bytes = 0;
      const finish = (fault: string | undefined) =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers as RawAnswer['headers'], body: Buffer.concat(received), fault });
      response.on('data', (piece: Buffer) => {
        received.push(piece);
        bytes += piece.length;
        if (!onBytes) return;
        response.pause();
        void onBytes(bytes).then(() => response.resume());
      });
      response.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
      response.once('end', () => finish(response.complete ? undefined : 'incomplete'));
    }).once('error', reject);
  });
}
