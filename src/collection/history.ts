// In charge of the history of rosters: what a version replaces is kept, with the version until which it held, for as long
// as the retention table says. A version can be read while nothing that it showed has been forgotten.
import type { Db, Fragment, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { columnsOf, isGiven, kindColumns, renderedColumns, storedFields, type Resource } from '../roster/resource.ts';
import { goThrough } from '../roster/go-through.ts';
import { noteStanding } from '../roster/standing.ts';
import { lockRoster } from './lock-roster.ts';

export const historyTable = (resource: Resource) => `${resource.table}_history`;

/** A walk over pages that began just before goes on, whatever leaves. */
const shortestHours = 1;
const rowsAtOnce = 20_000;

/** Of a roster table and its history alike. */
export function keptColumns(resource: Resource): string[] {
  const own = storedFields(resource).flatMap((field) => columnsOf(field).map((column) => column.name));
  return ['estab', 'sourced_id', ...kindColumns(resource), 'status', 'version', ...own, 'metadata', 'head', ...renderedColumns(resource), 'late', 'place'];
}

/** To be called before the rows t are written; what this version has changed already was kept then. */
export async function keepReplaced(tx: Tx, estab: string, resource: Resource, version: number, which: Fragment): Promise<void> {
  const columns = keptColumns(resource);
  await tx`
    insert into ${tx(historyTable(resource))} (${tx(columns)}, until_version)
    select ${tx(columns.map((name) => `t.${name}`))}, ${version}::int from ${tx(resource.table)} t
    where t.estab = ${estab} and t.version < ${version} and ${which}`;
}

/** Of people who leave for good, and of what was about them or named them: all of it follows as soon as no walk can need it. */
export async function markPurgedPeople(tx: Tx, estab: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  for (const resource of allResources) {
    const named = resource.fields
      .filter((field) => field.to === 'users' && isGiven(field))
      .map(({ column, type }) => (type === 'refs' ? tx`${tx(column)} && ${ids}::text[]` : tx`${tx(column)} = any(${ids}::text[])`));
    const own = resource === collections.users || resource.personColumn === 'sourced_id' ? [tx`sourced_id = any(${ids}::text[])`] : [];
    const which = [...own, ...named].reduce<Fragment | undefined>((all, one) => (all ? tx`${all} or ${one}` : one), undefined);
    if (which) await tx`update ${tx(historyTable(resource))} set purged_at = now() where estab = ${estab} and purged_at is null and (${which})`;
  }
  await tx`update roster set purged_at = now() where estab = ${estab} and purged_at is null`;
}

/** Gives how many states were forgotten. */
export async function forgetHistory(db: Db, estab: string, days: number): Promise<number> {
  const hours = Math.max(shortestHours, days * 24);
  // What was current back then can still be read; what had been replaced by then cannot.
  const [{ oldest } = { oldest: null }] = await db<{ oldest: number | null }[]>`
    select max(version)::int as oldest from roster_version where estab = ${estab} and instant <= now() - make_interval(hours => ${hours})`;
  return oldest !== null && (await isLeft(db, estab, oldest)) ? forgetBefore(db, estab, oldest) : 0;
}

/** Hardly ever. */
async function isLeft(db: Db, estab: string, oldest: number): Promise<boolean> {
  const left = allResources
    .map((resource) => db`exists (select from ${db(historyTable(resource))} where estab = ${estab} and until_version <= ${oldest})`)
    .reduce((all, one) => db`${all} or ${one}`);
  const [roster] = await db`select from roster where estab = ${estab} and (history_from < ${oldest} or ${left})`;
  return roster !== undefined;
}

/** Of people who were purged, at all schools. One at which it does not succeed keeps none of the others. */
export async function forgetPurgedHistory(db: Db): Promise<number> {
  const due = await db<{ estab: string }[]>`
    select estab from roster_standing where purged_at < now() - make_interval(hours => ${shortestHours}) order by estab`;
  let forgotten = 0;
  await goThrough(due, 'could not forget those who were purged', async (estab) => (forgotten += await db.begin((tx) => forgetPurged(tx, estab))));
  return forgotten;
}

async function forgetBefore(db: Db, estab: string, oldest: number): Promise<number> {
  await db.begin(async (tx) => {
    // Also where there is nothing to change: an import that commits meanwhile must not be noted as what stood before it.
    await lockRoster(tx, estab);
    await tx`update roster set history_from = ${oldest} where estab = ${estab} and history_from < ${oldest}`;
    await noteStanding(tx, estab);
  });
  let forgotten = 0;
  for (const resource of allResources) forgotten += await forgetRows(db, estab, resource, db`until_version <= ${oldest}`);
  return forgotten;
}

/** With them go the versions in which they stood: what can be read is exactly as it was. */
async function forgetPurged(tx: Tx, estab: string): Promise<number> {
  await lockRoster(tx, estab);
  let forgotten = 0;
  for (const resource of allResources) {
    const rows = await tx<{ until: number }[]>`
      delete from ${tx(historyTable(resource))} where estab = ${estab} and purged_at < now() - make_interval(hours => ${shortestHours})
      returning until_version as until`;
    const last = rows.reduce((most, { until }) => Math.max(most, until), 0);
    await tx`update roster set history_from = ${last} where estab = ${estab} and history_from < ${last}`;
    forgotten += rows.length;
  }
  const younger = allResources
    .map((resource) => tx`exists (select from ${tx(historyTable(resource))} where estab = ${estab} and purged_at is not null)`)
    .reduce((all, one) => tx`${all} or ${one}`);
  const [left] = await tx<{ any: boolean }[]>`select ${younger} as any`;
  await tx`update roster set purged_at = ${left?.any ? tx`now()` : null} where estab = ${estab}`;
  await noteStanding(tx, estab);
  return forgotten;
}

async function forgetRows(db: Db, estab: string, resource: Resource, which: Fragment): Promise<number> {
  const table = db(historyTable(resource));
  for (let forgotten = 0; ; ) {
    const { count } = await db`delete from ${table} where estab = ${estab} and (sourced_id, version) in (
      select sourced_id, version from ${table} where estab = ${estab} and ${which} limit ${rowsAtOnce})`;
    forgotten += count;
    if (count < rowsAtOnce) return forgotten;
  }
}
