// In charge of one call at a receiver, whatever its server: checked, understood, handed over, answered. It is the answer that
// decides whether the service comes again.
import { SchoolbellError } from '../errors.ts';
import { readEvent, type WebhookEvent } from './event.ts';
import { findHeader, verify, type VerifyOptions, type WebhookHeaders } from './verify.ts';

export type HandlerOptions = VerifyOptions & {
  /** During a rotation both. */
  secret: string | readonly string[];
  /** Has 20 seconds. Where it throws, the call is answered with 500 and comes again. */
  on(event: WebhookEvent): unknown;
  /** Whether this id was dealt with before; then `on` is not called. */
  seen?: ((id: string) => boolean | Promise<boolean>) | undefined;
  /** Told of what `on` or `seen` threw, and of bodies that were parsed before; console.error unless given. */
  onError?: ((error: unknown) => void) | undefined;
  /** Of a body; 4 MiB, which the outcome of 5,000 marks fits into. */
  maxBytes?: number | undefined;
};

/** @internal read: the body as it arrived; undefined where it is longer than that. */
export type Incoming = { method: string; url: string; headers: WebhookHeaders; read(maxBytes: number): Promise<Uint8Array | undefined> };
/** @internal */
export type Reply = { status: number; message: string; headers: Record<string, string> };

const usualMaxBytes = 4 * 1024 * 1024;
/** @internal */
export const maxBytesOf = ({ maxBytes = usualMaxBytes }: Pick<HandlerOptions, 'maxBytes'>): number => maxBytes;

const plain = { 'content-type': 'text/plain; charset=utf-8' };
const reply = (status: number, message: string, headers: Record<string, string> = {}): Reply => ({ status, message, headers: { ...plain, ...headers } });

/** @internal */
export async function receive(options: HandlerOptions, { method, url, headers, read }: Incoming): Promise<Reply> {
  if (method !== 'GET' && method !== 'POST') return reply(405, 'Events arrive as GET or POST.', { allow: 'GET, POST' });
  try {
    const maxBytes = maxBytesOf(options);
    const body = await read(maxBytes);
    if (!body) return reply(413, `The body has more than ${maxBytes} bytes.`, { connection: 'close' });
    const id = await verify(headers, body, options.secret, options);
    if (await options.seen?.(id)) return reply(200, 'seen before');
    const [contentType, isTest] = [findHeader(headers, 'content-type'), findHeader(headers, 'schoolbell-test') === 'true'];
    await options.on(readEvent(id, { method, url, contentType, isTest, body }));
    return reply(200, 'ok');
  } catch (error) {
    if (error instanceof SchoolbellError && error.status !== undefined && isRefusal(error)) return reply(error.status, error.message);
    // oxlint-disable-next-line no-console -- a receiver that fails without a word is worse
    (options.onError ?? console.error)(error);
    return reply(500, 'The receiver failed.');
  }
}

/** Of the call itself; what `on` throws may be a SchoolbellError too. */
const isRefusal = ({ code }: SchoolbellError) => code === 'malformed_webhook' || code === 'invalid_signature';

/** @internal */
export function bodyParsed(): SchoolbellError {
  return new SchoolbellError(
    'The body of this webhook was parsed before its signature could be checked. Mount the handler before express.json() and the like.',
    { code: 'body_parsed' },
  );
}
