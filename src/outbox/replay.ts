// In charge of doing settled work again, under the same id and with a fresh schedule.
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { outboxChannel } from './enqueue.ts';
import { openLane } from './pause-lane.ts';
import { forgetTally } from './tally.ts';

/** tellsState: it says how things stand. ended: why its lane takes no more work at present. paused: its lane was stopped. */
export type Replayable = {
  estab: string;
  id: string;
  rp: string;
  lane: string;
  state: string;
  erased: boolean;
  tellsState: boolean;
  ended: string | null;
  paused: boolean;
};
/** Whose it must be; nothing: anybody's. */
export type Owner = { rp?: string; estab?: string | undefined };

export async function requireReplayable(db: Db, kind: string, id: string, { rp, estab }: Owner = {}): Promise<Replayable> {
  const [found] = await db<Replayable[]>`
    select o.estab, o.id, o.rp, o.lane, o.state, coalesce((o.payload ->> 'sealed')::boolean, false) and o.body is null as erased,
      o.payload ? 'tellsState' as "tellsState", l.disabled_why as ended,
      l.paused_at is not null as paused
    from outbox o join lane l on l.key = o.lane
    where o.id = ${id} and o.kind = ${kind} ${rp === undefined ? db`` : db`and o.rp = ${rp}`} ${estab === undefined ? db`` : db`and o.estab = ${estab}`}`;
  if (!found) throw new SchoolbellError('not_found', `There is no delivery ${id.slice(0, 60)}; what was settled is kept for 30 days at most.`);
  if (found.state === 'running') throw new SchoolbellError('conflict', `${id} is being delivered right now; look at it again in a moment.`);
  return found;
}

/**
 * One piece of work, whatever became of it; a lane that had ended is opened again, since somebody asks for it by name. stillIn: only if
 * nothing has become of it since it was looked at.
 */
export async function replayOne(db: Db, { estab, id, lane }: Pick<Replayable, 'estab' | 'id' | 'lane'>, stillIn?: string): Promise<string[]> {
  const still = stillIn === undefined ? db`` : db`and o.state = ${stillIn}`;
  return replay(db, db`o.estab = ${estab} and o.id = ${id} ${still}`, (tx) => openLane(tx, lane));
}

/** rps: whose; lane: of one lane alone; most: no more than so many, the latest. */
export type Failed = { since: Date; rps: readonly string[]; lane?: string | undefined; most: number };

const replayedAtOnce = 1_000;

/**
 * What failed since then, the newest of each topic, unless something newer was said or the lane has ended, up to the moment at which
 * its lane is held. So many at a time, so that no lane is held for long.
 */
export async function replayFailedSince(db: Db, kind: string, failed: Failed): Promise<string[]> {
  const found = await db<{ estab: string; id: string }[]>`
    select o.estab, o.id from outbox o
    where ${isFailed(db, kind, failed)} and ${isLastWord(db)}
    order by o.settled_at desc limit ${failed.most}`;
  const replayed: string[] = [];
  for (let at = 0; at < found.length; at += replayedAtOnce) {
    const batch = found.slice(at, at + replayedAtOnce);
    const given = db`unnest(${batch.map(({ estab }) => estab)}::text[], ${batch.map(({ id }) => id)}::text[])`;
    replayed.push(...(await replay(db, db`o.state = 'failed' and ${isLastWord(db)} and (o.estab, o.id) in (select * from ${given})`)));
  }
  return replayed;
}

const isLastWord = (sql: Sql): Fragment => sql`o.lane not in (select key from lane where disabled_at is not null)
  and not exists (select from outbox n where n.estab = o.estab and n.topic = o.topic and n.seq > o.seq)`;

/** By the index of an application's work in one state, not by that of all that was settled since. */
const isFailed = (sql: Sql, kind: string, { since, rps, lane }: Failed): Fragment =>
  sql`o.kind = ${kind} and o.rp = any(${[...rps]}) and o.state = 'failed' and o.settled_at >= ${since} and o.lane = coalesce(${lane ?? null}, o.lane)`;

export type EndedLane = { key: string; why: string; failed: number };

/** Lanes that have ended, with failed work that is left where it is. */
export async function listEndedLanes(db: Db, kind: string, failed: Failed): Promise<EndedLane[]> {
  return db<EndedLane[]>`
    select l.key, l.disabled_why as why, count(*)::int as failed from lane l join outbox o on o.lane = l.key and ${isFailed(db, kind, failed)}
    where l.disabled_at is not null group by l.key, l.disabled_why order by l.key`;
}

const replay = (db: Db, which: Fragment, before: (tx: Tx) => PromiseLike<unknown> = async () => {}) =>
  db.begin(async (tx) => {
    await before(tx);
    return replayWork(tx, which);
  });

/** Gives these rows `o` of the outbox a new schedule that begins now, in the caller's transaction. Returns their ids. */
export async function replayWork(tx: Tx, which: Fragment): Promise<string[]> {
  await tx`select from lane where key in (select o.lane from outbox o where ${which}) order by key for update`;
  await forgetTally(tx, which);
  const rows = await tx<{ id: string; lane: string }[]>`
    update outbox o set state = 'waiting', forgiven = attempts, due_at = now(), settled_at = null
    where ${which} and o.state <> 'running' and not (o.attempts = 0 and exists (select from outbox n where n.estab = o.estab and n.topic = o.topic
      and n.id <> o.id and n.attempts = 0 and n.state = 'waiting'))
    returning o.id, o.lane`;
  await tx`update lane set next_at = now() where key = any(${[...new Set(rows.map((row) => row.lane))]}) and disabled_at is null and paused_at is null`;
  await tx`select pg_notify(${outboxChannel}, '')`;
  return rows.map((row) => row.id);
}
