// In charge of the merge: brings the staged rows into the roster in sets, touching only rows that differ, and ends
// with the new version and its instant. Everything happens in the caller's transaction, so that a reader sees the
// old roster or the new one.
import type { Tx } from '../db/connect.ts';
import { allResources, collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import { deriveChildren, derivePersonKinds } from './derive.ts';
import { measureCollection } from './measure-collection.ts';
import { hasDerivedLate, sourceColumns, stageTable } from './stage.ts';
import { noteTouches } from './touches.ts';
import type { Modes } from './verify.ts';

export type MergeCount = { added: number; changed: number; removed: number; unchanged: number };

/** Only one merge at a time per establishment; the lock is held until the transaction ends. */
export async function lockRoster(tx: Tx, estab: string): Promise<number> {
  const [row] = await tx<{ version: number }[]>`select version from roster where estab = ${estab} for no key update`;
  if (!row) throw new Error(`there is no roster for ${estab}`);
  return row.version;
}

export async function mergeStage(tx: Tx, estab: string, modes: Modes, current: number): Promise<{ counts: Map<Resource, MergeCount>; version: number }> {
  const next = current + 1;
  const counts = new Map<Resource, MergeCount>();
  for (const resource of allResources) {
    const mode = modes.get(resource);
    if (mode) counts.set(resource, await mergeCollection(tx, estab, resource, mode, next));
  }
  const touched = new Set([...counts].filter(([, count]) => count.added + count.changed + count.removed > 0).map(([resource]) => resource));
  if (touched.size === 0) return { counts, version: current };
  await finishVersion(tx, estab, next, touched);
  return { counts, version: next };
}

/** Brings what depends on other records up to date, measures what changed, and writes the version last. */
export async function finishVersion(tx: Tx, estab: string, version: number, touched: Set<Resource>): Promise<void> {
  for (const resource of allResources.filter(hasDerivedLate)) {
    if (touched.has(resource)) await deriveChildren(tx, estab, resource, version);
  }
  if (touched.has(collections.users)) for (const resource of await derivePersonKinds(tx, estab, version)) touched.add(resource);
  for (const resource of touched) await measureCollection(tx, estab, resource);
  await tx`update roster set version = ${version} where estab = ${estab}`;
  await tx`
    insert into roster_version (estab, version, instant, stamp)
    select ${estab}, ${version}, instant, to_char(instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    from (select greatest(date_trunc('milliseconds', clock_timestamp()), (select max(instant) + interval '1 millisecond' from roster_version
      where estab = ${estab})) as instant) now`;
}

async function mergeCollection(tx: Tx, estab: string, resource: Resource, mode: 'bulk' | 'delta', version: number): Promise<MergeCount> {
  const [table, stage] = [tx(resource.table), tx(stageTable(resource))];
  const [staged] = await tx<{ count: number }[]>`select count(*)::int as count from ${stage}`;
  const [live] = await tx`select from ${table} where estab = ${estab} limit 1`;
  const { updated, removed } = live ? await updateLive(tx, estab, resource, mode, version) : { updated: 0, removed: { missing: 0, marked: 0 } };
  const added = await insertNew(tx, estab, resource, version, live !== undefined);
  return { added, changed: updated - removed.marked, removed: removed.missing + removed.marked, unchanged: (staged?.count ?? 0) - added - updated };
}

async function updateLive(
  tx: Tx,
  estab: string,
  resource: Resource,
  mode: 'bulk' | 'delta',
  version: number,
): Promise<{ updated: number; removed: { missing: number; marked: number } }> {
  const [table, stage] = [tx(resource.table), tx(stageTable(resource))];
  const [marked] = await tx<{ count: number }[]>`
    select count(*)::int as count from ${stage} s join ${table} t on t.estab = ${estab} and t.sourced_id = s.sourced_id and t.status = 'active'
      where s.status = 'tobedeleted'`;
  let missing = 0;
  if (mode === 'bulk') {
    ({ count: missing } = await tx`
      update ${table} t set status = 'tobedeleted', version = ${version}
      where t.estab = ${estab} and t.status = 'active'
        and not exists (select from ${stage} s where s.sourced_id = t.sourced_id)
        and not exists (select from stage_rejected r where r.collection = ${resource.collection} and (r.sourced_id = t.sourced_id or r.sourced_id is null))`);
  }
  await noteTouches(tx, estab, resource, version);
  const late = hasDerivedLate(resource) ? tx`` : tx`or t.late <> s.late`;
  const { count: updated } = await tx`
    update ${table} t set status = s.status, version = ${version}, kind = ${kindOf(tx, resource)}, ${tx.unsafe(
      sourceColumns(resource)
        .map((name) => `${name} = s.${name}`)
        .join(', '),
    )}
    from ${stage} s ${joinPerson(tx, estab, resource)} where t.estab = ${estab} and t.sourced_id = s.sourced_id
      and (t.record <> s.record or t.status <> s.status ${late})`;
  return { updated, removed: { missing, marked: marked?.count ?? 0 } };
}

async function insertNew(tx: Tx, estab: string, resource: Resource, version: number, someLive: boolean): Promise<number> {
  const [table, stage] = [tx(resource.table), tx(stageTable(resource))];
  const columns = tx.unsafe(sourceColumns(resource).map((name) => `s.${name}`).join(', '));
  const names = tx.unsafe(sourceColumns(resource).join(', '));
  const isNew = someLive ? tx`where not exists (select from ${table} t where t.estab = ${estab} and t.sourced_id = s.sourced_id)` : tx``;
  // In key order, so that pages read neighbouring blocks and the key's index grows at its end.
  const { count } = await tx`
    insert into ${table} (estab, sourced_id, kind, status, version, ${names})
    select ${estab}, s.sourced_id, ${kindOf(tx, resource)}, s.status, ${version}, ${columns} from ${stage} s ${joinPerson(tx, estab, resource)} ${isNew}
      order by s.sourced_id`;
  return count;
}

/** A record about a person has the person's kind; users are merged before those. */
function kindOf(tx: Tx, resource: Resource) {
  return resource.personColumn ? tx`person.kind` : tx`s.kind`;
}

function joinPerson(tx: Tx, estab: string, resource: Resource) {
  if (!resource.personColumn) return tx``;
  return tx`join ${tx(collections.users.table)} person on person.estab = ${estab} and person.sourced_id = s.${tx(resource.personColumn)}`;
}
