// In charge of forgetting, by the table of what is kept: what is over age, and what is about people who are purged.
import type { Pseudonym } from './access/pseudonym.ts';
import { forgetMarksFiles, keptMarksFiles } from './collection/connectors/csv/forget-marks-files.ts';
import { sweepSpool } from './collection/spool.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import { keptDays, type Kept } from './kept.ts';
import { retention } from './retention.ts';
import { attemptAll } from './roster/go-through.ts';
import type { Forget, ForgetPeople } from './roster/leaver.ts';
import { createNameFinder } from './roster/name-finder.ts';
import { readSince } from './roster/search-names.ts';
import { sweepListsIn } from './roster/sweep-lists.ts';

type Lasting = Pick<Config, 'purgeAfterDays'>;

/** What is over age and lies in one place, of all schools. */
export async function forgetInOnePlace(db: Db, config: Lasting): Promise<void> {
  await eachKind(config, (ends, days) => ('days' in ends ? ends.forget?.(db, days) : ends.forget?.(db)));
}

/** What lies with the school. */
export async function forgetAtSchool(db: Db, config: Lasting, estab: string): Promise<void> {
  await eachKind(config, (ends, days) => ('days' in ends ? ends.forgetAt?.(db, estab, days) : ends.forgetAt?.(db, estab)));
}

/** One kind that cannot be forgotten at present does not keep the others. */
async function eachKind(config: Lasting, forget: (ends: Kept['ends'], days: number) => Promise<unknown> | undefined): Promise<void> {
  const attempts = retention.map(({ ends }) => () => forget(ends, 'days' in ends ? keptDays(ends.days, ends.namesPeople, config) : 0));
  await attemptAll(attempts, (count) => `${count} of ${retention.length} kinds could not be forgotten`);
}

export async function forgetFiles(db: Db, { dataDir, purgeAfterDays }: Pick<Config, 'dataDir' | 'purgeAfterDays'>): Promise<void> {
  const days = keptDays(keptMarksFiles.days, true, { purgeAfterDays });
  const sweeps = [() => sweepSpool(dataDir), () => forgetMarksFiles(db, dataDir, days), () => sweepListsIn(db, dataDir)];
  await attemptAll(sweeps, (count) => `${count} of ${sweeps.length} kinds of files could not be swept`);
}

/** Nothing is held while it is searched; then everything goes in the transaction that purges them from the roster. */
export function createForgetPeople(pseudonym: Pseudonym): ForgetPeople {
  return async (db, estab, people) => {
    const since = await readSince(db, estab);
    const names = createNameFinder(people);
    const all: Forget[] = [];
    for (const { purged } of retention) {
      if (purged?.forget) all.push(purged.forget(pseudonym));
      if (purged?.search) all.push(await purged.search(pseudonym)(db, estab, names, since));
    }
    return async (tx, _, going) => {
      for (const forget of all) await forget(tx, estab, going);
    };
  };
}
