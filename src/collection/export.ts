// In charge of writing a roster as a OneRoster 1.1 CSV package in bulk form. Records that are tobedeleted carry their
// status, so that an import of the package gives the same roster again.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import yazl from 'yazl';
import { allResources } from '../roster/collections.ts';
import type { Field, Resource } from '../roster/resource.ts';
import type { UserId } from '../roster/record.ts';
import { renderCsvRow } from './connectors/csv/write-csv.ts';

/** A whole collection of one version of the roster: records in pieces of JSON separated by commas. */
export type ExportReading = {
  metadataKeys(resource: Resource): Promise<string[]>;
  records(resource: Resource): AsyncIterable<string>;
  count(resource: Resource): Promise<number>;
};

const otherFiles = ['categories', 'classResources', 'courseResources', 'lineItems', 'resources', 'results'];

export async function exportRoster(reading: ExportReading, path: string): Promise<Record<string, number>> {
  const zip = new yazl.ZipFile();
  const half = `${path}.${process.pid}.part`;
  const written: Record<string, number> = {};
  const output = createWriteStream(half, { flags: 'wx' });
  await once(output, 'open');
  const writing = pipeline(zip.outputStream, output);
  writing.catch(() => {});
  try {
    const counts = new Map<Resource, number>();
    for (const resource of allResources) counts.set(resource, await reading.count(resource));
    zip.addBuffer(Buffer.from(renderManifest(counts)), 'manifest.csv');
    for (const [resource, count] of counts) {
      if (count === 0) continue;
      const stream = Readable.from(renderFile(resource, reading), { objectMode: false });
      zip.addReadStream(stream, resource.file);
      await Promise.race([finished(stream), writing]).finally(() => stream.destroy());
      written[resource.collection] = count;
    }
    zip.end();
    await writing;
    await rename(half, path);
    return written;
  } catch (error) {
    await rm(half, { force: true });
    throw error;
  }
}

function renderManifest(counts: ReadonlyMap<Resource, number>): string {
  const files = [
    ...[...counts].map(([resource, count]) => [resource.file.replace('.csv', ''), count > 0 ? 'bulk' : 'absent'] as const),
    ...otherFiles.map((name) => [name, 'absent'] as const),
  ];
  const properties = [
    ['manifest.version', '1.0'],
    ['oneroster.version', '1.1'],
    ...files.toSorted().map(([name, mode]) => [`file.${name}`, mode]),
    ['source.systemName', 'Schoolbell'],
  ];
  return [['propertyName', 'value'], ...properties].map(renderCsvRow).join('');
}

async function* renderFile(resource: Resource, reading: ExportReading): AsyncGenerator<Buffer> {
  const keys = await reading.metadataKeys(resource);
  const header = resource.header.split(',');
  const fields = new Map(resource.fields.flatMap((field) => (field.csv === undefined ? [] : [[field.csv, field] as const])));
  yield Buffer.from(renderCsvRow([...header, ...keys.map((key) => `metadata.${key}`)]));
  for await (const piece of reading.records(resource)) {
    const records = JSON.parse(`[${piece}]`) as Record<string, unknown>[];
    yield Buffer.from(
      records
        .map((record) => renderCsvRow([...header.map((column) => cellOf(record, column, fields.get(column))), ...keys.map((key) => metadataOf(record, key))]))
        .join(''),
    );
  }
}

function cellOf(record: Record<string, unknown>, column: string, field: Field | undefined): string {
  const gone = record.status === 'tobedeleted';
  if (column === 'sourcedId') return String(record.sourcedId);
  if (column === 'status') return gone ? 'tobedeleted' : '';
  if (column === 'dateLastModified') return gone ? String(record.dateLastModified) : '';
  const value = field && record[field.name];
  if (value === undefined) return '';
  switch (field?.type) {
    case 'ref':
      return (value as { sourcedId: string }).sourcedId;
    case 'refs':
      return (value as { sourcedId: string }[]).map((one) => one.sourcedId).join(',');
    case 'userIds':
      return (value as UserId[]).map((one) => `{${one.type}:${one.identifier}}`).join(',');
    case 'list':
      return (value as string[]).join(',');
    default:
      return String(value);
  }
}

function metadataOf(record: Record<string, unknown>, key: string): string {
  const metadata = (record.metadata ?? {}) as Record<string, string>;
  return Object.hasOwn(metadata, key) ? (metadata[key] ?? '') : '';
}
