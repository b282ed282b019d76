// In charge of the csv connector as a source: a package whose manifest has been read, its files as checked rows.
import { allResources } from '../../../roster/collections.ts';
import { attendanceFile } from '../../mark.ts';
import { SourceError, type Problems } from '../../problem.ts';
import type { Mode, Source, SourceBatch, SourceCollection } from '../../source.ts';
import { createRowCheck, type RowCheck } from './check-row.ts';
import { readManifest } from './manifest.ts';
import type { CsvPackage, PackageFile } from './package.ts';
import { readAttendance } from './read-attendance.ts';
import { readCsv } from './read-csv.ts';

export async function openCsvSource(opened: CsvPackage): Promise<Source> {
  let bytesRead = 0;
  try {
    const { modes, ignored } = await readManifest(opened);
    const present = allResources.flatMap((resource) => {
      const mode = modes.get(resource.file);
      const file = opened.files.get(resource.file);
      return mode && file ? [{ resource, mode, file }] : [];
    });
    const marks = opened.files.get(attendanceFile);
    return {
      collections: present.map(({ resource, mode, file }) => ({
        resource,
        mode,
        read: (problems) => readFile(resource, mode, file, problems, (count) => (bytesRead += count)),
      })),
      marks: marks && ((problems) => readAttendance(marks, problems)),
      ignored,
      totalBytes: present.reduce((sum, { file }) => sum + file.size, 0),
      bytesRead: () => bytesRead,
      close: () => opened.close(),
    };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function* readFile(
  resource: SourceCollection['resource'],
  mode: Mode,
  file: PackageFile,
  problems: Problems,
  onBytes: (count: number) => void,
): AsyncGenerator<SourceBatch> {
  let check: RowCheck | undefined;
  for await (const records of readCsv(file, onBytes)) {
    const batch: SourceBatch = { rows: [], rejected: [] };
    for (const record of records) {
      if (!check) {
        check = createRowCheck(resource, mode, record, 'v1p1');
        continue;
      }
      const fault = problems.total + 1;
      const row = check(record, (problem) => problems.add(problem));
      if ('rejected' in row) batch.rejected.push({ line: record.line, sourcedId: row.rejected, fault });
      else batch.rows.push(row);
    }
    yield batch;
  }
  if (!check) throw new SourceError(resource.file, 'is empty; the first line must name the columns', { line: 1 });
}
