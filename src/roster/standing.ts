// In charge of where a roster stands, for whoever asks about all schools at once: to be noted last in every transaction that changes the
// row of `roster`, which lies with the school's records.
import type { Sql } from '../db/connect.ts';

/** records, pupils: those that are there now. */
type Standing = {
  id: string;
  version: number;
  keptFrom: number;
  instant: Date | null;
  purgedAt: Date | null;
  renderedTo: number;
  records: number;
  pupils: number;
};

export async function noteStanding(tx: Sql, estab: string): Promise<void> {
  const [roster] = await tx<Standing[]>`
    select r.id, r.version, r.kept_from as "keptFrom", v.instant, r.purged_at as "purgedAt", r.rendered_to as "renderedTo",
      (select coalesce(sum(t.count), 0)::int from roster_total t where t.estab = ${estab} and t.status = 'active') as records,
      (select coalesce(sum(t.count), 0)::int from roster_total t
        where t.estab = ${estab} and t.status = 'active' and t.collection = 'users' and t.kind = 'student') as pupils
    from roster r left join roster_version v on v.estab = ${estab} and v.version = r.version where r.estab = ${estab}`;
  if (!roster) return;
  const { id, version, keptFrom, instant, purgedAt, renderedTo, records, pupils } = roster;
  await tx`
    insert into roster_standing (estab, roster_id, version, kept_from, instant, purged_at, rendered_to, records, pupils)
    values (${estab}, ${id}, ${version}, ${keptFrom}, ${instant}, ${purgedAt}, ${renderedTo}, ${records}, ${pupils})
    on conflict (estab) do update set roster_id = excluded.roster_id, version = excluded.version, kept_from = excluded.kept_from,
      instant = excluded.instant, purged_at = excluded.purged_at, rendered_to = excluded.rendered_to, records = excluded.records, pupils = excluded.pupils`;
}

/** All of them. */
export async function listSchools(sql: Sql): Promise<{ estab: string }[]> {
  return sql<{ estab: string }[]>`select estab from roster_standing order by estab`;
}
