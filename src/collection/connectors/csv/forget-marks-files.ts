// In charge of the end of marks that were handed over as files: those in the data directory, for schools whose packages
// are uploaded. What was put into a school's own folder is the school's. Each machine looks after its own files.
import { createReadStream } from 'node:fs';
import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../../../db/connect.ts';
import { readCsv } from './read-csv.ts';
import { attendanceColumns } from './read-attendance.ts';
import { renderCsvRow } from './write-csv.ts';
import { replaceFile } from './write-marks.ts';

const dayMs = 24 * 60 * 60 * 1000;
const root = (dataDir: string) => join(dataDir, 'writeback');

export const marksFolder = (dataDir: string, estab: string): string => join(root(dataDir), estab);

export async function removeMarksFiles(dataDir: string, estab: string): Promise<void> {
  await rm(marksFolder(dataDir, estab), { recursive: true, force: true });
}

/** Files over age go; from the others, the marks of people who are in the roster no more. */
export async function forgetMarksFiles(db: Db, dataDir: string, days: number): Promise<void> {
  for (const estab of await namesIn(root(dataDir))) {
    const folder = marksFolder(dataDir, estab);
    const [school] = await db`select from establishment where estab = ${estab}`;
    for (const name of await namesIn(folder)) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      if (!found?.isFile()) continue;
      const kept = Date.now() - found.mtimeMs;
      // A file that is being written has another name until it is whole; one that is a day old was left by a sudden end.
      if (kept > days * dayMs || (name.endsWith('.tmp') && kept > dayMs)) await rm(path, { force: true });
      else if (school && name.endsWith('.csv')) await forgetPeopleIn(db, estab, folder, name, found.mtime);
    }
  }
}

async function forgetPeopleIn(db: Db, estab: string, folder: string, name: string, modified: Date): Promise<void> {
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
  // A program that picks files up by their time must not take this one again.
  await utimes(path, modified, modified);
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
