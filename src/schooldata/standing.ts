// In charge of telling two states of a school's data apart: by the versions of roster and marks, with their instants, by how each of its
// databases stands, and by what is said of the school itself.
import type { Sql } from '../db/connect.ts';

/** How what lies with the school stands: the newest versions of roster and marks. Without an instant there is none yet. */
export type SchoolStanding = Readonly<{
  rosterId: string;
  version: number;
  instant: Date | null;
  marksVersion: number | null;
  marksInstant: Date | null;
}>;

export async function readSchoolStanding(sql: Sql, estab: string): Promise<SchoolStanding | undefined> {
  const [school] = await sql<SchoolStanding[]>`
    select r.id as "rosterId", r.version, v.instant, m.version as "marksVersion", m.instant as "marksInstant"
    from roster r
      left join roster_version v on v.estab = ${estab} and v.version = r.version
      left join lateral (select a.version, a.instant from attendance_version a where a.estab = ${estab} order by a.version desc limit 1) m on true
    where r.estab = ${estab}`;
  return school;
}

export function isSameStanding(one: SchoolStanding | undefined, other: SchoolStanding | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Whether how the databases stand is said of this version: of what is committed on several nodes, one part can be seen before the other. */
export async function isNoted(sql: Sql, estab: string, { version }: SchoolStanding): Promise<boolean> {
  const [noted] = await sql<{ version: number }[]>`select version from roster_standing where estab = ${estab}`;
  return noted === undefined || noted.version === version;
}

/** The same where the same is answered. How far a collection has come is not part of it: that is another thing every second. */
export async function readStanding(sql: Sql, estab: string): Promise<string> {
  const school = await readSchoolStanding(sql, estab);
  const [said] = await sql<{ said: string }[]>`
    select jsonb_build_array(
      (select jsonb_agg(to_jsonb(d) - 'progress' order by d.name) from component_database d where d.estab = ${estab}),
      (select jsonb_build_array(e.name, e.email, e.time_zone, e.connector) from establishment e where e.estab = ${estab})
    )::text as said`;
  return `${JSON.stringify(school)} ${said?.said}`;
}
