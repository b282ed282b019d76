// In charge of staging: a source's rows are copied into temporary tables, one per collection, with their JSON made.
// Temporary tables write no log and vanish with the transaction.
import { pipeline } from 'node:stream/promises';
import type { Tx } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { renderRecord, type UserId, type Value } from '../roster/record.ts';
import { columnsOf, storedFields, type Field, type Resource } from '../roster/resource.ts';
import type { Problems } from './problem.ts';
import type { SourceCollection, SourceRow } from './source.ts';

export type StagedCount = { rows: number; rejected: number };

export const stageTable = (resource: Resource) => resource.table.replace('roster_', 'stage_');

/** Columns that come from the source, quoted; `late` is among them unless it is derived by the merge. */
export function sourceColumns(resource: Resource): string[] {
  const own = storedFields(resource).filter((field) => field.csv !== undefined).flatMap((field) => columnsOf(field).map((column) => `"${column.name}"`));
  return [...own, 'metadata', 'record', ...(hasDerivedLate(resource) ? [] : ['late'])];
}

export function hasDerivedLate(resource: Resource): boolean {
  return resource.fields.some((field) => field.late && field.csv === undefined);
}

export async function createStage(tx: Tx): Promise<void> {
  for (const resource of allResources) {
    const columns = storedFields(resource).filter((field) => field.csv !== undefined).flatMap(columnsOf);
    await tx.unsafe(`create temp table ${stageTable(resource)} (
      line int not null, sourced_id text collate "C" not null, kind text, status text not null,
      ${columns.map((column) => `"${column.name}" ${column.type} ${column.type.startsWith('text') ? 'collate "C"' : ''},`).join(' ')}
      metadata jsonb, record text not null, late text not null) on commit drop`);
  }
  await tx`create temp table stage_rejected (collection text not null, line int not null, sourced_id text collate "C") on commit drop`;
}

export async function stageCollection(tx: Tx, source: SourceCollection, problems: Problems, onProgress: () => void): Promise<StagedCount> {
  const { resource } = source;
  const count: StagedCount = { rows: 0, rejected: 0 };
  const rejected: { line: number; sourcedId: string | undefined }[] = [];
  const own = storedFields(resource).filter((field) => field.csv !== undefined).flatMap((field) => columnsOf(field).map((column) => `"${column.name}"`));
  const encode = createRowEncoder(resource);

  async function* lines(): AsyncGenerator<Buffer> {
    for await (const batch of source.read(problems)) {
      count.rows += batch.rows.length;
      count.rejected += batch.rejected.length;
      rejected.push(...batch.rejected);
      let text = '';
      for (const row of batch.rows) text += encode(row);
      onProgress();
      if (text !== '') yield Buffer.from(text);
    }
  }
  const writable = await tx
    .unsafe(`copy ${stageTable(resource)} (line, sourced_id, kind, status, ${own.join(', ')}, metadata, record, late) from stdin`)
    .writable();
  await pipeline(lines(), writable);
  await tx.unsafe(`analyze ${stageTable(resource)}`);
  for (let at = 0; at < rejected.length; at += 10_000) {
    const part = rejected.slice(at, at + 10_000);
    await tx`insert into stage_rejected select ${resource.collection}, line, sourced_id
      from unnest(${part.map((one) => one.line)}::int[], ${part.map((one) => one.sourcedId ?? null)}::text[]) as given (line, sourced_id)`;
  }
  return count;
}

/** One line of COPY's text format per row. */
function createRowEncoder(resource: Resource): (row: SourceRow) => string {
  const kindAt = resource.fields.findIndex((field) => field.name === resource.kindBy?.field);
  const stored = resource.fields.flatMap((field, at) => (field.type !== 'idList' && field.csv !== undefined ? [{ field, at }] : []));
  const derived = resource.fields.flatMap((field, at) =>
    field.type === 'idList' ? [{ at, from: resource.fields.findIndex((one) => one.column === field.column) }] : [],
  );
  return ({ line, sourcedId, status, values: given, metadata }) => {
    let values = given;
    if (derived.length > 0) {
      const completed = [...given];
      for (const { at, from } of derived) completed[at] = given[from];
      values = completed;
    }
    const { record, late } = renderRecord(resource, values, metadata);
    const kind = kindAt < 0 ? '\\N' : (resource.kindBy?.kindOf((values[kindAt] as string | undefined) ?? '') ?? '\\N');
    let text = `${line}\t${escape(sourcedId)}\t${kind}\t${status}`;
    for (const { field, at } of stored) text += `\t${encodeValue(field, values[at])}`;
    return `${text}\t${metadata === undefined ? '\\N' : escape(metadata)}\t${escape(record)}\t${escape(late)}\n`;
  };
}

function encodeValue(field: Field, value: Value): string {
  if (field.type === 'userIds') {
    const pairs = value as readonly UserId[] | undefined;
    return `${encodeArray(pairs?.map((pair) => pair.type))}\t${encodeArray(pairs?.map((pair) => pair.identifier))}`;
  }
  if (value === undefined) return '\\N';
  return typeof value === 'string' ? escape(value) : encodeArray(value as readonly string[]);
}

function encodeArray(items: readonly string[] | undefined): string {
  if (items === undefined) return '\\N';
  return escape(`{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join(',')}}`);
}

const needsEscape = /[\\\t\n\r]/;
const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function escape(text: string): string {
  return needsEscape.test(text) ? text.replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character) : text;
}
