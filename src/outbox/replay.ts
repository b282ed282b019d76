// In charge of doing settled work again, under the same id and with a fresh schedule.
import type { Db, Fragment, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { outboxChannel } from './enqueue.ts';
import { forgetTally } from './tally.ts';

/** tellsState: it says how things stand. ended: why its lane takes no more work at present. */
export type Replayable = { estab: string; id: string; rp: string; lane: string; state: string; erased: boolean; tellsState: boolean; ended: string | null };
/** Whose it must be; nothing: anybody's. */
export type Owner = { rp?: string; estab?: string | undefined };

export async function requireReplayable(db: Db, kind: string, id: string, { rp, estab }: Owner = {}): Promise<Replayable> {
  const [found] = await db<Replayable[]>`
    select o.estab, o.id, o.rp, o.lane, o.state, coalesce((o.payload ->> 'sealed')::boolean, false) and o.body is null as erased,
      o.payload ? 'tellsState' as "tellsState", l.disabled_why as ended
    from outbox o join lane l on l.key = o.lane
    where o.id = ${id} and o.kind = ${kind} ${rp === undefined ? db`` : db`and o.rp = ${rp}`} ${estab === undefined ? db`` : db`and o.estab = ${estab}`}`;
  if (!found) throw new SchoolbellError('not_found', `There is no delivery ${id.slice(0, 60)}; what was settled is kept for 30 days.`);
  if (found.state === 'running') throw new SchoolbellError('conflict', `${id} is being delivered right now; look at it again in a moment.`);
  return found;
}

/** One piece of work, whatever became of it; a lane that had ended is opened again, since somebody asks for it by name. */
export async function replayOne(db: Db, { estab, id, lane }: Replayable): Promise<string[]> {
  return replay(
    db,
    db`o.estab = ${estab} and o.id = ${id}`,
    (tx) => tx`update lane set disabled_at = null, disabled_why = null, open_until = null, failures = 0, openings = 0, failing_since = null, warned_at = null
      where key = ${lane}`,
  );
}

/** What failed since then, the newest of each topic, unless something newer was said or the lane has ended. */
export async function replayFailedSince(db: Db, kind: string, since: Date): Promise<string[]> {
  return replay(
    db,
    db`o.kind = ${kind} and o.state = 'failed' and o.settled_at >= ${since} and o.lane not in (select key from lane where disabled_at is not null)
    and not exists (select from outbox n where n.estab = o.estab and n.topic = o.topic and n.seq > o.seq)`,
  );
}

/** Lanes that have ended, with failed work that is left where it is. */
export async function listEndedLanes(db: Db, since: Date): Promise<{ key: string; why: string; failed: number }[]> {
  return db<{ key: string; why: string; failed: number }[]>`
    select l.key, l.disabled_why as why, count(*)::int as failed from lane l join outbox o on o.lane = l.key and o.state = 'failed'
      and o.settled_at >= ${since} where l.disabled_at is not null group by l.key, l.disabled_why`;
}

async function replay(db: Db, which: Fragment, before: (tx: Tx) => PromiseLike<unknown> = async () => {}): Promise<string[]> {
  return db.begin(async (tx) => {
    await tx`select from lane where key in (select o.lane from outbox o where ${which}) order by key for update`;
    await before(tx);
    await forgetTally(tx, which);
    const rows = await tx<{ id: string; lane: string }[]>`
      update outbox o set state = 'waiting', forgiven = attempts, due_at = now(), settled_at = null
      where ${which} and o.state <> 'running' and not (o.attempts = 0 and exists (select from outbox n where n.estab = o.estab and n.topic = o.topic
        and n.id <> o.id and n.attempts = 0 and n.state = 'waiting'))
      returning o.id, o.lane`;
    await tx`update lane set next_at = now() where key = any(${[...new Set(rows.map((row) => row.lane))]}) and disabled_at is null`;
    await tx`select pg_notify(${outboxChannel}, '')`;
    return rows.map((row) => row.id);
  });
}
