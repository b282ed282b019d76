// In charge of manifest.csv: which edition of OneRoster a package is of, which files it says it has, and in which mode each is.
import type { Edition } from '../../../roster/resource.ts';
import { profilesFile } from '../../../roster/resources/user-profile.ts';
import { rolesFile } from '../../../roster/resources/user-role.ts';
import { user } from '../../../roster/resources/user.ts';
import { attendanceFile } from '../../mark.ts';
import { SourceError } from '../../problem.ts';
import type { Mode } from '../../source.ts';
import type { CsvPackage } from './package.ts';
import { nameInManifest, packageFiles } from './package-files.ts';
import { readCsv } from './read-csv.ts';

export const manifestFile = 'manifest.csv';
const file = manifestFile;
/** Not of the standard, but of ours: the manifest says nothing about it, and it is read on its own. */
const beside = [attendanceFile];

export type Manifest = { edition: Edition; modes: ReadonlyMap<string, Mode>; ignored: string[] };
type Properties = ReadonlyMap<string, { value: string; line: number }>;

export async function readManifest({ files }: CsvPackage): Promise<Manifest> {
  const manifest = files.get(file);
  if (!manifest) throw new SourceError(file, 'is missing; a OneRoster package says in it which files it has');
  const properties = await readProperties(manifest);
  requireVersion(properties, 'manifest.version', ['1.0']);
  const version = requireVersion(properties, 'oneroster.version', Object.values(packageFiles).flatMap(({ versions }) => versions));
  const { edition, versions, rostering, others } = Object.values(packageFiles).find((one) => one.versions.includes(version)) ?? packageFiles.v1p1;

  const modes = new Map<string, Mode>();
  const ignored: string[] = [];
  for (const name of [...rostering, ...others]) {
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
  const known = [...rostering, ...others].map((name) => `${name}.csv`);
  const stranger = [...files.keys()].find((name) => name !== file && !beside.includes(name) && !known.includes(name));
  if (stranger) throw new SourceError(stranger, `is not a file of OneRoster ${versions[0]} (names are case-sensitive): ${known.join(', ')}`);
  if (edition === 'v1p2') requireTogether(properties, modes);
  return { edition, modes, ignored };
}

/** What a person is and has stands in files of its own, which are whole only together. */
function requireTogether(properties: Properties, modes: ReadonlyMap<string, Mode>): void {
  const users = modes.get(user.file);
  for (const { name, needed } of [{ ...rolesFile, needed: users === 'bulk' }, { ...profilesFile, needed: false }]) {
    const mode = modes.get(name);
    if (mode === undefined ? !needed : (mode === 'bulk') === (users === 'bulk')) continue;
    const column = `file.${nameInManifest(name)}`;
    const rule = users === 'bulk' ? `must be bulk, as ${user.file} is` : `can be bulk only together with ${user.file}; here it must be delta`;
    const found = properties.get(column);
    throw new SourceError(file, rule, { ...(found && { line: found.line }), column, value: found?.value ?? 'absent' });
  }
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

function requireVersion(properties: Properties, name: string, wanted: readonly string[]): string {
  const found = properties.get(name);
  if (found === undefined || !wanted.includes(found.value))
    throw new SourceError(file, `${name} must be ${wanted.join(' or ')}`, { ...(found && { line: found.line, value: found.value }), column: name });
  return found.value;
}
