// In charge of checking that a call comes from Schoolbell: Standard Webhooks v1 over the bytes as they arrived, with WebCrypto,
// which every runtime has.
import { SchoolbellError } from '../errors.ts';

export type WebhookHeaders = Readonly<Record<string, string | readonly string[] | undefined>> | { get(name: string): string | null };

export type VerifyOptions = {
  /** How far the clocks may be apart; 300. */
  toleranceSeconds?: number | undefined;
  now?: (() => number) | undefined;
};

const usualToleranceSeconds = 300;
const sha256 = { name: 'HMAC', hash: 'SHA-256' } as const;

/** Gives the webhook-id, the same over repeats; throws unless one of the secrets signed these bytes just now. For a GET, give no body. */
export async function verify(
  headers: WebhookHeaders,
  body: Uint8Array | string | undefined,
  secrets: string | readonly string[],
  { toleranceSeconds = usualToleranceSeconds, now = Date.now }: VerifyOptions = {},
): Promise<string> {
  const id = requireHeader(headers, 'webhook-id');
  const timestamp = requireHeader(headers, 'webhook-timestamp');
  const given = requireHeader(headers, 'webhook-signature').split(' ');
  if (!/^\d{1,12}$/.test(timestamp)) throw refuse(400, 'malformed_webhook', 'webhook-timestamp is no time.');
  // So that a tolerance that is no number allows nothing.
  if (!(Math.abs(now() / 1000 - Number(timestamp)) <= toleranceSeconds))
    throw refuse(401, 'invalid_signature', `webhook-timestamp is not within ${toleranceSeconds} seconds of now.`);
  const signed = concatenate([encode(`${id}.${timestamp}.`), typeof body === 'string' ? encode(body) : (body ?? new Uint8Array())]);
  // Without any, as with an empty one.
  for (const secret of secrets.length === 0 ? [''] : typeof secrets === 'string' ? [secrets] : secrets) {
    const key = await importKey(secret);
    for (const signature of given) {
      const bytes = signature.startsWith('v1,') ? decodeBase64(signature.slice(3)) : undefined;
      // It compares in constant time.
      if (bytes && (await crypto.subtle.verify(sha256, key, bytes, signed))) return id;
    }
  }
  throw refuse(401, 'invalid_signature', 'No signature matches these bytes and secrets. Was the body changed on the way, or the secret?');
}

async function importKey(secret: string): ReturnType<typeof crypto.subtle.importKey> {
  const bytes = decodeBase64(secret.replace(/^whsec_/, ''));
  if (!bytes || bytes.length === 0) throw new SchoolbellError('The signing secret is empty or no base64.', { code: 'invalid_secret' });
  return crypto.subtle.importKey('raw', bytes, sha256, false, ['verify']);
}

function requireHeader(headers: WebhookHeaders, name: string): string {
  const value = findHeader(headers, name);
  if (value !== '') return value;
  throw refuse(400, 'malformed_webhook', `${name} is missing.`);
}

/** @internal Empty where there is none, or several. */
export function findHeader(headers: WebhookHeaders, name: string): string {
  const value: unknown =
    typeof headers.get === 'function' ? (headers as Headers).get(name) : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'string' ? value : '';
}

const encode = (text: string) => new TextEncoder().encode(text);

/** @internal */
export function concatenate(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function refuse(status: number, code: string, message: string): SchoolbellError {
  return new SchoolbellError(message, { status, code });
}
