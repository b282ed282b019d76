// In charge of secrets: made with 256 random bits and a prefix by kind, kept as a hash, compared in constant time.
// They are random, not chosen by people, so a plain SHA-256 is as strong as the secret itself.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Db } from '../db/connect.ts';

export const secretKinds = ['school', 'management', 'client', 'signing'] as const;
export type SecretKind = (typeof secretKinds)[number];

const prefixes: Readonly<Record<SecretKind, string>> = { school: 'sb_school_', management: 'sb_mgmt_', client: 'sb_client_', signing: 'whsec_' };

/** How long an old one stays valid beside its successor, unless something else is asked for: receivers have to change over. */
export const keptSeconds: Readonly<Record<SecretKind, number>> = { school: 0, management: 0, client: 0, signing: 24 * 3600 };

export type NewSecret = { text: string; hash: Buffer };

export function makeSecret(kind: SecretKind): NewSecret {
  // Standard Webhooks reads what follows whsec_ as base64; the others must survive URLs and shells unquoted.
  const text = prefixes[kind] + randomBytes(32).toString(kind === 'signing' ? 'base64' : 'base64url');
  return { text, hash: hashSecret(text) };
}

export function hashSecret(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

const matchesNothing = Buffer.alloc(32);

/** The first candidate that the secret matches. Unknown client and wrong secret take the same path. */
export function findMatch<T extends { hash: Uint8Array }>(secret: string, candidates: readonly T[]): T | undefined {
  const hash = hashSecret(secret);
  let match: T | undefined;
  for (const candidate of candidates.length > 0 ? candidates : [undefined]) {
    if (timingSafeEqual(hash, candidate?.hash ?? matchesNothing) && candidate) match ??= candidate;
  }
  return match;
}

/** Those that were replaced and have ended since: few, and the same ones wherever there is a copy of them. */
export async function forgetSecrets(db: Db, days: number): Promise<void> {
  for (const table of ['application_secret', 'school_secret']) await db`delete from ${db(table)} where valid_until < now() - make_interval(days => ${days})`;
}
