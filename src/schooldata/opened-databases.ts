// Reads the state of component databases as a caller may see it: RowCount and Message give sizes only of the kinds of records that the scopes open.
import { openedKinds } from '../access/opened-kinds.ts';
import { readDatabases, type ComponentDatabase } from '../collection/component-databases.ts';
import { databaseNames, type DatabaseName } from '../collection/connector.ts';
import type { Shrinkage } from '../collection/deletion-guard.ts';
import { findHeld } from '../collection/held.ts';
import { describeWaiting, refusedWords } from '../collection/import-report.ts';
import type { Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { kindOfRole } from '../roster/resources/user-role.ts';

type Reader = Readonly<{ estab: string; scopes: readonly string[] }>;

export async function readOpenedDatabases(sql: Sql, reader: Reader, names: readonly DatabaseName[] = databaseNames): Promise<ComponentDatabase[]> {
  return showOpened(sql, reader, await readDatabases(sql, reader.estab, names));
}

/** Returns the databases with rowCount and message as the reader may see them. */
export function showOpened(sql: Sql, reader: Reader, databases: readonly ComponentDatabase[]): Promise<ComponentDatabase[]> {
  return Promise.all(databases.map((database) => (database.name === 'SchoolData' ? showRoster(sql, reader, database) : showMarks(reader, database))));
}

async function showRoster(sql: Sql, reader: Reader, database: ComponentDatabase): Promise<ComponentDatabase> {
  const message = database.status === 'Paused' ? await hideLosses(sql, reader, database.message ?? '') : hideProblems(reader, database.message);
  return { ...database, rowCount: await countOpenedRecords(sql, reader), message };
}

/** Marks that were left out are counted in the message of a fetch that succeeded. */
function showMarks({ scopes }: Reader, database: ComponentDatabase): ComponentDatabase {
  if (scopes.includes('Attendance')) return database;
  return { ...database, rowCount: 0, message: database.status === 'OK' ? null : database.message };
}

async function countOpenedRecords(sql: Sql, { estab, scopes }: Reader): Promise<number> {
  const opened = (Object.keys(collections) as CollectionName[]).flatMap((collection) => openedKinds(collection, scopes).map((kind) => ({ collection, kind })));
  const [row] = await sql<{ count: number }[]>`
    select coalesce(sum(t.count), 0)::int as count from roster_total t
    join unnest(${opened.map(({ collection }) => collection)}::text[], ${opened.map(({ kind }) => kind)}::text[]) as o (collection, kind)
      on o.collection = t.collection and o.kind = t.kind
    where t.estab = ${estab} and t.status = 'active'`;
  return row?.count ?? 0;
}

/** Removes from the message of a waiting import the deletions of records that the reader's scopes do not open. */
async function hideLosses(sql: Sql, { estab, scopes }: Reader, message: string): Promise<string> {
  const losses = (await findHeld(sql, estab))?.shrinkage ?? [];
  const whole = describeWaiting(losses);
  // The import may have been decided since the message was read.
  if (!message.startsWith(whole)) return describeWaiting([]);
  return `${describeWaiting(losses.filter((loss) => isOpened(loss, scopes)))}${message.slice(whole.length)}`;
}

/** Removes the number of problems, and the line of the first, for readers who may not see every kind: both are at most the size of a file. */
function hideProblems({ scopes }: Reader, message: string | null): string | null {
  if (!message?.startsWith(refusedWords)) return message;
  const isOpen = (name: CollectionName) => collections[name].kinds.every((kind) => openedKinds(name, scopes).includes(kind));
  return (Object.keys(collections) as CollectionName[]).every(isOpen) ? message : refusedWords;
}

/** Whether the scopes open every record that the loss counts. */
function isOpened({ collection, role }: Shrinkage, scopes: readonly string[]): boolean {
  const opened = openedKinds(collection, scopes);
  return role === null ? collections[collection].kinds.every((kind) => opened.includes(kind)) : opened.includes(kindOfRole(role));
}
