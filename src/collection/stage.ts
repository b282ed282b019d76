// In charge of staging: what was spooled is copied into tables that are keyed by the school and the reading, one per
// collection, inside the transaction that merges it; it leaves them before that commits.
import { pipeline } from 'node:stream/promises';
import type { Fragment, Tx } from '../db/connect.ts';
import { allResources } from '../roster/collections.ts';
import { isGiven, renderedColumns, type Resource } from '../roster/resource.ts';
import { faultColumns, markColumns, ownColumns, rejectedColumns, stagedColumns } from './encode-row.ts';
import type { Reading } from './reading.ts';
import type { SpooledRoster, Spooling } from './read-source.ts';
import type { SpoolFile } from './spool.ts';

export const stageTable = (resource: Resource) => resource.table.replace('roster_', 'stage_');

/** The staged rows of a reading, to select from. */
export function staged(tx: Tx, resource: Resource, reading: Reading): Fragment {
  return rowsOf(tx, stageTable(resource), reading);
}

export function stagedMarks(tx: Tx, reading: Reading): Fragment {
  return rowsOf(tx, 'stage_mark', reading);
}

export function stagedFaults(tx: Tx, reading: Reading): Fragment {
  return rowsOf(tx, 'stage_fault', reading);
}

/** Rows that were left out, each with its collection; a row without an id could be any record. */
export function stagedRejected(tx: Tx, reading: Reading): Fragment {
  return rowsOf(tx, 'stage_rejected', reading);
}

function rowsOf(tx: Tx, table: string, { estab, number }: Reading): Fragment {
  return tx`(select * from ${tx(table)} where estab = ${estab} and reading = ${number})`;
}

/** Columns that the roster takes over as they are staged; `late` is among them unless the merge derives it. */
export function sourceColumns(resource: Resource): string[] {
  return [...ownColumns(resource), 'metadata', ...renderedColumns(resource), ...(hasDerivedLate(resource) ? [] : ['late']), 'place'];
}

export function hasDerivedLate(resource: Resource): boolean {
  return resource.fields.some((field) => field.late && !isGiven(field));
}

/** Everything but `already`. onCopied: how many records are staged, again after each collection. */
export async function stageRoster(
  tx: Tx,
  { collections, rejected }: SpooledRoster,
  already: Spooling | undefined,
  onCopied: (records: number) => void,
): Promise<void> {
  let copied = 0;
  for (const { resource, rows, count } of collections) {
    onCopied(copied);
    if (rows && rows !== already?.rows) await copy(tx, stageTable(resource), stagedColumns(resource), rows);
    copied += count;
  }
  onCopied(copied);
  await copy(tx, 'stage_rejected', rejectedColumns, rejected);
}

/** While it is read. */
export async function stageSpooling(tx: Tx, { resource, rows }: Spooling, longestPauseMs: number, signal: AbortSignal): Promise<void> {
  await pipeline(rows.follow(longestPauseMs, signal), await tx`copy ${tx(stageTable(resource))} (${tx(stagedColumns(resource))}) from stdin`.writable());
}

export async function stageMarks(tx: Tx, marks: SpoolFile): Promise<void> {
  await copy(tx, 'stage_mark', markColumns, marks);
}

export async function stageFaults(tx: Tx, faults: SpoolFile): Promise<void> {
  await copy(tx, 'stage_fault', faultColumns, faults);
}

export async function clearStage(tx: Tx, { estab, number }: Reading): Promise<void> {
  for (const table of [...allResources.map(stageTable), 'stage_rejected', 'stage_fault', 'stage_change', 'stage_mark'])
    await tx`delete from ${tx(table)} where estab = ${estab} and reading = ${number}`;
}

async function copy(tx: Tx, table: string, columns: readonly string[], file: SpoolFile): Promise<void> {
  if (file.size > 0) await pipeline(file.read(), await tx`copy ${tx(table)} (${tx(columns)}) from stdin`.writable());
}
