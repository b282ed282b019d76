// In charge of going through the schools for what lies with them and is over age, people who left long ago included, and for what is noted of
// them elsewhere: each school once a day, some of them every hour.
import { createHash } from 'node:crypto';
import { correctStanding } from './collection/correct-standing.ts';
import { purgeRoster } from './collection/purge.ts';
import type { Config } from './config.ts';
import type { Db } from './db/connect.ts';
import { forgetAtSchool } from './forget.ts';
import { attemptAll, goThrough } from './roster/go-through.ts';
import type { ForgetPeople } from './roster/leaver.ts';

const hourMs = 3_600_000;
/** Looked at every hour, a school has its turn within a day. */
const betweenMs = 20 * hourMs;

type Due = { estab: string; late: boolean };

/**
 * Gives how many records were purged. A school at which something failed has its turn again the next time, behind those that have become due
 * since: many that cannot be had, as when their node is away, keep nobody waiting.
 */
export async function visitSchools(db: Db, config: Pick<Config, 'purgeAfterDays'>, forgetPeople: ForgetPeople, now: Date): Promise<number> {
  const before = (ms: number) => new Date(now.getTime() - ms);
  const due = await db<Due[]>`
    select estab, swept_at < ${before(betweenMs + 2 * hourMs)} as late from roster_standing where swept_at <= ${before(betweenMs)}
    order by swept_at desc, estab`;
  const late = new Set(due.filter((one) => one.late).map(({ estab }) => estab));
  let purged = 0;
  await goThrough(due, 'could not be gone through', async (estab) => {
    // First, and by itself: a school whose node is away is left at this one statement, or each kind of thing would wait for it anew.
    await correctStanding(db, estab);
    const purge = async () => (purged += await purgeRoster(db, estab, config.purgeAfterDays, forgetPeople));
    await attemptAll([purge, () => forgetAtSchool(db, config, estab)], () => 'not everything went that is over age');
    await db`update roster_standing set swept_at = ${before(late.has(estab) ? shareOf(estab) * betweenMs : 0)} where estab = ${estab}`;
  });
  return purged;
}

/** Those that were all late, as at first, would all be due at once again: each counts as one that was visited at another time, by its name. */
const shareOf = (estab: string): number => createHash('sha256').update(estab).digest().readUInt32BE() / 2 ** 32;
