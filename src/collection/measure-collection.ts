// In charge of what would be costly to find out at every read: how many records of each kind and status a collection
// has, and its every thousandth key with how many of each precede it. Written with each version. Whoever is of several
// kinds is counted by the main one, as everybody, and once more by all of them.
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { kindColumns, type Resource } from '../roster/resource.ts';

const rowsPerMilestone = 1000;

/** Of a thousand keys in a row: how many are of this kind, these kinds, where they are several, and this status; and the first of the keys. */
export type Chunk = Readonly<{ chunk: number; first: string; kind: string; kinds: readonly string[] | null; status: string; count: number }>;

export async function measureCollection(tx: Tx, estab: string, resource: Resource): Promise<void> {
  const { collection } = resource;
  // All in one pass: of a million rows each takes a second.
  const chunks = await tx<Chunk[]>`
    select chunk, min(min(sourced_id)) over (partition by chunk) as first, kind, kinds, status, count(*)::int as count
    from (
      select ((row_number() over (order by sourced_id) - 1) / ${rowsPerMilestone})::int as chunk, sourced_id, kind,
        ${canBeMixed(resource) ? tx`kinds` : tx`null::text[] as kinds`}, status
      from ${tx(resource.table)} where estab = ${estab}) numbered
    group by chunk, kind, kinds, status order by chunk`;
  const { totals, mixed, milestones } = measure(chunks);
  for (const table of ['roster_total', 'roster_mixed_total', 'roster_milestone'])
    await tx`delete from ${tx(table)} where estab = ${estab} and collection = ${collection}`;
  if (totals.length > 0)
    await tx`
      insert into roster_total (estab, collection, kind, status, count) select ${estab}, ${collection}, g.kind, g.status, g.count
      from jsonb_to_recordset(${tx.json(totals)}) as g (kind text, status text, count int)`;
  if (mixed.length > 0)
    await tx`
      insert into roster_mixed_total (estab, collection, kind, kinds, status, count) select ${estab}, ${collection}, g.kind, g.kinds, g.status, g.count
      from jsonb_to_recordset(${tx.json(mixed)}) as g (kind text, kinds text, status text, count int)`;
  if (milestones.length > 0)
    await tx`
      insert into roster_milestone (estab, collection, sourced_id, preceding) select ${estab}, ${collection}, g.first, g.preceding
      from jsonb_to_recordset(${tx.json(milestones)}) as g (first text, preceding jsonb)`;
}

/** In the order of their keys. Each milestone says of every group how many precede it, also where they are none. */
export function measure(chunks: readonly Chunk[]) {
  const totals = new Map<string, { kind: string; status: string; count: number }>();
  const mixed = new Map<string, { kind: string; kinds: string; status: string; count: number }>();
  const preceding = new Map(chunks.flatMap((chunk) => labelsOf(chunk).map((label) => [label, 0])));
  const milestones: { first: string; preceding: Record<string, number> }[] = [];
  let current = 0;
  for (const chunk of chunks) {
    if (chunk.chunk > current) milestones.push({ first: chunk.first, preceding: Object.fromEntries(preceding) });
    current = chunk.chunk;
    const { kind, kinds, status, count } = chunk;
    const [label = '', mixedLabel] = labelsOf(chunk);
    add(totals, label, { kind, status, count });
    if (kinds && mixedLabel !== undefined) add(mixed, mixedLabel, { kind, kinds: kinds.join(','), status, count });
    for (const one of labelsOf(chunk)) preceding.set(one, (preceding.get(one) ?? 0) + count);
  }
  return { totals: [...totals.values()], mixed: [...mixed.values()], milestones };
}

/** What a row is counted as: see `groupsOf`. */
const labelsOf = ({ kind, kinds, status }: Chunk) => [`${kind} ${status}`, ...(kinds ? [`${kind}/${kinds.join(',')} ${status}`] : [])];

function add<T extends { count: number }>(sums: Map<string, T>, label: string, more: T): void {
  const sum = sums.get(label);
  if (sum) sum.count += more.count;
  else sums.set(label, more);
}

/** Whether what was rendered and measured of a roster r holds for its version: one that does not know of 1.2 may have written it. */
export const isSettled = (sql: Sql): Fragment => sql`r.rendered_to = r.version`;

export const canBeMixed = (resource: Resource): boolean => kindColumns(resource).includes('kinds');

/** All groups of an establishment with their counts, of one collection or of each. */
export function groupTotals(sql: Sql, estab: string, collection?: string): Fragment {
  const of = collection === undefined ? sql`` : sql`and collection = ${collection}`;
  return sql`(select collection, ${mainGroup(sql, sql`t`)} as part, count from roster_total t where estab = ${estab} ${of}
    union all select collection, kind || '/' || kinds || ' ' || status, count from roster_mixed_total where estab = ${estab} ${of})`;
}

/** What a row t is counted as. */
export function groupsOf(sql: Sql, resource: Resource, t: Fragment): Fragment {
  const main = mainGroup(sql, t);
  return canBeMixed(resource) ? sql`array_remove(array[${main}, ${mixedGroup(sql, t)}], null)` : sql`array[${main}]`;
}

const mainGroup = (sql: Sql, t: Fragment): Fragment => sql`${t}.kind || ' ' || ${t}.status`;

/** Its main kind, behind a slash all that it is of, and its status; nothing where it is of one. */
const mixedGroup = (sql: Sql, t: Fragment): Fragment => sql`${t}.kind || '/' || array_to_string(${t}.kinds, ',') || ' ' || ${t}.status`;
