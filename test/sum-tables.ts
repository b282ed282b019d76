// In charge of seeing whether anything was changed: what stands in every table, but for what notes that somebody was there.
import type { Db } from '../src/db/connect.ts';

/** That somebody looked, when they were last there, and that a request came. */
const noted = ['audit_event', 'console_session', 'request_line', 'request_hour'];

/** A line for each table. */
export async function sumTables(db: Db): Promise<string[]> {
  const tables = await db<{ name: string }[]>`
    select tablename as name from pg_tables where schemaname = current_schema() and not tablename = any(${noted}) order by tablename`;
  const sums: string[] = [];
  for (const { name } of tables) {
    const [sum] = await db<{ sum: string }[]>`select count(*) || ' ' || coalesce(md5(string_agg(t::text, ',' order by t::text)), '') as sum from ${db(name)} t`;
    sums.push(`${name}: ${sum?.sum ?? ''}`);
  }
  return sums;
}
