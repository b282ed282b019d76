// In charge of what would be costly to find out at every read: how many records of each kind and status a collection
// has, and its every thousandth key with how many of each precede it. Written with each version.
import type { Fragment, Sql, Tx } from '../db/connect.ts';
import { kindColumns, type Resource } from '../roster/resource.ts';

const rowsPerMilestone = 1000;

export async function measureCollection(tx: Tx, estab: string, resource: Resource): Promise<void> {
  const table = tx(resource.table);
  const { collection } = resource;
  const kinds = kindColumns(resource).includes('kinds') ? tx`coalesce(array_to_string(kinds, ','), '')` : tx`''`;
  await tx`delete from roster_total where estab = ${estab} and collection = ${collection}`;
  await tx`delete from roster_milestone where estab = ${estab} and collection = ${collection}`;
  await tx`
    insert into roster_total (estab, collection, kind, kinds, status, count)
    select ${estab}, ${collection}, kind, ${kinds} as kinds, status, count(*) from ${table} where estab = ${estab} group by 3, 4, 5`;
  await tx`
    insert into roster_milestone (estab, collection, sourced_id, preceding)
    with numbered as materialized (
      select (row_number() over (order by sourced_id) - 1) / ${rowsPerMilestone} as chunk, sourced_id, ${groupOf(tx, resource, tx`t`)} as part
      from ${table} t where estab = ${estab}
    ), counted as (
      select chunk, part, count(*) as count, min(sourced_id) as first from numbered group by chunk, part
    ), chunks as (
      select chunk, min(first) as sourced_id from counted group by chunk
    ), labels as (
      select distinct part from counted
    ), running as (
      select c.chunk, c.sourced_id, l.part,
        sum(coalesce(n.count, 0)) over (partition by l.part order by c.chunk rows between unbounded preceding and 1 preceding) as preceding
      from chunks c cross join labels l left join counted n on n.chunk = c.chunk and n.part = l.part
    )
    select ${estab}, ${collection}, sourced_id, jsonb_object_agg(part, preceding)
    from running where chunk > 0 group by sourced_id`;
}

/** Of a row t of roster_total. */
export const totalGroup = (sql: Sql): Fragment => sql`t.kind || case when t.kinds = '' then '' else '/' || t.kinds end || ' ' || t.status`;

/** What a row t is counted as: its kind, behind a slash all of them where it is of several, and its status. */
export function groupOf(sql: Sql, resource: Resource, t: Fragment): Fragment {
  if (!kindColumns(resource).includes('kinds')) return sql`${t}.kind || ' ' || ${t}.status`;
  return sql`${t}.kind || coalesce('/' || array_to_string(${t}.kinds, ','), '') || ' ' || ${t}.status`;
}
