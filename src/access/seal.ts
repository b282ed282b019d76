// Encrypts, with a key derived from SECRET_KEY, values that the service has to read again, so that a copy of the database reveals none of them.
// The first key encrypts and every key decrypts, which is how one key replaces another. Each value is bound to its row and purpose
// (see `sealedAs`) and decrypts nowhere else, so that two values cannot be swapped in the database.
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, secretKeyFile, type Config } from '../config.ts';
import { readOrMakeSecret } from '../secret-file.ts';
import type { SealedAs } from './sealed-as.ts';

export type Seal = {
  seal(text: string, as: SealedAs): Buffer;
  /** Throws a ConfigError if no key decrypts the value, or if it belongs to another row or purpose. */
  open(sealed: Uint8Array, as: SealedAs): string;
  /** Returns the value encrypted with the first key, or undefined if it is so already. */
  reseal(sealed: Uint8Array, as: SealedAs): Buffer | undefined;
};

const nonceBytes = 12;
const tagBytes = 16;

export function createSeal(secretKeys: readonly string[]): Seal {
  const keys = secretKeys.map((secretKey) => createSecretKey(Buffer.from(hkdfSync('sha256', secretKey, '', 'schoolbell seal', 32))));
  const [first] = keys;
  if (!first) throw new Error('a seal needs a key');

  function seal(text: string, as: SealedAs): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', first as KeyObject, nonce).setAAD(associatedData(as));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]);
  }

  function open(sealed: Uint8Array, as: SealedAs): { text: string; key: KeyObject } {
    for (const key of keys) {
      const text = tryKey(key, Buffer.from(sealed), as);
      if (text !== undefined) return { text, key };
    }
    const remedy = keys.length > 1 ? 'one of its keys must be' : 'use';
    throw new ConfigError([
      `SECRET_KEY: does not open what is stored in this database (${as[0]}); ${remedy} the key that it was sealed with, in the row that it was sealed for`,
    ]);
  }

  return {
    seal,
    open: (sealed, as) => open(sealed, as).text,
    reseal(sealed, as) {
      const { text, key } = open(sealed, as);
      return key === first ? undefined : seal(text, as);
    },
  };
}

/** JSON, so that two different rows never give the same bytes. */
const associatedData = (as: SealedAs) => Buffer.from(JSON.stringify(as), 'utf8');

/** Returns undefined if the authentication tag does not match this key, row and purpose. */
function tryKey(key: KeyObject, bytes: Buffer, as: SealedAs): string | undefined {
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes)).setAAD(associatedData(as));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

const keyFile = ({ dataDir }: Config) => join(dataDir, secretKeyFile);

/** Returns the keys of SECRET_KEY, or else the key in the data directory, which the first start creates. */
export function readOrMakeSecretKeys(config: Config): readonly string[] {
  if (config.secretKeys.length > 0) return config.secretKeys;
  return [readOrMakeSecret(keyFile(config), () => randomBytes(32).toString('base64url'))];
}

/** Like `readOrMakeSecretKeys`, but fails if there is no key yet: a new key could not decrypt the values of the service. */
export function readSecretKeys(config: Config): readonly string[] {
  if (config.secretKeys.length > 0) return config.secretKeys;
  if (existsSync(keyFile(config))) return readOrMakeSecretKeys(config);
  throw new ConfigError([`SECRET_KEY: not set, and there is no ${keyFile(config)}; set it as it is set for the service, or put the file back`]);
}
