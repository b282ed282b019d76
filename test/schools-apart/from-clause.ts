// In charge of FROM: which tables it names, and what its joins say about their columns. The condition of an outer join
// binds the side that may be missing, for rows of that side come only where it holds; that of a full join binds none.
import type { Alias, JoinExpr, Node, RangeFunction, RangeSubselect, RangeVar } from 'libpg-query';
import { isValue, learn, type YieldOf } from './conditions.ts';
import { addSource, everyColumn, findNamed, findUnqualified, isKnown, keyOf, namesOf, type Facts, type Scope, type Source, type Yield } from './scope.ts';

export type Learner = (facts: Facts) => void;

/** Adds what a FROM clause names to the scope; gives what is to be learned from it. */
export function readFrom(items: readonly Node[], scope: Scope, yieldOf: YieldOf): Learner[] {
  const learners: Learner[] = [];
  for (const item of items) readItem(item, scope, yieldOf, learners);
  return learners;
}

function readItem(item: Node, scope: Scope, yieldOf: YieldOf, learners: Learner[]): void {
  if ('RangeVar' in item) readTable(item.RangeVar, scope, learners);
  if ('RangeSubselect' in item) readSubselect(item.RangeSubselect, scope, yieldOf, learners);
  if ('RangeFunction' in item) readFunction(item.RangeFunction, scope, learners);
  if ('JoinExpr' in item) readJoin(item.JoinExpr, scope, yieldOf, learners);
}

/** A table, or a query of WITH. */
export function readTable(table: RangeVar, scope: Scope, learners: Learner[]): Source {
  const { relname = '', schemaname, alias } = table;
  scope.reading.understood.add(table);
  const name = alias?.aliasname ?? relname;
  const named = schemaname === undefined ? findNamed(scope, relname) : undefined;
  if (named) return addYield(name, rename(named, alias), scope, learners);
  const columns = scope.reading.tables.get(relname);
  const renamed = columns?.map((column, at) => namesOf(alias?.colnames)[at] ?? column);
  const estab = renamed?.[columns?.indexOf('estab') ?? -1];
  return addSource(scope, name, renamed, estab === undefined ? undefined : { table: relname, estab });
}

function addYield(name: string, given: Yield, scope: Scope, learners: Learner[]): Source {
  const source = addSource(scope, name, given.open ? undefined : given.columns.map((column) => column.name));
  learners.push((facts) => addBound(source, given, facts));
  return source;
}

function addBound(source: Source, { columns, given }: Yield, facts: Facts): void {
  if (given) facts.add(keyOf(source, everyColumn));
  for (const column of columns) if (column.bound) facts.add(keyOf(source, column.name));
}

export function rename(given: Yield, alias: Alias | undefined): Yield {
  const names = namesOf(alias?.colnames);
  if (names.length === 0) return given;
  if (given.open) return { ...given, columns: [] };
  return { ...given, columns: given.columns.map((column, at) => ({ ...column, name: names[at] ?? column.name })) };
}

function readSubselect({ subquery, lateral, alias }: RangeSubselect, scope: Scope, yieldOf: YieldOf, learners: Learner[]): void {
  if (!subquery || !('SelectStmt' in subquery)) return;
  const query = subquery.SelectStmt;
  const read = (facts: Facts) => rename(yieldOf(query, lateral ? scope : beside(scope), facts), alias);
  const { columns, open } = read(new Set());
  const source = addSource(scope, alias?.aliasname ?? '', open ? undefined : columns.map((column) => column.name));
  learners.push((facts) => addBound(source, read(facts), facts));
}

/** Sees the queries of WITH, and nothing of the tables beside it. */
export function beside(scope: Scope): Scope {
  return { ...scope, sources: [], merged: new Map() };
}

/** Rows that were given as parameters are values, the establishment in each of them too. */
function readFunction({ functions = [], alias, coldeflist = [] }: RangeFunction, scope: Scope, learners: Learner[]): void {
  const defined = coldeflist.flatMap((column) => ('ColumnDef' in column ? [column.ColumnDef.colname ?? ''] : []));
  const columns = [...defined, ...namesOf(alias?.colnames)];
  const source = addSource(scope, alias?.aliasname ?? nameOfFunction(functions), columns.length > 0 ? columns : undefined);
  if (functions.every(isValue)) learners.push((facts) => void facts.add(keyOf(source, everyColumn)));
}

function nameOfFunction([first]: readonly Node[]): string {
  const call = first && 'List' in first ? first.List.items?.[0] : undefined;
  return call && 'FuncCall' in call ? (namesOf(call.FuncCall.funcname).at(-1) ?? '') : '';
}

function readJoin(join: JoinExpr, scope: Scope, yieldOf: YieldOf, learners: Learner[]): void {
  const [left, right] = [join.larg, join.rarg].map((side) => {
    const before = scope.sources.length;
    if (side) readItem(side, scope, yieldOf, learners);
    return scope.sources.slice(before);
  }) as [Source[], Source[]];
  // The names behind such an alias are not followed: what is compared through it stays unbound.
  if (join.alias) for (const source of [...left, ...right]) source.name = '';
  const kind = join.jointype ?? 'JOIN_INNER';
  const bindable = { JOIN_INNER: [...left, ...right], JOIN_LEFT: right, JOIN_RIGHT: left }[kind as string] ?? [];
  const binds = new Set(bindable.map((source) => source.id));
  learners.push((facts) => learn(join.quals, { scope, yieldOf, binds }, facts));
  for (const column of namesOf(join.usingClause)) {
    const [inLeft, inRight] = [findUnqualified(scope, left, column), findUnqualified(scope, right, column)];
    learners.push((facts) => learnSame(inLeft, inRight, column, binds, facts), (facts) => learnSame(inRight, inLeft, column, binds, facts));
    scope.merged.set(column, { JOIN_INNER: inLeft, JOIN_LEFT: inLeft, JOIN_RIGHT: inRight }[kind as string] ?? [...inLeft, ...inRight]);
  }
}

function learnSame(from: readonly Source[], to: readonly Source[], column: string, binds: ReadonlySet<number>, facts: Facts): void {
  const [target, second] = to;
  if (!target || second || from.length === 0 || !binds.has(target.id)) return;
  if (from.every((source) => isKnown(facts, keyOf(source, column)))) facts.add(keyOf(target, column));
}
