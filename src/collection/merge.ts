// In charge of the merge: brings the staged rows into the roster in sets, touching only rows that differ and keeping
// what they replace. Everything happens in the caller's transaction, so that a reader sees the old roster or the new one.
import { laterThan, readClock } from '../db/clock.ts';
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import { kindColumns, type Resource } from '../roster/resource.ts';
import { noteStanding } from '../roster/standing.ts';
import { changes, type Changes } from './compare-stage.ts';
import { deriveAdministrators } from './administrator-roles.ts';
import { deriveChildren } from './derive.ts';
import { keepReplaced } from './history.ts';
import { measureCollection } from './measure-collection.ts';
import { derivePersonKinds, kindsByPerson } from './person-kinds.ts';
import { mergeSilentColumns } from './silent-columns.ts';
import { hasDerivedLate, sourceColumns, staged } from './stage.ts';
import { noteTouches } from './touches.ts';

export type Merged = Readonly<{ version: number; still: boolean }>;

/**
 * Gives the version that the roster has then: the next one, or the same when nothing differs. Its instant is yet to be sealed. still: not even
 * what is shown to nobody differed.
 * onMerged: how many of the records that differ are merged, again after each collection.
 */
export async function mergeStage(tx: Tx, all: Changes, current: number, onMerged: (records: number, of: number) => void): Promise<Merged> {
  const { estab } = all.reading;
  const next = current + 1;
  const touched = new Set([...all.counts.keys()].filter((resource) => differ(all, resource) > 0));
  if (touched.size === 0) return { version: current, still: (await mergeSilentColumns(tx, all)) === 0 };
  const differing = new Map([...touched].map((resource) => [resource, differ(all, resource)]));
  const of = [...differing.values()].reduce((sum, count) => sum + count, 0);
  let merged = 0;
  for (const resource of allResources) {
    if (!touched.has(resource)) continue;
    onMerged(merged, of);
    await mergeCollection(tx, all, resource, next);
    merged += differing.get(resource) ?? 0;
  }
  onMerged(merged, of);
  await mergeSilentColumns(tx, all);
  await finishVersion(tx, estab, next, touched, all.empty);
  return { version: next, still: false };
}

function differ({ counts }: Changes, resource: Resource): number {
  const { added = 0, changed = 0, removed = 0 } = counts.get(resource) ?? {};
  return added + changed + removed;
}

/** Brings what depends on other records up to date and measures what changed. fresh: collections of which nothing was there before. */
export async function finishVersion(tx: Tx, estab: string, version: number, touched: Set<Resource>, fresh: ReadonlySet<Resource>): Promise<void> {
  for (const resource of allResources.filter(hasDerivedLate)) {
    if (touched.has(resource)) await deriveChildren(tx, estab, resource, version);
  }
  if (touched.has(collections.orgs) && (await deriveAdministrators(tx, estab, version))) touched.add(collections.users);
  if (touched.has(collections.users)) for (const resource of await derivePersonKinds(tx, estab, version, fresh)) touched.add(resource);
  for (const resource of touched) await measureCollection(tx, estab, resource);
  // A version that came about without its history being kept cannot be looked behind.
  await tx`
    update roster set version = ${version}, history_to = ${version}, history_from = case when history_to = version then history_from else version end
    where estab = ${estab}`;
}

/** The version's instant, by which readers of deltas ask: to be taken last, when only the commit is left to do. */
export async function sealVersion(tx: Tx, estab: string, version: number, importId: string | null): Promise<void> {
  const [last] = await tx<{ instant: Date | null }[]>`select max(instant) as instant from roster_version where estab = ${estab}`;
  const instant = laterThan(last?.instant, await readClock(tx));
  await tx`
    insert into roster_version (estab, version, instant, stamp, import)
    values (${estab}, ${version}, ${instant}, ${instant.toISOString()}, ${importId})`;
  await noteStanding(tx, estab);
}

async function mergeCollection(tx: Tx, all: Changes, resource: Resource, version: number): Promise<void> {
  const { added = 0, changed = 0, removed = 0 } = all.counts.get(resource) ?? {};
  if (changed + removed > 0) {
    await keepReplaced(tx, all.reading.estab, resource, version, changes(tx, all, resource, tx`t.sourced_id`, 'changed', 'marked', 'missing'));
    await noteTouches(tx, all, resource, version);
    await updateLive(tx, all, resource, version);
  }
  if (added > 0) await insertNew(tx, all, resource, version);
}

async function updateLive(tx: Tx, all: Changes, resource: Resource, version: number): Promise<void> {
  const { reading } = all;
  const { estab } = reading;
  const table = tx(resource.table);
  await tx`
    update ${table} t set status = 'tobedeleted', version = ${version}, place = null
    where t.estab = ${estab} and ${changes(tx, all, resource, tx`t.sourced_id`, 'missing')}`;
  const kinds = kindsOf(tx, resource).map(({ column, value }) => tx`, ${tx(column)} = ${value}`).reduce((all, one) => tx`${all}${one}`);
  const assignments = sourceColumns(resource).map((name) => tx`, ${tx(name)} = s.${tx(name)}`).reduce((some, one) => tx`${some}${one}`);
  await tx`
    update ${table} t set status = s.status, version = ${version} ${kinds} ${assignments}
    from ${staged(tx, resource, reading)} s ${joinPerson(tx, estab, resource)}
    where t.estab = ${estab} and t.sourced_id = s.sourced_id and ${changes(tx, all, resource, tx`t.sourced_id`, 'changed', 'marked')}
      and ${changes(tx, all, resource, tx`s.sourced_id`, 'changed', 'marked')}`;
}

async function insertNew(tx: Tx, all: Changes, resource: Resource, version: number): Promise<void> {
  const { reading, empty } = all;
  const { estab } = reading;
  const names = sourceColumns(resource);
  const kinds = kindsOf(tx, resource);
  // In key order, so that pages read neighbouring blocks and the key's index grows at its end.
  await tx`
    insert into ${tx(resource.table)} (estab, sourced_id, ${tx(kinds.map(({ column }) => column))}, status, version, ${tx(names)})
    select s.estab, s.sourced_id, ${kinds.map(({ value }) => value).reduce((all, one) => tx`${all}, ${one}`)}, s.status, ${version},
      ${tx(names.map((name) => `s.${name}`))}
    from ${staged(tx, resource, reading)} s ${joinPerson(tx, estab, resource)}
    ${empty.has(resource) ? tx`` : tx`where ${changes(tx, all, resource, tx`s.sourced_id`, 'new')}`}
    order by s.sourced_id`;
}

/** A record about a person has the person's kind; users are merged before those. */
function kindsOf(tx: Tx, resource: Resource): { column: string; value: Fragment }[] {
  if (resource.personColumn)
    return [
      { column: 'kind', value: tx`person.kind` },
      { column: 'kinds', value: kindsByPerson(tx, resource, tx`s`, tx`person`) },
    ];
  return kindColumns(resource).map((column) => ({ column, value: tx`s.${tx(column)}` }));
}

function joinPerson(tx: Tx, estab: string, resource: Resource): Fragment {
  if (!resource.personColumn) return tx``;
  return tx`join ${tx(collections.users.table)} person on person.estab = ${estab} and person.sourced_id = s.${tx(resource.personColumn)}`;
}
