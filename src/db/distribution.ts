// In charge of how a database that Citus spreads over several nodes stands: which tables lie where, which nodes there are, and whether
// `distribute` has been interrupted. It is found in the catalogue, and in the table that the command keeps its own notes in.
import { SchoolbellError } from '../errors.ts';
import { placements, type Place } from './placement.ts';
import type { Sql } from './statement.ts';

/** There as long as the database is spread, or half. It is made by the command, and no migration knows it. */
export const notes = 'distribution';

/** out: over the nodes. back: all to one. */
export type Way = 'out' | 'back';

/** address: where the coordinator reaches it. group: 0 is the coordinator itself. */
export type DataNode = Readonly<{ name: string; port: number; address: string; group: number; active: boolean; holdsSchools: boolean }>;

/** local: on the coordinator, and known to Citus, since it refers to what is everywhere. */
export type Lying = Exclude<Place, 'coordinator'> | 'local';

/** Without a look at tables: in one statement that any server answers. Of the schema in which the tables are, as others may have one of that name. */
export const isSpread = `to_regclass(quote_ident(current_schema()) || '.${notes}') is not null`;

export async function knowsNotes(sql: Sql): Promise<boolean> {
  const [row] = await sql.unsafe<{ known: boolean }[]>(`select ${isSpread} as known`);
  return row?.known === true;
}

/** Undefined: nothing is half done. */
export async function findUnderWay(sql: Sql): Promise<Way | undefined> {
  if (!(await knowsNotes(sql))) return undefined;
  const [row] = await sql<{ way: Way }[]>`select definition as way from distribution where kind = 'under way'`;
  return row?.way;
}

/** Half of the tables are elsewhere, and foreign keys are missing. */
export async function refuseUnderWay(sql: Sql): Promise<void> {
  const way = await findUnderWay(sql);
  if (way === undefined) return;
  throw new SchoolbellError(
    'conflict',
    `the database is being ${way === 'out' ? 'spread over several nodes' : 'brought back to one node'}, or that was interrupted: ` +
      'end it with npx schoolbell distribute, or undo it with npx schoolbell distribute --back',
  );
}

export async function findCitus(sql: Sql): Promise<string | undefined> {
  const [row] = await sql<{ version: string }[]>`select extversion as version from pg_extension where extname = 'citus'`;
  return row?.version;
}

export async function listNodes(sql: Sql): Promise<DataNode[]> {
  return sql<DataNode[]>`
    select nodename::text as name, nodeport as port, nodename || ':' || nodeport as address, groupid as group, isactive as active,
      shouldhaveshards as "holdsSchools"
    from pg_dist_node where noderole = 'primary' order by groupid`;
}

/** Without the tables that Citus does not know. */
export async function readLying(sql: Sql): Promise<Map<string, Lying>> {
  const rows = await sql<{ table: string; lying: Lying }[]>`
    select c.relname::text as table, case when p.partmethod = 'h' then 'school' when p.repmodel = 't' then 'everywhere' else 'local' end as lying
    from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid where c.relnamespace = current_schema()::regnamespace order by 1`;
  return new Map(rows.map(({ table, lying }) => [table, lying]));
}

/** place: undefined is the coordinator. */
export type Misplaced = Readonly<{ table: string; place: Lying | undefined }>;

/**
 * Tables that are to lie elsewhere than they do: first those that come back, then in the order in which one may refer to another. Of a version
 * that this one does not know: as they are.
 */
export async function findMisplaced(sql: Sql, lying: ReadonlyMap<string, Lying>): Promise<Misplaced[]> {
  const there = new Set((await sql<{ name: string }[]>`
    select relname::text as name from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r'`).map(({ name }) => name));
  const order = [undefined, 'everywhere', 'school'];
  return [...placements].flatMap(([table, place]): Misplaced[] => {
    if (!there.has(table) || lying.get(table) === place || (place === 'coordinator' && !isElsewhere(lying.get(table)))) return [];
    return [{ table, place: place === 'coordinator' ? undefined : place }];
  }).toSorted((one, other) => order.indexOf(one.place) - order.indexOf(other.place));
}

export const isElsewhere = (lying: Lying | undefined): boolean => lying === 'school' || lying === 'everywhere';
