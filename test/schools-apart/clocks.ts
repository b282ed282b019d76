// In charge of what a change of rows may ask the server for, on tables that a database on several nodes knows: such a change is made on each
// copy of the row, so that what gives another value each time is refused there, and what depends on the transaction may not be chosen by a
// condition. Its value is given as a parameter instead, or by the row that is inserted.
import type { InsertStmt, Node } from 'libpg-query';
import { namesOf } from './scope.ts';
import { visitNodes } from './visit-nodes.ts';

const everyTime = new Set(['clock_timestamp', 'gen_random_uuid', 'random', 'nextval', 'statement_timestamp', 'timeofday']);
const byTransaction = new Set(['now', 'transaction_timestamp']);

/** What is wrong with a statement that changes rows; nothing where it changes none, or only of tables that stay on one server. */
export function judgeClocks(statement: Node, isKnown: (table: string) => boolean): string[] {
  const wrong = new Set<string>();
  visitNodes({ statement }, (kind, value) => {
    const { relation } = value as { relation?: { relname?: string } };
    if (!['UpdateStmt', 'DeleteStmt', 'InsertStmt'].includes(kind) || !isKnown(relation?.relname ?? '')) return true;
    if (kind === 'InsertStmt') judgeInsert(value as InsertStmt, wrong);
    else judgeChange(value, wrong);
    return true;
  });
  return [...wrong];
}

function judgeInsert({ onConflictClause: conflict }: InsertStmt, wrong: Set<string>): void {
  for (const called of callsIn(conflict)) wrong.add(`calls ${called} in DO UPDATE`);
}

/** A query of its own, as in FROM, is asked before. */
function judgeChange(change: object, wrong: Set<string>): void {
  const { withClause: _, fromClause: __, usingClause: ___, ...own } = change as Record<string, unknown>;
  for (const called of callsIn(own)) if (everyTime.has(called)) wrong.add(`calls ${called} in a change`);
  visitNodes(own, (kind, value) => {
    if (kind === 'CaseExpr' || kind === 'CoalesceExpr') for (const called of callsIn(value)) wrong.add(`calls ${called} in CASE or COALESCE`);
    return true;
  });
}

function callsIn(node: unknown): Set<string> {
  const called = new Set<string>();
  visitNodes({ node }, (kind, value) => {
    const { funcname } = value as { funcname?: Node[] };
    const name = kind === 'FuncCall' ? (namesOf(funcname).at(-1) ?? '') : kind === 'SQLValueFunction' ? 'now' : '';
    if (everyTime.has(name) || byTransaction.has(name)) called.add(name);
    return true;
  });
  return called;
}
