// In charge of how many rows tables have, about, for whoever is to know what to expect: by statistics, since to count all of them takes long.
import type { Lying } from './distribution.ts';
import type { Sql } from './statement.ts';

/** lying: as Citus knows them, if there is any. */
export async function estimateRows(sql: Sql, tables: readonly string[], lying: ReadonlyMap<string, Lying>): Promise<Map<string, number>> {
  const plain = tables.filter((table) => !lying.has(table));
  return new Map([...(await estimatePlain(sql, plain)), ...(plain.length < tables.length ? await estimateSpread(sql) : [])]);
}

/** One that has no statistics yet was made lately, or is small, and is counted. */
async function estimatePlain(sql: Sql, tables: readonly string[]): Promise<Map<string, number>> {
  const rows = await sql<{ table: string; about: number; uncertain: boolean }[]>`
    select relname::text as table, greatest(reltuples, 0)::float8 as about, reltuples < 0 and pg_relation_size(oid) > 0 as uncertain
    from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' and relname::text = any(${tables}::text[])`;
  const found = new Map(rows.map(({ table, about }) => [table, about]));
  for (const { table } of rows.filter(({ uncertain }) => uncertain)) found.set(table, await countRows(sql, table));
  return found;
}

export async function countRows(sql: Sql, table: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`select count(*)::float8 as count from ${sql(table)}`;
  return row?.count ?? 0;
}

/** The coordinator's own table has neither rows nor statistics: each node is asked once, for those of all pieces. Of what is everywhere one copy counts. */
async function estimateSpread(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql<{ table: string; about: number }[]>`
    with piece as (
      select pieces.key as name, pieces.value::float8 as about from run_command_on_all_nodes($$
        select coalesce(json_object_agg(relname, greatest(reltuples, 0)), '{}') from pg_class where relkind = 'r' and relname ~ '_[0-9]+$'$$) node,
        json_each_text(case when node.success then node.result::json else '{}' end) pieces)
    select c.relname::text as table, (sum(about) / case when max(p.repmodel::text) = 't' then count(*) else 1 end)::float8 as about
    from pg_dist_shard s join pg_dist_partition p using (logicalrelid) join pg_class c on c.oid = s.logicalrelid
      join piece on piece.name = c.relname || '_' || s.shardid
    where c.relnamespace = current_schema()::regnamespace group by 1`;
  return new Map(rows.map(({ table, about }) => [table, Math.round(about)]));
}
