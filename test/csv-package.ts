// In charge of packages that tests make up: a few rows, the rest of the standard filled in.
import { Readable } from 'node:stream';
import type { CsvPackage } from '../src/collection/connectors/csv/package.ts';
import { renderCsvRow } from '../src/collection/connectors/csv/write-csv.ts';
import { allResources } from '../src/roster/collections.ts';

export type Rows = Readonly<Record<string, string>>[];
export type PackageOptions = { mode?: 'bulk' | 'delta'; modes?: Record<string, 'bulk' | 'delta' | 'absent'>; raw?: Record<string, string | Buffer> };

/** Files by collection, each row as an object from column to cell; columns not given are blank. */
export function csvPackage(files: Partial<Record<string, Rows>>, { mode = 'bulk', modes = {}, raw = {} }: PackageOptions = {}): CsvPackage {
  const contents = new Map<string, Buffer>();
  const manifest = [['propertyName', 'value'], ['manifest.version', '1.0'], ['oneroster.version', '1.1']];
  for (const resource of allResources) {
    const rows = files[resource.collection];
    const rawFile = raw[resource.file];
    manifest.push([`file.${resource.file.replace('.csv', '')}`, modes[resource.collection] ?? (rows || rawFile !== undefined ? mode : 'absent')]);
    if (rows) contents.set(resource.file, renderFile((resource.headers.v1p1[0] ?? '').split(','), rows));
  }
  for (const name of ['categories', 'classResources', 'courseResources', 'lineItems', 'resources', 'results']) manifest.push([`file.${name}`, 'absent']);
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
