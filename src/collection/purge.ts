// In charge of purging: a record that has been tobedeleted for long enough leaves for good, unless something that
// stays refers to it. A purge is a version of its own, so that a walk over pages notices it.
import type { Db, Sql, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { sourcedIdsOf, type Forget, type ForgetPeople, type Leaver } from '../roster/leaver.ts';
import { isGiven, type CollectionName, type Resource } from '../roster/resource.ts';
import { keepReplaced, markPurgedPeople } from './history.ts';
import { lockRoster } from './lock-roster.ts';
import { finishVersion, sealVersion } from './merge.ts';

/** How many people go in one transaction; those who name one another go together, however many they are. */
const peopleAtOnce = 200;

/** Of which version it is said, found without a lock: who might go. */
type Plan = { version: number; people: Leaver[]; groups: string[][] };
/** The ids of what goes, by collection. */
type Leaving = ReadonlyMap<CollectionName, Set<string>>;

/**
 * Gives how many records went. Whatever else is known of people who go is sought first, while nothing is held, and goes in the same transaction:
 * `forgetPeople`. Nothing can have become ripe, or free of references, where neither the roster nor what is old enough is another than the last
 * time.
 */
export async function purgeRoster(db: Db, estab: string, afterDays: number, forgetPeople: ForgetPeople): Promise<number> {
  const [due] = await db<{ ripe: number }[]>`
    select v.ripe from roster r
      cross join (select max(version) as ripe from roster_version where estab = ${estab} and instant < now() - make_interval(days => ${afterDays})) v
    where r.estab = ${estab} and v.ripe is not null and (r.purge_version, r.purge_ripe) is distinct from (r.version, v.ripe)`;
  if (!due) return 0;
  const { ripe } = due;
  const { version, people, groups } = await plan(db, estab, ripe);
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

/** Holds nothing. */
async function plan(db: Db, estab: string, ripe: number): Promise<Plan> {
  const [roster] = await db<{ version: number }[]>`select version from roster where estab = ${estab}`;
  const version = roster?.version ?? 0;
  if (!(await hasRipe(db, estab, ripe))) return { version, people: [], groups: [] };
  const people = await selectLeavers(db, estab, await findLeaving(db, estab, ripe, undefined));
  return { version, people, groups: await groupLeavers(db, estab, sourcedIdsOf(people)) };
}

type Done = { purged: number; before: number; version: number };

async function purgeGroup(tx: Tx, estab: string, ripe: number, group: readonly string[], forget: Forget): Promise<Done> {
  const before = await lockRoster(tx, estab);
  if (!(await hasRipe(tx, estab, ripe))) return { purged: 0, before, version: before };
  const version = before + 1;
  const leaving = await findLeaving(tx, estab, ripe, group);
  const people = await selectLeavers(tx, estab, leaving);
  if (people.length > 0) await forget(tx, estab, people);
  const touched = new Set<Resource>();
  let purged = 0;
  for (const resource of allResources) {
    const ids = idsOf(leaving, resource.collection);
    if (ids.length === 0) continue;
    await keepReplaced(tx, estab, resource, version, tx`t.sourced_id = any(${ids}::text[])`);
    const { count } = await tx`delete from ${tx(resource.table)} where estab = ${estab} and sourced_id = any(${ids}::text[])`;
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
async function findLeaving(sql: Sql, estab: string, ripe: number, people: readonly string[] | undefined): Promise<Leaving> {
  const leaving = new Map<CollectionName, Set<string>>();
  for (const { table, collection } of allResources) {
    const chosen = people && collection === collections.users.collection ? sql`and sourced_id = any(${people}::text[])` : sql``;
    const rows = await sql<{ id: string }[]>`
      select sourced_id as id from ${sql(table)} where estab = ${estab} and status = 'tobedeleted' and version <= ${ripe} ${chosen}`;
    leaving.set(collection, new Set(rows.map(({ id }) => id)));
  }
  await keepReferenced(sql, estab, leaving);
  return leaving;
}

const idsOf = (leaving: Leaving, collection: CollectionName): string[] => [...(leaving.get(collection) ?? [])];

/** Whoever refers to one another is in one group: alone neither could go. */
async function groupLeavers(db: Db, estab: string, ids: readonly string[]): Promise<string[][]> {
  const groupOf = new Map(ids.map((id) => [id, [id]]));
  for (const { from, column, many } of references.filter((one) => one.from === collections.users && one.to === collections.users.collection)) {
    const other = many ? db`unnest(r.${db(column)})` : db`r.${db(column)}`;
    const pairs = await db<{ id: string; other: string }[]>`
      select r.sourced_id as id, ${other} as other from ${db(from.table)} r where r.estab = ${estab} and r.sourced_id = any(${ids}::text[])`;
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

async function selectLeavers(sql: Sql, estab: string, leaving: Leaving): Promise<Leaver[]> {
  return sql<Leaver[]>`
    select u.sourced_id as "sourcedId", presence_id(u.estab, u.sourced_id) as "presenceId", u.username, u.email, u.given_name as "givenName",
      u.family_name as "familyName"
    from roster_user u where u.estab = ${estab} and u.sourced_id = any(${idsOf(leaving, collections.users.collection)}::text[])
    order by u.sourced_id`;
}

/** By indexes of what is tobedeleted: mostly there is nothing, and what stays need not be read to know it. */
async function hasRipe(sql: Sql, estab: string, ripe: number): Promise<boolean> {
  for (const { table } of allResources) {
    const [found] = await sql`select from ${sql(table)} where estab = ${estab} and status = 'tobedeleted' and version <= ${ripe} limit 1`;
    if (found) return true;
  }
  return false;
}

async function noteLooked(tx: Tx, estab: string, ripe: number): Promise<void> {
  await tx`delete from roster_touch where estab = ${estab} and version <= ${ripe}`;
  await tx`update roster set purge_version = version, purge_ripe = ${ripe} where estab = ${estab}`;
}

/** What something that stays refers to stays as well; round and round, because that may refer to more. */
async function keepReferenced(sql: Sql, estab: string, leaving: Leaving): Promise<void> {
  for (let kept = 1; kept > 0; ) {
    kept = 0;
    for (const { from, column, many, to } of references) {
      const candidates = idsOf(leaving, to);
      if (candidates.length === 0) continue;
      const id = many ? sql`unnest(r.${sql(column)})` : sql`r.${sql(column)}`;
      // As rows: an array of thousands would be gone through for each record, and so would be a `not in` of more than fit into memory.
      const wanted = await sql<{ id: string }[]>`
        select distinct w.id from (
          select ${id} as id from ${sql(from.table)} r
          where r.estab = ${estab}
            and not exists (select from unnest(${idsOf(leaving, from.collection)}::text[]) own (id) where own.id = r.sourced_id)) w
        where w.id in (select unnest(${candidates}::text[]))`;
      for (const one of wanted) leaving.get(to)?.delete(one.id);
      kept += wanted.length;
    }
  }
}

const references = allResources.flatMap((from) => [
  ...from.fields.flatMap((field) => (field.to && isGiven(field) ? [{ from, column: field.column, many: field.type === 'refs', to: field.to }] : [])),
  ...(from.personColumn === 'sourced_id' ? [{ from, column: from.personColumn, many: false, to: collections.users.collection }] : []),
]);
