// In charge of the bytes of an answer: records, made when they were merged, inside the wrapper of the standard.
import { collections } from '../roster/collections.ts';
import { addressPlaceholder, versionPlaceholder, type Resource } from '../roster/resource.ts';
import type { ListPiece, Margins, Page } from '../roster/list-source.ts';
import type { Version } from './field-path.ts';

/** A finished record, and whose it is. */
export type Listed = Readonly<{ estab: string; json: string }>;

/** Makes a stored record what is sent. */
export type Finish = (record: string) => string;

/** Puts the address and the instant in, where the record was stored with placeholders for them. */
export function createFinish(address: string, versions: ReadonlyMap<string, readonly Version[]>): Finish {
  const stamps = new Map<string, string>();
  const stampOf = (name: string): string => {
    const [estab = '', version] = name.split(' ');
    const stamp = findVersion(versions.get(estab) ?? [], Number(version))?.stamp ?? '';
    stamps.set(name, stamp);
    return stamp;
  };
  const shown = address.replaceAll('$', '$$$$');
  return (record) => {
    const start = record.indexOf(versionPlaceholder);
    const end = record.indexOf(versionPlaceholder, start + 1);
    const name = record.slice(start + 1, end);
    return record.slice(0, start) + (stamps.get(name) ?? stampOf(name)) + record.slice(end + 1).replaceAll(addressPlaceholder, shown);
  };
}

/** What stands around the records of a list. */
export type Wrapper = Readonly<{ before: Buffer; behind: Buffer }>;

const wrappers = new Map(Object.keys(collections).map((name) => [name, { before: Buffer.from(`{"${name}":[`), behind: Buffer.from(']}') }]));

export function wrapperOf({ collection }: Resource): Wrapper {
  return wrappers.get(collection) as Wrapper;
}

/** Consecutive records of the same school. */
function* bySchools(records: readonly Listed[]): Generator<readonly Listed[]> {
  let from = 0;
  for (let at = 1; at <= records.length; at += 1) {
    if (at < records.length && records[at]?.estab === records[from]?.estab) continue;
    yield records.slice(from, at);
    from = at;
  }
}

export async function* toPieces(batches: AsyncIterable<readonly Listed[]>): AsyncGenerator<ListPiece> {
  for await (const batch of batches) {
    for (const records of bySchools(batch)) {
      yield { bytes: Buffer.from(records.map(({ json }) => json).join(',')), count: records.length, estab: records[0]?.estab ?? '' };
    }
  }
}

/** Finished records as a page. */
export function joinPage(records: readonly Listed[], { before, behind }: Margins): Page {
  const joined = records.map(({ json }) => json).join(',');
  const length = Buffer.byteLength(joined);
  const bytes = Buffer.allocUnsafe(before + length + behind);
  bytes.write(joined, before);
  const counts = new Map<string, number>();
  for (const { estab } of records) counts.set(estab, (counts.get(estab) ?? 0) + 1);
  return { bytes, counts };
}

export function renderOne(resource: Resource, record: string): string {
  return `{"${resource.one}":${record}}`;
}

/** A whole list; each piece holds some records separated by commas. */
export async function* renderPieces({ before, behind }: Wrapper, pieces: AsyncIterable<Buffer>, fields: readonly string[] | undefined): AsyncGenerator<Buffer> {
  let isFirst = true;
  for await (const piece of pieces) {
    const shown = fields ? selectFields(piece, fields) : piece;
    yield Buffer.concat([isFirst ? before : comma, shown]);
    isFirst = false;
  }
  yield isFirst ? Buffer.concat([before, behind]) : behind;
}

const comma = Buffer.from(',');

/** Only the fields that were asked for, in the order of the record. */
export function selectFields(records: Buffer, fields: readonly string[]): Buffer {
  const parsed = JSON.parse(`[${records.toString()}]`) as Record<string, unknown>[];
  const selected = parsed.map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name))));
  return Buffer.from(JSON.stringify(selected).slice(1, -1));
}

/** They are in their order; those that no record carries any more are forgotten, which leaves gaps. */
export function findVersion(versions: readonly Version[], wanted: number): Version | undefined {
  let [low, high] = [0, versions.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((versions[middle]?.version ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return versions[low]?.version === wanted ? versions[low] : undefined;
}
