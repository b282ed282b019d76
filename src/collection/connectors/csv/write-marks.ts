// In charge of marks handed to a school as a file: whole or not at all, and the same file however often it is written.
import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder } from '../../../data-dir.ts';
import { MisError, type MarksToWrite } from '../../connector.ts';
import { attendanceColumns } from './read-attendance.ts';
import { escapeNotes, renderCsvRow } from './write-csv.ts';

const fileMode = 0o640;

/** Writes `<folder>/<trackingId>.csv`; whoever looks into the folder sees all of it or nothing. */
export async function writeMarksFile(folder: string, { trackingId, marks }: MarksToWrite): Promise<void> {
  if (!/^[0-9A-Za-z-]{1,64}$/.test(trackingId)) throw new Error(`the tracking id "${trackingId}" cannot name a file`);
  const path = join(folder, `${trackingId}.csv`);
  const content = Buffer.from(
    [
      attendanceColumns,
      // Applications write the notes. The marks come from a fixed set of codes, and some of them look like formulas.
      ...marks.map(({ studentId, date, session, mark, minutesLate, notes = '' }) => [
        studentId, date, session, mark ?? '', String(minutesLate ?? ''), escapeNotes(notes),
      ]),
    ]
      .map(renderCsvRow)
      .join(''),
  );
  try {
    createFolder(folder);
    // A program that picks files up by their time must not take this one twice.
    if (await holds(path, content)) return;
    await replaceFile(folder, path, content);
  } catch (cause) {
    throw new MisError(
      'Error',
      `The marks could not be put into the school's writeback folder (${reasonOf(cause)}). Check that it can be written and that its disk has room.`,
      { later: true, cause },
    );
  }
}

async function holds(path: string, content: Buffer): Promise<boolean> {
  const found = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return found?.equals(content) ?? false;
}

export async function replaceFile(folder: string, path: string, content: Buffer): Promise<void> {
  const half = join(folder, `.${randomUUID()}.tmp`);
  try {
    const file = await open(half, 'wx', fileMode);
    try {
      // The mode given to open is narrowed by the umask; the school's side reads as the group.
      await file.chmod(fileMode);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(half, path);
  } catch (error) {
    await rm(half, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(folder);
}

/** The new name is kept by the folder; without this a power cut could lose a file that was reported as written. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function reasonOf(cause: unknown): string {
  return (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
}
