// In charge of taking work out of the outbox: in batches, fairly between lanes, within the limits per lane and host,
// under a lease and a claim that fences what is said about it later. The clock is the database's.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { processTag } from '../db/pool.ts';
import { heldLanes, holdLanes } from './held-lanes.ts';
import { endTransactions, markTransaction, type WorkerSession } from './sessions.ts';

export type ClaimedWork = {
  estab: string;
  id: string;
  rp: string | null;
  kind: string;
  lane: string;
  /** Which receiver stood behind the lane when this was claimed. */
  epoch: number;
  payload: Record<string, unknown>;
  body: Buffer | null;
  /** How many attempts of the schedule were made before, and how many that do not count. */
  attempts: number;
  forgiven: number;
  /** Of this one piece of work: what ends or fences a claim concerns no other that was claimed in the same batch. */
  claim: string;
  /** The database's clock when this was claimed, in seconds. */
  claimedAt: number;
};

export type Held = Pick<ClaimedWork, 'estab' | 'id' | 'claim'>;

const widthOfHost = 16;
const lanesPerClaim = 64;
const advisoryLock = 5_219_005;

/** Another worker is claiming. Nobody waits in line for one that may have stopped in the midst of it; the server ends that within seconds. */
export class AnotherClaims extends Error {}

/** healthyOnly: leave out lanes that have failed lately, when there is little room left. session: of the worker, by which others notice its death. */
export async function claimWork(db: Db, leaseSeconds: number, most: number, healthyOnly = false, session?: WorkerSession): Promise<ClaimedWork[]> {
  const [[turn], claimed] = await db.together(
    // One claim at a time, so that the limits hold exactly over all workers; it takes about a millisecond. The lanes are
    // locked before the statement that reads their rows begins: what is put into these lanes is either seen by it, or
    // waits for it and arms them afterwards. Lanes of a host that is full are passed over, however many there are.
    db<{ mine: boolean }[]>`
      with turn as materialized (select pg_try_advisory_xact_lock(${advisoryLock}) as mine
      ), full_host as materialized (
        select n.host from (select lane, count(*)::int as count from outbox where state = 'running' group by lane) r join lane n on n.key = r.lane
          where n.host is not null group by n.host having sum(r.count) >= ${widthOfHost}
      ), locked as materialized (
        select key from lane
        where (select mine from turn) and next_at <= now() and disabled_at is null and paused_at is null and (open_until is null or open_until <= now())
          and (host is null or host not in (select host from full_host)) and (failures = 0 or not ${healthyOnly}::boolean)
        order by next_at limit ${lanesPerClaim} for update skip locked
      )
      select mine, ${holdLanes(db, db`select key from locked`)} from turn`,
    db<ClaimedWork[]>`
      with due as materialized (
        select key, host, width, open_until, epoch from lane where key = any(${heldLanes(db)})
      ), running as materialized (
        select r.lane, n.host, r.count from (select lane, count(*)::int as count from outbox where state = 'running' group by lane) r
          join lane n on n.key = r.lane
      ), of_host as materialized (
        select host, sum(count) as count from running where host is not null group by host
      ), roomy as materialized (
        select key, host, epoch,
          greatest(0, case when open_until is null then width else 1 end - coalesce((select count from running where running.lane = due.key), 0)) as free,
          case when host is not null then greatest(0, ${widthOfHost} - coalesce((select count from of_host where of_host.host = due.host), 0)) end as host_free
        from due
      ), candidate as materialized (
        select c.estab, c.id, c.state, c.due_at, roomy.key, roomy.host, roomy.epoch, roomy.host_free,
          row_number() over (partition by roomy.host order by c.due_at) as host_rank
        from roomy cross join lateral (
          select o.estab, o.id, o.state, o.due_at from outbox o where o.lane = roomy.key and o.state = 'waiting' and o.due_at <= now() order by o.due_at
            limit least(roomy.free, roomy.host_free)) c
      ), chosen as materialized (
        select estab, id, state, key, epoch from candidate where host is null or host_rank <= host_free order by due_at limit ${most}
      ), picked as materialized (
        -- By its key: said as what waits, all that does would be gone through.
        select o.estab, o.id, chosen.key, chosen.epoch from outbox o join chosen on o.estab = chosen.estab and o.id = chosen.id and o.state = chosen.state
          for update of o skip locked
      ), armed as (
        -- A lane that is held up by its host keeps its turn as it is.
        update lane set next_at = case when coalesce(taken.count, 0) < roomy.free then (
            select o.due_at from outbox o where o.lane = lane.key and o.state = 'waiting' order by o.due_at offset coalesce(taken.count, 0) limit 1) end
        from roomy
        left join (select key, count(*) from picked group by key) taken on taken.key = roomy.key
        where lane.key = roomy.key
          and (coalesce(taken.count, 0) >= roomy.free or not exists (select from candidate where host_rank > host_free and candidate.key = roomy.key))
      )
      update outbox o set state = 'running', claim = gen_random_uuid(), lease_until = now() + make_interval(secs => ${leaseSeconds}), claimed_at = now(),
        claimed_by = ${processTag}, ${setSession(db, session)}
      from picked where o.estab = picked.estab and o.id = picked.id
      returning o.estab, o.id, o.rp, o.kind, o.lane, picked.epoch, o.payload, o.body, o.attempts - o.forgiven as attempts, o.forgiven, o.claim,
        extract(epoch from clock_timestamp())::float8 as "claimedAt"`,
  );
  if (!turn?.mine) throw new AnotherClaims('another worker is claiming');
  return claimed;
}

/** Only of what the worker still holds: a row that it lost track of must come free. Gives the ids of those that are still its own. */
export async function renewLeases(db: Db, leaseSeconds: number, held: readonly Held[], session?: WorkerSession): Promise<ReadonlySet<string>> {
  const renewed = await db<{ id: string }[]>`
    with mine as (
      select o.estab, o.id from outbox o
      join unnest(${held.map((work) => work.estab)}::text[], ${held.map((work) => work.id)}::text[],
        ${held.map((work) => work.claim)}::uuid[]) as held (estab, id, claim) on o.estab = held.estab and o.id = held.id and o.claim = held.claim
      where o.state = 'running' for update of o skip locked
    )
    update outbox o set lease_until = now() + make_interval(secs => ${leaseSeconds}), ${setSession(db, session)} from mine
    where o.estab = mine.estab and o.id = mine.id returning o.id`;
  return new Set(renewed.map(({ id }) => id));
}

function setSession(sql: Sql, { pid, startedAt, serverStartedAt }: Partial<WorkerSession> = {}): Fragment {
  return sql`session_pid = ${pid ?? null}::int, session_started_at = ${startedAt ?? null}::text::timestamptz,
    session_server_started_at = ${serverStartedAt ?? null}::text::timestamptz`;
}

/** Whether the work is still this worker's; locks it, so that it stays so until the transaction ends, or its lease is over. */
export async function holdsClaim(sql: Sql, { estab, id, claim }: Held): Promise<boolean> {
  await markTransaction(sql, { claim });
  const [row] = await sql`select from outbox where estab = ${estab} and id = ${id} and claim = ${claim} and state = 'running' for update`;
  return row !== undefined;
}

/** A lease that ends further in the future than any lease lasts was given before the clock was set back. */
const longestLeaseSeconds = 120;

/**
 * Work whose worker died waits again, and its lane gets a turn. The attempt counts, since the call may have been made,
 * but not against the schedule; if something newer was said on the same topic, there is nothing left to say.
 * What the asking worker itself holds is not dead, only late. dead: claims of workers whose sessions have ended, whatever their leases.
 */
export async function reclaimExpired(db: Db, held: readonly Held[] = [], dead: readonly string[] = []): Promise<number> {
  const own = held.map((work) => work.id);
  const over = db`(e.state = 'running' and (e.lease_until < now() or e.claim = any(${dead}::uuid[])) and e.id <> all(${own}))`;
  const [{ expired, tooLong } = { expired: [], tooLong: false }] = await db<{ expired: string[]; tooLong: boolean | null }[]>`
    select coalesce(array_agg(e.claim) filter (where ${over}), '{}')::text[] as expired,
      bool_or(e.lease_until > now() + make_interval(secs => ${longestLeaseSeconds})) as "tooLong"
    from outbox e where e.state = 'running'`;
  // A worker that is alive renews its lease well before this one ends.
  if (tooLong)
    await db`
      update outbox set lease_until = now() + make_interval(secs => ${longestLeaseSeconds / 2})
      where state = 'running' and lease_until > now() + make_interval(secs => ${longestLeaseSeconds})`;
  if (expired.length === 0) return 0;
  await endTransactions(db, expired);
  return db.begin(async (tx) => {
    const lanes = await tx<
      { key: string }[]
    >`select key from lane where key in (select e.lane from outbox e where ${over}) order by key for update skip locked`;
    const { count } = await tx`
      with freed as (
        update outbox o set claim = null, lease_until = null, due_at = now(), attempts = attempts + 1, forgiven = forgiven + 1,
          state = case when newer.yes then 'superseded' else 'waiting' end, settled_at = case when newer.yes then now() end
        from (select e.estab, e.id, exists (select from outbox n where n.estab = e.estab and n.topic = e.topic and n.seq > e.seq
          and n.state in ('waiting', 'running', 'done')) as yes
              from outbox e where ${over} and e.lane = any(${lanes.map((lane) => lane.key)}) for update of e skip locked) newer
        where o.estab = newer.estab and o.id = newer.id
        returning o.estab, o.id, o.lane, o.attempts
      ), logged as (
        insert into outbox_attempt (estab, id, number, success, error_class, detail)
        select estab, id, attempts, false, 'worker_lost', '{"message": "the worker ended before it could say what became of this attempt"}' from freed
      )
      update lane set next_at = now() where key in (select lane from freed) and paused_at is null`;
    return count;
  });
}

/** A lane with work but no turn, whatever made it so, gets one. Gives how many those were. */
export async function armForgottenLanes(db: Db): Promise<number> {
  const { count } = await db`
    update lane l set next_at = now()
    where l.next_at is null and l.disabled_at is null and l.paused_at is null
      and exists (select from outbox o where o.lane = l.key and o.state = 'waiting')
        and not exists (select from outbox o where o.lane = l.key and o.state = 'running')`;
  return count;
}
