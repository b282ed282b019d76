// In charge of the bytes of an answer: records, made when they were merged, inside the wrapper of the standard.
import { addressPlaceholder, versionPlaceholder, type Resource } from '../roster/resource.ts';
import type { Version } from './field-path.ts';

const versionName = new RegExp(`${versionPlaceholder}([^${versionPlaceholder} ]*) (\\d+)${versionPlaceholder}`, 'g');

export type Finish = (records: string) => string;

/** Puts the address and the instants in, where records were stored with placeholders for them, and selects fields. */
export function createFinish(address: string, versions: ReadonlyMap<string, readonly Version[]>, fields: readonly string[] | undefined): Finish {
  const stampOf = (_: string, estab: string, version: string) => findVersion(versions.get(estab) ?? [], Number(version))?.stamp ?? '';
  return (records) => selectFields(records.replaceAll(addressPlaceholder, () => address).replace(versionName, stampOf), fields);
}

export function renderList(resource: Resource, records: string): string {
  return `{"${resource.collection}":[${records}]}`;
}

export function renderOne(resource: Resource, record: string): string {
  return `{"${resource.one}":${record}}`;
}

/** A whole list in pieces; each piece holds some records separated by commas. */
export async function* renderStream(resource: Resource, pieces: AsyncIterable<string>, finish: Finish): AsyncGenerator<Buffer> {
  let before = `{"${resource.collection}":[`;
  for await (const piece of pieces) {
    if (piece === '') continue;
    yield Buffer.from(before + finish(piece));
    before = ',';
  }
  yield Buffer.from(before === ',' ? ']}' : `${before}]}`);
}

/** Only the fields that were asked for, in the order of the record. */
function selectFields(records: string, fields: readonly string[] | undefined): string {
  if (!fields || records === '') return records;
  const parsed = JSON.parse(`[${records}]`) as Record<string, unknown>[];
  const selected = parsed.map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name))));
  return JSON.stringify(selected).slice(1, -1);
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
