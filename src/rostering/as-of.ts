// In charge of the rows that a question is asked of: those that stand, or, of a school at an earlier version, those that
// stood then. A state holds from its version until the one that replaced it.
import { historyTable, keptColumns } from '../collection/history.ts';
import type { Fragment, Sql } from '../db/connect.ts';
import type { Resource } from '../roster/resource.ts';
import type { RowsOf } from './operations.ts';
import type { Target } from './visibility.ts';

/** Some rows t of a table. */
export type Piece = Readonly<{ table: Fragment; holds: Fragment }>;

export const isPast = ({ version, current }: Pick<Target, 'version' | 'current'>) => version !== current;

/** Each with rows in the order of an index; undefined when all of it is in one table, as it stands. */
export function piecesAt(sql: Sql, target: Target, resource: Resource): readonly Piece[] | undefined {
  if (!isPast(target)) return undefined;
  const { estab, version } = target;
  return [
    { table: sql(resource.table), holds: sql`t.estab = ${estab} and t.version <= ${version}` },
    { table: sql(historyTable(resource)), holds: sql`t.estab = ${estab} and t.version <= ${version} and t.until_version > ${version}` },
  ];
}

/** Something to select from, with the columns of the collection's table. */
export function rowsAt(sql: Sql, target: Target): RowsOf {
  return (resource) => {
    const pieces = piecesAt(sql, target, resource);
    if (!pieces) return sql(resource.table);
    return sql`(${pieces.map(({ table, holds }) => sql`select ${columnsAt(sql, resource)} from ${table} t where ${holds}`).reduce(
      (all, one) => sql`${all} union all ${one}`,
    )})`;
  };
}

export function columnsAt(sql: Sql, resource: Resource): Fragment {
  return sql(keptColumns(resource).map((name) => `t.${name}`));
}
