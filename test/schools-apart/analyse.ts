// In charge of the rule that keeps schools apart, for one text: it is parsed with PostgreSQL's own grammar, and each
// table of a school in it must be compared with the establishment as a value. See docs/decisions/0014.
import { parseSync, type Node } from 'libpg-query';
import { judge } from './judge.ts';
import { type Reading, type Scope } from './scope.ts';
import { belongsToSchool, type Tables } from './tables.ts';
import { visitNodes } from './visit-nodes.ts';

/** A statement, on one line and parsed, and the tables of schools in it that are not bound. */
export type Analysed = Readonly<{ statement: string; node: Node | undefined; unbound: readonly string[] }>;

/** Several statements may stand in one text. */
export function analyse(text: string, tables: Tables): Analysed[] {
  const bytes = Buffer.from(text);
  return (parseSync(text).stmts ?? []).map(({ stmt, stmt_location: from = 0, stmt_len: length }) => ({
    statement: fold(bytes.subarray(from, length ? from + length : undefined).toString()),
    node: stmt,
    unbound: [...new Set(stmt ? unboundTables(stmt, tables) : [])].toSorted(),
  }));
}

export function fold(statement: string): string {
  return statement.replaceAll(/\s+/g, ' ').trim();
}

const judged = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt', 'MergeStmt'];

function unboundTables(statement: Node, tables: Tables): string[] {
  const [[kind = '', body = {}] = []] = Object.entries(statement) as [string, { query?: Node; relation?: object; relations?: object[] }][];
  if (kind === 'TruncateStmt' || (kind === 'CopyStmt' && body.relation)) return schoolTablesIn(statement, tables).map(({ table }) => table);
  // Cursors, copies of a query, tables made of one, EXPLAIN and PREPARE.
  if (body.query) return unboundTables(body.query, tables);
  if (!judged.includes(kind)) return [];
  const reading: Reading = { tables, understood: new Set(), sources: 0 };
  const scope: Scope = { reading, sources: [], merged: new Map(), named: new Map() };
  const unbound = judge(statement, scope);
  // What was passed over cannot be said to be bound.
  return [...unbound, ...schoolTablesIn(statement, tables).flatMap(({ reference, table }) => (reading.understood.has(reference) ? [] : [table]))];
}

function schoolTablesIn(node: unknown, tables: Tables): { reference: object; table: string }[] {
  const found: { reference: object; table: string }[] = [];
  visitNodes(node, (kind, value) => {
    // Locks name what stands in FROM.
    if (kind === 'LockingClause') return false;
    const { relname } = value as { relname?: string };
    if (relname !== undefined && belongsToSchool(tables, relname)) found.push({ reference: value, table: relname });
    return true;
  });
  return found;
}
