// In charge of the codes for those who lost their second factor: ten, shown once, kept as hashes, each good for one use.
// They are random, 79 bits each, so that a plain SHA-256 is as strong as the code itself.
import { makeReadableSecret } from '../access/readable-secret.ts';
import { hashSecret } from '../access/secrets.ts';

const groups = [4, 4, 4, 4] as const;
const howMany = 10;

export type RecoveryCodes = Readonly<{ codes: readonly string[]; hashes: Buffer[] }>;

export function makeRecoveryCodes(): RecoveryCodes {
  const codes = Array.from({ length: howMany }, () => makeReadableSecret(groups));
  return { codes, hashes: codes.map(hashRecoveryCode) };
}

/** However it was typed. */
export function hashRecoveryCode(typed: string): Buffer {
  return hashSecret(typed.toLowerCase().replaceAll(/[\s-]/g, ''));
}
