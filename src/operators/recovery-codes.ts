// In charge of the codes for those who lost their second factor: ten, shown once, kept as hashes, each good for one use.
// They are random, 79 bits each, so that a plain SHA-256 is as strong as the code itself.
import { randomInt } from 'node:crypto';
import { hashSecret } from '../access/secrets.ts';

/** Without those that are taken for one another: i l 1, o 0. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';
const groups = [4, 4, 4, 4] as const;
const howMany = 10;

export type RecoveryCodes = Readonly<{ codes: readonly string[]; hashes: Buffer[] }>;

export function makeRecoveryCodes(): RecoveryCodes {
  const codes = Array.from({ length: howMany }, () =>
    groups.map((size) => Array.from({ length: size }, () => letters[randomInt(letters.length)]).join('')).join('-'));
  return { codes, hashes: codes.map(hashRecoveryCode) };
}

/** However it was typed. */
export function hashRecoveryCode(typed: string): Buffer {
  return hashSecret(typed.toLowerCase().replaceAll(/[\s-]/g, ''));
}
