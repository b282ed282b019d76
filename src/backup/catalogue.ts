// In charge of what there is to back up, as the database's own catalogue says: tables with their columns, and the counters
// behind numbers. So one version's code backs up the schema of another.
import type { Sql } from '../db/connect.ts';
import { notes } from '../db/distribution.ts';

export type TableShape = Readonly<{ name: string; columns: readonly string[] }>;
/** called: whether the last number was given out already. */
export type Counter = Readonly<{ table: string; column: string; last: string; called: boolean }>;

/** So that the same value is the same text on every server. */
const readSettings = {
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  TimeZone: 'UTC',
  synchronize_seqscans: 'off',
  row_security: 'off',
} as const;

export async function fixTexts(sql: Sql): Promise<void> {
  for (const [name, value] of Object.entries(readSettings)) await sql`select set_config(${name}, ${value}, true)`;
}

/** Without what is computed from the others. What an extension has made is made again by it; how the database is spread is not restored. */
export async function listTables(sql: Sql): Promise<TableShape[]> {
  return sql<TableShape[]>`
    select c.relname::text as name, array_agg(a.attname::text order by a.attnum) filter (where a.attgenerated = '') as columns
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname ~ '^[a-z_][a-z0-9_]*$'
      and c.relname <> ${notes}
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
    group by c.oid, c.relname order by c.relname collate "C"`;
}

export async function listCounters(sql: Sql): Promise<Counter[]> {
  const owned = await sql<{ table: string; column: string; sequence: string }[]>`
    select t.relname::text as table, a.attname::text as column, s.relname::text as sequence
    from pg_class s join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
    join pg_class t on t.oid = d.refobjid join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where s.relkind = 'S' and t.relnamespace = current_schema()::regnamespace order by t.relname collate "C", a.attnum`;
  const counters: Counter[] = [];
  for (const { table, column, sequence } of owned) {
    const [state] = await sql<{ last: string; called: boolean }[]>`select last_value::text as last, is_called as called from ${sql(sequence)}`;
    counters.push({ table, column, last: state?.last ?? '1', called: state?.called ?? false });
  }
  return counters;
}
