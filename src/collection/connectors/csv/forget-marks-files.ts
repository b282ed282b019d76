// In charge of the end of marks that were handed over as files: those in the data directory, for schools whose packages
// are uploaded. What was put into a school's own folder is the school's. Each machine looks after its own files.
import { createReadStream } from 'node:fs';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../../../db/connect.ts';
import { goThrough } from '../../../roster/go-through.ts';
import { readCsv } from './read-csv.ts';
import { attendanceColumns } from './read-attendance.ts';
import { renderCsvRow } from './write-csv.ts';
import { replaceFile } from './write-marks.ts';

/** What is said of them where it is told what is kept. */
export const keptMarksFiles = {
  what: 'Marks handed over as files (`DATA_DIR/writeback`) to schools whose packages are uploaded',
  days: 30,
  after: 'they were written',
  purged: 'go',
  less: 'the operator, by `PURGE_AFTER_DAYS`',
} as const;

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;
const root = (dataDir: string) => join(dataDir, 'writeback');

export const marksFolder = (dataDir: string, estab: string): string => join(root(dataDir), estab);

export async function removeMarksFiles(dataDir: string, estab: string): Promise<void> {
  await rm(marksFolder(dataDir, estab), { recursive: true, force: true });
}

/**
 * Files over age go, and those of a school that is there no more; from the others, the marks of people who are in the roster no more. A school
 * that fails keeps none of the others.
 */
export async function forgetMarksFiles(db: Db, dataDir: string, days: number): Promise<void> {
  const schools = (await namesIn(root(dataDir))).map((estab) => ({ estab }));
  await goThrough(schools, 'could not be rid of its marks in files', async (estab) => {
    const [school] = await db<{ purgedAt: Date | null }[]>`
      select (select max(v.instant) from roster_version v where v.estab = ${estab} and v.import is null) as "purgedAt"
      from establishment e where e.estab = ${estab}`;
    if (!school) await removeMarksFiles(dataDir, estab);
    else for (const name of await namesIn(marksFolder(dataDir, estab))) await passOver(forgetInFile(db, { estab, ...school }, dataDir, name, days));
  });
}

type School = { estab: string; purgedAt: Date | null };

/** A school's program may take a file at any time. */
async function passOver(work: Promise<void>): Promise<void> {
  await work.catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

async function forgetInFile(db: Db, { estab, purgedAt }: School, dataDir: string, name: string, days: number): Promise<void> {
  const folder = marksFolder(dataDir, estab);
  const path = join(folder, name);
  const found = await stat(path);
  if (!found.isFile()) return;
  const kept = Date.now() - found.mtimeMs;
  // A file that is being written has another name until it is whole; one that is a day old was left by a sudden end.
  if (kept > days * dayMs || (name.endsWith('.tmp') && kept > dayMs)) return rm(path, { force: true });
  // People leave the roster by purges alone. Looking at a file changes its ctime; clocks may differ by some of the hour.
  if (!name.endsWith('.csv') || purgedAt === null || found.ctimeMs > purgedAt.getTime() + hourMs) return;
  await forgetPeopleIn(db, estab, folder, name);
  // A program that picks files up by their time must not take this one again.
  await utimes(path, found.mtime, found.mtime);
}

async function forgetPeopleIn(db: Db, estab: string, folder: string, name: string): Promise<void> {
  const path = join(folder, name);
  const [header, ...rows] = await readRows(path, name);
  const ids = [...new Set(rows.map(([id]) => id ?? ''))];
  const gone = await db<{ id: string }[]>`
    select given.id from unnest(${ids}::text[]) as given (id)
    where not exists (select from roster_user u where u.estab = ${estab} and u.sourced_id = given.id)`;
  if (gone.length === 0) return;
  const unknown = new Set(gone.map(({ id }) => id));
  const left = rows.filter(([id]) => !unknown.has(id ?? ''));
  if (left.length === 0) return rm(path, { force: true });
  await replaceFile(folder, path, Buffer.from([header ?? attendanceColumns, ...left].map((cells) => renderCsvRow(cells)).join('')));
}

async function readRows(path: string, name: string): Promise<string[][]> {
  const rows: string[][] = [];
  for await (const records of readCsv({ name, size: 0, open: async () => createReadStream(path) }, () => {})) rows.push(...records.map(({ cells }) => cells));
  return rows;
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  });
}
