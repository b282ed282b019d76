// In charge of manifest.csv: which files a package says it has, and in which mode each is.
import { allResources } from '../../../roster/collections.ts';
import { SourceError } from '../../problem.ts';
import type { Mode } from '../../source.ts';
import type { CsvPackage } from './package.ts';
import { attendanceFile } from '../../mark.ts';
import { readCsv } from './read-csv.ts';

const file = 'manifest.csv';
const notRostering = ['categories', 'classResources', 'courseResources', 'lineItems', 'resources', 'results'];
/** Not of the standard, but of ours: the manifest says nothing about it, and it is read on its own. */
const beside = [attendanceFile];
const rostering = allResources.map((resource) => resource.file.replace('.csv', ''));

export type Manifest = { modes: ReadonlyMap<string, Mode>; ignored: string[] };

export async function readManifest({ files }: CsvPackage): Promise<Manifest> {
  const manifest = files.get(file);
  if (!manifest) throw new SourceError(file, 'is missing; a OneRoster 1.1 package says in it which files it has');
  const properties = await readProperties(manifest);
  requireVersion(properties, 'manifest.version', '1.0');
  requireVersion(properties, 'oneroster.version', '1.1');

  const modes = new Map<string, Mode>();
  const ignored: string[] = [];
  for (const name of [...rostering, ...notRostering]) {
    const property = properties.get(`file.${name}`);
    const present = files.has(`${name}.csv`);
    const value = property?.value ?? 'absent';
    if (!['absent', 'bulk', 'delta'].includes(value))
      throw new SourceError(file, 'must be absent, bulk or delta', { line: property?.line ?? 1, column: `file.${name}`, value });
    const at = { ...(property && { line: property.line }), column: `file.${name}`, value };
    if (value === 'absent' && present) throw new SourceError(file, `says that ${name}.csv is absent, but it is in the package`, at);
    if (value !== 'absent' && !present) throw new SourceError(file, `says that ${name}.csv is ${value}, but it is not in the package`, at);
    if (value === 'absent') continue;
    if (rostering.includes(name)) modes.set(`${name}.csv`, value as Mode);
    else ignored.push(`${name}.csv`);
  }
  const stranger = [...files.keys()].find(
    (name) => name !== file && !beside.includes(name) && ![...rostering, ...notRostering].includes(name.replace(/\.csv$/, '')),
  );
  if (stranger)
    throw new SourceError(
      stranger,
      `is not a file of OneRoster 1.1 (names are case-sensitive): ${[...rostering, ...notRostering].map((name) => `${name}.csv`).join(', ')}`,
    );
  return { modes, ignored };
}

async function readProperties(manifest: Parameters<typeof readCsv>[0]): Promise<Map<string, { value: string; line: number }>> {
  const properties = new Map<string, { value: string; line: number }>();
  let header = true;
  for await (const records of readCsv(manifest, () => {})) {
    for (const { line, cells } of records) {
      const [name = '', value = ''] = cells.map((cell) => cell.trim());
      if (header) {
        if (name !== 'propertyName' || value !== 'value')
          throw new SourceError(file, 'the first line must be propertyName,value', { line, value: cells.join(',') });
        header = false;
      } else if (properties.has(name)) throw new SourceError(file, 'the property is given twice', { line, column: name });
      else properties.set(name, { value, line });
    }
  }
  if (header) throw new SourceError(file, 'is empty; the first line must be propertyName,value');
  return properties;
}

function requireVersion(properties: Awaited<ReturnType<typeof readProperties>>, name: string, wanted: string): void {
  const found = properties.get(name);
  if (found?.value !== wanted)
    throw new SourceError(file, `${name} must be ${wanted}`, { ...(found && { line: found.line, value: found.value }), column: name });
}
