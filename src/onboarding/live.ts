// In charge of when a school is live: every database that its connector offers was collected once.
import type { Fragment, Sql } from '../db/connect.ts';

/** As a condition on a school. */
export const whenLive = (sql: Sql, estab: Fragment): Fragment => sql`
  exists (select from component_database d where d.estab = ${estab}) and not exists (select from component_database d where d.estab = ${estab}
    and d.updated_at is null)`;

export async function isLive(sql: Sql, estab: string): Promise<boolean> {
  const [row] = await sql<{ live: boolean }[]>`select ${whenLive(sql, sql`${estab}`)} as live`;
  return row?.live ?? false;
}
