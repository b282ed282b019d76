// In charge of taking work out of the outbox: in batches, fairly between lanes, within the limits per lane and host,
// under a lease and a claim that fences what is said about it later. The clock is the database's.
import type { Db } from '../db/connect.ts';

export type ClaimedWork = {
  estab: string;
  id: string;
  rp: string | null;
  kind: string;
  lane: string;
  payload: Record<string, unknown>;
  body: Buffer | null;
  /** How many attempts of the schedule were made before. */
  attempts: number;
};

const widthOfHost = 16;
const lanesPerClaim = 64;
const advisoryLock = 5_219_005;

export async function claimWork(db: Db, claim: string, leaseSeconds: number, most: number): Promise<ClaimedWork[]> {
  return db.begin(async (tx) => {
    // One claim at a time, so that the limits hold exactly over all workers; it takes about a millisecond.
    await tx`select pg_advisory_xact_lock(${advisoryLock})`;
    // Locked before the statement that reads their rows begins: what is put into these lanes is either seen by it, or
    // waits for it and arms them afterwards.
    const lanes = await tx<{ key: string }[]>`
      select key from lane where next_at <= now() and disabled_at is null and (open_until is null or open_until <= now()) order by next_at limit ${lanesPerClaim} for update skip locked`;
    if (lanes.length === 0) return [];
    return tx<ClaimedWork[]>`
      with due as materialized (
        select key, host, width, open_until from lane where key = any(${lanes.map((lane) => lane.key)})
      ), running as materialized (
        select r.lane, n.host, count(*) as count from outbox r join lane n on n.key = r.lane where r.state = 'running' group by r.lane, n.host
      ), roomy as materialized (
        select key, host,
          greatest(0, case when open_until is null then width else 1 end - coalesce((select count from running where running.lane = due.key), 0)) as free,
          case when host is null then null else ${widthOfHost} - coalesce((select sum(count) from running where running.host = due.host), 0) end as host_free
        from due
      ), candidate as materialized (
        select c.estab, c.id, c.due_at, roomy.key, roomy.host, roomy.host_free, row_number() over (partition by roomy.host order by c.due_at) as host_rank
        from roomy cross join lateral (
          select o.estab, o.id, o.due_at from outbox o where o.lane = roomy.key and o.state = 'waiting' and o.due_at <= now() order by o.due_at limit roomy.free) c
      ), chosen as materialized (
        select estab, id, key from candidate where host is null or host_rank <= host_free order by due_at limit ${most}
      ), picked as materialized (
        select o.estab, o.id, chosen.key from outbox o join chosen on o.estab = chosen.estab and o.id = chosen.id where o.state = 'waiting' for update of o skip locked
      ), armed as (
        update lane set next_at = case
            when coalesce(taken.count, 0) >= roomy.free then null
            when held.count > 0 then now() + interval '50 milliseconds'
            else (select o.due_at from outbox o where o.lane = lane.key and o.state = 'waiting' order by o.due_at offset coalesce(taken.count, 0) limit 1) end
        from roomy
        left join (select key, count(*) from picked group by key) taken on taken.key = roomy.key
        left join (select key, count(*) from candidate where host_rank > host_free group by key) held on held.key = roomy.key
        where lane.key = roomy.key
      )
      update outbox o set state = 'running', claim = ${claim}, lease_until = now() + make_interval(secs => ${leaseSeconds})
      from picked where o.estab = picked.estab and o.id = picked.id
      returning o.estab, o.id, o.rp, o.kind, o.lane, o.payload, o.body, o.attempts - o.forgiven as attempts`;
  }) as Promise<ClaimedWork[]>;
}

/** Only of what the worker still holds: a row that it lost track of must come free. */
export async function renewLeases(db: Db, claim: string, leaseSeconds: number, held: readonly Pick<ClaimedWork, 'estab' | 'id'>[]): Promise<void> {
  await db`
    update outbox o set lease_until = now() + make_interval(secs => ${leaseSeconds})
    from unnest(${held.map((work) => work.estab)}::text[], ${held.map((work) => work.id)}::text[]) as held (estab, id)
    where o.estab = held.estab and o.id = held.id and o.claim = ${claim} and o.state = 'running'`;
}

/**
 * Work whose worker died waits again, and its lane gets a turn. The attempt counts, since the call may have been made,
 * but not against the schedule; if something newer was said on the same topic, there is nothing left to say.
 */
export async function reclaimExpired(db: Db): Promise<number> {
  const [expired] = await db`select from outbox where state = 'running' and lease_until < now() limit 1`;
  if (!expired) return 0;
  return db.begin(async (tx) => {
    await tx`select from lane where key in (select lane from outbox where state = 'running' and lease_until < now()) order by key for update`;
    const { count } = await tx`
      with freed as (
        update outbox o set claim = null, lease_until = null, due_at = now(), attempts = attempts + 1, forgiven = forgiven + 1,
          state = case when newer.yes then 'superseded' else 'waiting' end, settled_at = case when newer.yes then now() end
        from (select e.estab, e.id, exists (select from outbox n where n.estab = e.estab and n.topic = e.topic and n.created_at > e.created_at and n.state in ('waiting', 'running', 'done')) as yes
              from outbox e where e.state = 'running' and e.lease_until < now()) newer
        where o.estab = newer.estab and o.id = newer.id and o.state = 'running' and o.lease_until < now()
        returning o.lane
      )
      update lane set next_at = now() where key in (select lane from freed)`;
    return count;
  }) as Promise<number>;
}
