// In charge of which tables belong to a school, those of schema.sql with a column estab, and which are known to a database on several nodes.
import { loadModule, parseSync } from 'libpg-query';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reach } from '../../src/db/distribution-steps.ts';
import type { Place } from '../../src/db/placement.ts';

const schema = join(import.meta.dirname, '../../schema.sql');

/** The columns of each table, in their order. */
export type Tables = ReadonlyMap<string, readonly string[]>;

export async function readTables(): Promise<Tables> {
  await loadModule();
  return parseTables(readFileSync(schema, 'utf8'));
}

export function parseTables(schema: string): Tables {
  const tables = new Map<string, string[]>();
  for (const { stmt } of parseSync(schema).stmts ?? []) {
    if (!stmt || !('CreateStmt' in stmt)) continue;
    const { relation, tableElts = [] } = stmt.CreateStmt;
    tables.set(relation?.relname ?? '', tableElts.flatMap((element) => ('ColumnDef' in element ? [element.ColumnDef.colname ?? ''] : [])));
  }
  return tables;
}

export function belongsToSchool(tables: Tables, table: string): boolean {
  return tables.get(table)?.includes('estab') ?? false;
}

/** Tables that a database on several nodes knows: those that do not lie at the coordinator, and those that hang together with these by foreign keys. */
export async function readKnown(places: ReadonlyMap<string, Place>): Promise<ReadonlySet<string>> {
  await loadModule();
  const links: { table: string; to: string }[] = [];
  for (const { stmt } of parseSync(readFileSync(schema, 'utf8')).stmts ?? []) {
    if (!stmt || !('CreateStmt' in stmt)) continue;
    const table = stmt.CreateStmt.relation?.relname ?? '';
    for (const element of stmt.CreateStmt.tableElts ?? [])
      if ('Constraint' in element && element.Constraint.pktable) links.push({ table, to: element.Constraint.pktable.relname ?? '' });
  }
  return reach([...places].flatMap(([table, place]) => (place === 'coordinator' ? [] : [table])), links);
}
