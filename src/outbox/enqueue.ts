// In charge of putting work into the outbox, in the caller's transaction: if that commits the work will be done, and
// if not it never was.
import { randomBytes } from 'node:crypto';
import type { Sql } from '../db/connect.ts';

/** What is limited together. A lasting one can be disabled; one of one-off calls goes on. */
export type Lane = { key: string; host: string | null; width: number; lasting: boolean };

export type NewWork = {
  estab: string;
  rp: string | null;
  kind: string;
  lane: Lane;
  payload: Record<string, unknown>;
  body: Uint8Array | null;
};

/** How a burst becomes one: this long after the last, but no longer than that after the first. */
export const coalescing = { quietSeconds: 2, longestSeconds: 30 } as const;

export const outboxChannel = 'schoolbell_outbox';

export function makeWorkId(): string {
  return `msg_${randomBytes(18).toString('base64url')}`;
}

/** `id`: for a caller whose body is encrypted for this row. */
export async function enqueue(sql: Sql, work: NewWork, id: string = makeWorkId()): Promise<string> {
  await armLane(sql, work.lane, 0);
  await sql`
    insert into outbox (estab, id, rp, kind, lane, payload, body, due_at)
    values (${work.estab}, ${id}, ${work.rp}, ${work.kind}, ${work.lane.key}, ${sql.json(work.payload)}, ${work.body as Buffer | null}, clock_timestamp())`;
  await sql`select pg_notify(${outboxChannel}, '')`;
  return id;
}

/**
 * One piece of work for a whole burst of causes. One that has not been tried yet is put off; one that waits to be
 * tried again is superseded by the new one. Gives false, and nothing is put in, where the lane is disabled.
 */
export async function enqueueCoalesced(sql: Sql, work: NewWork, topic: string): Promise<boolean> {
  if (!(await armLane(sql, work.lane, coalescing.quietSeconds))) return false;
  await sql`update outbox set state = 'superseded', settled_at = now() where estab = ${work.estab} and topic = ${topic} and state = 'waiting' and attempts > 0`;
  await sql`
    insert into outbox (estab, id, rp, kind, lane, topic, payload, body, due_at)
    values (${work.estab}, ${makeWorkId()}, ${work.rp}, ${work.kind}, ${work.lane.key}, ${topic}, ${sql.json(work.payload)}, ${work.body as Buffer | null},
      clock_timestamp() + make_interval(secs => ${coalescing.quietSeconds}))
    on conflict (estab, topic) where state = 'waiting' and attempts = 0 do update
    set due_at = least(clock_timestamp() + make_interval(secs => ${coalescing.quietSeconds}),
      outbox.created_at + make_interval(secs => ${coalescing.longestSeconds})), payload = excluded.payload, body = excluded.body`;
  await sql`select pg_notify(${outboxChannel}, '')`;
  return true;
}

/**
 * One piece of work on a topic at a time, now: one that waits for its first try is given the new payload, one that
 * waits to be tried again is superseded. Somebody asks for it, so that a breaker does not hold it up.
 */
export async function enqueueOnce(sql: Sql, work: NewWork, topic: string): Promise<void> {
  await armLane(sql, work.lane, 0);
  await sql`update lane set open_until = null where key = ${work.lane.key}`;
  await sql`update outbox set state = 'superseded', settled_at = now() where estab = ${work.estab} and topic = ${topic} and state = 'waiting' and attempts > 0`;
  await sql`
    insert into outbox (estab, id, rp, kind, lane, topic, payload, body, due_at)
    values (${work.estab}, ${makeWorkId()}, ${work.rp}, ${work.kind}, ${work.lane.key}, ${topic}, ${sql.json(work.payload)}, ${work.body as Buffer | null},
      clock_timestamp())
    on conflict (estab, topic) where state = 'waiting' and attempts = 0 do update
      set payload = excluded.payload, due_at = least(outbox.due_at, excluded.due_at)`;
  await sql`select pg_notify(${outboxChannel}, '')`;
}

/**
 * The lane is locked until the transaction ends: what is put into it has an order. The clock is that of now, not of the
 * transaction's start. One that is paused gets its turn when it goes on. Gives whether it takes work at all.
 */
async function armLane(sql: Sql, lane: Lane, inSeconds: number): Promise<boolean> {
  const [armed] = await sql<{ open: boolean }[]>`
    insert into lane (key, host, width, lasting, next_at)
      values (${lane.key}, ${lane.host}, ${lane.width}, ${lane.lasting}, clock_timestamp() + make_interval(secs => ${inSeconds}))
    on conflict (key) do update set host = excluded.host, width = excluded.width,
      next_at = case when lane.paused_at is null then least(coalesce(lane.next_at, 'infinity'), excluded.next_at) end
    returning disabled_at is null as open`;
  return armed?.open ?? false;
}
