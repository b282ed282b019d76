// In charge of bringing a backup back, into a database without tables. The whole file is read and checked first; then the schema, the
// rows and what follows from them are one transaction, so that whoever dies on the way leaves the database as empty as it was.
import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { noteLook } from '../access/audit-trail.ts';
import { whoIsHere } from '../access/who-is-here.ts';
import { secretKeyFile, type Config } from '../config.ts';
import { requireAlone } from '../db/alone.ts';
import type { Connection, Db, Sql } from '../db/connect.ts';
import { leaveTurn, makeSchema, migrateInside, takeTurn } from '../db/migrate.ts';
import { readMigrations, requireReleased, type Migration } from '../db/migrations.ts';
import { describePlace, openBare } from '../db/open.ts';
import { SchoolbellError } from '../errors.ts';
import { noteStanding } from '../roster/standing.ts';
import { version } from '../version.ts';
import { DamagedBackup } from './age.ts';
import { fixTexts } from './catalogue.ts';
import { newestMigrationOf, type Head, type TableFacts, type Unsettled } from './format.ts';
import { settleDeliveries, type Deliveries } from './hold-deliveries.ts';
import { chooseFiles, placeFiles, placeKey, requireRoom, type KeptFile } from './kept-files.ts';
import { compareTables, doWithTables, dropLinks, matchTables, setCounters, TableLoader } from './load-tables.ts';
import { endPlan } from './plan.ts';
import { readBackup, type BackupContents } from './read-backup.ts';

/** held: how many calls and mails. leftOut: tables of the backup that are not Schoolbell's. */
export type RestoreFacts = Readonly<{
  file: string;
  into: string;
  takenAt: Date;
  version: string;
  migration: number;
  tables: number;
  rows: number;
  deliveries: Deliveries;
  held: number;
  restoredAt: Date;
  unsettled: Unsettled;
  leftOut: readonly string[];
  tookMs: number;
}>;

export type RestoreParts = {
  config: Config;
  file: string;
  passphrase: string;
  /** Or who decides once it is known how many there are; before anything is changed. */
  deliveries: Deliveries | ((unsettled: Unsettled) => Promise<Deliveries>);
  /** Hears, in words, how far it is. */
  tell?: (words: string) => void;
  signal?: AbortSignal;
  /** Only to see whether it can be restored: settings of an embedded server that is thrown away; the keys are those of the backup. */
  trial?: Record<string, string>;
};

/** Whoever has the turn is connected, and mostly seen before. */
const longestTurnMs = 5_000;

export async function restoreBackup(parts: RestoreParts): Promise<RestoreFacts> {
  const begun = performance.now();
  const { file, passphrase, tell = () => {}, signal } = parts;
  tell('reading the backup');
  const contents = await readBackup({ source: file, passphrase, signal });
  const { head, end } = contents;
  const config = parts.trial ? { ...parts.config, secretKeys: contents.keys } : parts.config;
  const known = requireKnown(head);
  requireKeys(config, contents.keys);
  const files = chooseFiles(config, contents.keys, contents.files);
  await requireRoom(config.dataDir, files);
  const deliveries = typeof parts.deliveries === 'string' ? parts.deliveries : await parts.deliveries(end.unsettled);
  const { db, close } = await openBare(config, parts.trial);
  try {
    const given = { ...parts, config, deliveries, tell };
    const { held, at, tables } = await inEmptyDatabase(db, config, tell, (connection) => fill(connection, given, contents, known, files));
    return {
      file,
      into: describePlace(config),
      takenAt: new Date(head.takenAt),
      version: head.version,
      migration: newestMigrationOf(head),
      tables: tables.length,
      rows: tables.reduce((sum, table) => sum + table.rows, 0),
      deliveries,
      held,
      restoredAt: at,
      unsettled: end.unsettled,
      leftOut: end.tables.filter(({ name }) => !tables.some((table) => table.name === name)).map(({ name }) => name),
      tookMs: Math.round(performance.now() - begun),
    };
  } finally {
    await close();
  }
}

/** Gives the migrations that were applied to it, in their order. */
function requireKnown({ migrations, version: writtenBy }: Head): readonly Migration[] {
  const known = readMigrations();
  requireReleased('backup', migrations, known);
  return migrations.map((applied) => {
    const own = known.find((one) => one.version === applied.version);
    if (!own)
      throw new SchoolbellError(
        'conflict',
        `the backup is of a newer version: Schoolbell ${writtenBy} with the migration ${applied.name}, which this one (${version}) does not have; install ` +
          `${writtenBy} or newer, and restore with that`,
      );
    return own;
  });
}

/** Without the keys nothing that was sealed opens: tokens, signing secrets, credentials of sources. */
function requireKeys({ secretKeys, dataDir }: Config, keys: readonly string[]): void {
  const wayOut = 'restore <file> --secret-key-to <new file> writes what it has to be, and does nothing else';
  if (secretKeys.length > 0 && keys.some((key) => !secretKeys.includes(key)))
    throw new SchoolbellError('conflict', `SECRET_KEY does not hold ${keys.length === 1 ? 'the key' : `all ${keys.length} keys`} of the backup; ${wayOut}`);
  if (secretKeys.length === 0 && keys.length !== 1)
    throw new SchoolbellError('conflict', `the backup has ${keys.length} keys, of which ${dataDir}/${secretKeyFile} holds but one: set SECRET_KEY; ${wayOut}`);
}

/** Held against starts by the lock of migrations: whoever comes meanwhile waits, and finds what was restored. */
async function inEmptyDatabase<T>(db: Db, config: Config, tell: (words: string) => void, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await db.reserve();
  const requireUnused = async () => {
    await requireEmpty(connection, config);
    await requireAlone(connection, config, db.policy);
  };
  try {
    await requireUnused();
    await takeTurn(connection, longestTurnMs, tell);
    await requireUnused();
    await connection`begin`;
    const result = await work(connection);
    tell('ending');
    await connection`commit`;
    await leaveTurn(connection);
    return result;
  } finally {
    // One in the midst of a transaction is closed, which undoes that; a statement would wait for a COPY that nobody ends.
    connection.release();
  }
}

async function requireEmpty(sql: Sql, config: Config): Promise<void> {
  const [found] = await sql<{ count: number; names: string }[]>`
    select count(*)::int as count, left(string_agg(relname, ', ' order by relname), 80) as names from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;
  if (!found || found.count === 0) return;
  throw new SchoolbellError(
    'conflict',
    `there are ${found.count} tables in ${describePlace(config)} (${found.names} …): a backup is restored into a database without any; ` +
      'nothing was changed. ' +
      'Name an empty one by DATA_DIR or DATABASE_URL; a start makes tables, so restore comes first',
  );
}

type Filled = { held: number; at: Date; tables: readonly TableFacts[] };

async function fill(
  tx: Connection,
  { config, file, passphrase, deliveries, tell = () => {}, signal }: RestoreParts & { deliveries: Deliveries },
  { head, end }: BackupContents,
  applied: readonly Migration[],
  files: readonly KeptFile[],
): Promise<Filled> {
  await placeKey(config.dataDir, files);
  tell('making the tables');
  await makeSchema(tx, applied);
  const tables = await matchTables(tx, end);
  await doWithTables(tx, 'truncate');
  const makeLinks = await dropLinks(tx);
  await fixTexts(tx);
  const loader = new TableLoader(tx, tables, tell);
  const again = await readBackup({ source: file, passphrase, signal, onRows: (table, bytes) => loader.take(table, bytes) });
  await loader.end();
  if (JSON.stringify([again.head, again.end]) !== JSON.stringify([head, end])) throw new DamagedBackup(`${file} was changed while it was read`);
  tell('making the indexes');
  await setCounters(tx, end);
  await makeLinks();
  await compareTables(tx, tables, (words) => {
    signal?.throwIfAborted();
    tell(words);
  });
  await migrateInside(tx, readMigrations().filter((one) => !applied.some((other) => other.version === one.version)));
  // One that was spread shuts out the versions that know one node only; here it is on one.
  for (const { version: number, breaksBefore } of applied) await tx`update migration set breaks_before = ${breaksBefore} where version = ${number}`;
  // What comes from here on is another history: names and tags of versions that were given out after the backup must not fit it.
  for (const { estab } of await tx<{ estab: string }[]>`select estab from establishment order by estab`) {
    await tx`update roster set id = ${randomUUID()} where estab = ${estab}`;
    await noteStanding(tx, estab);
  }
  await endPlan(tx);
  const { held, at } = await settleDeliveries(tx, deliveries);
  await noteLook(tx, whoIsHere(), {
    action: 'restore',
    subject: basename(file),
    detail: { takenAt: head.takenAt, version: head.version, deliveries, held },
  });
  tell('gathering statistics');
  await doWithTables(tx, 'analyze');
  signal?.throwIfAborted();
  tell('putting files in place');
  // Before the end of the transaction: a database without its key would be given another one by the next start.
  await placeFiles(config.dataDir, files);
  return { held, at, tables };
}
