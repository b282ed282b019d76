// In charge of naming people: drawing names from the pools, folding them to plain letters,
// and handing out user names and mail addresses that nobody else has.
import { namePools } from './name-pools.ts';
import type { NamePool } from './name-pools.ts';
import { elementAt } from './seeded-random.ts';
import type { Random } from './seeded-random.ts';

export type Sex = 'male' | 'female';

export function drawPool(random: Random): NamePool {
  const total = namePools.reduce((sum, pool) => sum + pool.weight, 0);
  let left = random.below(total);
  for (const pool of namePools) {
    left -= pool.weight;
    if (left < 0) return pool;
  }
  return elementAt(namePools, 0);
}

/** Brothers and sisters do not share a given name: those already given are passed over. */
export function drawGivenName(random: Random, pool: NamePool, sex: Sex, given: readonly string[] = []): string {
  return random.pick((sex === 'female' ? pool.female : pool.male).filter((name) => !given.includes(name)));
}

/** Often none, mostly one, and now and then a middle name of several words. */
export function drawMiddleName(random: Random, pool: NamePool, sex: Sex, given: string): string {
  if (!random.chance(0.4)) return '';
  const count = random.chance(0.05) ? 2 + random.below(2) : 1;
  const names = random.shuffle(sex === 'female' ? pool.female : pool.male).filter((name) => name !== given);
  return names.slice(0, count).join(' ');
}

/** The men's or women's form of a family name that has both. */
export function inflect(familyName: string, sex: Sex): string {
  const [men = familyName, women = men] = familyName.split('|');
  return sex === 'female' ? women : men;
}

/** A name in the letters a to z alone: `Łukasz O'Brien` becomes `lukaszobrien`. */
export function foldName(name: string): string {
  let folded = '';
  for (const character of name.normalize('NFD').toLowerCase()) {
    folded += ownLetters.get(character) ?? (character >= 'a' && character <= 'z' ? character : '');
  }
  return folded;
}

/** Gives back the wanted text, or the first free one with a number put where the mark `#` stands. */
export function uniqueTexts(): (wanted: string) => string {
  const taken = new Set<string>();
  return (wanted) => {
    let text = wanted.replace('#', '');
    for (let number = 2; taken.has(text); number += 1) text = wanted.replace('#', String(number));
    taken.add(text);
    return text;
  };
}

/** Letters that do not come apart into a plain letter and an accent. */
const ownLetters: ReadonlyMap<string, string> = new Map([
  ['ł', 'l'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ı', 'i'],
  ['ß', 'ss'],
  ['æ', 'ae'],
]);
