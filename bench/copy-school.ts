// In charge of many schools in little time: a school that was imported is copied inside the database, with all that its roster has.
import type { Db } from '../src/db/connect.ts';

/** Those with the name of a school in each row; what is forgotten with a roster, and not what was done. */
const copied = ['establishment', 'roster', 'component_database'];

/** Copies are named `<estab>-1` and so on, and authorise the applications that the school does. */
export async function copySchool(db: Db, estab: string, copies: number): Promise<void> {
  const tables = await db<{ name: string; columns: string[] }[]>`
    select c.table_name as name, array_agg(c.column_name::text) as columns from information_schema.columns c
    join information_schema.columns e on e.table_schema = c.table_schema and e.table_name = c.table_name and e.column_name = 'estab'
    where c.table_schema = 'public' and c.is_generated = 'NEVER' and c.column_name <> 'estab' and (c.table_name, c.column_name) <> ('roster', 'id')
      and (c.table_name = any(${copied}) or starts_with(c.table_name, 'roster_') or c.table_name = 'authorisation')
    group by 1`;
  const first = (name: string) => (copied.includes(name) ? copied.indexOf(name) : copied.length);
  for (const { name, columns } of tables.toSorted((a, b) => first(a.name) - first(b.name))) {
    const list = db.unsafe(columns.map((column) => `"${column}"`).join(', '));
    await db`
      insert into ${db(name)} (estab, ${list}) select ${estab}::text || '-' || n, ${list}
      from generate_series(1, ${copies}::int) n, ${db(name)} where estab = ${estab} order by n`;
    await db`vacuum analyze ${db(name)}`;
  }
}
