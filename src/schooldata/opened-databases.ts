// Reads the state of component databases as a caller may see it: RowCount includes only the kinds of records that the scopes open.
import { openedKinds } from '../access/opened-kinds.ts';
import { readDatabases, type ComponentDatabase } from '../collection/component-databases.ts';
import { databaseNames, type DatabaseName } from '../collection/connector.ts';
import type { Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';

type Reader = Readonly<{ estab: string; scopes: readonly string[] }>;

export async function readOpenedDatabases(sql: Sql, reader: Reader, names: readonly DatabaseName[] = databaseNames): Promise<ComponentDatabase[]> {
  return countOpened(sql, reader, await readDatabases(sql, reader.estab, names));
}

/** Returns the databases with their rowCount as the reader may see it. */
export async function countOpened(sql: Sql, { estab, scopes }: Reader, databases: readonly ComponentDatabase[]): Promise<ComponentDatabase[]> {
  const records = databases.some(({ name }) => name === 'SchoolData') ? await countOpenedRecords(sql, estab, scopes) : 0;
  return databases.map((database) => ({
    ...database,
    rowCount: database.name === 'SchoolData' ? records : scopes.includes('Attendance') ? database.rowCount : 0,
  }));
}

async function countOpenedRecords(sql: Sql, estab: string, scopes: readonly string[]): Promise<number> {
  const opened = (Object.keys(collections) as CollectionName[]).flatMap((collection) => openedKinds(collection, scopes).map((kind) => ({ collection, kind })));
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(t.count), 0)::int as count from roster_total t
    join unnest(${opened.map(({ collection }) => collection)}::text[], ${opened.map(({ kind }) => kind)}::text[]) as o (collection, kind)
      on o.collection = t.collection and o.kind = t.kind
    where t.estab = ${estab} and t.status = 'active'`;
  return row?.count ?? 0;
}
