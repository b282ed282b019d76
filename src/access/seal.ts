// In charge of what must be kept readable: encrypts it with a key derived from SECRET_KEY, so that the database
// alone gives nothing away.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { readOrMakeSecret } from '../secret-file.ts';

export type Seal = { seal(text: string): Buffer; open(sealed: Uint8Array): string };

const nonceBytes = 12;
const tagBytes = 16;

export function createSeal(secretKey: string): Seal {
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'schoolbell seal', 32));
  return {
    seal(text) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    open(sealed) {
      const bytes = Buffer.from(sealed);
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
      decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw new Error('SECRET_KEY: does not open what is stored in this database; use the key it was first started with', { cause });
      }
    },
  };
}

/** SECRET_KEY, or the key that the first start made in the data directory. */
export function readSecretKey(config: Config): string {
  return config.secretKey ?? readOrMakeSecret(join(config.dataDir, 'secret.key'), () => randomBytes(32).toString('base64url'));
}
