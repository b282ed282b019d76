// In charge of what a condition says about columns: which of them are bound where it holds.
import type { A_Expr, ColumnRef, Node, SelectStmt } from 'libpg-query';
import { findColumn, isKnown, namesOf, yieldsBound, type Facts, type Scope, type Yield } from './scope.ts';
import { visitNodes } from './visit-nodes.ts';

export type YieldOf = (query: SelectStmt, outer: Scope, facts: Facts) => Yield;

/** Where a condition stands: the names in reach, how to read a query within it, and whose columns it can bind. */
export type Place = { scope: Scope; yieldOf: YieldOf; binds: ReadonlySet<number> };

/** Without a column, nothing in it can come from a table. */
export function isValue(expression: Node): boolean {
  let value = true;
  visitNodes(expression, (kind) => {
    if (kind === 'ColumnRef' || kind === 'SetToDefault') value = false;
    return value;
  });
  return value;
}

export function isBound(expression: Node | undefined, place: Omit<Place, 'binds'>, facts: Facts): boolean {
  if (!expression) return false;
  if (isValue(expression)) return true;
  const all = (nodes: readonly (Node | undefined)[] = []) => nodes.length > 0 && nodes.every((node) => isBound(node, place, facts));
  if ('ColumnRef' in expression) {
    const keys = findColumn(place.scope, expression.ColumnRef);
    return keys.length > 0 && keys.every((key) => isKnown(facts, key));
  }
  if ('TypeCast' in expression) return isBound(expression.TypeCast.arg, place, facts);
  if ('CollateClause' in expression) return isBound(expression.CollateClause.arg, place, facts);
  if ('CoalesceExpr' in expression) return all(expression.CoalesceExpr.args);
  if ('A_ArrayExpr' in expression) return all(expression.A_ArrayExpr.elements);
  if ('SubLink' in expression) {
    const { subLinkType, subselect } = expression.SubLink;
    if (!subselect || !('SelectStmt' in subselect) || !['EXPR_SUBLINK', 'ARRAY_SUBLINK'].includes(subLinkType ?? '')) return false;
    return yieldsBound(place.yieldOf(subselect.SelectStmt, place.scope, facts), 0);
  }
  return false;
}

/** Adds the columns that are bound where the condition holds. */
export function learn(condition: Node | undefined, place: Place, facts: Facts): void {
  if (!condition) return;
  if ('BoolExpr' in condition) {
    const { boolop, args = [] } = condition.BoolExpr;
    if (boolop === 'AND_EXPR') for (const each of args) learn(each, place, facts);
    if (boolop === 'OR_EXPR') for (const key of learnedByEach(args, place, facts)) facts.add(key);
  } else if ('A_Expr' in condition) learnComparison(condition.A_Expr, place, facts);
  else if ('SubLink' in condition) {
    const { subLinkType, operName, testexpr, subselect } = condition.SubLink;
    if (subLinkType !== 'ANY_SUBLINK' || (operName && namesOf(operName).join() !== '=') || !subselect || !('SelectStmt' in subselect)) return;
    const query = subselect.SelectStmt;
    partsOf(testexpr).forEach((part, at) => bindIf(part, place, facts, () => yieldsBound(place.yieldOf(query, place.scope, facts), at)));
  }
}

/** Calls learners until none has anything to add. */
export function learnAll(learners: readonly ((facts: Facts) => void)[], facts: Facts): void {
  for (let known = -1; known !== facts.size; ) {
    known = facts.size;
    for (const learnMore of learners) learnMore(facts);
  }
}

function learnedByEach(arms: readonly Node[], place: Place, facts: Facts): Facts {
  const learned = arms.map((arm) => {
    const own = new Set(facts);
    learnAll([(known) => learn(arm, place, known)], own);
    return own;
  });
  const [first = facts, ...others] = learned;
  return new Set([...first].filter((key) => others.every((own) => own.has(key))));
}

function learnComparison({ kind, name, lexpr, rexpr }: A_Expr, place: Place, facts: Facts): void {
  if (namesOf(name).at(-1) !== '=') return;
  if (kind === 'AEXPR_OP') {
    const [left, right] = [partsOf(lexpr), partsOf(rexpr)];
    left.forEach((part, at) => {
      bindIf(right[at], place, facts, () => isBound(part, place, facts));
      bindIf(part, place, facts, () => isBound(right[at], place, facts));
    });
  }
  if (kind === 'AEXPR_OP_ANY') bindIf(lexpr, place, facts, () => isBound(rexpr, place, facts));
  if (kind === 'AEXPR_IN' && rexpr && 'List' in rexpr) {
    const rows = (rexpr.List.items ?? []).map(partsOf);
    partsOf(lexpr).forEach((part, at) => bindIf(part, place, facts, () => rows.every((row) => isBound(row[at], place, facts))));
  }
}

function partsOf(expression: Node | undefined): readonly Node[] {
  if (!expression) return [];
  return 'RowExpr' in expression ? (expression.RowExpr.args ?? []) : [expression];
}

/** The other side is looked at only where there is something to bind: it may be a whole query. */
function bindIf(expression: Node | undefined, place: Place, facts: Facts, isGiven: () => boolean): void {
  const column = columnIn(expression);
  if (!column) return;
  const [key, second] = findColumn(place.scope, column);
  if (key === undefined || second !== undefined || facts.has(key) || !place.binds.has(Number.parseInt(key, 10))) return;
  if (isGiven()) facts.add(key);
}

function columnIn(expression: Node | undefined): ColumnRef | undefined {
  if (!expression) return undefined;
  if ('ColumnRef' in expression) return expression.ColumnRef;
  if ('CollateClause' in expression) return columnIn(expression.CollateClause.arg);
  // Other casts may make one of two.
  if ('TypeCast' in expression && namesOf(expression.TypeCast.typeName?.names).at(-1) === 'text') return columnIn(expression.TypeCast.arg);
  return undefined;
}
