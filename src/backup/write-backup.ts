// In charge of writing a backup while the service runs: one snapshot of every table, keys and files, compressed and encrypted as it
// comes, read back to its end, and only then given its name. Whoever dies on the way leaves no file of that name.
import { constants, createZstdCompress } from 'node:zlib';
import { basename, dirname, resolve } from 'node:path';
import { link, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readSecretKeys } from '../access/seal.ts';
import type { Config } from '../config.ts';
import { requireAlone } from '../db/alone.ts';
import type { Connection, Db } from '../db/connect.ts';
import { knowsNotes } from '../db/distribution.ts';
import type { AppliedMigration } from '../db/migrations.ts';
import { policies } from '../db/policies.ts';
import { explainFileFault } from '../environment-fault.ts';
import { SchoolbellError } from '../errors.ts';
import { version } from '../version.ts';
import { sealAge } from './age.ts';
import { fixTexts, listCounters, listTables } from './catalogue.ts';
import { entryNames, formatVersion, newestMigrationOf, partName } from './format.ts';
import type { End, Head, TableFacts, Unsettled } from './format.ts';
import { gatherFiles, sha256, syncFolder } from './kept-files.ts';
import { readBackup } from './read-backup.ts';
import { RowsDigest } from './rows-digest.ts';
import { packEntries, type Entry } from './tar.ts';

/** takenAt: of which instant it is. */
export type BackupFacts = Readonly<{
  file: string;
  bytes: number;
  takenAt: Date;
  version: string;
  migration: number;
  tables: number;
  rows: number;
  tookMs: number;
}>;

export type BackupParts = {
  db: Db;
  config: Config;
  passphrase: string;
  file: string;
  signal?: AbortSignal;
  /** Hears, in words, how far it is. */
  tell?: (words: string) => void;
  /** One that another transaction has exported, instead of that of now. */
  snapshot?: string;
  workFactor?: number;
};

/** So much of a table is held at a time. */
const [partBytes, readBytes] = [1024 * 1024, 256 * 1024];
const digits = new Intl.NumberFormat('en-GB');

export async function writeBackup(parts: BackupParts): Promise<BackupFacts> {
  const begun = performance.now();
  const { passphrase, signal, tell = () => {} } = parts;
  const file = resolve(parts.file);
  const half = `${file}.half`;
  await requireFree(file);
  const handle = await openHalf(half).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EEXIST') throw new SchoolbellError('conflict', `another backup to ${file} is under way`);
    throw explainFileFault(error, file, 'output');
  });
  try {
    const facts = await writeTo(handle, parts);
    await handle.sync();
    tell('reading it back');
    const { head, end } = await readBackup({ source: readFrom(handle), passphrase, signal });
    tell('giving it its name');
    await giveName(handle, half, file);
    return {
      file,
      bytes: (await handle.stat()).size,
      takenAt: new Date(head.takenAt),
      version: head.version,
      migration: newestMigrationOf(head),
      tables: end.tables.length,
      rows: facts.rows,
      tookMs: Math.round(performance.now() - begun),
    };
  } catch (error) {
    if (await isOurs(handle, half)) await rm(half, { force: true });
    throw explainFileFault(error, file, 'output');
  } finally {
    await handle.close();
  }
}

async function requireFree(file: string): Promise<void> {
  const there = await stat(file).catch(() => undefined);
  if (there) throw new SchoolbellError('conflict', `${file} is there already; a backup overwrites nothing: give another name`);
}

/** Replaces the file of a run that was cut off. */
async function openHalf(half: string): Promise<FileHandle> {
  await rm(half, { force: true });
  return open(half, 'wx+', 0o600);
}

async function writeTo(handle: FileHandle, { db, config, passphrase, signal, tell = () => {}, snapshot, workFactor }: BackupParts): Promise<{ rows: number }> {
  const connection = await db.reserve();
  let rows = 0;
  try {
    if (await knowsNotes(connection)) await requireStill(connection, config, db);
    const taken = await beginSnapshot(connection, snapshot);
    const compress = createZstdCompress({ chunkSize: readBytes, params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    const entries = listEntries(connection, taken, config, (words, total) => {
      rows = total;
      tell(words);
    });
    await pipeline(
      Readable.from(packEntries(entries, new Date(taken.takenAt)), { objectMode: false }),
      compress,
      (source: AsyncIterable<Uint8Array>) => sealAge(source, passphrase, workFactor),
      (sealed: AsyncIterable<Uint8Array>) => writeAll(handle, sealed),
      { signal },
    );
    await connection`rollback`;
  } finally {
    // One in the midst of a COPY is not used again.
    connection.release();
  }
  return { rows };
}

/** Over several nodes there is no snapshot: it is of one instant only while nobody else works on the database. */
async function requireStill(connection: Connection, config: Config, db: Db): Promise<void> {
  await requireAlone(connection, config, db.policy).catch((cause: unknown) => {
    throw new SchoolbellError(
      'conflict',
      'the database is spread over several nodes, of which no snapshot of one instant can be had while anybody works on it: end every process and take ' +
        `the backup then, or back up the nodes themselves to one citus_create_restore_point (${(cause as Error).message})`,
      { cause },
    );
  });
}

async function beginSnapshot(connection: Connection, snapshot: string | undefined): Promise<Head> {
  await connection`begin isolation level repeatable read read only`;
  const { statementMs, idleInTransactionMs } = policies.backups;
  await connection.unsafe(`set local statement_timeout = ${statementMs}`);
  await connection.unsafe(`set local idle_in_transaction_session_timeout = ${idleInTransactionMs}`);
  if (snapshot !== undefined) await connection.unsafe(`set transaction snapshot '${snapshot.replaceAll("'", "''")}'`);
  // The first that reads takes the snapshot, and has the clock of then.
  const [taken] = await connection<{ at: Date; postgres: string; encoding: string }[]>`
    select clock_timestamp() as at, current_setting('server_version') as postgres, current_setting('server_encoding') as encoding`;
  const migrations = await connection<AppliedMigration[]>`select version, name, checksum from migration order by version`;
  await fixTexts(connection);
  if (!taken) throw new Error('the database did not say what time it is');
  return {
    format: formatVersion,
    product: 'schoolbell',
    version,
    takenAt: taken.at.toISOString(),
    postgres: taken.postgres,
    encoding: taken.encoding,
    migrations: [...migrations],
  };
}

async function* listEntries(sql: Connection, head: Head, config: Config, onProgress: (words: string, rows: number) => void): AsyncGenerator<Entry> {
  yield { name: entryNames.head, bytes: toJson(head) };
  yield { name: entryNames.keys, bytes: toJson(readSecretKeys(config)) };
  const shapes = await listTables(sql);
  const tables: TableFacts[] = [];
  let rows = 0;
  for (const { name, columns } of shapes) {
    const digest = new RowsDigest();
    const say = () => {
      const total = rows + digest.rows;
      onProgress(`copying ${name} (${tables.length + 1} of ${shapes.length} tables), ${digits.format(total)} rows`, total);
    };
    say();
    const stream = await sql`copy ${sql(name)} (${sql(columns)}) to stdout (format text)`.readable();
    let number = 0;
    for await (const part of inParts(stream as AsyncIterable<Buffer>)) {
      digest.take(part);
      yield { name: partName(name, (number += 1)), bytes: part };
      say();
    }
    rows += digest.rows;
    tables.push({ name, columns, rows: digest.rows, bytes: digest.bytes, digest: digest.value });
  }
  onProgress(`copying files, ${digits.format(rows)} rows`, rows);
  const files: End['files'][number][] = [];
  for await (const { name, bytes } of gatherFiles(config)) {
    yield { name: `${entryNames.files}${name}`, bytes };
    files.push({ name, bytes: bytes.length, sha256: sha256(bytes) });
  }
  const end: End = { tables, counters: await listCounters(sql), files, unsettled: await countUnsettled(sql) };
  yield { name: entryNames.end, bytes: toJson(end) };
}

const toJson = (value: unknown) => Buffer.from(`${JSON.stringify(value, null, 1)}\n`);

async function* inParts(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [held, size] = [[] as Buffer[], 0];
  for await (const bytes of source) {
    held.push(bytes);
    size += bytes.length;
    if (size < partBytes) continue;
    yield Buffer.concat(held);
    [held, size] = [[], 0];
  }
  if (size > 0) yield Buffer.concat(held);
}

async function countUnsettled(sql: Connection): Promise<Unsettled> {
  const [row] = await sql<Omit<Unsettled, 'writebacks'>[]>`
    select (select count(*)::int from outbox where kind = 'call' and state in ('waiting', 'running')) as calls,
      (select count(*)::int from outbox where kind = 'mail' and state in ('waiting', 'running')) as mails,
      (select count(*)::int from availability_wait where done_at is null) as waits`;
  let writebacks = 0;
  for (const { estab } of await sql<{ estab: string }[]>`select estab from establishment order by estab`)
    writebacks += (await sql`select from writeback where estab = ${estab} and status = 'Pending'`).length;
  return { calls: 0, mails: 0, waits: 0, ...row, writebacks };
}

/** By the handle, not by the name: that may be another run's by now. */
async function* readFrom(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(readBytes), position });
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

async function writeAll(handle: FileHandle, source: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const bytes of source) await handle.writeFile(bytes);
}

/** Whether the half file is still the one that was begun here, and not of another run to the same name. */
async function isOurs(handle: FileHandle, half: string): Promise<boolean> {
  const [own, there] = await Promise.all([handle.stat(), stat(half).catch(() => undefined)]);
  return there !== undefined && own.ino === there.ino && own.dev === there.dev;
}

/** Never over another file, also where one came about meanwhile. */
async function giveName(handle: FileHandle, half: string, file: string): Promise<void> {
  if (!(await isOurs(handle, half))) throw new SchoolbellError('conflict', `another backup to ${basename(file)} was begun meanwhile`);
  try {
    await link(half, file);
    await rm(half, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') await requireFree(file);
    // Shares and sticks without hard links.
    await requireFree(file);
    await rename(half, file);
  }
  await syncFolder(dirname(file));
}
