// In charge of what the service does school by school, each in its turn, being done at all of them at once.
import { purgeRoster } from '../src/collection/purge.ts';
import type { Db } from '../src/db/connect.ts';
import { forgetAtSchool, forgetInOnePlace } from '../src/forget.ts';
import { goThrough } from '../src/roster/go-through.ts';
import type { ForgetPeople } from '../src/roster/leaver.ts';

const forgetNothing: ForgetPeople = async () => async () => {};
const listSchools = (db: Db) => db<{ estab: string }[]>`select estab from establishment order by estab`;

/** Gives how many records went. */
export async function purgeRosters(db: Db, afterDays: number, forgetPeople = forgetNothing): Promise<number> {
  let purged = 0;
  await goThrough(await listSchools(db), 'could not be purged', async (estab) => (purged += await purgeRoster(db, estab, afterDays, forgetPeople)));
  return purged;
}

export async function forgetOverAge(db: Db, config: { purgeAfterDays: number }): Promise<void> {
  await forgetInOnePlace(db, config);
  await goThrough(await listSchools(db), 'could not forget', (estab) => forgetAtSchool(db, config, estab));
}
