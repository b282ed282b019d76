// In charge of the strict half of the rule: a statement about tables that lie with their school is about one school. Each reference to
// such a table is compared with the establishment as a value, in the query that it stands in: what follows from other tables does not count,
// for a database that is spread over nodes does not follow it either.
import type { A_Expr, CommonTableExpr, CopyStmt, DeleteStmt, InsertStmt, JoinExpr, Node, RangeVar, SelectStmt, UpdateStmt } from 'libpg-query';
import type { Place } from '../../src/db/placement.ts';
import { isValue } from './conditions.ts';
import { namesOf } from './scope.ts';
import type { Tables } from './tables.ts';
import { visitNodes } from './visit-nodes.ts';

export type Placed = Readonly<{
  isOfSchool(table: string): boolean;
  isOfCoordinator(table: string): boolean;
  placeOf(table: string): Place | undefined;
  columns(table: string): readonly string[];
}>;

export function placedBy(places: ReadonlyMap<string, Place>, tables: Tables): Placed {
  return {
    isOfSchool: (table) => places.get(table) === 'school',
    isOfCoordinator: (table) => places.get(table) === 'coordinator',
    placeOf: (table) => places.get(table),
    columns: (table) => tables.get(table) ?? [],
  };
}

/** A reference in FROM, with the conditions that must hold for its rows. */
type Reference = { table: string; name: string; conditions: Node[] };

const judged = ['SelectStmt', 'InsertStmt', 'UpdateStmt', 'DeleteStmt'];

/** What is wrong with it, in words; nothing where it has no table of a school, or is no question about rows. */
export function judgeOneSchool(statement: Node, placed: Placed): string[] {
  const [[kind = '', body = {}] = []] = Object.entries(statement) as [string, { query?: Node }][];
  if (kind === 'CopyStmt' && !body.query) return judgeCopy(body, placed);
  // Cursors, copies of a query, EXPLAIN and PREPARE.
  if (body.query) return judgeOneSchool(body.query, placed);
  if (kind === 'MergeStmt' || kind === 'TruncateStmt')
    return findTables(statement, new Set()).filter(placed.isOfSchool).map((table) => `changes ${table} whole`);
  return judged.includes(kind) ? judgeRows(statement, placed) : [];
}

/** Each line of a COPY carries its establishment. */
function judgeCopy({ relation, attlist = [], is_from: isFrom }: CopyStmt, placed: Placed): string[] {
  const table = relation?.relname ?? '';
  return !placed.isOfSchool(table) || (isFrom && namesOf(attlist).includes('estab')) ? [] : [`copies ${table} whole`];
}

function judgeRows(statement: Node, placed: Placed): string[] {
  const named = findNamed(statement);
  const tables = findTables(statement, named);
  const ofSchool = tables.filter(placed.isOfSchool);
  if (ofSchool.length === 0) return [];
  const beside = tables.filter(placed.isOfCoordinator);
  const unbound = [...named].filter(placed.isOfSchool);
  visitNodes({ statement }, (kind, value) => {
    if (kind === 'SelectStmt' || isSideOfSelect(kind, value)) unbound.push(...judgeSelect(value as SelectStmt, named, placed));
    if (kind === 'UpdateStmt') unbound.push(...judgeChange(value as UpdateStmt, (value as UpdateStmt).fromClause, named, placed));
    if (kind === 'DeleteStmt') unbound.push(...judgeChange(value as DeleteStmt, (value as DeleteStmt).usingClause, named, placed));
    if (kind === 'InsertStmt') unbound.push(...judgeInsert(value as InsertStmt, placed));
    return true;
  });
  return [
    ...(beside.length > 0 ? [`asks ${unique(beside)}, of the coordinator, together with ${unique(ofSchool)}`] : []),
    ...(unbound.length > 0 ? [`does not compare ${unique(unbound)} with the establishment as a value, where it stands`] : []),
  ];
}

/** The queries of WITH; one that is called like a table of a school would hide it. */
function findNamed(statement: Node): Set<string> {
  const named = new Set<string>();
  visitNodes(statement, (kind, value) => {
    if (kind === 'CommonTableExpr') named.add((value as CommonTableExpr).ctename ?? '');
    return true;
  });
  return named;
}

function findTables(statement: Node, named: ReadonlySet<string>): string[] {
  const tables: string[] = [];
  visitNodes(statement, (kind, value) => {
    // Locks name what stands in FROM.
    if (kind === 'LockingClause') return false;
    const { relname } = value as RangeVar;
    if (relname !== undefined && !named.has(relname)) tables.push(relname);
    return true;
  });
  return tables;
}

/** Of UNION and the like; the sides of a join are called the same. */
const isSideOfSelect = (kind: string, value: object) => (kind === 'larg' || kind === 'rarg') && 'op' in value;
const unique = (names: readonly string[]) => [...new Set(names)].toSorted().join(', ');

function judgeSelect(select: SelectStmt, named: ReadonlySet<string>, placed: Placed): string[] {
  const references = (select.fromClause ?? []).flatMap((item) => readItem(item, named));
  return findUnbound(references, select.whereClause, placed);
}

function judgeChange(change: UpdateStmt & DeleteStmt, from: readonly Node[] | undefined, named: ReadonlySet<string>, placed: Placed): string[] {
  const target = change.relation ? [readTable(change.relation)] : [];
  return findUnbound([...target, ...(from ?? []).flatMap((item) => readItem(item, named))], change.whereClause, placed);
}

/** Rows of values, or of a query about one school, whose establishment is the column of such a table. */
function judgeInsert({ relation, cols, selectStmt }: InsertStmt, placed: Placed): string[] {
  const table = relation?.relname ?? '';
  if (!placed.isOfSchool(table)) return [];
  const targets = cols?.map((target) => ('ResTarget' in target ? (target.ResTarget.name ?? '') : '')) ?? placed.columns(table);
  const at = targets.indexOf('estab');
  const query = selectStmt && 'SelectStmt' in selectStmt ? selectStmt.SelectStmt : undefined;
  return at >= 0 && query && yieldsEstab(query, at) ? [] : [table];
}

function yieldsEstab(query: SelectStmt, at: number): boolean {
  if (query.valuesLists) return query.valuesLists.every((row) => 'List' in row && isPlain(row.List.items?.[at]));
  if (query.larg && query.rarg) return yieldsEstab(query.larg, at) && yieldsEstab(query.rarg, at);
  const target = query.targetList?.[at];
  const value = target && 'ResTarget' in target ? target.ResTarget.val : undefined;
  return isPlain(value) || (value !== undefined && 'ColumnRef' in value && namesOf(value.ColumnRef.fields).at(-1) === 'estab' && !hasRows(query));
}

/** Rows that were given as parameters may be of several schools. */
function hasRows(query: SelectStmt): boolean {
  return (query.fromClause ?? []).every((item) => 'RangeFunction' in item);
}

function readItem(item: Node, named: ReadonlySet<string>): Reference[] {
  if ('RangeVar' in item) return named.has(item.RangeVar.relname ?? '') ? [] : [readTable(item.RangeVar)];
  if ('JoinExpr' in item) return readJoin(item.JoinExpr, named);
  return [];
}

function readTable({ relname = '', alias }: RangeVar): Reference {
  return { table: relname, name: alias?.aliasname ?? relname, conditions: [] };
}

function readJoin({ larg, rarg, quals, jointype = 'JOIN_INNER' }: JoinExpr, named: ReadonlySet<string>): Reference[] {
  const left = larg ? readItem(larg, named) : [];
  const right = rarg ? readItem(rarg, named) : [];
  const bound = { JOIN_INNER: [...left, ...right], JOIN_LEFT: right, JOIN_RIGHT: left }[jointype as string] ?? [];
  if (quals) for (const reference of bound) reference.conditions.push(quals);
  return [...left, ...right];
}

function findUnbound(references: readonly Reference[], where: Node | undefined, placed: Placed): string[] {
  return references
    .filter(({ table }) => placed.isOfSchool(table))
    .filter(({ name, conditions }) => ![...conditions, ...(where ? [where] : [])].some((condition) => binds(condition, name)))
    .map(({ table }) => table);
}

/** `name.estab = value`, alone or beside other conditions. Without a name it is the only one that it can be. */
function binds(condition: Node, name: string): boolean {
  if ('BoolExpr' in condition) return condition.BoolExpr.boolop === 'AND_EXPR' && (condition.BoolExpr.args ?? []).some((each) => binds(each, name));
  return 'A_Expr' in condition && compares(condition.A_Expr, name);
}

function compares({ kind, name: operator, lexpr, rexpr }: A_Expr, name: string): boolean {
  if (kind !== 'AEXPR_OP' || namesOf(operator).at(-1) !== '=') return false;
  const [left, right] = [partsOf(lexpr), partsOf(rexpr)];
  return left.some((part, at) => (isEstab(part, name) && isPlain(right[at])) || (isEstab(right[at], name) && isPlain(part)));
}

function partsOf(expression: Node | undefined): readonly Node[] {
  if (!expression) return [];
  return 'RowExpr' in expression ? (expression.RowExpr.args ?? []) : [expression];
}

function isEstab(expression: Node | undefined, name: string): boolean {
  if (!expression || !('ColumnRef' in expression)) return false;
  const [column, table] = namesOf(expression.ColumnRef.fields).toReversed();
  return column === 'estab' && (table === undefined || table === name);
}

/** A parameter or a constant, perhaps with its type; not a query. */
function isPlain(expression: Node | undefined): boolean {
  if (!expression) return false;
  if ('TypeCast' in expression) return isPlain(expression.TypeCast.arg);
  return isValue(expression) && ('ParamRef' in expression || 'A_Const' in expression);
}
