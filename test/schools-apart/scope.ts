// In charge of names within a statement: which table reference a column belongs to, from a query outwards, and what is
// known of its columns. A column is bound when it can only hold a value that was given with the statement.
import type { ColumnRef, Node } from 'libpg-query';
import type { Tables } from './tables.ts';

export type Column = Readonly<{ name: string; bound: boolean }>;

/** The columns that a query yields; open: there are others, or in another order; given: every one of them is bound. */
export type Yield = Readonly<{ columns: readonly Column[]; open: boolean; given?: boolean }>;

export function yieldsBound({ columns, open, given }: Yield, at: number): boolean {
  return given === true || (!open && columns[at]?.bound === true);
}

/** One reference in a FROM clause, or the target of a change. Columns are undefined where nothing says what they are. */
export type Source = { id: number; name: string; columns?: ReadonlySet<string>; ofSchool?: TableOfSchool };

/** A table that belongs to a school, and what its column estab is called here. */
export type TableOfSchool = Readonly<{ table: string; estab: string }>;

/** The bound columns, as keys. */
export type Facts = Set<string>;

/** What is gathered over a whole statement. */
export type Reading = { tables: Tables; understood: Set<object>; sources: number };

export type Scope = {
  reading: Reading;
  outer?: Scope;
  sources: Source[];
  /** Columns of JOIN … USING: the one that shows, or both of a full join. */
  merged: Map<string, Source[]>;
  /** The queries of WITH, by name. */
  named: Map<string, Yield>;
};

export function openScope(outer: Scope): Scope {
  return { reading: outer.reading, outer, sources: [], merged: new Map(), named: new Map() };
}

export function addSource(scope: Scope, name: string, columns?: Iterable<string>, ofSchool?: TableOfSchool): Source {
  const source: Source = { id: scope.reading.sources++, name };
  if (columns) source.columns = new Set(columns);
  if (ofSchool) source.ofSchool = ofSchool;
  scope.sources.push(source);
  return source;
}

export function keyOf(source: Source, column: string): string {
  return `${source.id}.${column}`;
}

/** Stands for the columns of a source that is bound as a whole. */
export const everyColumn = '*';

export function isKnown(facts: Facts, key: string): boolean {
  return facts.has(key) || facts.has(`${key.slice(0, key.indexOf('.'))}.${everyColumn}`);
}

export function findNamed(scope: Scope, name: string): Yield | undefined {
  for (let at: Scope | undefined = scope; at; at = at.outer) {
    const found = at.named.get(name);
    if (found) return found;
  }
  return undefined;
}

export function namesOf(nodes: readonly Node[] = []): string[] {
  return nodes.map((node) => ('String' in node ? (node.String.sval ?? '') : '*'));
}

/** The keys of a column: usually one, both of a full join, none if it cannot be told whose it is. */
export function findColumn(scope: Scope, reference: ColumnRef): string[] {
  const [column = '', table] = namesOf(reference.fields).toReversed();
  return sourcesOfColumn(scope, column, table).map((source) => keyOf(source, column));
}

function sourcesOfColumn(scope: Scope, column: string, table: string | undefined): Source[] {
  for (let at: Scope | undefined = scope; at; at = at.outer) {
    if (table !== undefined) {
      const source = at.sources.find(({ name }) => name === table);
      if (source) return [source];
      continue;
    }
    const found = findUnqualified(at, at.sources, column);
    // Where the columns of a table are not known, it may be one of those.
    if (found.length > 0 || at.sources.some(({ columns }) => !columns)) return found;
  }
  return [];
}

/** PostgreSQL refuses names that fit two tables, so one that is known to fit is the one. */
export function findUnqualified(scope: Scope, among: readonly Source[], column: string): Source[] {
  const merged = scope.merged.get(column);
  if (merged?.every((source) => among.includes(source))) return merged;
  // The one column of a function is called like the function.
  const found = among.filter(({ columns, name }) => columns?.has(column) ?? name === column);
  return found.length === 1 ? found : [];
}
