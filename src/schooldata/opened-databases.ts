// Reads the state of component databases as a caller may see it: RowCount and Message give sizes only of the kinds of records that the scopes open.
import { openedKinds } from '../access/opened-kinds.ts';
import { joinMessage, readDatabases, type ComponentDatabase } from '../collection/component-databases.ts';
import { databaseNames, type DatabaseName } from '../collection/connector.ts';
import type { Shrinkage } from '../collection/deletion-guard.ts';
import { findFixedMessage } from '../collection/fixed-messages.ts';
import { findHeld } from '../collection/held.ts';
import { describeWaiting } from '../collection/import-report.ts';
import type { Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import { kindOfRole } from '../roster/resources/user-role.ts';

const hiddenFailure = 'the last fetch failed; the school and the operator see the details';

type Reader = Readonly<{ estab: string; scopes: readonly string[] }>;

export async function readOpenedDatabases(sql: Sql, reader: Reader, names: readonly DatabaseName[] = databaseNames): Promise<ComponentDatabase[]> {
  return showOpened(sql, reader, await readDatabases(sql, reader.estab, names));
}

/** Returns the databases with rowCount and message as the reader may see them. */
export function showOpened(sql: Sql, reader: Reader, databases: readonly ComponentDatabase[]): Promise<ComponentDatabase[]> {
  return Promise.all(databases.map(async (database) => ({
    ...database,
    rowCount: await countOpenedRows(sql, reader, database),
    message: opensEverything(reader, database) ? database.message : await showMessage(sql, reader, database),
  })));
}

async function countOpenedRows(sql: Sql, reader: Reader, { name, rowCount }: ComponentDatabase): Promise<number> {
  if (name === 'SchoolData') return countOpenedRecords(sql, reader);
  return reader.scopes.includes('Attendance') ? rowCount : 0;
}

/** Whether the scopes open every record that messages of the database may count. A fetch of SchoolData may read attendance.csv too. */
function opensEverything({ scopes }: Reader, { name }: ComponentDatabase): boolean {
  const isOpen = (collection: CollectionName) => collections[collection].kinds.every((kind) => openedKinds(collection, scopes).includes(kind));
  return scopes.includes('Attendance') && (name === 'Attendance' || (Object.keys(collections) as CollectionName[]).every(isOpen));
}

/** Returns a message without sizes of hidden records: fixed messages, and the losses of opened kinds while an import waits for approval. */
async function showMessage(sql: Sql, reader: Reader, { name, status, message, leaversUnreported }: ComponentDatabase): Promise<string | null> {
  if (message === null) return null;
  const hasFailed = status === 'Error' || status === 'Timeout';
  const fetched = status === 'Paused' && name === 'SchoolData' ? await describeOpenedLosses(sql, reader) : findFixedMessage(message);
  return joinMessage(fetched ?? (hasFailed ? hiddenFailure : null), leaversUnreported);
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

async function describeOpenedLosses(sql: Sql, { estab, scopes }: Reader): Promise<string> {
  const losses = (await findHeld(sql, estab))?.shrinkage ?? [];
  return describeWaiting(losses.filter((loss) => isOpened(loss, scopes)));
}

/** Whether the scopes open every record that the loss counts. */
function isOpened({ collection, role }: Shrinkage, scopes: readonly string[]): boolean {
  const opened = openedKinds(collection, scopes);
  return role === null ? collections[collection].kinds.every((kind) => opened.includes(kind)) : opened.includes(kindOfRole(role));
}
