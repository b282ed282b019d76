// In charge of sending what is tried: through the whole walk of a request, within the process, with a token that leaves it nowhere. Of
// the answer so much is read as is shown.
import type { FastifyInstance } from 'fastify';
import { SchoolbellError } from '../../../errors.ts';
import type { SampleRequest } from '../../../reference/sample-request.ts';

/** bytes: of the body, undefined where it is not known since not all was read. */
export type Answer = Readonly<{
  status: number;
  headers: readonly (readonly [name: string, value: string])[];
  body: Buffer;
  whole: boolean;
  bytes: number | undefined;
  firstByteMs: number;
  totalMs: number;
}>;

/** authorization: with the token. address: of whoever tries it. */
export type Sending = Readonly<{ request: SampleRequest; authorization: string; address: string }>;
export type SendRequest = (sending: Sending) => Promise<Answer>;

export const shownBytes = 64 * 1024;
/** Longer than any operation takes, each of which has an end of its own: a mark that is written back is waited for. */
export const longestTryMs = 50_000;
/** What is between a server and one connection, and what is nobody's who reads this. */
const unsaid: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'set-cookie']);

export function createSend(app: FastifyInstance, publicUrl: string): SendRequest {
  return async ({ request, authorization, address }) => {
    const url = addressOf(request);
    const started = performance.now();
    const response = await app.inject({
      method: request.method as 'GET',
      url,
      authority: new URL(publicUrl).host,
      remoteAddress: address,
      headers: { ...Object.fromEntries(request.headers), ...(request.body ? { 'content-type': request.body.contentType } : {}), authorization },
      ...(request.body?.kind === 'json' ? { payload: JSON.stringify(request.body.value) } : {}),
      payloadAsStream: true,
    });
    const firstByteMs = performance.now() - started;
    const read = await readSome(response.stream(), () => response.raw.res.destroy());
    const length = response.headers['content-length'];
    return {
      status: response.statusCode,
      headers: Object.entries(response.headers).flatMap(([name, value]) => (unsaid.has(name) ? [] : [[name, String(value)] as const])),
      ...read,
      bytes: read.whole ? read.body.length : length === undefined ? undefined : Number(length),
      firstByteMs,
      totalMs: performance.now() - started,
    };
  };
}

/** Exactly the address of the operation: nothing that was filled in may have made it another. */
function addressOf({ path, query }: SampleRequest): string {
  if (new URL(path, 'http://localhost').pathname !== path) throw new SchoolbellError('invalid_request', 'What is filled in would lead to another address.');
  const asked = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  return asked === '' ? path : `${path}?${asked}`;
}

/** Whoever writes more than is shown is stopped, as by a reader who goes away. */
async function readSome(stream: NodeJS.ReadableStream, stop: () => void): Promise<{ body: Buffer; whole: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('error', () => {});
  try {
    for await (const chunk of stream) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > shownBytes) break;
    }
  } catch {
    return { body: Buffer.concat(chunks).subarray(0, shownBytes), whole: false };
  } finally {
    stop();
  }
  return { body: Buffer.concat(chunks).subarray(0, shownBytes), whole: size <= shownBytes };
}
