// In charge of a row of a roster table as the values that it was made of.
import { renderRecord } from '../roster/record.ts';
import type { Resource, UserId, Value } from '../roster/resource.ts';

/** A row of a roster table as JSON. */
export type StoredRow = Readonly<Record<string, unknown>> &
  Readonly<{ sourced_id: string; version: number; record: string; metadata: Record<string, string> | null; lacks?: string[] | null }>;

/** In the order of the resource's fields. */
export function valuesOfRow({ fields }: Resource, row: StoredRow): Value[] {
  return fields.map((field): Value => {
    if (field.type === 'userIds') return pairUp(row.user_id_types as string[] | null, row.user_id_identifiers as string[] | null);
    const value = row[field.column] ?? undefined;
    return typeof value === 'boolean' ? String(value) : (value as Value);
  });
}

function pairUp(types: readonly string[] | null, identifiers: readonly string[] | null): UserId[] | undefined {
  return types?.map((type, at) => ({ type, identifier: identifiers?.[at] ?? '' }));
}

/** As its source wrote it, which the stored object does not tell: it stands in front of the fields. */
export function metadataOfRow(resource: Resource, row: StoredRow): string | undefined {
  if (row.metadata === null) return undefined;
  const { sourced_id: sourcedId, lacks } = row;
  const { record } = renderRecord(resource, { sourcedId, values: valuesOfRow(resource, row), metadata: undefined, lacks: lacks ?? undefined });
  const front = row.record.endsWith(record) ? row.record.slice(metadataFront.length, row.record.length - record.length) : '';
  return front === '' ? JSON.stringify(row.metadata) : front;
}

const metadataFront = ',"metadata":';
