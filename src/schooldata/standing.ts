// In charge of telling two states of a school's data apart: by the versions of roster and marks, with their instants, by how each of its
// databases stands, and by what is said of the school itself.
import type { Sql } from '../db/connect.ts';

/** The same where the same is answered. How far a collection has come is not part of it: that is another thing every second. */
export async function readStanding(sql: Sql, estab: string): Promise<string> {
  const [row] = await sql<{ standing: string }[]>`
    select jsonb_build_array(
      (select jsonb_build_array(r.id, r.version, v.instant, r.rendered_to) from roster r
        left join roster_version v on v.estab = r.estab and v.version = r.version where r.estab = ${estab}),
      (select jsonb_build_array(v.version, v.instant) from attendance_version v where v.estab = ${estab} order by v.version desc limit 1),
      (select jsonb_agg(to_jsonb(d) - 'progress' order by d.name) from component_database d where d.estab = ${estab}),
      (select jsonb_build_array(e.name, e.email, e.time_zone, e.connector) from establishment e where e.estab = ${estab})
    )::text as standing`;
  return row?.standing ?? '';
}
