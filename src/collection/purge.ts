// In charge of purging: a record that has been tobedeleted for long enough leaves for good, unless something that
// stays refers to it. A purge is a version of its own, so that a walk over pages notices it.
import type { Db, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { sourcedIdsOf, type Forget, type ForgetPeople, type Leaver } from '../roster/leaver.ts';
import { isGiven, type Resource } from '../roster/resource.ts';
import { keepReplaced, markPurgedPeople } from './history.ts';
import { lockRoster } from './lock-roster.ts';
import { finishVersion, sealVersion } from './merge.ts';

/** How many people go in one transaction; those who name one another go together, however many they are. */
const peopleAtOnce = 200;

/** What was found without a lock: how far back is long enough, of which version that was said, and who might go. */
type Plan = { ripe: number; version: number; people: Leaver[]; groups: string[][] };

/**
 * Whatever else is known of people who go is sought first, while nothing is held, and goes in the same transaction:
 * `forgetPeople`. One school that cannot be purged does not keep the others.
 */
export async function purgeRosters(db: Db, afterDays: number, forgetPeople: ForgetPeople): Promise<number> {
  // Nothing can have become ripe, or free of references, where neither the roster nor what is old enough is another than the last time.
  const due = await db<{ estab: string; ripe: number }[]>`
    select r.estab, v.ripe from roster r
      join (select estab, max(version) as ripe from roster_version where instant < now() - make_interval(days => ${afterDays}) group by estab) v using (estab)
    where (r.purge_version, r.purge_ripe) is distinct from (r.version, v.ripe) order by r.estab`;
  const failures: Error[] = [];
  let purged = 0;
  for (const { estab, ripe } of due) {
    try {
      purged += await purgeSchool(db, estab, ripe, forgetPeople);
    } catch (cause) {
      failures.push(new Error(`${estab} could not be purged`, { cause }));
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${due.length} schools could not be purged`);
  return purged;
}

async function purgeSchool(db: Db, estab: string, ripe: number, forgetPeople: ForgetPeople): Promise<number> {
  const { version, people, groups } = await db.begin((tx) => plan(tx, estab, ripe));
  const forget: Forget = people.length > 0 ? await forgetPeople(db, estab, people) : async () => {};
  let [purged, expected] = [0, version];
  for (const group of groups.length > 0 ? groups : [[]]) {
    const done = await db.begin((tx) => purgeGroup(tx, estab, ripe, group, forget));
    purged += done.purged;
    expected = done.before === expected ? done.version : -1;
  }
  // If somebody else changed the roster meanwhile it is looked at again the next time.
  await db.begin(async (tx) => {
    if ((await lockRoster(tx, estab)) === expected) await noteLooked(tx, estab, ripe);
  });
  return purged;
}

/** Holds nothing but its own table. */
async function plan(tx: Tx, estab: string, ripe: number): Promise<Plan> {
  const [roster] = await tx<{ version: number }[]>`select version from roster where estab = ${estab}`;
  const version = roster?.version ?? 0;
  if (!(await hasRipe(tx, estab, ripe))) return { ripe, version, people: [], groups: [] };
  await listLeaving(tx, estab, ripe, undefined);
  const people = await selectLeavers(tx, estab);
  return { ripe, version, people, groups: await groupLeavers(tx, estab, sourcedIdsOf(people)) };
}

type Done = { purged: number; before: number; version: number };

async function purgeGroup(tx: Tx, estab: string, ripe: number, group: readonly string[], forget: Forget): Promise<Done> {
  const before = await lockRoster(tx, estab);
  if (!(await hasRipe(tx, estab, ripe))) return { purged: 0, before, version: before };
  const version = before + 1;
  await listLeaving(tx, estab, ripe, group);
  const people = await selectLeavers(tx, estab);
  if (people.length > 0) await forget(tx, estab, people);
  const touched = new Set<Resource>();
  let purged = 0;
  for (const resource of allResources) {
    await keepReplaced(tx, estab, resource, version, tx`t.sourced_id in (select sourced_id from leaving where collection = ${resource.collection})`);
    const { count } =
      await tx`delete from ${tx(resource.table)} t using leaving l where t.estab = ${estab} and l.collection = ${resource.collection}
        and t.sourced_id = l.sourced_id`;
    if (count > 0) touched.add(resource);
    purged += count;
  }
  if (purged === 0) return { purged, before, version: before };
  await markPurgedPeople(tx, estab, sourcedIdsOf(people));
  await finishVersion(tx, estab, version, touched, new Set());
  await sealVersion(tx, estab, version, null);
  return { purged, before, version };
}

/** What has been tobedeleted for long enough and nothing that stays refers to; of people only these, if they are given. */
async function listLeaving(tx: Tx, estab: string, ripe: number, people: readonly string[] | undefined): Promise<void> {
  await tx`create temp table leaving (collection text, sourced_id text collate "C", primary key (collection, sourced_id)) on commit drop`;
  for (const { table, collection } of allResources) {
    const chosen = people && collection === collections.users.collection ? tx`and sourced_id = any(${people})` : tx``;
    await tx`insert into leaving select ${collection}, sourced_id from ${tx(table)} where estab = ${estab} and status = 'tobedeleted'
      and version <= ${ripe} ${chosen}`;
  }
  await keepReferenced(tx, estab);
}

/** Whoever refers to one another is in one group: alone neither could go. */
async function groupLeavers(tx: Tx, estab: string, ids: readonly string[]): Promise<string[][]> {
  const groupOf = new Map(ids.map((id) => [id, [id]]));
  for (const { from, column, many } of references.filter((one) => one.from === collections.users && one.to === collections.users.collection)) {
    const other = many ? tx`unnest(r.${tx(column)})` : tx`r.${tx(column)}`;
    const pairs = await tx<{ id: string; other: string }[]>`
      select r.sourced_id as id, ${other} as other from ${tx(from.table)} r where r.estab = ${estab} and r.sourced_id = any(${ids})`;
    for (const { id, other: named } of pairs) joinGroups(groupOf, id, named);
  }
  const packed: string[][] = [];
  for (const group of new Set(groupOf.values())) {
    const last = packed.at(-1);
    if (last && last.length + group.length <= peopleAtOnce) last.push(...group);
    else packed.push([...group]);
  }
  return packed;
}

function joinGroups(groupOf: Map<string, string[]>, one: string, other: string): void {
  const [first, second] = [groupOf.get(one), groupOf.get(other)];
  if (!first || !second || first === second) return;
  const [large, small] = first.length < second.length ? [second, first] : [first, second];
  large.push(...small);
  for (const id of small) groupOf.set(id, large);
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
  ...from.fields.flatMap((field) => (field.to && isGiven(field) ? [{ from, column: field.column, many: field.type === 'refs', to: field.to }] : [])),
  ...(from.personColumn === 'sourced_id' ? [{ from, column: from.personColumn, many: false, to: collections.users.collection }] : []),
]);
