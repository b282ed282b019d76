// In charge of where a roster stands, for whoever asks about all schools at once: to be noted last in every transaction that changes the
// row of `roster`, which lies with the school's records.
import { isDeepStrictEqual } from 'node:util';
import type { Sql } from '../db/connect.ts';

/** records, pupils: those that are there now. */
type Standing = {
  id: string;
  version: number;
  keptFrom: number;
  instant: Date | null;
  purgedAt: Date | null;
  records: number;
  pupils: number;
};

/** The transaction has locked the row of `roster`, or written it: what is read without that may be overtaken until it is noted. */
export async function noteStanding(tx: Sql, estab: string): Promise<void> {
  const roster = await readOwn(tx, estab);
  if (!roster) return;
  const { id, version, keptFrom, instant, purgedAt, records, pupils } = roster;
  await tx`
    insert into roster_standing (estab, roster_id, version, kept_from, instant, purged_at, records, pupils)
    values (${estab}, ${id}, ${version}, ${keptFrom}, ${instant}, ${purgedAt}, ${records}, ${pupils})
    on conflict (estab) do update set roster_id = excluded.roster_id, version = excluded.version, kept_from = excluded.kept_from,
      instant = excluded.instant, purged_at = excluded.purged_at, records = excluded.records, pupils = excluded.pupils`;
}

/** Whether something else is noted than the school's own records say. Both are asked apart, so that it may be said of what is just moving. */
export async function isNotedOtherwise(sql: Sql, estab: string): Promise<boolean> {
  const own = await readOwn(sql, estab);
  const [noted] = await sql<Standing[]>`
    select roster_id as id, version, kept_from as "keptFrom", instant, purged_at as "purgedAt", records, pupils
    from roster_standing where estab = ${estab}`;
  return own !== undefined && !isDeepStrictEqual({ ...own }, { ...noted });
}

async function readOwn(sql: Sql, estab: string): Promise<Standing | undefined> {
  const [roster] = await sql<Standing[]>`
    select r.id, r.version, r.kept_from as "keptFrom", v.instant, r.purged_at as "purgedAt",
      (select coalesce(sum(t.count), 0)::int from roster_total t where t.estab = ${estab} and t.status = 'active') as records,
      (select coalesce(sum(t.count), 0)::int from roster_total t
        where t.estab = ${estab} and t.status = 'active' and t.collection = 'users' and t.kind = 'student') as pupils
    from roster r left join roster_version v on v.estab = ${estab} and v.version = r.version where r.estab = ${estab}`;
  return roster;
}
