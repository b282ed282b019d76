// In charge of handing the demo school over as a CSV package, so that it takes the same way in as any other school.
import { Readable } from 'node:stream';
import type { CsvPackage } from '../csv/package.ts';
import { renderCsvRow } from '../csv/write-csv.ts';
import { demoSchool, type Moved } from './school.ts';

/** The file at which whoever reads it finds the end too early. */
const halfFile = 'enrollments.csv';

/** halfWritten: one file ends in the middle of a row. */
export type Handed = Moved & Readonly<{ halfWritten?: boolean }>;

/** Without an instant the school as it was drawn, with one as it is then. */
export function demoPackage(at?: Date, { halfWritten = false, ...moved }: Handed = {}): CsvPackage {
  const files = demoSchool(at, moved).map(({ name, header, rows }) => {
    const whole = Buffer.from([header, ...rows].map(renderCsvRow).join(''));
    const content = halfWritten && name === halfFile ? cutInARow(whole) : whole;
    return { name, size: content.length, open: async () => Readable.from([content], { objectMode: false }) };
  });
  return { files: new Map(files.map((file) => [file.name, file])), close: async () => {} };
}

/** A few characters into a row, so that it cannot be taken for a whole one. */
function cutInARow(content: Buffer): Buffer {
  return content.subarray(0, content.indexOf('\n', content.length / 2) + 10);
}
