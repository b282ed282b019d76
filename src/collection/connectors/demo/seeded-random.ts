// In charge of repeatable chance: a seeded generator (mulberry32) and opaque identifiers hashed from a
// natural key. Both use 32-bit integer arithmetic only, so every machine draws the same values.

export type Random = {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  next(): number;
  /** A whole number from 0 to limit - 1. */
  below(limit: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  shuffle<T>(list: readonly T[]): T[];
};

/** A stream of its own for each name, so that tuning one part of the school leaves the others alone. */
export function seededRandom(stream: string): Random {
  let state = hash32(stream, 0x5c001be1);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (list) => elementAt(list, below(list.length)),
    shuffle: (list) => {
      const shuffled = [...list];
      for (let last = shuffled.length - 1; last > 0; last -= 1) {
        const other = below(last + 1);
        const kept = elementAt(shuffled, last);
        shuffled[last] = elementAt(shuffled, other);
        shuffled[other] = kept;
      }
      return shuffled;
    },
  };
}

/** An identifier such as `enr-7k2m9x4q1d`: the same key under the same prefix always gives the same text. */
export function stableId(prefix: string, key: string): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  let digits = '';
  for (const seed of [0x2f6e2b1, 0x9e3779b]) {
    let value = hash32(`${prefix}/${key}`, seed);
    for (let digit = 0; digit < 5; digit += 1) {
      digits += alphabet.charAt(value & 31);
      value >>>= 5;
    }
  }
  return `${prefix}-${digits}`;
}

/** The element at a position that is known to exist. */
export function elementAt<T>(list: readonly T[], position: number): T {
  if (position < 0 || position >= list.length) throw new RangeError(`no element ${position} of ${list.length}`);
  return list[position] as T;
}

/** FNV-1a with a final avalanche. */
function hash32(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
