// In charge of what would be costly to find out at every read: how many records of each kind and status a collection
// has, and its every thousandth key with how many of each precede it. Written with each version. Whoever is of several
// kinds is counted by the main one, as everybody, and once more by all of them.
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { kindColumns, type Resource } from '../roster/resource.ts';

const rowsPerMilestone = 1000;

export async function measureCollection(tx: Tx, estab: string, resource: Resource): Promise<void> {
  const table = tx(resource.table);
  const { collection } = resource;
  await tx`delete from roster_total where estab = ${estab} and collection = ${collection}`;
  await tx`delete from roster_mixed_total where estab = ${estab} and collection = ${collection}`;
  await tx`delete from roster_milestone where estab = ${estab} and collection = ${collection}`;
  const mixed = canBeMixed(resource);
  // All in one pass: of a million rows each takes a second.
  await tx`
    with base as materialized (
      select chunk, kind, kinds, status, count(*) as count, min(sourced_id) as first
      from (
        select (row_number() over (order by sourced_id) - 1) / ${rowsPerMilestone} as chunk, sourced_id, kind, ${mixed ? tx`kinds` : tx`null::text[] as kinds`},
          status
        from ${table} where estab = ${estab}) numbered
      group by chunk, kind, kinds, status
    ), totals as (
      insert into roster_total (estab, collection, kind, status, count)
      select ${estab}, ${collection}, kind, status, sum(count) from base group by kind, status
    ), mixed_totals as (
      insert into roster_mixed_total (estab, collection, kind, kinds, status, count)
      select ${estab}, ${collection}, kind, array_to_string(kinds, ','), status, sum(count) from base where kinds is not null group by 3, 4, 5
    ), counted as (
      select chunk, ${mainGroup(tx, tx`b`)} as part, sum(count) as count, min(first) as first from base b group by 1, 2
      union all select chunk, ${mixedGroup(tx, tx`b`)}, sum(count), min(first) from base b where kinds is not null group by 1, 2
    ), chunks as (
      select chunk, min(first) as sourced_id from counted group by chunk
    ), labels as (
      select distinct part from counted
    ), running as (
      select c.chunk, c.sourced_id, l.part,
        sum(coalesce(n.count, 0)) over (partition by l.part order by c.chunk rows between unbounded preceding and 1 preceding) as preceding
      from chunks c cross join labels l left join counted n on n.chunk = c.chunk and n.part = l.part
    )
    insert into roster_milestone (estab, collection, sourced_id, preceding)
    select ${estab}, ${collection}, sourced_id, jsonb_object_agg(part, preceding)
    from running where chunk > 0 group by sourced_id`;
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
