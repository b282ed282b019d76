// In charge of how many deliveries there were in each hour, by application: the last hours are counted again and again
// from what was settled in them, so that a year of counts outlives the deliveries themselves.
import type { Db, Sql } from '../db/connect.ts';
import { deleteInBatches } from '../db/delete-in-batches.ts';

/** at: when the hour or the day began, in UTC. failed: given up. tries: calls that were made, of these and of others. */
export type DeliveryCount = { at: Date; delivered: number; failed: number; tries: number; failedTries: number };

/** What was settled in an hour may be written a moment after it: the hour before is counted once more. */
const countedAgainHours = 1;
/** As far as it goes back where nothing was counted for long, or ever. */
const longestDays = 14;
const hoursAtOnce = 24;
/** All together; no application can be called so. */
const everybody = '*';
const countingLock = 5_219_029;
const hourMs = 3_600_000;

/** Gives how many hours were counted; none, where another process is counting. */
export async function countDeliveryHours(db: Db): Promise<number> {
  return db.begin(async (tx) => {
    const [turn] = await tx<{ mine: boolean }[]>`select pg_try_advisory_xact_lock(${countingLock}) as mine`;
    if (!turn?.mine) return 0;
    const [span] = await tx<{ from: Date; to: Date }[]>`
      select greatest(least(coalesce((select max(hour) from delivery_hour), '-infinity'), date_trunc('hour', clock_timestamp(), 'UTC')
          - make_interval(hours => ${countedAgainHours})), date_trunc('hour', clock_timestamp(), 'UTC') - make_interval(days => ${longestDays})) as from,
        date_trunc('hour', clock_timestamp(), 'UTC') + interval '1 hour' as to`;
    if (!span) return 0;
    const end = span.to.getTime();
    for (let from = span.from.getTime(); from < end; from += hoursAtOnce * hourMs)
      await countBetween(tx, new Date(from), new Date(Math.min(from + hoursAtOnce * hourMs, end)));
    return (end - span.from.getTime()) / hourMs;
  });
}

async function countBetween(tx: Sql, from: Date, to: Date): Promise<void> {
  await tx`
    insert into delivery_hour (hour, rp, delivered, failed, tries, failed_tries)
    select hour, coalesce(rp, ${everybody}), sum(delivered), sum(failed), sum(tries), sum(failed_tries) from (
      select date_bin('1 hour', o.settled_at, 'epoch') as hour, coalesce(o.rp, '') as rp, count(*) filter (where o.state = 'done') as delivered,
        count(*) filter (where o.state = 'failed') as failed, 0 as tries, 0 as failed_tries
      from outbox o where o.settled_at >= ${from}::timestamptz and o.settled_at < ${to}::timestamptz and o.kind = 'call' and o.state in ('done', 'failed')
      group by 1, 2
      union all
      select date_bin('1 hour', a.at, 'epoch'), coalesce(o.rp, ''), 0, 0, count(*), count(*) filter (where not a.success)
      from outbox_attempt a join outbox o on o.estab = a.estab and o.id = a.id and o.kind = 'call'
      where a.at >= ${from}::timestamptz and a.at < ${to}::timestamptz group by 1, 2) counted
    group by grouping sets ((hour, rp), (hour))
    on conflict (hour, rp) do update set delivered = excluded.delivered, failed = excluded.failed, tries = excluded.tries, failed_tries = excluded.failed_tries
      where (delivery_hour.delivered, delivery_hour.failed, delivery_hour.tries, delivery_hour.failed_tries)
        is distinct from (excluded.delivered, excluded.failed, excluded.tries, excluded.failed_tries)`;
}

/** The earliest first; hours or days in which nothing was sent are left out. Without rp: of all. */
export async function readDeliveryHours(
  db: Db,
  { rp, since, by = 'hour' }: { rp?: string | undefined; since: Date; by?: 'hour' | 'day' },
): Promise<DeliveryCount[]> {
  return db<DeliveryCount[]>`
    select date_bin(${`1 ${by}`}::interval, hour, 'epoch') as at,
      sum(delivered)::float8 as delivered, sum(failed)::float8 as failed, sum(tries)::float8 as tries,
      sum(failed_tries)::float8 as "failedTries"
    from delivery_hour where hour >= ${since}::timestamptz and rp = ${rp ?? everybody} group by 1 order by 1`;
}

export async function forgetDeliveryHours(db: Db, days: number): Promise<void> {
  await deleteInBatches(db, 'delivery_hour', db`hour < now() - make_interval(days => ${days})`);
}

/** Of an application that is removed. */
export async function removeDeliveryHours(sql: Sql, rp: string): Promise<void> {
  await sql`delete from delivery_hour where rp = ${rp}`;
}
