// In charge of packages that tests make up: a few rows, the rest of the standard filled in.
import { Readable } from 'node:stream';
import { nameInManifest, packageFiles } from '../src/collection/connectors/csv/package-files.ts';
import type { CsvPackage } from '../src/collection/connectors/csv/package.ts';
import { renderCsvRow } from '../src/collection/connectors/csv/write-csv.ts';
import { allResources } from '../src/roster/collections.ts';
import type { Edition } from '../src/roster/resource.ts';
import { profilesFile } from '../src/roster/resources/user-profile.ts';
import { rolesFile } from '../src/roster/resources/user-role.ts';

export type Rows = Readonly<Record<string, string>>[];
export type PackageOptions = {
  mode?: 'bulk' | 'delta';
  modes?: Record<string, 'bulk' | 'delta' | 'absent'>;
  raw?: Record<string, string | Buffer>;
  edition?: Edition;
};

const headersOf = (edition: Edition): [name: string, header: string][] => [
  ...allResources.map(({ file, headers }): [string, string] => [nameInManifest(file), headers[edition][0] ?? '']),
  ...[rolesFile, profilesFile].map(({ name, header }): [string, string] => [nameInManifest(name), header]),
];

/** Files by collection, or by their names, each row as an object from column to cell; columns not given are blank. */
export function csvPackage(files: Partial<Record<string, Rows>>, options: PackageOptions = {}): CsvPackage {
  const { mode = 'bulk', modes = {}, raw = {}, edition = 'v1p1' } = options;
  const { versions, rostering, others } = packageFiles[edition];
  const headers = new Map(headersOf(edition));
  const contents = new Map<string, Buffer>();
  const manifest = [['propertyName', 'value'], ['manifest.version', '1.0'], ['oneroster.version', versions[0]]];
  for (const name of rostering) {
    const rows = files[name];
    const rawFile = raw[`${name}.csv`];
    manifest.push([`file.${name}`, modes[name] ?? (rows || rawFile !== undefined ? mode : 'absent')]);
    if (rows) contents.set(`${name}.csv`, renderFile(headers.get(name)?.split(',') ?? [], rows));
  }
  for (const name of others) manifest.push([`file.${name}`, 'absent']);
  contents.set('manifest.csv', Buffer.from(manifest.map(renderCsvRow).join('')));
  for (const [name, content] of Object.entries(raw)) contents.set(name, Buffer.from(content));
  return {
    files: new Map(
      [...contents].map(([name, content]) => [name, { name, size: content.length, open: async () => Readable.from([content], { objectMode: false }) }]),
    ),
    close: async () => {},
  };
}

function renderFile(header: string[], rows: Rows): Buffer {
  const metadata = [...new Set(rows.flatMap((row) => Object.keys(row).filter((name) => name.startsWith('metadata.'))))];
  const columns = [...header, ...metadata];
  return Buffer.from([columns, ...rows.map((row) => columns.map((name) => row[name] ?? ''))].map(renderCsvRow).join(''));
}
