// In charge of counts over the last day that cost nearly nothing: every five minutes are counted once, when they are
// over, and what is newer is counted as it stands.
import type { Db, Fragment, Sql } from '../db/connect.ts';

type Count = { kind: string; value: number };
export type DayCounts = { settled: (Count & { state: string })[]; attempts: (Count & { class: string })[] };

/** Something settled may commit a moment later than it says. */
const lateSeconds = 60;

const day = (sql: Sql) => sql`date_bin('5 minutes', now() - interval '1 day', 'epoch')`;
const open = (sql: Sql) => sql`date_bin('5 minutes', now() - make_interval(secs => ${lateSeconds}), 'epoch')`;
const kind = (sql: Sql) => sql`coalesce(o.payload ->> 'event', o.kind)`;

/** Counts what is over and was not counted yet; forgets what is older than a day. */
export async function tallyOutbox(sql: Sql): Promise<void> {
  await sql`delete from outbox_tally where since < ${day(sql)}`;
  await sql`
    insert into outbox_tally (since, settled, attempts)
    select since,
      (select coalesce(jsonb_agg(c), '[]') from (
        select ${kind(sql)} as kind, o.state, count(*) as value from outbox o where o.settled_at >= since and o.settled_at < since + interval '5 minutes'
        group by 1, 2) c),
      (select coalesce(jsonb_agg(c), '[]') from (
        select ${kind(sql)} as kind, coalesce(a.error_class, 'success') as class, count(*) as value from outbox_attempt a
          join outbox o on o.estab = a.estab and o.id = a.id where a.at >= since and a.at < since + interval '5 minutes' group by 1, 2) c)
    from generate_series(${day(sql)}, ${open(sql)} - interval '5 minutes', interval '5 minutes') since
    where not exists (select from outbox_tally t where t.since = since.since)
    on conflict (since) do nothing`;
}

/** These rows of `outbox o` are about to be settled no more: the minutes in which they were are counted again. */
export async function forgetTally(sql: Sql, which: Fragment): Promise<void> {
  await sql`delete from outbox_tally where since in (select date_bin('5 minutes', o.settled_at, 'epoch') from outbox o where ${which})`;
}

export async function countDay(db: Db): Promise<DayCounts> {
  return db.begin(async (tx) => {
    // One instant for all three: now() is when the transaction began.
    await tallyOutbox(tx);
    const settled = await tx<DayCounts['settled']>`
      select kind, state, sum(value)::float8 as value from (
        select c.kind, c.state, c.value from outbox_tally t, jsonb_to_recordset(t.settled) as c (kind text, state text, value int) where t.since >= ${day(tx)}
        union all
        select ${kind(tx)}, o.state, count(*) from outbox o where o.settled_at >= ${open(tx)} group by 1, 2) counted
      group by 1, 2`;
    const attempts = await tx<DayCounts['attempts']>`
      select kind, class, sum(value)::float8 as value from (
        select c.kind, c.class, c.value from outbox_tally t, jsonb_to_recordset(t.attempts) as c (kind text, class text, value int) where t.since >= ${day(tx)}
        union all
        select ${kind(tx)}, coalesce(a.error_class, 'success'), count(*) from outbox_attempt a join outbox o on o.estab = a.estab and o.id = a.id
        where a.at >= ${open(tx)} group by 1, 2) counted
      group by 1, 2`;
    return { settled, attempts };
  });
}
