// In charge of random secrets that somebody reads off and types: groups of letters and digits with hyphens between them.
import { randomInt } from 'node:crypto';

/** Without those that are taken for one another: i l 1, o 0. */
const letters = 'abcdefghjkmnpqrstuvwxyz23456789';

/** groups: how many letters each has, of 31. */
export function makeReadableSecret(groups: readonly number[]): string {
  return groups.map((size) => Array.from({ length: size }, () => letters[randomInt(letters.length)]).join('')).join('-');
}
