// In charge of the indexes of a table that is filled with a million rows: they are made when the rows are there, which takes less time.
import type { Sql } from '../src/db/connect.ts';

/** Gives the statements that bring them back. What other tables refer to stays. */
export async function dropIndexes(sql: Sql, table: string): Promise<string[]> {
  const indexes = await sql<{ name: string; definition: string; primary: boolean }[]>`
    select c.relname as name, pg_get_indexdef(i.indexrelid) as definition, i.indisprimary as primary
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = ${table}::regclass and not exists (
      select from pg_constraint k where k.conindid = i.indexrelid and (k.contype = 'f' or (k.conrelid = i.indrelid and k.contype <> 'p')))`;
  for (const { name, primary } of indexes) {
    if (primary) await sql`alter table ${sql(table)} drop constraint ${sql(name)}`;
    else await sql`drop index ${sql(name)}`;
  }
  return indexes.flatMap(({ name, definition, primary }) =>
    primary ? [definition, `alter table ${table} add constraint ${name} primary key using index ${name}`] : [definition],
  );
}
