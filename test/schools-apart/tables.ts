// In charge of which tables belong to a school: those of schema.sql with a column estab.
import { loadModule, parseSync } from 'libpg-query';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The columns of each table, in their order. */
export type Tables = ReadonlyMap<string, readonly string[]>;

export async function readTables(): Promise<Tables> {
  await loadModule();
  return parseTables(readFileSync(join(import.meta.dirname, '../../schema.sql'), 'utf8'));
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
