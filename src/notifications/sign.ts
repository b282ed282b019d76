// In charge of signatures: Standard Webhooks, v1, over the exact bytes that are sent.
import { createHmac, createSecretKey } from 'node:crypto';
import { lately } from '../http/lately.ts';

const prefix = 'whsec_';
/** As many as a batch of deliveries may be signed with; to make a key takes as long as to sign. */
const mostKeys = 64;
// Given bytes, Node 24 asks twice by way of an error whether they are a key: 27 µs for each signature, against 8.
const keyOf = lately((secret) => createSecretKey(secret.slice(prefix.length), 'base64'), mostKeys);

/** One signature per secret that is valid, so that receivers can change over at their own time. */
export function renderSignature(id: string, timestamp: number, body: Uint8Array | null, secrets: readonly string[]): string {
  return secrets
    .map((secret) => `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body ?? '').digest('base64')}`)
    .join(' ');
}
