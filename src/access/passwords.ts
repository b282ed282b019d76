// In charge of passwords: kept as argon2id, checked against the policy, made so that they are easy to type.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Derive } from './hash-pool.ts';
import { makeReadableSecret } from './readable-secret.ts';

/** OWASP's second choice for argon2id: 19 MiB, two passes. */
export const argon2Parameters = { memory: 19 * 1024, passes: 2, parallelism: 1, tagLength: 32 } as const;
const saltBytes = 16;
export const longestPassword = 256;
/** Whoever may change what others see needs more. */
const shortest = { learner: 8, staff: 12, operator: 12 } as const;
export type PasswordOwner = Readonly<{ whose: keyof typeof shortest; names: readonly string[] }>;
const groups = [4, 4, 5] as const;

export async function hashPassword(derive: Derive, password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const tag = await derive({ message: password.normalize('NFKC'), nonce: salt, ...argon2Parameters });
  return renderHash(salt, tag);
}

/**
 * With the parameters that the hash names, so that new ones do not shut out old passwords. A stored hash of undefined
 * takes as long as any other, and matches nothing.
 */
export async function matchesPassword(derive: Derive, password: string, stored: string | undefined): Promise<boolean> {
  const [, , , made = '', salt = '', tag = ''] = (stored ?? nobody).split('$');
  const [memory = 0, passes = 0, parallelism = 0] = made.split(',').map((one) => Number(one.slice(2)));
  const { tagLength } = argon2Parameters;
  const derived = await derive({ message: password.normalize('NFKC'), nonce: Buffer.from(salt, 'base64'), memory, passes, parallelism, tagLength });
  const wanted = Buffer.from(tag, 'base64');
  return derived.length === wanted.length && timingSafeEqual(derived, wanted) && stored !== undefined;
}

const encode = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64').replace(/=+$/, '');

function renderHash(salt: Uint8Array, tag: Uint8Array): string {
  const { memory, passes, parallelism } = argon2Parameters;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${encode(salt)}$${encode(tag)}`;
}

const nobody = renderHash(randomBytes(saltBytes), randomBytes(argon2Parameters.tagLength));

/** What is wrong with a password, in words; undefined when nothing is. */
export async function findPasswordFault(password: string, owner: PasswordOwner): Promise<string | undefined> {
  const length = [...password].length;
  if (length < shortest[owner.whose])
    return `A password needs at least ${shortest[owner.whose]} characters${owner.whose === 'staff' ? ' for staff' : ''}; this one has ${length}.`;
  if (password.length > longestPassword) return `A password has at most ${longestPassword} characters.`;
  if (/\p{Cc}/u.test(password)) return 'A password must not hold control characters.';
  // As it is hashed, so that no other spelling of a commonest one slips by.
  const plain = password.normalize('NFKC').toLowerCase();
  commonest ??= readCommonest();
  if (hasCommonCore(plain, await commonest)) return 'This password is one of the commonest, or one with digits or signs added; choose another.';
  const core = lettersOf(plain);
  // A name within a long sentence of its own is fine.
  if (owner.names.map(lettersOf).some((name) => name.length > 2 && core.includes(name) && core.length < name.length * 2))
    return 'The password must not be the name.';
  return undefined;
}

type Commonest = Readonly<{ words: ReadonlySet<string>; longest: number }>;
let commonest: Promise<Commonest> | undefined;

/** Read when the first password is chosen. */
async function readCommonest(): Promise<Commonest> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const words = new Set((dictionary['passwords-common'] ?? []).slice(0, 10_000).map(String));
  return { words, longest: Math.max(...[...words].map((one) => one.length)) };
}

/** Whether a commonest one is left when digits and signs are taken off its ends. Some of those begin or end with digits themselves. */
function hasCommonCore(plain: string, { words, longest }: Commonest): boolean {
  const [before = ''] = /^[^\p{L}]*/u.exec(plain) ?? [];
  const [behind = ''] = /[^\p{L}]*$/u.exec(plain) ?? [];
  for (let start = 0; start <= before.length; start += 1) {
    for (let end = Math.max(start + 1, plain.length - behind.length, 1); end <= Math.min(plain.length, start + longest); end += 1) {
      if (words.has(plain.slice(start, end))) return true;
    }
  }
  return false;
}

const lettersOf = (text: string) => text.normalize('NFKC').toLowerCase().replace(/[^\p{L}\p{M}]/gu, '');

/** 13 of 31 letters: 64 bits. */
export function makePassword(): string {
  return makeReadableSecret(groups);
}
