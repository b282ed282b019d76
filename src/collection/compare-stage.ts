// In charge of finding out what a merge will do: what is staged is held against what is there, once, and the keys of
// what differs are noted. Everything after it is about those alone, so that an unchanged roster costs one comparison.
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import type { Reading } from './reading.ts';
import { hasDerivedLate, staged, stagedRejected } from './stage.ts';
import type { Known, Modes } from './verify.ts';

/** new; changed; marked: changed from active to tobedeleted; missing: no longer in a bulk file. */
export type Change = 'new' | 'changed' | 'marked' | 'missing';

type Keyed = { sourcedId: string; what: Change };

/** So few are looked up by their keys; more are joined as a whole. */
const fewChanges = 2_000;

/** How a collection will be afterwards. */
export type MergeCount = { added: number; changed: number; removed: number; unchanged: number };

export type Changes = Readonly<{
  reading: Reading;
  counts: ReadonlyMap<Resource, MergeCount>;
  /** What changes, where it is little. */
  few: ReadonlyMap<Resource, readonly Keyed[]>;
  /** Collections of which nothing is there yet: every staged row is new, and none is noted. */
  empty: ReadonlySet<Resource>;
}>;

export async function compareStage(tx: Tx, reading: Reading, modes: Modes, known: Known): Promise<Changes> {
  const counts = new Map<Resource, MergeCount>();
  const few = new Map<Resource, readonly Keyed[]>();
  const empty = new Set<Resource>();
  for (const resource of allResources) {
    const mode = modes.get(resource);
    if (mode === undefined) continue;
    const [size] = await tx<{ count: number; empty: boolean }[]>`
      select count(*)::int as count, not exists (select from ${tx(resource.table)} where estab = ${reading.estab}) as empty
      from ${staged(tx, resource, reading)} s`;
    const rows = size?.count ?? 0;
    if (size?.empty) {
      empty.add(resource);
      counts.set(resource, { added: rows, changed: 0, removed: 0, unchanged: 0 });
      continue;
    }
    const { count: asBefore, missing } = known.get(resource) ?? { count: 0, missing: undefined };
    const found = await noteChanges(tx, reading, resource, missing ? 'delta' : mode);
    if (missing) found.set('missing', await noteMissing(tx, reading, resource, missing));
    const of = (what: Change) => found.get(what) ?? 0;
    const total = [...found.values()].reduce((sum, count) => sum + count, 0);
    if (total <= fewChanges) few.set(resource, total === 0 ? [] : await selectKeys(tx, reading, resource));
    counts.set(resource, {
      added: of('new'),
      changed: of('changed'),
      removed: of('missing') + of('marked'),
      unchanged: asBefore + rows - of('new') - of('changed') - of('marked'),
    });
  }
  return { reading, counts, few, empty };
}

/** Whether a collection that had records changes in more rows than are looked up by their keys. */
export const hasManyChanges = ({ counts, few, empty }: Changes): boolean =>
  [...counts.keys()].some((resource) => !few.has(resource) && !empty.has(resource));

async function noteChanges(tx: Tx, reading: Reading, resource: Resource, mode: 'bulk' | 'delta'): Promise<Map<Change, number>> {
  const { estab, number } = reading;
  const live = tx`(select sourced_id, status, record, late, v1p2, shared from ${tx(resource.table)} where estab = ${estab})`;
  const late = hasDerivedLate(resource) ? tx`` : tx`or t.late <> s.late`;
  const missing = tx`s.sourced_id is null and t.status = 'active' and not exists (select from ${stagedRejected(tx, reading)} r
    where r.collection = ${resource.collection} and (r.sourced_id = t.sourced_id or r.sourced_id is null))`;
  await tx`
    insert into stage_change (estab, reading, collection, sourced_id, what)
    select ${estab}, ${number}, ${resource.collection}, coalesce(s.sourced_id, t.sourced_id), case when t.sourced_id is null then 'new'
      when s.sourced_id is null then 'missing' when t.status = 'active' and s.status = 'tobedeleted' then 'marked' else 'changed' end
    from ${live} t ${mode === 'bulk' ? tx`full` : tx`right`} join ${staged(tx, resource, reading)} s on s.sourced_id = t.sourced_id
    where t.sourced_id is null or (${missing}) or t.record <> s.record or t.status <> s.status ${late}
      or (s.sourced_id is not null and (t.v1p2, t.shared) is distinct from (s.v1p2, s.shared))`;
  const rows = await tx<{ what: Change; count: number }[]>`
    select what, count(*)::int as count from stage_change where estab = ${estab} and reading = ${number} and collection = ${resource.collection}
    group by what`;
  return new Map(rows.map(({ what, count }) => [what, count]));
}

/** Of a collection of which not everything was staged. */
async function noteMissing(tx: Tx, { estab, number }: Reading, { collection }: Resource, ids: readonly string[]): Promise<number> {
  const { count } = await tx`
    insert into stage_change (estab, reading, collection, sourced_id, what)
    select ${estab}, ${number}, ${collection}, id, 'missing' from unnest(${[...ids]}::text[]) given (id)`;
  return count;
}

async function selectKeys(tx: Tx, { estab, number }: Reading, { collection }: Resource): Promise<readonly Keyed[]> {
  return tx<Keyed[]>`select sourced_id as "sourcedId", what from stage_change where estab = ${estab} and reading = ${number} and collection = ${collection}`;
}

/** Whether an id is of what changes in one of these ways. Whoever joins two tables asks it of both, so that each is looked up by its index. */
export function changes(tx: Tx, { reading, few }: Changes, resource: Resource, id: Fragment, ...ways: readonly Change[]): Fragment {
  const keys = few.get(resource)?.filter(({ what }) => ways.includes(what)).map(({ sourcedId }) => sourcedId);
  if (keys) return tx`${id} = any(${keys}::text[])`;
  return tx`${id} in (select sourced_id from stage_change where estab = ${reading.estab} and reading = ${reading.number}
    and collection = ${resource.collection} and what = any(${[...ways]}))`;
}
