// In charge of doing settled work again, under the same id and with a fresh schedule.
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { outboxChannel } from './enqueue.ts';

/** One piece of work, whatever became of it. */
export async function replayOne(db: Db, id: string): Promise<string[]> {
  const [found] = await db<{ state: string }[]>`select state from outbox where id = ${id}`;
  if (!found) throw new SchoolbellError('not_found', `there is no delivery ${id}`);
  if (found.state === 'running') throw new SchoolbellError('conflict', `${id} is being delivered right now`);
  return replay(db, db`o.id = ${id} and o.state <> 'running'`);
}

/** What failed since then and has not been delivered in the meantime. */
export async function replayFailedSince(db: Db, since: Date): Promise<string[]> {
  return replay(db, db`o.state = 'failed' and o.settled_at >= ${since}`);
}

async function replay(db: Db, which: ReturnType<Db>): Promise<string[]> {
  return db.begin(async (tx) => {
    await tx`select from lane where key in (select o.lane from outbox o where ${which}) order by key for update`;
    const rows = await tx<{ id: string; lane: string }[]>`
      update outbox o set state = 'waiting', forgiven = attempts, due_at = now(), settled_at = null
      where ${which} and not (o.attempts = 0 and exists (select from outbox n where n.estab = o.estab and n.topic = o.topic and n.id <> o.id and n.attempts = 0 and (n.state = 'waiting' or (n.state = o.state and n.created_at > o.created_at))))
      returning o.id, o.lane`;
    await tx`update lane set next_at = now(), disabled_at = null, disabled_why = null, failing_since = null, warned_at = null where key = any(${[...new Set(rows.map((row) => row.lane))]})`;
    await tx`select pg_notify(${outboxChannel}, '')`;
    return rows.map((row) => row.id);
  }) as Promise<string[]>;
}
