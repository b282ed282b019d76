// In charge of stopping a lane and letting it go on, for somebody who asks: what is under way ends as it will, what comes
// meanwhile waits, and goes out in the order in which it is due once the lane goes on.
import type { Sql } from '../db/connect.ts';
import { outboxChannel, type Lane } from './enqueue.ts';

/** One that nothing was sent to yet can be paused as well. Gives false where it was paused already. */
export async function pauseLane(sql: Sql, { key, host, width, lasting }: Lane, by: string): Promise<boolean> {
  // Without a turn it costs those who claim nothing, and nobody who puts something into it gives it one.
  const { count } = await sql`
    insert into lane (key, host, width, lasting, paused_at, paused_by) values (${key}, ${host}, ${width}, ${lasting}, now(), ${by})
    on conflict (key) do update set paused_at = now(), paused_by = excluded.paused_by, next_at = null where lane.paused_at is null`;
  return count > 0;
}

/** A new start: what it failed before does not count, and nobody held the time of the pause against it. Gives false where it was not paused. */
export async function resumeLane(sql: Sql, key: string): Promise<boolean> {
  // Its turn is now, whatever waits: a statement that looked for that would not see what is being put in.
  const { count } = await sql`
    update lane set paused_at = null, paused_by = null, next_at = case when disabled_at is null then now() end,
      failures = 0, failing_since = null, open_until = null, openings = 0, warned_at = null
    where key = ${key} and paused_at is not null`;
  if (count > 0) await sql`select pg_notify(${outboxChannel}, '')`;
  return count > 0;
}

/** Takes work again, and whatever failed before does not count. One that is paused stays so. */
export async function openLane(sql: Sql, key: string): Promise<void> {
  await sql`
    update lane set disabled_at = null, disabled_why = null, open_until = null, failures = 0, openings = 0, failing_since = null, warned_at = null,
      next_at = case when paused_at is null then now() end
    where key = ${key}`;
}
