// In charge of what is no longer in a source of which only a part was staged, since the rest is as it was: the roster has it, and it is
// neither known nor staged. Where it is not certain that nothing else follows from that, everything has to be read.
import type { Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Resource } from '../roster/resource.ts';
import type { Reading } from './reading.ts';
import type { SpooledCollection, SpooledRoster } from './read-source.ts';
import { staged } from './stage.ts';
import { NotAsBefore, type Taken } from './taken.ts';
import { referencesOf, type Known } from './verify.ts';

/** Of more, everything is read. */
const mostMissing = 10_000;
const idsAtOnce = 20_000;

/** When everything is staged. Of each collection that was not read as a whole. */
export async function findMissing(tx: Tx, reading: Reading, { collections: spooled, relies }: SpooledRoster): Promise<Known> {
  const known = new Map<Resource, { count: number; missing: readonly string[] }>();
  if (!relies) return known;
  const gone = new Map<Resource, readonly string[]>();
  for (const { resource, mode, known: count, partly } of spooled) {
    if (partly && count - partly.active !== countMarked(relies.taken, resource)) throw new NotAsBefore();
    if (count > 0) known.set(resource, { count, missing: partly ? await findUnseen(tx, reading, resource, partly) : [] });
    if (mode === 'bulk') gone.set(resource, known.get(resource)?.missing ?? (await findUnstaged(tx, reading, resource)));
  }
  await requireUnneeded(tx, reading, known, gone);
  return known;
}

/** Rows that were marked as gone count as long as they are in the source. */
const countMarked = ({ collections: all }: Taken, { collection }: Resource) => all.find((one) => one.collection === collection)?.marked;

/** All that nobody may refer to any more, of a collection that was read as a whole. */
async function findUnstaged(tx: Tx, reading: Reading, resource: Resource): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select t.sourced_id as id from ${tx(resource.table)} t where t.estab = ${reading.estab}
      and not exists (select from ${staged(tx, resource, reading)} s where s.sourced_id = t.sourced_id) limit ${mostMissing + 1}`;
  if (rows.length > mostMissing) throw new NotAsBefore();
  return rows.map(({ id }) => id);
}

/** What is known is in the roster, and what is active there was in the source: mostly it is enough to count. */
async function findUnseen(tx: Tx, reading: Reading, resource: Resource, { ids, active }: NonNullable<SpooledCollection['partly']>): Promise<string[]> {
  const { estab } = reading;
  const [counted] = await tx<{ all: number; staged: number }[]>`
    select (select coalesce(sum(count), 0)::int from roster_total where estab = ${estab} and collection = ${resource.collection} and status = 'active') as all,
      (select count(*)::int from ${staged(tx, resource, reading)} s join ${tx(resource.table)} t on t.estab = ${estab} and t.sourced_id = s.sourced_id
        where t.status = 'active') as staged`;
  const wanted = (counted?.all ?? 0) - (counted?.staged ?? 0) - active;
  if (wanted === 0) return [];
  const missing: string[] = [];
  if (wanted > 0 && wanted <= mostMissing) {
    const all = tx<{ id: string }[]>`select sourced_id as id from ${tx(resource.table)} where estab = ${estab} and status = 'active'`;
    for await (const rows of all.cursor(idsAtOnce)) for (const { id } of rows) if (!ids.has(id)) missing.push(id);
  }
  // Of some only the hash may have been seen.
  if (missing.length !== wanted) throw new NotAsBefore();
  return missing;
}

/** That nothing which is known refers to what is gone: such a row would be wrong by now. */
async function requireUnneeded(tx: Tx, reading: Reading, known: Known, gone: ReadonlyMap<Resource, readonly string[]>): Promise<void> {
  const { estab } = reading;
  for (const { resource, field } of referencesOf(known)) {
    const ids = gone.get(collections[field.to ?? 'users']) ?? [];
    if (ids.length === 0) continue;
    const column = tx`t.${tx(field.column)}`;
    const [needed] = await tx`
      select from ${tx(resource.table)} t where t.estab = ${estab} and t.status = 'active'
        and ${field.type === 'refs' ? tx`${column} && ${ids}::text[]` : tx`${column} = any(${ids}::text[])`}
        and t.sourced_id <> all(${known.get(resource)?.missing ?? []}::text[])
        and not exists (select from ${staged(tx, resource, reading)} s where s.sourced_id = t.sourced_id) limit 1`;
    if (needed) throw new NotAsBefore();
  }
}
