// In charge of handing the demo school over as a CSV package, so that it takes the same way in as any other school.
import { Readable } from 'node:stream';
import type { CsvPackage } from '../csv/package.ts';
import { renderCsvRow } from '../csv/write-csv.ts';
import { demoSchool } from './school.ts';

/** Without an instant the school as it was drawn, with one as it is then. */
export function demoPackage(at?: Date): CsvPackage {
  const files = demoSchool(at).map(({ name, header, rows }) => {
    const content = Buffer.from([header, ...rows].map(renderCsvRow).join(''));
    return { name, size: content.length, open: async () => Readable.from([content], { objectMode: false }) };
  });
  return { files: new Map(files.map((file) => [file.name, file])), close: async () => {} };
}
