// In charge of packages on their way from the process that took them to the worker that imports them: in pieces in the
// database, because those may be two machines.
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { installDatabases, requestCollection } from './component-databases.ts';
import { recordDropped } from './fetch-outcome.ts';
import { endHeld } from './held.ts';
import { openSpoolFile, type SpoolFile } from './spool.ts';

export const largestUpload = 512 * 1024 * 1024;
/** A large package over a slow line. */
export const longestUploadMs = 600_000;

/** How a form with a package is read: one byte more than is taken, so that what is too large can be told from what is cut. */
export function uploadForm({ largest = largestUpload }: UploadLimits): { limits: { fileSize: number; files: number; fields: number } } {
  return { limits: { fileSize: largest + 1, files: 1, fields: 10 } };
}

/**
 * Stores the package and asks for its import, both or neither. An earlier one that waits or was held gives way, unless
 * `before` has something against it. It is taken to a file of this machine first: a slow sender must not hold a
 * connection to the database.
 */
export async function takeUpload(
  db: Db,
  estab: string,
  bytes: AsyncIterable<Buffer>,
  { dataDir, largest = largestUpload }: UploadLimits,
  how: Taking = {},
): Promise<string> {
  const file = await openSpoolFile(dataDir);
  try {
    for await (const chunk of bytes) {
      if (file.size + chunk.length > largest) throw tooLarge(largest);
      await file.write(chunk);
    }
    if (file.size === 0) throw new SchoolbellError('invalid_request', 'The file is empty; choose the zip that your MIS has exported.');
    return await store(db, estab, file, how);
  } finally {
    await file.close();
  }
}

export type UploadLimits = { dataDir: string; largest?: number };
/**
 * partial: rows that break a rule are left out. before: what else has to happen in the transaction that stores it; throws when it must not be
 * stored after all.
 */
export type Taking = { byJob?: boolean; partial?: boolean; before?: (tx: Tx, file: SpoolFile) => Promise<void> };

export function tooLarge(largest: number): SchoolbellError {
  return new SchoolbellError('too_large', `The file is larger than ${largest / 1024 ** 2} MB, which is the most that is taken. Nothing was changed.`);
}

/** Only when its pieces are there is anything locked that others may wait for: those that come at once take turns, and the last one stands. */
async function store(db: Db, estab: string, file: SpoolFile, { byJob = false, partial = false, before }: Taking): Promise<string> {
  return db.begin(async (tx) => {
    const id = await insertPackage(tx, estab, file, null);
    await tx`insert into upload_receipt (estab, id, by_job) values (${estab}, ${id}, ${byJob})`;
    await before?.(tx, file);
    await installDatabases(tx, estab, ['SchoolData']);
    await tx`select from component_database where estab = ${estab} and name = 'SchoolData' for update`;
    await tx`delete from upload where estab = ${estab} and id <> ${id}`;
    await requestCollection(tx, estab, 'SchoolData', { upload: id, partial });
    return id;
  });
}

export async function insertPackage(tx: Tx, estab: string, file: SpoolFile, at: Date | null): Promise<string> {
  const [row] = await tx<{ id: string }[]>`insert into upload (estab, created_at) values (${estab}, coalesce(${at}::timestamptz, now())) returning id`;
  const id = row?.id ?? '';
  let number = 0;
  for await (const piece of file.read())
    await tx`insert into upload_piece (estab, upload, number, bytes) values (${estab}, ${id}, ${(number += 1)}, ${piece as Buffer})`;
  return id;
}

/** The package as a file of this machine, until it is closed. Undefined when it was imported or replaced already: there is none without a piece. */
export async function openUpload(db: Db, estab: string, id: string, dataDir: string): Promise<SpoolFile | undefined> {
  const file = await openSpoolFile(dataDir);
  try {
    for await (const piece of readPieces(db, estab, id)) await file.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
    if (file.size > 0) return file;
    await file.close();
    return undefined;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function* readPieces(db: Db, estab: string, id: string): AsyncGenerator<Uint8Array> {
  for await (const [row] of db<{ bytes: Uint8Array }[]>`select bytes from upload_piece where estab = ${estab} and upload = ${id} order by number`.cursor(1))
    if (row) yield row.bytes;
}

/** What became of it, in the transaction in which that is recorded. */
export async function noteImport(tx: Tx, estab: string, upload: string, run: string): Promise<void> {
  await tx`update upload_receipt set run = ${run} where estab = ${estab} and id = ${upload}`;
}

/** A worker that died behind the merge has left the rest to the next one. */
export async function isImported(db: Db, estab: string, upload: string): Promise<boolean> {
  const [row] = await db`
    select from upload_receipt r join import_run i on i.estab = ${estab} and i.id = r.run
    where r.estab = ${estab} and r.id = ${upload} and i.outcome in ('done', 'unchanged')`;
  return row !== undefined;
}

/** A newer one came before this one was read. */
export async function isReplaced(db: Db, estab: string, upload: string): Promise<boolean> {
  const [row] = await db`select from upload where estab = ${estab} and id <> ${upload}`;
  return row !== undefined;
}

/** One that nobody approved in time is dropped; what was imported before stays, and the status says what happened. */
export async function forgetUploads(db: Db, estab: string, days: number): Promise<void> {
  const old = await db<{ id: string }[]>`select id from upload where estab = ${estab} and created_at < now() - make_interval(days => ${days})`;
  for (const { id } of old) {
    await db.begin(async (tx) => {
      await tx`select from component_database where estab = ${estab} order by name for update`;
      const { count } = await tx`delete from upload where estab = ${estab} and id = ${id}`;
      const message = `a package was held for ${days} days and not approved; it was dropped. Upload it again if it is still wanted`;
      if (count > 0) await recordDropped(tx, estab, 'SchoolData', message);
      if (count > 0) await endHeld(tx, estab, 'discarded');
    });
  }
}
