// In charge of what an authenticator app shows: RFC 6238 written down once more, so that the library is held against it.
import { createHmac } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Codes that are not taken at that time, nor a step before or after. */
export function wrongCodes(secret: string, at: number, many: number): string[] {
  const good = new Set([-30_000, 0, 30_000].map((aside) => codeAt(secret, at + aside)));
  return Array.from({ length: many + good.size }, (_, nth) => String(100_000 + nth)).filter((code) => !good.has(code)).slice(0, many);
}

export function codeAt(secret: string, at: number): string {
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(at / 30_000)));
  const mac = createHmac('sha1', key).update(step).digest();
  const from = (mac.at(-1) ?? 0) & 0xf;
  return String((mac.readUInt32BE(from) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
