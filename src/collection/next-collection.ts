// In charge of when a collection that ends now grows old, and when it is made again. A source that can be asked again grows old; what is only
// ever uploaded does not. The demo moves every ten minutes; other rosters are read again at night, attendance when it has grown old.
import type { Sql } from '../db/connect.ts';
import type { DatabaseName } from './connector.ts';

/** To the microsecond. retryAt: where it has failed. */
export type Times = { at: string; expiresAt: string | null; refreshAt: string | null; retryAt: string | null };

/** Holds the database until the transaction ends; there are none where there is no such database. */
export async function lockForTimes(sql: Sql, estab: string, name: DatabaseName, minutesToLive: number): Promise<Times | undefined> {
  const lives = sql`(clock.at + make_interval(mins => ${minutesToLive}))`;
  const again = sql`coalesce(e.connector <> 'csv' or s.settings ? 'folder', false)`;
  const [times] = await sql<Times[]>`
    select clock.at::text as at, case when ${again} then ${lives}::text end as "expiresAt",
      (case when not ${again} then null when e.connector = 'demo' then clock.at + interval '10 minutes'
        when ${name} = 'Attendance' then ${lives} else ${nextNight(sql)} end)::text as "refreshAt",
      case when ${again} then ${nextNight(sql)}::text end as "retryAt"
    from component_database d join establishment e on e.estab = ${estab} left join connector_setting s on s.estab = ${estab}
      cross join (select clock_timestamp() as at) clock
    where d.estab = ${estab} and d.name = ${name} for update of d`;
  return times;
}

/** The next three o'clock at the school, or up to an hour after it, so that not all schools are read at once. */
function nextNight(sql: Sql) {
  return sql`
    ((date_trunc('day', now() at time zone e.time_zone - interval '3 hours') + interval '1 day 3 hours' + random() * interval '1 hour')
      at time zone e.time_zone)`;
}
