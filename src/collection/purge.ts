// In charge of purging: a record that has been tobedeleted for long enough leaves for good, unless something that
// stays refers to it. A purge is a version of its own, so that a walk over pages notices it.
import type { Db, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { sourcedIdsOf, type ForgetPeople, type Leaver } from '../roster/leaver.ts';
import type { Resource } from '../roster/resource.ts';
import { keepReplaced, markPurgedPeople } from './history.ts';
import { lockRoster } from './lock-roster.ts';
import { finishVersion, sealVersion } from './merge.ts';

/** How many people are sought at once in what else is kept. */
const peopleAtOnce = 50;

/** Whatever else is known of people who go, goes in the same transaction: `forgetPeople`. */
export async function purgeRosters(db: Db, afterDays: number, forgetPeople: ForgetPeople): Promise<number> {
  // Nothing can have become ripe, or free of references, where neither the roster nor what is old enough is another than the last time.
  const due = await db<{ estab: string }[]>`
    select r.estab from roster r
      join (select estab, max(version) as ripe from roster_version where instant < now() - make_interval(days => ${afterDays}) group by estab) v using (estab)
    where (r.purge_version, r.purge_ripe) is distinct from (r.version, v.ripe)`;
  let purged = 0;
  for (const { estab } of due) purged += await db.begin((tx) => purgeRoster(tx, estab, afterDays, forgetPeople));
  return purged;
}

async function purgeRoster(tx: Tx, estab: string, afterDays: number, forgetPeople: ForgetPeople): Promise<number> {
  const current = await lockRoster(tx, estab);
  const [ripe] = await tx<
    { version: number | null }[]
  >`select max(version) as version from roster_version where estab = ${estab} and instant < now() - make_interval(days => ${afterDays})`;
  if (!(await hasRipe(tx, estab, ripe?.version ?? 0))) {
    await noteLooked(tx, estab, ripe?.version ?? 0);
    return 0;
  }
  await tx`create temp table leaving (collection text, sourced_id text collate "C", primary key (collection, sourced_id)) on commit drop`;
  for (const { table, collection } of allResources) {
    await tx`insert into leaving select ${collection}, sourced_id from ${tx(table)} where estab = ${estab} and status = 'tobedeleted'
      and version <= ${ripe?.version ?? 0}`;
  }
  await keepReferenced(tx, estab);
  const people = await selectLeavers(tx, estab);
  for (let at = 0; at < people.length; at += peopleAtOnce) await forgetPeople(tx, estab, people.slice(at, at + peopleAtOnce));
  const touched = new Set<Resource>();
  let purged = 0;
  for (const resource of allResources) {
    await keepReplaced(tx, estab, resource, current + 1, tx`t.sourced_id in (select sourced_id from leaving where collection = ${resource.collection})`);
    const { count } =
      await tx`delete from ${tx(resource.table)} t using leaving l where t.estab = ${estab} and l.collection = ${resource.collection}
        and t.sourced_id = l.sourced_id`;
    if (count > 0) touched.add(resource);
    purged += count;
  }
  if (purged > 0) {
    await markPurgedPeople(tx, estab, sourcedIdsOf(people));
    await finishVersion(tx, estab, current + 1, touched);
  }
  await noteLooked(tx, estab, ripe?.version ?? 0);
  if (purged > 0) await sealVersion(tx, estab, current + 1, null);
  return purged;
}

async function selectLeavers(tx: Tx, estab: string): Promise<Leaver[]> {
  return tx<Leaver[]>`
    select u.sourced_id as "sourcedId", presence_id(u.estab, u.sourced_id) as "presenceId", u.username, u.email, u.given_name as "givenName",
      u.family_name as "familyName"
    from roster_user u join leaving l on l.collection = ${collections.users.collection} and l.sourced_id = u.sourced_id where u.estab = ${estab}
    order by u.sourced_id`;
}

/** By indexes of what is tobedeleted: mostly there is nothing, and what stays need not be read to know it. */
async function hasRipe(tx: Tx, estab: string, ripe: number): Promise<boolean> {
  for (const { table } of allResources) {
    const [found] = await tx`select from ${tx(table)} where estab = ${estab} and status = 'tobedeleted' and version <= ${ripe} limit 1`;
    if (found) return true;
  }
  return false;
}

async function noteLooked(tx: Tx, estab: string, ripe: number): Promise<void> {
  await tx`delete from roster_touch where estab = ${estab} and version <= ${ripe}`;
  await tx`update roster set purge_version = version, purge_ripe = ${ripe} where estab = ${estab}`;
}

/** What something that stays refers to stays as well; round and round, because that may refer to more. */
async function keepReferenced(tx: Tx, estab: string): Promise<void> {
  for (let kept = 1; kept > 0; ) {
    kept = 0;
    for (const { from, column, many, to } of references) {
      const id = many ? tx`unnest(r.${tx(column)})` : tx`r.${tx(column)}`;
      const { count } = await tx`
        delete from leaving l using (
          select distinct ${id} as id from ${tx(from.table)} r
          where r.estab = ${estab} and not exists (select from leaving own where own.collection = ${from.collection} and own.sourced_id = r.sourced_id)) wanted
        where l.collection = ${to} and l.sourced_id = wanted.id`;
      kept += count;
    }
  }
}

const references = allResources.flatMap((from) => [
  ...from.fields.flatMap((field) => (field.to && field.csv !== undefined ? [{ from, column: field.column, many: field.type === 'refs', to: field.to }] : [])),
  ...(from.personColumn === 'sourced_id' ? [{ from, column: from.personColumn, many: false, to: collections.users.collection }] : []),
]);
