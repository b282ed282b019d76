// In charge of the instants of old versions: a version that no record carries any more has nothing to date, and goes. The
// newest stays, whatever it is: the next one is later than that.
import type { Db, Fragment } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { historyTable } from './history.ts';

/** Tables whose rows are dated by a version of their roster, and found by it. */
const carriers = [...allResources.map(({ table }) => table), 'roster_touch'] as const;
const histories = allResources.map(historyTable);

export async function forgetVersions(db: Db, estab: string, days: number): Promise<void> {
  const old = db`instant < now() - make_interval(days => ${days})`;
  // Readers of deltas were told long ago.
  await db`delete from roster_touch where estab = ${estab} and version <= (select max(version) from roster_version where estab = ${estab} and ${old})`;
  await forgetRosterVersions(db, estab, old);
  await db`
    delete from attendance_version v where v.estab = ${estab} and ${old}
      and not exists (select from attendance_mark m where m.estab = ${estab} and m.version = v.version)
      and v.version < (select max(version) from attendance_version where estab = ${estab})`;
}

/** Of a version v. */
function notCarried(db: Db, estab: string): Fragment {
  return carriers
    .map((table) => db`not exists (select from ${db(table)} t where t.estab = ${estab} and t.version = v.version)`)
    .reduce((all, one) => db`${all} and ${one}`);
}

/** What was replaced is not found by its version: it is read once, for all versions that nothing else carries. */
async function forgetRosterVersions(db: Db, estab: string, old: Fragment): Promise<void> {
  const free = await db<{ version: number }[]>`
    select v.version from roster_version v where v.estab = ${estab} and ${old} and ${notCarried(db, estab)}
      and v.version < (select version from roster where estab = ${estab})`;
  if (free.length === 0) return;
  const kept = histories.map((table) => db`select version from ${db(table)} where estab = ${estab}`).reduce((all, one) => db`${all} union ${one}`);
  await db`
    delete from roster_version where estab = ${estab} and version = any(${free.map(({ version }) => version)}::int[]) and version not in (${kept})`;
}
