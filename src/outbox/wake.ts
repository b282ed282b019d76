// In charge of waking work that waits for something: whoever brings that about says so in its own transaction.
import type { Sql } from '../db/connect.ts';
import { outboxChannel } from './enqueue.ts';

/**
 * What waits for this in a lane is due now. What is under way, and finds only afterwards that it has to wait, is due
 * again as soon as it is settled. Locks the lane until the transaction ends, as everybody does who changes its turn.
 */
export async function wakeWork(sql: Sql, { estab, lane }: { estab: string; lane: string }, waitsFor: readonly string[]): Promise<void> {
  const [locked] = await sql`update lane set woken_at = clock_timestamp() where key = ${lane} returning key`;
  if (!locked) return;
  const { count } = await sql`
    update outbox set due_at = clock_timestamp() where estab = ${estab} and lane = ${lane} and state = 'waiting' and waits_for = any(${[...waitsFor]})
      and due_at > clock_timestamp()`;
  if (count === 0) return;
  await sql`update lane set next_at = least(coalesce(next_at, 'infinity'), clock_timestamp()) where key = ${lane}`;
  await sql`select pg_notify(${outboxChannel}, '')`;
}
