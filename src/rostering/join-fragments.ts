// In charge of joining pieces of a statement.
import type { Fragment, Sql } from '../db/connect.ts';

export function joined(sql: Sql, parts: readonly Fragment[], by: Fragment): Fragment {
  return parts.reduce((all, one) => sql`${all}${by}${one}`);
}
