// In charge of writing a roster as a OneRoster 1.1 CSV package: in bulk form the active records, status and date blank as the
// standard wants them; with leavers as a delta package, in which every record has both. An import of either gives that roster.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import yazl from 'yazl';
import { SchoolbellError } from '../errors.ts';
import { allResources } from '../roster/collections.ts';
import { isRequired, type CollectionName, type Field, type Resource, type Status, type UserId } from '../roster/resource.ts';
import { renderCsvRow } from './connectors/csv/write-csv.ts';

/** A whole collection of one version of the roster: records in pieces of JSON separated by commas. */
export type ExportReading = {
  metadataKeys(resource: Resource, status?: Status): Promise<string[]>;
  records(resource: Resource, status?: Status): AsyncIterable<string>;
  count(resource: Resource, status?: Status): Promise<number>;
};

type Shown = Record<string, unknown> & { sourcedId: string; status: Status };
type Ref = { sourcedId: string };

/** leftOut: active records that cannot be without one that left, such as an enrolment of a person who did. */
export type Exported = { collections: Record<string, number>; leftOut: number };

const otherFiles = ['categories', 'classResources', 'courseResources', 'lineItems', 'resources', 'results'];

export async function exportRoster(reading: ExportReading, path: string, { leavers = false }: { leavers?: boolean } = {}): Promise<Exported> {
  const status = leavers ? undefined : 'active';
  const zip = new yazl.ZipFile();
  const half = `${path}.${process.pid}.part`;
  const exported: Exported = { collections: {}, leftOut: 0 };
  const output = createWriteStream(half, { flags: 'wx' });
  await once(output, 'open').catch((error: NodeJS.ErrnoException) => cannotWrite(path, error));
  const writing = pipeline(zip.outputStream, output);
  writing.catch(() => {});
  try {
    const counts = new Map<Resource, number>();
    for (const resource of allResources) counts.set(resource, await reading.count(resource, status));
    const gone = leavers ? undefined : await readGone(reading);
    zip.addBuffer(Buffer.from(renderManifest(counts, leavers ? 'delta' : 'bulk')), 'manifest.csv');
    for (const [resource, count] of counts) {
      if (count === 0) continue;
      let written = 0;
      const keep = (records: Shown[]): Shown[] => {
        const kept = gone ? records.flatMap((record) => withoutGone(resource, record, gone)) : records;
        written += kept.length;
        return kept;
      };
      const stream = Readable.from(renderFile(resource, reading, status, keep), { objectMode: false });
      zip.addReadStream(stream, resource.file);
      await Promise.race([finished(stream), writing]).finally(() => stream.destroy());
      exported.collections[resource.collection] = written;
      exported.leftOut += count - written;
    }
    zip.end();
    await writing;
    await rename(half, path);
    return exported;
  } catch (error) {
    await rm(half, { force: true });
    throw error;
  }
}

type Gone = ReadonlyMap<CollectionName, Set<string>>;

/** By collection; they are few beside those that stay. */
async function readGone(reading: ExportReading): Promise<Gone> {
  const gone = new Map<CollectionName, Set<string>>();
  for (const resource of allResources) {
    const ids = new Set<string>();
    gone.set(resource.collection, ids);
    if ((await reading.count(resource, 'tobedeleted')) === 0) continue;
    for await (const piece of reading.records(resource, 'tobedeleted')) for (const { sourcedId } of JSON.parse(`[${piece}]`) as Shown[]) ids.add(sourcedId);
  }
  return gone;
}

/**
 * A bulk package must be whole in itself. References to what is not in it are left out, and a record that may not be without
 * one goes the same way; what refers to that comes later, since collections are in the order of their references.
 */
function withoutGone(resource: Resource, record: Shown, gone: Gone): Shown[] {
  const isGone = (field: Field, { sourcedId }: Ref) => gone.get(field.to ?? 'users')?.has(sourcedId) === true;
  const about = resource.personColumn === 'sourced_id' && gone.get('users')?.has(record.sourcedId) === true;
  const shown: Shown = { ...record };
  const broken = resource.fields.filter((field) => {
    const value = field.csv === undefined || field.to === undefined ? undefined : record[field.name];
    if (value === undefined) return false;
    const left = [value].flat().filter((one) => !isGone(field, one as Ref));
    if (left.length === [value].flat().length) return false;
    shown[field.name] = left.length === 0 ? undefined : field.type === 'ref' ? left[0] : left;
    return left.length === 0 && isRequired(field, 'v1p1');
  });
  if (broken.length === 0 && !about) return [shown];
  gone.get(resource.collection)?.add(record.sourcedId);
  return [];
}

function renderManifest(counts: ReadonlyMap<Resource, number>, mode: 'bulk' | 'delta'): string {
  const files = [
    ...[...counts].map(([resource, count]) => [resource.file.replace('.csv', ''), count > 0 ? mode : 'absent'] as const),
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

async function* renderFile(
  resource: Resource,
  reading: ExportReading,
  status: Status | undefined,
  keep: (records: Shown[]) => Shown[],
): AsyncGenerator<Buffer> {
  const keys = await reading.metadataKeys(resource, status);
  const blank = status !== undefined;
  const header = resource.headers.v1p1[0]?.split(',') ?? [];
  const fields = new Map(resource.fields.flatMap((field) => (field.csv === undefined ? [] : [[field.csv, field] as const])));
  yield Buffer.from(renderCsvRow([...header, ...keys.map((key) => `metadata.${key}`)]));
  for await (const piece of reading.records(resource, status)) {
    const rows = keep(JSON.parse(`[${piece}]`) as Shown[]).map((record) => [
      ...header.map((column) => cellOf(record, column, fields.get(column), blank)),
      ...keys.map((key) => metadataOf(record, key)),
    ]);
    yield Buffer.from(rows.map(renderCsvRow).join(''));
  }
}

function cellOf(record: Shown, column: string, field: Field | undefined, blank: boolean): string {
  if (column === 'sourcedId') return record.sourcedId;
  if (column === 'status' || column === 'dateLastModified') return blank ? '' : String(record[column]);
  const value = field && record[field.name];
  if (value === undefined) return '';
  switch (field?.type) {
    case 'ref':
      return (value as Ref).sourcedId;
    case 'refs':
      return (value as Ref[]).map((one) => one.sourcedId).join(',');
    case 'userIds':
      return (value as UserId[]).map((one) => `{${one.type}:${one.identifier}}`).join(',');
    case 'list':
      return (value as string[]).join(',');
    default:
      return String(value);
  }
}

function metadataOf(record: Shown, key: string): string {
  const metadata = (record.metadata ?? {}) as Record<string, string>;
  return Object.hasOwn(metadata, key) ? (metadata[key] ?? '') : '';
}

function cannotWrite(path: string, { code = '', message }: NodeJS.ErrnoException): never {
  const reasons: Record<string, string> = { ENOENT: `there is no folder ${dirname(path)}`, EACCES: 'that is not allowed here' };
  throw new SchoolbellError('invalid_request', `cannot write ${path}: ${reasons[code] ?? message}`);
}
