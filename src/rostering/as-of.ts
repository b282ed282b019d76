// In charge of the rows that a question is asked of: those that stand, or, of schools at an earlier version, those that
// stood then. A state holds from its version until the one that replaced it.
import { historyTable, keptColumns } from '../collection/history.ts';
import type { Sql } from '../db/connect.ts';
import type { RowsOf } from './operations.ts';
import type { Target } from './visibility.ts';

export const isPast = ({ version, current }: Pick<Target, 'version' | 'current'>) => version !== current;

export function rowsAt(sql: Sql, targets: readonly Target[]): RowsOf {
  if (!targets.some(isPast)) return (resource) => sql(resource.table);
  return (resource) => {
    const columns = sql(keptColumns(resource));
    const [live, history] = [sql(resource.table), sql(historyTable(resource))];
    const standing = targets.filter((target) => !isPast(target)).map((target) => target.estab);
    const parts = [
      ...(standing.length > 0 ? [sql`select ${columns}, head from ${live} where estab = any(${standing})`] : []),
      ...targets.filter(isPast).flatMap(({ estab, version }) => [
        sql`select ${columns}, head from ${live} where estab = ${estab} and version <= ${version}`,
        sql`select ${columns}, roster_head(estab, sourced_id, status, version) as head from ${history}
          where estab = ${estab} and version <= ${version} and until_version > ${version}`,
      ]),
    ];
    return sql`(${parts.reduce((all, one) => sql`${all} union all ${one}`)})`;
  };
}
