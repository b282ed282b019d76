// In charge of the instants of old versions: a version that no record carries any more has nothing to date, and goes. The
// newest stays, whatever it is: the next one is later than that.
import type { Db } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';

/** Tables whose rows are dated by a version of their roster. */
const carriers = [...allResources.flatMap((resource) => [resource.table, historyTable(resource)]), 'roster_touch'] as const;

export async function forgetVersions(db: Db, days: number): Promise<void> {
  const schools = await db<{ estab: string }[]>`select estab from roster`;
  for (const { estab } of schools) {
    const old = db`instant < now() - make_interval(days => ${days})`;
    // Readers of deltas were told long ago.
    await db`delete from roster_touch where estab = ${estab} and version <= (select max(version) from roster_version where estab = ${estab} and ${old})`;
    const carried = carriers
      .map((table) => db`not exists (select from ${db(table)} t where t.estab = ${estab} and t.version = v.version)`)
      .reduce((all, one) => db`${all} and ${one}`);
    await db`
      delete from roster_version v where v.estab = ${estab} and ${old} and ${carried}
        and v.version < (select version from roster where estab = ${estab})`;
    await db`
      delete from attendance_version v where v.estab = ${estab} and ${old}
        and not exists (select from attendance_mark m where m.estab = ${estab} and m.version = v.version)
        and v.version < (select max(version) from attendance_version where estab = ${estab})`;
  }
}
