// In charge of what must be kept readable: encrypts it with a key derived from SECRET_KEY, so that the database
// alone gives nothing away. The first key seals, any opens: that is how one key gives way to another.
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, secretKeyFile, type Config } from '../config.ts';
import { readOrMakeSecret } from '../secret-file.ts';

export type Seal = {
  seal(text: string): Buffer;
  open(sealed: Uint8Array): string;
  /** The same, sealed with the first key; undefined when that is what it is sealed with. */
  reseal(sealed: Uint8Array): Buffer | undefined;
};

const nonceBytes = 12;
const tagBytes = 16;

export function createSeal(secretKeys: readonly string[]): Seal {
  const keys = secretKeys.map((secretKey) => createSecretKey(Buffer.from(hkdfSync('sha256', secretKey, '', 'schoolbell seal', 32))));
  const [first] = keys;
  if (!first) throw new Error('a seal needs a key');

  function seal(text: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', first as KeyObject, nonce);
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), body]);
  }

  function open(sealed: Uint8Array): { text: string; key: KeyObject } {
    for (const key of keys) {
      const text = tryKey(key, Buffer.from(sealed));
      if (text !== undefined) return { text, key };
    }
    const remedy = keys.length > 1 ? 'one of its keys must be' : 'use';
    throw new ConfigError([`SECRET_KEY: does not open what is stored in this database; ${remedy} the key that it was sealed with`]);
  }

  return {
    seal,
    open: (sealed) => open(sealed).text,
    reseal(sealed) {
      const { text, key } = open(sealed);
      return key === first ? undefined : seal(text);
    },
  };
}

/** Whether a key fits is known by the tag; the sealed bytes do not say whose they are. */
function tryKey(key: KeyObject, bytes: Buffer): string | undefined {
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

const keyFile = ({ dataDir }: Config) => join(dataDir, secretKeyFile);

/** Those of SECRET_KEY, or the key in the data directory, which the first start makes. */
export function readOrMakeSecretKeys(config: Config): readonly string[] {
  if (config.secretKeys.length > 0) return config.secretKeys;
  return [readOrMakeSecret(keyFile(config), () => randomBytes(32).toString('base64url'))];
}

/** The same, made by nobody but a start: another key than the service's would open nothing. */
export function readSecretKeys(config: Config): readonly string[] {
  if (config.secretKeys.length > 0) return config.secretKeys;
  if (existsSync(keyFile(config))) return readOrMakeSecretKeys(config);
  throw new ConfigError([`SECRET_KEY: not set, and there is no ${keyFile(config)}; set it as it is set for the service, or put the file back`]);
}
