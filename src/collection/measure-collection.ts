// Counts the records of a collection by group, and the records before every thousandth key (a milestone), so that totals and deep offsets
// need no scan. Both are written with each version.
//
// A group is "<kind> <status>", or "<kind>/<kinds> <status>" for people with several kinds, where kind is the main one and kinds are all of
// them, separated by commas. Each record is in one group: OneRoster 1.1 selects groups by the main kind, 1.2 by any of the kinds.
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { kindColumns, type Resource } from '../roster/resource.ts';

const rowsPerMilestone = 1000;

/** A number of records of one group among a thousand keys in a row, with the first of these keys. kinds: null if there is one kind. */
export type Chunk = Readonly<{ chunk: number; first: string; kind: string; kinds: readonly string[] | null; status: string; count: number }>;

export async function measureCollection(tx: Tx, estab: string, resource: Resource): Promise<void> {
  const { collection } = resource;
  // One pass counts everything: each pass over a million rows takes a second.
  const chunks = await tx<Chunk[]>`
    select chunk, min(min(sourced_id)) over (partition by chunk) as first, kind, kinds, status, count(*)::int as count
    from (
      select ((row_number() over (order by sourced_id) - 1) / ${rowsPerMilestone})::int as chunk, sourced_id, kind,
        ${canBeMixed(resource) ? tx`kinds` : tx`null::text[] as kinds`}, status
      from ${tx(resource.table)} where estab = ${estab}) numbered
    group by chunk, kind, kinds, status order by chunk`;
  const { totals, milestones } = measure(chunks);
  for (const table of ['roster_total', 'roster_milestone']) await tx`delete from ${tx(table)} where estab = ${estab} and collection = ${collection}`;
  if (totals.length > 0)
    await tx`
      insert into roster_total (estab, collection, kind, kinds, status, count) select ${estab}, ${collection}, g.kind, g.kinds, g.status, g.count
      from jsonb_to_recordset(${tx.json(totals)}) as g (kind text, kinds text, status text, count int)`;
  if (milestones.length > 0)
    await tx`
      insert into roster_milestone (estab, collection, sourced_id, preceding) select ${estab}, ${collection}, g.first, g.preceding
      from jsonb_to_recordset(${tx.json(milestones)}) as g (first text, preceding jsonb)`;
}

/** Takes chunks in the order of their keys. Each milestone counts the preceding records of every group, also of groups with none so far. */
export function measure(chunks: readonly Chunk[]) {
  const totals = new Map<string, { kind: string; kinds: string; status: string; count: number }>();
  const preceding = new Map(chunks.map((chunk) => [groupOfChunk(chunk), 0]));
  const milestones: { first: string; preceding: Record<string, number> }[] = [];
  let current = 0;
  for (const chunk of chunks) {
    if (chunk.chunk > current) milestones.push({ first: chunk.first, preceding: Object.fromEntries(preceding) });
    current = chunk.chunk;
    const { kind, kinds, status, count } = chunk;
    const group = groupOfChunk(chunk);
    const total = totals.get(group) ?? { kind, kinds: kinds?.join(',') ?? '', status, count: 0 };
    total.count += count;
    totals.set(group, total);
    preceding.set(group, (preceding.get(group) ?? 0) + count);
  }
  return { totals: [...totals.values()], milestones };
}

const groupOfChunk = ({ kind, kinds, status }: Chunk) => `${kind}${kinds ? `/${kinds.join(',')}` : ''} ${status}`;

const canBeMixed = (resource: Resource): boolean => kindColumns(resource).includes('kinds');

/** Returns a query for the groups of a school with their counts, in one collection or, without `collection`, in all of them. */
export function groupTotals(sql: Sql, estab: string, collection?: string): Fragment {
  const only = collection === undefined ? sql`` : sql`and collection = ${collection}`;
  return sql`(select collection, kind || case when kinds = '' then '' else '/' || kinds end || ' ' || status as part, count
    from roster_total where estab = ${estab} ${only})`;
}

/** The group of a row t. */
export function groupOf(sql: Sql, resource: Resource, t: Fragment): Fragment {
  const kinds = canBeMixed(resource) ? sql` || coalesce('/' || array_to_string(${t}.kinds, ','), '')` : sql``;
  return sql`${t}.kind${kinds} || ' ' || ${t}.status`;
}
