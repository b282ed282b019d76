// In charge of what would be costly to find out at every read: how many records of each kind and status a collection
// has, and its every thousandth key with how many of each precede it. Written with each version.
import type { Tx } from '../db/connect.ts';
import type { Resource } from '../roster/resource.ts';

const rowsPerMilestone = 1000;

export async function measureCollection(tx: Tx, estab: string, resource: Resource): Promise<void> {
  const table = tx(resource.table);
  const { collection } = resource;
  await tx`delete from roster_total where estab = ${estab} and collection = ${collection}`;
  await tx`delete from roster_milestone where estab = ${estab} and collection = ${collection}`;
  await tx`
    insert into roster_total (estab, collection, kind, status, count)
    select ${estab}, ${collection}, kind, status, count(*) from ${table} where estab = ${estab} group by kind, status`;
  await tx`
    insert into roster_milestone (estab, collection, sourced_id, preceding)
    with numbered as materialized (
      select (row_number() over (order by sourced_id) - 1) / ${rowsPerMilestone} as chunk, sourced_id, kind, status from ${table} where estab = ${estab}
    ), counted as (
      select chunk, kind, status, count(*) as count, min(sourced_id) as first from numbered group by chunk, kind, status
    ), chunks as (
      select chunk, min(first) as sourced_id from counted group by chunk
    ), labels as (
      select distinct kind, status from counted
    ), running as (
      select c.chunk, c.sourced_id, l.kind, l.status,
        sum(coalesce(n.count, 0)) over (partition by l.kind, l.status order by c.chunk rows between unbounded preceding and 1 preceding) as preceding
      from chunks c cross join labels l left join counted n on n.chunk = c.chunk and n.kind = l.kind and n.status = l.status
    )
    select ${estab}, ${collection}, sourced_id, jsonb_object_agg(kind || ' ' || status, preceding)
    from running where chunk > 0 group by sourced_id`;
}
