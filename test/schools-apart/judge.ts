// In charge of judging a statement's parse tree: each table of a school in it must be bound to establishments that were
// given as values. A query is judged with what is known of the queries around it; what it yields is known to them.
import type { DeleteStmt, InsertStmt, Node, RangeVar, ResTarget, SelectStmt, UpdateStmt, WithClause } from 'libpg-query';
import { isBound, learn, learnAll } from './conditions.ts';
import { beside, readFrom, readTable, rename, type Learner } from './from-clause.ts';
import { addSource, everyColumn, findNamed, isKnown, keyOf, namesOf, openScope, yieldsBound } from './scope.ts';
import type { Column, Facts, Scope, Source, Yield } from './scope.ts';
import { visitNodes } from './visit-nodes.ts';

/** Tables that are not bound, found when asked for: while it is learned what a query yields, nobody does. */
type Offences = () => readonly string[];

type Verdict = Yield & Readonly<{ offences: Offences }>;

const nothing: Verdict = { columns: [], open: false, offences: () => [] };

/** The names of the tables that are not bound. Other statements than these four are not judged here. */
export function judge(statement: Node | undefined, outer: Scope): readonly string[] {
  return judgeQuery(statement, outer, new Set()).offences();
}

function judgeQuery(query: Node | undefined, outer: Scope, facts: Facts): Verdict {
  if (query && 'SelectStmt' in query) return judgeSelect(query.SelectStmt, outer, facts);
  if (query && 'UpdateStmt' in query) return judgeUpdate(query.UpdateStmt, outer, facts);
  if (query && 'DeleteStmt' in query) return judgeDelete(query.DeleteStmt, outer, facts);
  if (query && 'InsertStmt' in query) return judgeInsert(query.InsertStmt, outer, facts);
  return nothing;
}

function judgeSelect(select: SelectStmt, outer: Scope, facts: Facts): Verdict {
  const scope = openScope(outer);
  const given = judgeWith(select.withClause, scope, facts);
  const { withClause: _, larg, rarg, valuesLists, ...body } = select;
  if (larg && rarg) {
    const combined = combine(judgeSelect(larg, scope, facts), judgeSelect(rarg, scope, facts), select.op);
    return withOffences(combined, given, () => judgeWithin(body, scope, facts));
  }
  if (valuesLists) {
    const rows = valuesLists.map((row) => ('List' in row ? (row.List.items ?? []) : []));
    const isGiven = (at: number) => rows.every((row) => isBound(row[at], { scope, yieldOf: judgeSelect }, facts));
    const columns = (rows[0] ?? []).map((_cell, at) => ({ name: `column${at + 1}`, bound: isGiven(at) }));
    return withOffences({ columns, open: false, offences: given }, () => judgeWithin(valuesLists, scope, facts));
  }
  const learners = readFrom(select.fromClause ?? [], scope, judgeSelect);
  return withOffences(judgeBody(scope, facts, { learners, where: select.whereClause, yields: select.targetList, parts: body }), given);
}

/** A row of a union may come from either side, one of an intersection is in both, one of a difference is of the left. */
function combine(left: Verdict, right: Verdict, op: SelectStmt['op']): Verdict {
  const columns = left.columns.map(({ name, bound }, at) => {
    const other = yieldsBound(right, at);
    return { name, bound: op === 'SETOP_UNION' ? bound && other : op === 'SETOP_INTERSECT' ? bound || other : bound };
  });
  return withOffences({ columns, open: left.open, given: left.given === true && right.given === true, offences: left.offences }, right.offences);
}

function judgeUpdate(update: UpdateStmt, outer: Scope, facts: Facts): Verdict {
  return judgeChange(update, update.fromClause, outer, facts);
}

function judgeDelete(remove: DeleteStmt, outer: Scope, facts: Facts): Verdict {
  return judgeChange(remove, remove.usingClause, outer, facts);
}

function judgeChange(change: UpdateStmt & DeleteStmt, from: readonly Node[] = [], outer: Scope, facts: Facts): Verdict {
  const scope = openScope(outer);
  const given = judgeWith(change.withClause, scope, facts);
  const { withClause: _, ...parts } = change;
  if (change.relation) readTarget(change.relation, scope);
  const learners = readFrom(from, scope, judgeSelect);
  const body = { learners, where: change.whereClause, yields: change.returningClause?.exprs, sets: change.targetList, parts };
  return withOffences(judgeBody(scope, facts, body), given);
}

/** A change is made to a table, never to a query of WITH. */
function readTarget(target: RangeVar, scope: Scope): void {
  readTable({ ...target, schemaname: target.schemaname ?? 'public' }, scope, []);
  scope.reading.understood.add(target);
}

function judgeInsert(insert: InsertStmt, outer: Scope, facts: Facts): Verdict {
  const scope = openScope(outer);
  const given = judgeWith(insert.withClause, scope, facts);
  const { relation, cols, selectStmt, onConflictClause: conflict, returningClause } = insert;
  const table = relation?.relname ?? '';
  const rows = judgeQuery(selectStmt, scope, facts);
  const targets = cols?.map((target) => ('ResTarget' in target ? (target.ResTarget.name ?? '') : '')) ?? scope.reading.tables.get(table) ?? [];
  const bound = targets.includes('estab') && yieldsBound(rows, targets.indexOf('estab'));
  if (relation) readTarget(relation, scope);
  const [target] = scope.sources;
  const proposed = addSource(scope, 'excluded', scope.reading.tables.get(table));
  const known = new Set(facts);
  if (bound) known.add(keyOf(proposed, 'estab'));
  // A row in the way is of the same school if the key says so, or the condition of the change.
  const inKey = conflict?.infer?.indexElems?.some((element) => 'IndexElem' in element && element.IndexElem.name === 'estab');
  if (bound && target && (inKey || conflict?.action !== 'ONCONFLICT_UPDATE')) known.add(keyOf(target, 'estab'));
  const where = bound ? conflict?.whereClause : undefined;
  const onConflict = judgeBody(scope, known, { learners: [], where, sets: conflict?.targetList, parts: { conflict } });
  const offences = onConflict.offences();
  if (target && !offences.includes(table)) known.add(keyOf(target, 'estab'));
  scope.sources.pop();
  const returned = judgeBody(scope, known, { learners: [], yields: returningClause?.exprs, parts: returningClause });
  return withOffences(returned, given, rows.offences, () => offences);
}

type Body = {
  learners: readonly Learner[];
  where?: Node | undefined;
  /** What a query selects or a change returns, what a change sets, and everything that may hold queries. */
  yields?: readonly Node[] | undefined;
  sets?: readonly Node[] | undefined;
  parts: unknown;
};

function judgeBody(scope: Scope, outerFacts: Facts, { learners, where, yields = [], sets = [], parts }: Body): Verdict {
  const facts = new Set(outerFacts);
  const place = { scope, yieldOf: judgeSelect, binds: new Set(scope.sources.map((source) => source.id)) };
  learnAll([...learners, (known) => learn(where, place, known)], facts);
  const unbound = scope.sources.filter((source) => source.ofSchool && !facts.has(keyOf(source, source.ofSchool.estab)));
  // A row must not be moved to another school either.
  const moved = sets.some((set) => 'ResTarget' in set && set.ResTarget.name === 'estab' && !isBound(set.ResTarget.val, place, facts));
  const offences = [...unbound, ...(moved ? scope.sources.slice(0, 1) : [])].flatMap(({ ofSchool }) => ofSchool?.table ?? []);
  return { ...readYield(yields, scope, facts), offences: () => [...offences, ...judgeWithin(parts, scope, facts)] };
}

/** The queries within the parts of a query: below FROM, and wherever an expression may stand. */
function judgeWithin(parts: unknown, scope: Scope, facts: Facts): string[] {
  const offences: string[] = [];
  visitNodes(parts, (kind, value) => {
    const { subselect, subquery, lateral, testexpr } = value as { subselect?: Node; subquery?: Node; lateral?: boolean; testexpr?: Node };
    if (kind === 'SubLink') offences.push(...judgeQuery(subselect, scope, facts).offences(), ...judgeWithin(testexpr, scope, facts));
    if (kind === 'RangeSubselect') offences.push(...judgeQuery(subquery, lateral ? scope : beside(scope), facts).offences());
    return kind !== 'SubLink' && kind !== 'RangeSubselect';
  });
  return offences;
}

function judgeWith(clause: WithClause | undefined, scope: Scope, facts: Facts): Offences {
  const offences = (clause?.ctes ?? []).flatMap((node) => {
    if (!('CommonTableExpr' in node)) return [];
    const { ctename = '', aliascolnames = [], ctequery } = node.CommonTableExpr;
    // A query that does not go round does not see itself, nor those behind it.
    const seen = clause?.recursive ? scope : { ...scope, named: new Map(scope.named) };
    const read = () => {
      const verdict = judgeQuery(ctequery, seen, facts);
      scope.named.set(ctename, rename(verdict, { colnames: aliascolnames }));
      return verdict;
    };
    if (!clause?.recursive) return read().offences;
    // Its rows are bound if they are so when those are of which they are made.
    const first = ctequery && 'SelectStmt' in ctequery && ctequery.SelectStmt.larg ? judgeSelect(ctequery.SelectStmt.larg, scope, facts) : nothing;
    scope.named.set(ctename, rename(first, { colnames: aliascolnames }));
    for (let before = ''; ; ) {
      const { offences } = read();
      const now = JSON.stringify(findNamed(scope, ctename)?.columns);
      if (now === before) return offences;
      before = now;
    }
  });
  return () => offences.flatMap((find) => find());
}

function withOffences(verdict: Verdict, ...more: Offences[]): Verdict {
  return { ...verdict, offences: () => [...more, verdict.offences].flatMap((find) => find()) };
}

function readYield(yields: readonly Node[], scope: Scope, facts: Facts): Yield {
  let open = false;
  const columns = yields.flatMap((node): Column[] => {
    if (!('ResTarget' in node)) return [];
    const stars = sourcesOfStar(node.ResTarget, scope);
    if (!stars) return [{ name: nameOf(node.ResTarget), bound: isBound(node.ResTarget.val, { scope, yieldOf: judgeSelect }, facts) }];
    if (scope.merged.size > 0 || stars.some((source) => !source.columns)) open = true;
    return stars.flatMap((source) => [...(source.columns ?? [])].map((name) => ({ name, bound: isKnown(facts, keyOf(source, name)) })));
  });
  const isGiven = (source: Source) => isKnown(facts, keyOf(source, everyColumn));
  return { columns, open, given: open && yields.every((node) => 'ResTarget' in node && sourcesOfStar(node.ResTarget, scope)?.every(isGiven)) };
}

function sourcesOfStar({ val }: ResTarget, scope: Scope) {
  if (!val || !('ColumnRef' in val)) return undefined;
  const names = namesOf(val.ColumnRef.fields);
  if (names.at(-1) !== '*') return undefined;
  return names.length === 1 ? scope.sources : scope.sources.filter((source) => source.name === names[0]);
}

function nameOf({ name, val }: ResTarget): string {
  if (name !== undefined || !val) return name ?? '';
  if ('ColumnRef' in val) return namesOf(val.ColumnRef.fields).at(-1) ?? '';
  if ('TypeCast' in val && val.TypeCast.arg) return nameOf({ val: val.TypeCast.arg });
  if ('FuncCall' in val) return namesOf(val.FuncCall.funcname).at(-1) ?? '';
  return '';
}
