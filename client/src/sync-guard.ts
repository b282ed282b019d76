// In charge of the guard against sudden shrinkage: as the service's own, more than a fifth of at least fifty records of one
// collection (users: of one role); besides, a collection that comes back empty.
import type { Shrinkage } from './sync-errors.ts';
import type { Part } from './sync-store.ts';

/** allow: what may go this time, whatever the numbers say: everything, or these collections. */
export type Guard = { percent?: number; least?: number; allow?: boolean | readonly string[] };

/** @internal refused: collections that the school no longer grants, which is no empty answer; large ones are held all the same. */
export function findShrinkage(parts: readonly Part[], refused: readonly string[], { percent = 20, least = 50, allow = false }: Guard): Shrinkage[] {
  const watched = parts.filter(({ collection }) => allow !== true && !(allow !== false && allow.includes(collection)));
  const held: Shrinkage[] = [];
  for (const { collection, part, had, gone } of watched) if (had >= least && gone * 100 > had * percent) held.push({ collection, part, had, gone });
  for (const collection of new Set(watched.map((one) => one.collection))) {
    const own = watched.filter((one) => one.collection === collection);
    const sum = (key: 'had' | 'gone' | 'come') => own.reduce((all, one) => all + one[key], 0);
    const emptied = sum('had') > 0 && sum('had') === sum('gone') && sum('come') === 0;
    if (emptied && !refused.includes(collection) && !held.some((one) => one.collection === collection))
      held.push({ collection, part: '', had: sum('had'), gone: sum('gone') });
  }
  return held;
}
