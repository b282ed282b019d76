// In charge of what is said of each kind of thing that is kept: where it is, what ends it, and what becomes of it when its
// person is purged.
import type { Pseudonym } from './access/pseudonym.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import type { Forget } from './roster/leaver.ts';
import type { Search } from './roster/search-names.ts';

/** What sweeps it: `forget` what lies in one place, every hour; `forgetAt` what lies with a school, when that has its turn. */
type Swept<Given extends unknown[]> = Readonly<{
  forget?(db: Db, ...given: Given): Promise<unknown>;
  forgetAt?(db: Db, estab: string, ...given: Given): Promise<unknown>;
}>;
/** So many days after something; `purge` is what PURGE_AFTER_DAYS says, and the most where people are named. */
export type Age = Readonly<{ days: number | 'purge'; after: string; namesPeople: boolean }> & Swept<[days: number]>;
/** In words; what is swept has ended by itself. */
type Otherwise = Readonly<{ until: string }> & Swept<[]>;

export type Kept = Readonly<{
  what: string;
  /** Tables. */
  where: readonly string[];
  ends: Age | Otherwise;
  /**
   * What becomes of it when its person is purged; without, it is about nobody, or the end above comes first. What names
   * them in its texts is sought before anything is locked.
   */
  purged?: Readonly<{ words: string; forget?: (pseudonym: Pseudonym) => Forget; search?: (pseudonym: Pseudonym) => Search }>;
  /** Who can ask for less. */
  less: string;
}>;

export function keptDays(days: Age['days'], namesPeople: boolean, { purgeAfterDays }: Pick<Config, 'purgeAfterDays'>): number {
  if (days === 'purge') return purgeAfterDays;
  return namesPeople ? Math.min(days, purgeAfterDays) : days;
}
