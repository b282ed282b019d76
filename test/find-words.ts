// In charge of looking for words everywhere: in every column of every table that can hold text, and in every file of a
// folder.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Db } from '../src/db/connect.ts';

type Column = { table: string; column: string; type: string };

/** The tables of the database itself, by name. */
export async function listTables(db: Db): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`;
  return rows.map(({ name }) => name);
}

/** Where the words stand, as `table.column` and `file …`, each place once with the words that were found. */
export async function findWords(db: Db, folder: string, words: readonly string[]): Promise<Map<string, string[]>> {
  const places = new Map<string, string[]>();
  const note = (place: string, text: string) => {
    const found = words.filter((word) => text.toLowerCase().includes(word.toLowerCase()));
    if (found.length > 0) places.set(place, [...new Set([...(places.get(place) ?? []), ...found])].toSorted());
  };
  for (const { table, column, type } of await listColumns(db)) {
    const rows =
      type === 'bytea'
        ? await db<{ text: string | null }[]>`select encode(${db(column)}, 'escape') as text from ${db(table)}`
        : await db<{ text: string | null }[]>`select ${db(column)}::text as text from ${db(table)}`;
    for (const { text } of rows) note(`${table}.${column}`, text ?? '');
  }
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    note('file names', name);
    if (statSync(join(folder, name)).isFile()) note(`file ${name.split('/', 1)[0]}`, readFileSync(join(folder, name), 'latin1'));
  }
  return places;
}

async function listColumns(db: Db): Promise<Column[]> {
  return db<Column[]>`
    select c.table_name as table, c.column_name as column, c.data_type as type
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type in ('text', 'character varying', 'json', 'jsonb', 'bytea', 'ARRAY')
    order by 1, 2`;
}

/** Lets days pass for everything that was noted before an instant, but for when chores are due: what runs them would do so meanwhile. */
export async function passDays(db: Db, days: number, before: Date): Promise<void> {
  const columns = await db<Column[]>`
    select c.table_name as table, c.column_name as column, c.data_type as type
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.data_type = 'timestamp with time zone' and c.table_name <> 'chore'`;
  // As `earlier` has it, word for word, so that it is known as a test's.
  for (const { table, column } of columns)
    await db`
      update ${db(table)} set ${db(column)} = (${db(column)} at time zone 'UTC' - make_interval(days => ${days})) at time zone 'UTC'
      where ${db(column)} < ${before}`;
}
