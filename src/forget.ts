// In charge of forgetting, by the table of what is kept: what is over age, and what is about people who are purged.
import type { Pseudonym } from './access/pseudonym.ts';
import { forgetMarksFiles, keptMarksFiles } from './collection/connectors/csv/forget-marks-files.ts';
import { sweepSpool } from './collection/spool.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import { keptDays } from './kept.ts';
import { retention } from './retention.ts';
import type { Forget, ForgetPeople } from './roster/leaver.ts';
import { createNameFinder } from './roster/name-finder.ts';
import { readSince } from './roster/search-names.ts';
import { sweepListsIn } from './roster/sweep-lists.ts';

/** One kind that cannot be forgotten at present does not keep the others. */
export async function forgetOverAge(db: Db, config: Pick<Config, 'purgeAfterDays'>): Promise<void> {
  const failures: unknown[] = [];
  for (const { ends } of retention) {
    try {
      if ('days' in ends) await ends.forget(db, keptDays(ends.days, ends.namesPeople, config));
      else await ends.forget?.(db);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${retention.length} kinds could not be forgotten`);
}

export async function forgetFiles(db: Db, { dataDir, purgeAfterDays }: Pick<Config, 'dataDir' | 'purgeAfterDays'>): Promise<void> {
  await sweepSpool(dataDir);
  await forgetMarksFiles(db, dataDir, keptDays(keptMarksFiles.days, true, { purgeAfterDays }));
  await sweepListsIn(db, dataDir);
}

/** Nothing is held while it is searched; then everything goes in the transaction that purges them from the roster. */
export function createForgetPeople(pseudonym: Pseudonym): ForgetPeople {
  return async (db, estab, people) => {
    const since = await readSince(db);
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
