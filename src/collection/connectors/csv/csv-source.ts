// In charge of the csv connector as a source: a package whose manifest has been read, its files as checked rows.
import { allResources, collections } from '../../../roster/collections.ts';
import { profilesFile } from '../../../roster/resources/user-profile.ts';
import { rolesFile } from '../../../roster/resources/user-role.ts';
import { attendanceFile } from '../../mark.ts';
import type { Problems } from '../../problem.ts';
import type { Source, SourceBatch, SourceCollection } from '../../source.ts';
import { describeFiles, noteDigests } from './digest-files.ts';
import { keepSecond } from './keep-second.ts';
import { manifestFile, readManifest, type Manifest } from './manifest.ts';
import type { CsvPackage } from './package.ts';
import { readAttendance } from './read-attendance.ts';
import { readPeople } from './read-people.ts';
import { readRows, type FileReading } from './read-rows.ts';

export async function openCsvSource(opened: CsvPackage): Promise<Source> {
  let bytesRead = 0;
  try {
    const { noted, digests } = noteDigests(opened.files);
    const manifest = await readManifest({ ...opened, files: noted });
    const marks = opened.files.get(attendanceFile);
    return {
      files: describeFiles(opened.files, [manifestFile, ...manifest.modes.keys()], digests),
      collections: listCollections({ ...opened, files: noted }, manifest, (count) => (bytesRead += count)),
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

/** In the order of their references: organisations are known when people are read. */
function listCollections({ files }: CsvPackage, { edition, modes }: Manifest, onBytes: (count: number) => void): SourceCollection[] {
  const orgTypes = new Map<string, string | undefined>();
  const typeAt = collections.orgs.fields.findIndex(({ name }) => name === 'type');
  return allResources.flatMap((resource): SourceCollection[] => {
    if (edition === 'v1p2' && resource === collections.users) {
      const names = [resource.file, rolesFile.name, profilesFile.name].filter((name) => modes.has(name));
      const mode = modes.get(names[0] ?? '');
      if (!mode) return [];
      const [users, roles, profiles] = [resource.file, rolesFile.name, profilesFile.name].map((name) => files.get(name));
      const given = { mode, users, roles, profiles, orgs: { mode: modes.get(collections.orgs.file), types: orgTypes }, onBytes };
      return [{ resource, mode, files: users ? [resource.file] : names, read: (problems, around) => readPeople(given, problems, around) }];
    }
    const [mode, file] = [modes.get(resource.file), files.get(resource.file)];
    if (!mode || !file) return [];
    const read = (problems: Problems) => readBatches({ checked: resource, mode, file, edition, onBytes }, problems);
    if (resource === collections.users && mode === 'delta') return [{ resource, mode, read: (problems, { live }) => keepSecond(read(problems), live) }];
    if (edition === 'v1p1' || resource !== collections.orgs) return [{ resource, mode, read }];
    return [{ resource, mode, read: (problems) => noteRows(read(problems), (id, values) => orgTypes.set(id, values?.[typeAt] as string | undefined)) }];
  });
}

async function* readBatches(file: FileReading, problems: Problems): AsyncGenerator<SourceBatch> {
  for await (const rows of readRows(file, problems)) {
    const batch: SourceBatch = { rows: [], rejected: [] };
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
  note: (id: string, values?: SourceBatch['rows'][number]['values']) => void,
): AsyncGenerator<SourceBatch> {
  for await (const batch of batches) {
    for (const { sourcedId } of batch.rejected) if (sourcedId !== undefined) note(sourcedId);
    for (const { sourcedId, values } of batch.rows) note(sourcedId, values);
    yield batch;
  }
}
