// In charge of the trace that stays where a person must not be named any more: a hash with a key of its own, derived from
// SECRET_KEY. It is made from the sourcedId: the same person at the same school is the same trace wherever one is left;
// without the key nobody is found by trying ids.
import { createHmac, hkdfSync } from 'node:crypto';

export type Pseudonym = (estab: string, sourcedId: string) => string;

/** By the first key; after a change of SECRET_KEY later traces of a person no longer meet the earlier ones. */
export function createPseudonym([secretKey]: readonly string[]): Pseudonym {
  if (secretKey === undefined) throw new Error('a pseudonym needs a key');
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'schoolbell pseudonym', 32));
  return (estab, sourcedId) => `gone-${createHmac('sha256', key).update(JSON.stringify([estab, sourcedId])).digest('hex').slice(0, 32)}`;
}
