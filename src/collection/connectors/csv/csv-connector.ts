// In charge of the csv connector: a folder that a school's MIS writes its exports into and takes marks from, or a
// school whose packages are uploaded by hand.
import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MisError, NothingToCollect, type Connector } from '../../connector.ts';
import { attendanceFile, type MarkRow } from '../../mark.ts';
import { SourceError, type Problems } from '../../problem.ts';
import { openCsvSource } from './csv-source.ts';
import { openPackage, type CsvPackage } from './package.ts';
import { hasAttendance as packageHasAttendance, readAttendance } from './read-attendance.ts';
import { writeMarksFile } from './write-marks.ts';

export type CsvConnectorParts = {
  /** Undefined: packages are uploaded. */
  folder: string | undefined;
  writebackFolder: string;
  /** Whether the school's last package had attendance.csv; a zip does not show it from outside. */
  hasAttendance: boolean;
};

export function createCsvConnector({ folder, writebackFolder, hasAttendance }: CsvConnectorParts): Connector {
  let attends = hasAttendance || (folder !== undefined && existsSync(join(folder, attendanceFile)));
  return {
    kind: 'folder',
    /** Asked again after a reading, it knows what was in a zip. */
    get offers() {
      return attends ? (['SchoolData', 'Attendance'] as const) : (['SchoolData'] as const);
    },
    async openRoster() {
      const opened = await openFolder(requireFolder(folder));
      attends ||= packageHasAttendance(opened);
      // Marks are a database of their own, collected more often.
      return { ...(await openCsvSource(opened)), marks: undefined, state: () => ({ marks: attends }) };
    },
    readMarks: (problems) => readMarks(folder, problems),
    marksAsOf: async () => (folder === undefined ? undefined : findModified(folder)),
    writeMarks: async (marks) => {
      await writeMarksFile(writebackFolder, marks);
      return [];
    },
  };
}

function requireFolder(folder: string | undefined): string {
  if (folder === undefined)
    throw new NothingToCollect('Error', "This school's data is uploaded, so that there is nothing to collect; upload a new package.", { later: false });
  return folder;
}

async function* readMarks(given: string | undefined, problems: Problems): AsyncGenerator<readonly MarkRow[]> {
  const folder = requireFolder(given);
  const opened = await openFolder(folder);
  try {
    // Beside a zip of the roster, the marks of the day may lie as a file of their own.
    const file = opened.files.get(attendanceFile) ?? (await whileReading(() => openPackage(folder))).files.get(attendanceFile);
    if (!file) throw new MisError('Error', `There is no ${attendanceFile} in this school's folder.`);
    yield* readAttendance(file, problems);
  } finally {
    await opened.close();
  }
}

/** When the file was written that the marks stand in: the loose one, or a zip. */
async function findModified(folder: string): Promise<Date | undefined> {
  const names = await readdir(folder).catch((): string[] => []);
  const name = names.includes(attendanceFile) ? attendanceFile : names.find((one) => one.endsWith('.zip'));
  return name === undefined ? undefined : (await stat(join(folder, name)).catch(() => undefined))?.mtime;
}

/** The folder itself as a package, or the one zip in it. */
export async function openFolder(folder: string): Promise<CsvPackage> {
  return whileReading(async () => {
    const names = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) => entry.name);
    const zips = names.filter((name) => name.endsWith('.zip'));
    if (names.includes('manifest.csv')) return openPackage(folder);
    if (zips.length > 1) throw new MisError('Error', `There are ${zips.length} zip files in this school's folder; leave the one that is to be read.`);
    const [zip] = zips;
    if (zip === undefined && !names.some((name) => name.endsWith('.csv')))
      throw new MisError('Error', "There is no package in this school's folder: neither a zip nor CSV files with a manifest.csv.");
    return openPackage(zip === undefined ? folder : join(folder, zip));
  });
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'it, or a file in it, is not there',
  ENOTDIR: 'it is not a folder',
  EACCES: 'Schoolbell is not allowed to read it',
  EPERM: 'Schoolbell is not allowed to read it',
};

/** Gives what the disk says in plain words. The path is the operator's own affair: it is in the cause alone. */
async function whileReading<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof MisError || cause instanceof SourceError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    throw new MisError('Error', `This school's folder cannot be read: ${reasons[code] ?? `the disk answers ${code}`}.`, { later: true, cause });
  }
}
