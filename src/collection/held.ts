// In charge of imports that are held because much would go: who that is, and what a person decides about it. Approved is
// what was seen and nothing else.
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName, Resource } from '../roster/resource.ts';
import type { Changes } from './compare-stage.ts';
import { requestCollection } from './component-databases.ts';
import type { ImportKind } from './connector.ts';
import { roleLosses, type Shrinkage } from './deletion-guard.ts';
import { recordDropped } from './fetch-outcome.ts';
import { fixedMessages } from './fixed-messages.ts';

export type HeldImport = { id: string; at: Date; kind: ImportKind; shrinkage: Shrinkage[] };
/** What would go of one collection, of users of one role; so many as have a name. stays: they would only lose that role. */
export type Loss = { collection: CollectionName; role: string | null; stays?: boolean; total: number; names: string[] };

/** Of each collection and role so many are named to the person who decides. */
const namedLosses = 100;

/** Everything that would go, under the run that is recorded already. */
export async function noteLosses(tx: Tx, changes: Changes, run: string): Promise<void> {
  const { estab, number } = changes.reading;
  for (const [resource, ofPeople] of listShrinking(changes)) {
    const { role, name, joins } = wordsOf(tx, estab, resource.collection);
    const losingRoles = tx`
      union all select t.sourced_id, l.role, true, ${name} from roster_user t join ${roleLosses(tx, changes)} l on l.sourced_id = t.sourced_id
      where t.estab = ${estab}`;
    await tx`
      insert into import_loss (estab, import, collection, sourced_id, role, name, loses)
      select ${estab}, ${run}, ${resource.collection}, sourced_id, min(role), case when min(place) <= ${namedLosses} then name end,
        array_agg(role order by role) filter (where stays)
      from (
        select g.*, row_number() over (partition by g.stays, g.role order by g.name, g.sourced_id) as place
        from (
          select t.sourced_id, ${role} as role, false as stays, ${name} as name
          from ${tx(resource.table)} t join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = ${resource.collection}
            and c.sourced_id = t.sourced_id and c.what in ('missing', 'marked') ${joins}
          where t.estab = ${estab} and t.status = 'active' ${ofPeople ? losingRoles : tx``}) g) named
      group by sourced_id, name`;
  }
  // Counted here and not by each page: it may be a hundred thousand.
  await tx`
    update import_run set report = report || jsonb_build_object('losses', ${tx.json(await tallyLosses(tx, estab, run))}::jsonb)
    where estab = ${estab} and id = ${run}`;
}

type Words = Readonly<{ role: Fragment; name: Fragment; joins: Fragment }>;

/** What a person calls a record. */
export function wordsOf(tx: Sql, estab: string, collection: CollectionName): Words {
  const none = { role: tx`null`, joins: tx`` };
  const user = (id: Fragment) => tx`left join ${tx(collections.users.table)} u on u.estab = ${estab} and u.sourced_id = ${id}`;
  const nameOf = (row: Fragment) => tx`concat_ws(' ', ${row}.given_name, ${row}.family_name)`;
  switch (collection) {
    case 'users':
      return { ...none, role: tx`t.role`, name: nameOf(tx`t`) };
    case 'orgs':
      return { ...none, name: tx`t.name` };
    case 'enrollments':
      return {
        ...none,
        name: tx`${nameOf(tx`u`)} || coalesce(' in ' || k.title, '')`,
        joins: tx`${user(tx`t.user_id`)} left join ${tx(collections.classes.table)} k on k.estab = ${estab} and k.sourced_id = t.class_id`,
      };
    case 'demographics':
      return { ...none, name: nameOf(tx`u`), joins: user(tx`t.sourced_id`) };
    default:
      return { ...none, name: tx`t.title` };
  }
}

/**
 * Whether a person has approved this import. Every deletion was recorded with the approved import, also deletions of kinds below the limit. If no
 * record of a kind would be left, or none of it came, that loss was recorded with it too.
 */
export async function isApproved(tx: Tx, changes: Changes, shrinkage: readonly Shrinkage[], approved: string): Promise<boolean> {
  const { estab, number } = changes.reading;
  const [seen] = await tx<{ shrinkage: Shrinkage[] }[]>`select report -> 'shrinkage' as shrinkage from import_run where estab = ${estab} and id = ${approved}`;
  const wasSaid = ({ collection, role, size }: Shrinkage) =>
    seen?.shrinkage.some((one) => one.collection === collection && one.role === role && one.size === size) === true;
  if (shrinkage.some((one) => one.size !== 'many' && !wasSaid(one))) return false;
  for (const [{ collection, table }, ofPeople] of listShrinking(changes)) {
    const losingRoles = tx`union all select l.sourced_id, l.role from ${roleLosses(tx, changes)} l`;
    const [unseen] = await tx`
      select from (
        select t.sourced_id, null as lost
        from ${tx(table)} t join stage_change c on c.estab = ${estab} and c.reading = ${number} and c.collection = ${collection}
          and c.sourced_id = t.sourced_id and c.what in ('missing', 'marked')
        where t.estab = ${estab} and t.status = 'active' ${ofPeople ? losingRoles : tx``}) g
      where not exists (select from import_loss l where l.estab = ${estab} and l.import = ${approved} and l.collection = ${collection}
        and l.sourced_id = g.sourced_id and (l.loses is null or g.lost = any(l.loses)))
      limit 1`;
    if (unseen) return false;
  }
  return true;
}

/** The collections that lose records, or people who lose roles. */
function listShrinking({ counts }: Changes): [resource: Resource, ofPeople: boolean][] {
  return [...counts].flatMap(([resource, { removed, changed }]): [Resource, boolean][] => {
    const ofPeople = resource === collections.users;
    return removed > 0 || (ofPeople && changed > 0) ? [[resource, ofPeople]] : [];
  });
}

/**
 * Another import has ended: what waited before it waits no more, with its package, and who would have gone is forgotten. `upload`: the
 * package of that import, which may have come before the other one was held.
 */
export async function replaceHeld(tx: Tx, estab: string, by: string, upload: string | undefined): Promise<void> {
  const replaced = tx`estab = ${estab} and outcome = 'held' and decision is null and id <> ${by}`;
  await tx`
    delete from upload where estab = ${estab} and created_at <= (select max(finished_at) from import_run where ${replaced})
      and id is distinct from ${upload ?? null}::uuid`;
  await tx`update import_run set decision = 'replaced', decided_at = now() where ${replaced}`;
  await tx`delete from import_loss where estab = ${estab} and import <> ${by}`;
}

/** Nobody is asked any more: the school has left the source that it came from (`replaced`), or it was not decided on in time (`discarded`). */
export async function endHeld(sql: Sql, estab: string, decision: 'replaced' | 'discarded'): Promise<void> {
  await sql`update import_run set decision = ${decision}, decided_at = now() where estab = ${estab} and outcome = 'held' and decision is null`;
  await sql`delete from import_loss where estab = ${estab}`;
}

/**
 * The one that waits for a person, if any does. One that was approved waits again when whoever would import it was stopped: until something was
 * imported since, or refused although it was approved; where a school lies on another node, that one is held is seen a moment before which it
 * is. Imports are looked through only where the database says that one is held: a school may have had thousands.
 */
export async function findHeld(sql: Sql, estab: string): Promise<HeldImport | undefined> {
  if (!(await isPaused(sql, estab))) return undefined;
  const [found] = await sql<(HeldImport & { decided: boolean })[]>`
    select r.id, r.finished_at as at, r.kind, r.report -> 'shrinkage' as shrinkage, r.decision is not null as decided from import_run r
    where r.estab = ${estab} and r.outcome = 'held' and (r.decision is null or r.decision = 'approved' and not exists (
      select from import_run l where l.estab = ${estab} and l.finished_at > r.finished_at and (l.outcome <> 'refused' or l.report ? 'approved')))
    order by r.finished_at desc limit 1`;
  if (!found) return undefined;
  const { decided, ...held } = found;
  // It may have been approved after the first look.
  return !decided || (await isPaused(sql, estab)) ? held : undefined;
}

async function isPaused(sql: Sql, estab: string): Promise<boolean> {
  const [paused] = await sql`
    select from component_database where estab = ${estab} and name = 'SchoolData' and status = 'Paused' and refreshing_since is null`;
  return paused !== undefined;
}

export async function listLosses(sql: Sql, estab: string, run: string): Promise<Loss[]> {
  return sql<Loss[]>`
    select l.collection, r.role, l.loses is not null as stays, count(*)::int as total,
      coalesce((array_agg(l.name order by l.name, l.sourced_id) filter (where l.name is not null))[1:${namedLosses}], '{}') as names
    from ${lossesByRole(sql, estab, run)}`;
}

/** Whoever would stay is listed under each role that they would lose. */
function lossesByRole(sql: Sql, estab: string, run: string): Fragment {
  return sql`import_loss l cross join lateral unnest(coalesce(l.loses, array[l.role])) r (role)
    where l.estab = ${estab} and l.import = ${run} group by 1, 2, 3
    order by l.collection <> 'users', r.role is distinct from 'student', 1, 2, 3`;
}

export type CountedLoss = Omit<Loss, 'names'>;

/** Returns the losses by kind, as they were counted when the import began to wait. */
export async function countLosses(sql: Sql, estab: string, run: string): Promise<readonly CountedLoss[]> {
  const [held] = await sql<{ losses: CountedLoss[] }[]>`select report -> 'losses' as losses from import_run where estab = ${estab} and id = ${run}`;
  return held?.losses ?? [];
}

async function tallyLosses(sql: Sql, estab: string, run: string): Promise<CountedLoss[]> {
  return sql<CountedLoss[]>`
    select l.collection, r.role, l.loses is not null as stays, count(*)::int as total from ${lossesByRole(sql, estab, run)}`;
}

/** The remedy for a package that is too large to be stored while its import waits for approval. */
export const remedyForLargePackage =
  'split it into several packages, each with some of the files and the others marked absent in manifest.csv, or use a watched folder, which is read ' +
  'again when its import is approved';

/** A package that was uploaded or given by command is kept while it is held; others are read again. */
const packageKinds: readonly ImportKind[] = ['upload', 'command'];

/**
 * Approves the import that a person has looked at, and returns what has to be imported in the same transaction: the package that was stored, or
 * none if the source is read again. seen: the id of that import.
 */
export async function approveHeld(tx: Tx, estab: string, seen: string): Promise<{ approved: string; upload?: string }> {
  const held = await decide(tx, estab, 'approved', seen);
  if (!packageKinds.includes(held.kind)) return { approved: held.id };
  const [kept] = await tx<{ id: string }[]>`select id from upload where estab = ${estab} order by created_at desc limit 1`;
  if (!kept)
    throw new SchoolbellError(
      'conflict',
      `The import ${held.id} cannot be approved, because its package is not stored. Nothing was changed. Send the package again. ` +
        `If it is too large to be stored, ${remedyForLargePackage}.`,
    );
  return { approved: held.id, upload: kept.id };
}

/** For a page: the worker imports it. */
export async function letHeldGo(db: Db, estab: string, seen: string): Promise<void> {
  await db.begin(async (tx) => {
    const approved = await approveHeld(tx, estab, seen);
    await requestCollection(tx, estab, 'SchoolData', { full: true, ...approved });
  });
}

/** A person says that it is wrong: a package is dropped; what can be read again is, when its time comes. */
export async function discardHeld(db: Db, estab: string, seen: string): Promise<HeldImport> {
  return db.begin(async (tx) => {
    const held = await decide(tx, estab, 'discarded', seen);
    await tx`delete from import_loss where estab = ${estab} and import = ${held.id}`;
    await tx`delete from upload where estab = ${estab}`;
    await recordDropped(tx, estab, 'SchoolData', fixedMessages.discarded);
    return held;
  });
}

/** seen: the import that the person has looked at. Another one may wait by now. */
async function decide(tx: Tx, estab: string, decision: 'approved' | 'discarded', seen: string): Promise<HeldImport> {
  await tx`select from component_database where estab = ${estab} order by name for update`;
  const held = await findHeld(tx, estab);
  if (!held) throw new SchoolbellError('conflict', `No import of ${estab} waits for approval.`);
  if (seen !== held.id)
    throw new SchoolbellError(
      'conflict',
      `The import that waits for approval is ${held.id}, not ${seen === '' ? 'one without an id' : seen}. Nothing was changed. Look at it, then decide.`,
    );
  await tx`update import_run set decision = ${decision}, decided_at = now() where estab = ${estab} and id = ${held.id}`;
  return held;
}

/** waits: it is this one that a person has to decide about. */
export type Decided = Readonly<{ id: string; decision: 'approved' | 'discarded' | 'replaced' | null; waits: boolean }>;

/** Of imports of one school, as far as they are kept. */
export async function readDecisions(sql: Sql, estab: string, ids: readonly string[]): Promise<Decided[]> {
  const [waiting, found] = [
    await findHeld(sql, estab),
    await sql<Omit<Decided, 'waits'>[]>`select id, decision from import_run where estab = ${estab} and id = any(${[...ids]}::uuid[])`,
  ];
  return found.map((one) => ({ ...one, waits: one.id === waiting?.id }));
}
