// In charge of writing a roster as a OneRoster CSV package: in bulk form the active records, status and date blank as the
// standard wants them; with leavers as a delta package, in which every record has both. An import of either gives that roster.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { explainFileFault } from '../environment-fault.ts';
import { allResources, collections } from '../roster/collections.ts';
import { isRequired, type CollectionName, type Edition, type Field, type Resource, type Status } from '../roster/resource.ts';
import { profilesFile } from '../roster/resources/user-profile.ts';
import { rolesFile } from '../roster/resources/user-role.ts';
import { nameInManifest, packageFiles } from './connectors/csv/package-files.ts';
import { renderCsvRow } from './connectors/csv/write-csv.ts';
import { profilesOf, rolesOf, type Cells, type OrgsBeside } from './export-people.ts';
import { cellOf, listMetadataKeys, metadataOf, readShown, type ExportReading, type Ref, type Shown } from './export-rows.ts';
import { profileParts, roleParts } from './person-parts.ts';

/** The file names everybody at the school, so only the account that exported it may read it. */
const fileMode = 0o600;

/** leftOut: active records that cannot be without one that left, such as an enrolment of a person who did. */
export type Exported = { collections: Record<string, number>; leftOut: number };

export type ExportOptions = Readonly<{ leavers?: boolean; edition?: Edition }>;

/** parts: of each record, rows in a file beside that of its collection; without it, the record itself. */
type ExportFile = Readonly<{ name: string; resource: Resource; header: string; parts?: (record: Shown) => Cells[] }>;

export async function exportRoster(reading: ExportReading, path: string, { leavers = false, edition = 'v1p1' }: ExportOptions = {}): Promise<Exported> {
  const status = leavers ? undefined : 'active';
  const { default: yazl } = await import('yazl');
  const zip = new yazl.ZipFile();
  const half = `${path}.${process.pid}.part`;
  // Without this check, only the final rename would fail, after the whole export was written.
  if ((await stat(path).catch(() => undefined))?.isDirectory()) throw explainFileFault({ code: 'EISDIR' }, path, 'output');
  const exported: Exported = { collections: {}, leftOut: 0 };
  const output = createWriteStream(half, { flags: 'wx', mode: fileMode });
  await once(output, 'open').catch((error: unknown) => {
    throw explainFileFault(error, path, 'output');
  });
  const writing = pipeline(zip.outputStream, output);
  writing.catch(() => {});
  try {
    const counts = new Map<Resource, number>();
    for (const resource of allResources) counts.set(resource, await reading.count(resource, status));
    const gone = leavers ? undefined : await readGone(reading);
    const files = await listFiles(reading, counts, status, edition, gone);
    zip.addBuffer(Buffer.from(renderManifest(files.map(({ name }) => name), leavers ? 'delta' : 'bulk', edition)), 'manifest.csv');
    for (const file of files) {
      const { name, resource, parts } = file;
      let written = 0;
      const keep = (records: Shown[]): Shown[] => {
        const kept = gone ? records.flatMap((record) => withoutGone(resource, record, gone)) : records;
        written += kept.length;
        return kept;
      };
      const stream = Readable.from(renderFile(file, reading, status, edition, keep), { objectMode: false });
      zip.addReadStream(stream, name);
      await Promise.race([finished(stream), writing]).finally(() => stream.destroy());
      if (parts) continue;
      exported.collections[resource.collection] = written;
      exported.leftOut += (counts.get(resource) ?? 0) - written;
    }
    zip.end();
    await writing;
    await rename(half, path);
    return exported;
  } catch (error) {
    await rm(half, { force: true });
    throw explainFileFault(error, path, 'output');
  }
}

/** Those that there is something for. */
async function listFiles(
  reading: ExportReading,
  counts: ReadonlyMap<Resource, number>,
  status: Status | undefined,
  edition: Edition,
  gone: Gone | undefined,
): Promise<ExportFile[]> {
  const files = [...counts].flatMap(([resource, count]): ExportFile[] =>
    count === 0 ? [] : [{ name: resource.file, resource, header: resource.headers[edition][0] ?? '' }],
  );
  const users = files.findIndex(({ resource }) => resource === collections.users);
  if (edition === 'v1p1' || users < 0) return files;
  const orgs = await readOrgs(reading, gone);
  const shared = { roles: await reading.sharedIds(roleParts, status), profiles: await reading.sharedIds(profileParts, status) };
  const besides: ExportFile[] = [{ ...rolesFile, resource: collections.users, parts: (record) => rolesOf(record, orgs, shared) }];
  if (await reading.hasProfiles(status))
    besides.push({ ...profilesFile, resource: collections.users, parts: (record) => profilesOf(record, shared) });
  return files.toSpliced(users + 1, 0, ...besides);
}

async function readOrgs(reading: ExportReading, gone: Gone | undefined): Promise<OrgsBeside> {
  const types = new Map<string, string>();
  for await (const orgs of readShown.v1p2(reading, collections.orgs)) for (const { sourcedId, type } of orgs) types.set(sourcedId, String(type));
  return { typeOf: (org) => types.get(org), isGone: (org) => gone?.get('orgs')?.has(org) === true };
}

type Gone = ReadonlyMap<CollectionName, Set<string>>;

/** By collection; they are few beside those that stay. */
async function readGone(reading: ExportReading): Promise<Gone> {
  const gone = new Map<CollectionName, Set<string>>();
  for (const resource of allResources) {
    const ids = new Set<string>();
    gone.set(resource.collection, ids);
    if ((await reading.count(resource, 'tobedeleted')) === 0) continue;
    for await (const records of readShown.v1p1(reading, resource, 'tobedeleted')) for (const { sourcedId } of records) ids.add(sourcedId);
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

function renderManifest(present: readonly string[], mode: 'bulk' | 'delta', edition: Edition): string {
  const { versions, rostering, others } = packageFiles[edition];
  const files = [...rostering, ...others].map((name) => [name, present.map(nameInManifest).includes(name) ? mode : 'absent'] as const);
  const properties = [
    ['manifest.version', '1.0'],
    ['oneroster.version', versions[0]],
    ...files.toSorted().map(([name, is]) => [`file.${name}`, is]),
    ['source.systemName', 'Schoolbell'],
  ];
  return [['propertyName', 'value'], ...properties].map(renderCsvRow).join('');
}

async function* renderFile(
  { resource, header, parts }: ExportFile,
  reading: ExportReading,
  status: Status | undefined,
  edition: Edition,
  keep: (records: Shown[]) => Shown[],
): AsyncGenerator<Buffer> {
  const keys = parts ? [] : await listMetadataKeys[edition](reading, resource, status);
  const blank = status !== undefined;
  const columns = header.split(',');
  const fields = new Map(resource.fields.flatMap((field) => (field.csv === undefined ? [] : [[field.csv, field] as const])));
  const toRows = (record: Shown): string[][] =>
    parts
      ? parts(record).map((cells) => columns.map((column) => cells[column] ?? statusCell(record, column, blank)))
      : [[...columns.map((column) => cellOf(record, column, fields.get(column), blank)), ...keys.map((key) => metadataOf(record, key))]];
  yield Buffer.from(renderCsvRow([...columns, ...keys.map((key) => `metadata.${key}`)]));
  for await (const records of readShown[edition](reading, resource, status)) yield Buffer.from(keep(records).flatMap(toRows).map(renderCsvRow).join(''));
}

/** A part of a record has no status of its own. */
function statusCell(record: Shown, column: string, blank: boolean): string {
  return column === 'status' || column === 'dateLastModified' ? cellOf(record, column, undefined, blank) : '';
}
