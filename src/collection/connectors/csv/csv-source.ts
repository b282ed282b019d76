// In charge of the csv connector as a source: a package whose manifest has been read, its files as checked rows.
import { allResources, collections } from '../../../roster/collections.ts';
import { profilesFile } from '../../../roster/resources/user-profile.ts';
import { rolesFile } from '../../../roster/resources/user-role.ts';
import { attendanceFile } from '../../mark.ts';
import type { Problems } from '../../problem.ts';
import type { Around, FilePieces, KnownRow, Source, SourceBatch, SourceCollection, SourceRow } from '../../source.ts';
import { describeFiles, noteDigests } from './digest-files.ts';
import { keepSecond } from './keep-second.ts';
import { manifestFile, readManifest, type Manifest } from './manifest.ts';
import { notePieces, type PieceReading } from './note-pieces.ts';
import type { CsvPackage } from './package.ts';
import { readAttendance } from './read-attendance.ts';
import { readPeople } from './read-people.ts';
import { readRows, type FileReading } from './read-rows.ts';

export async function openCsvSource(opened: CsvPackage): Promise<Source> {
  let bytesRead = 0;
  const pieces = new Map<string, FilePieces>();
  try {
    const { noted, digests } = noteDigests(opened.files);
    const manifest = await readManifest({ ...opened, files: noted });
    const marks = opened.files.get(attendanceFile);
    return {
      files: { ...describeFiles(opened.files, [manifestFile, ...manifest.modes.keys()], digests), pieces: () => Object.fromEntries(pieces) },
      collections: listCollections({ ...opened, files: noted }, manifest, pieces, (count) => (bytesRead += count)),
      marks: marks && ((problems) => readAttendance(marks, problems)),
      ignored: manifest.ignored,
      totalBytes: [...manifest.modes.keys()].reduce((sum, name) => sum + (opened.files.get(name)?.size ?? 0), 0),
      bytesRead: () => bytesRead,
      close: () => opened.close(),
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** People of 1.2 stand in several files, and what they are depends on their organisations. */
const ofPeople = [manifestFile, collections.users.file, rolesFile.name, profilesFile.name, collections.orgs.file];

/** In the order of their references: organisations are known when people are read. pieces: of each file that is read so, once it was. */
function listCollections(
  { files }: CsvPackage,
  { edition, modes }: Manifest,
  pieces: Map<string, FilePieces>,
  onBytes: (count: number) => void,
): SourceCollection[] {
  const orgTypes = new Map<string, string | undefined>();
  const typeAt = collections.orgs.fields.findIndex(({ name }) => name === 'type');
  return allResources.flatMap((resource): SourceCollection[] => {
    if (edition === 'v1p2' && resource === collections.users) {
      const names = [resource.file, rolesFile.name, profilesFile.name].filter((name) => modes.has(name));
      const mode = modes.get(names[0] ?? '');
      if (!mode) return [];
      const [users, roles, profiles] = [resource.file, rolesFile.name, profilesFile.name].map((name) => files.get(name));
      const given = { mode, users, roles, profiles, orgs: { mode: modes.get(collections.orgs.file), types: orgTypes }, onBytes };
      return [{ resource, mode, from: ofPeople, files: users ? [resource.file] : names, read: (problems, around) => readPeople(given, problems, around) }];
    }
    const [mode, file] = [modes.get(resource.file), files.get(resource.file)];
    if (!mode || !file) return [];
    const given: FileReading = { checked: resource, mode, file, edition, onBytes };
    const read = (problems: Problems) => readBatches(given, problems);
    // What 1.2 shows of an administrator depends on the organisation.
    const from = resource === collections.users ? [manifestFile, resource.file, collections.orgs.file] : [manifestFile, resource.file];
    if (edition === 'v1p2' && resource === collections.orgs) {
      const note = (id: string, values?: SourceRow['values']) => orgTypes.set(id, values?.[typeAt] as string | undefined);
      return [{ resource, mode, from: ofPeople, read: (problems) => noteRows(read(problems), note) }];
    }
    if (mode === 'bulk') return [{ resource, mode, from, read: (problems, around) => readInPieces(given, problems, around, pieces) }];
    return [{ resource, mode, from, read: (problems, { live }) => (resource === collections.users ? keepSecond(read(problems), live) : read(problems)) }];
  });
}

async function* readInPieces(file: FileReading, problems: Problems, around: Around, pieces: Map<string, FilePieces>): AsyncGenerator<SourceBatch> {
  const reading = notePieces(around.pieces?.[file.file.name]);
  yield* readBatches(file, problems, reading);
  const noted = reading.noted();
  if (noted) pieces.set(file.file.name, noted);
}

async function* readBatches(file: FileReading, problems: Problems, pieces?: PieceReading): AsyncGenerator<SourceBatch> {
  let known: readonly KnownRow[] = [];
  const tell = (rows: readonly KnownRow[]) => (known = rows);
  for await (const rows of readRows({ ...file, ...(pieces && { known: { pieces, tell } }) }, problems)) {
    const batch: SourceBatch = { rows: [], rejected: [], known };
    known = [];
    for (const read of rows) {
      if ('row' in read) batch.rows.push(read.row);
      else batch.rejected.push(read.rejected);
    }
    yield batch;
  }
}

/** values: of a row that was not rejected. */
async function* noteRows(
  batches: AsyncIterable<SourceBatch>,
  note: (id: string, values?: SourceRow['values']) => void,
): AsyncGenerator<SourceBatch> {
  for await (const batch of batches) {
    for (const { sourcedId } of batch.rejected) if (sourcedId !== undefined) note(sourcedId);
    for (const { sourcedId, values } of batch.rows) note(sourcedId, values);
    yield batch;
  }
}
