// In charge of the bytes of an answer: records, made when they were merged, inside the wrapper of the standard.
import type { Resource } from '../roster/resource.ts';

export function renderList(resource: Resource, records: string): string {
  return `{"${resource.collection}":[${records}]}`;
}

export function renderOne(resource: Resource, record: string): string {
  return `{"${resource.one}":${record}}`;
}

/** A whole list in pieces; each piece holds some records separated by commas. */
export async function* renderStream(resource: Resource, pieces: AsyncIterable<string>, fields: readonly string[] | undefined): AsyncGenerator<Buffer> {
  let before = `{"${resource.collection}":[`;
  for await (const piece of pieces) {
    if (piece === '') continue;
    yield Buffer.from(before + selectFields(piece, fields));
    before = ',';
  }
  yield Buffer.from(before === ',' ? ']}' : `${before}]}`);
}

/** Only the fields that were asked for, in the order of the record. */
export function selectFields(records: string, fields: readonly string[] | undefined): string {
  if (!fields || records === '') return records;
  const parsed = JSON.parse(`[${records}]`) as Record<string, unknown>[];
  const selected = parsed.map((record) => Object.fromEntries(Object.entries(record).filter(([name]) => fields.includes(name))));
  return JSON.stringify(selected).slice(1, -1);
}
