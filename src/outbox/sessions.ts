// Detects from its database sessions that a worker has died or stands still.
//
// A worker records with each claim the session on which it listens for work, identified by its pid, the time at which it began, and the time at
// which the server started. Sessions prove nothing after a failover or a restart, which end all of them, and behind a pooler, where they
// outlive their clients. Other workers then wait until the lease expires.
import type { Db, Fragment, Sql } from '../db/connect.ts';
import { processTag } from '../db/pool.ts';

/** Times as text, because a Date has no microseconds. */
export type WorkerSession = Readonly<{ pid: number; startedAt: string; serverStartedAt: string }>;

const advisoryLock = 5_219_040;

/** Returns the session on which this process listens for work, or undefined while it has none. */
export async function findOwnSession(db: Db): Promise<WorkerSession | undefined> {
  const [session] = await db<WorkerSession[]>`
    select pid, backend_start::text as "startedAt", pg_postmaster_start_time()::text as "serverStartedAt" from pg_stat_activity
    where application_name = ${`schoolbell ${db.policy.name} ${processTag} listening`} and datname = current_database() order by backend_start desc limit 1`;
  return session;
}

/**
 * Condition on a running row o: the server is the one on which the work was claimed, and the worker's session and every other session of its
 * process have ended. An unprivileged role cannot see the start and the name of other roles' sessions; those count as alive.
 */
const hasSessionEnded = (sql: Sql): Fragment => sql`(
  o.session_server_started_at = pg_postmaster_start_time() and not exists (
    select from pg_stat_activity a where a.pid = o.session_pid and coalesce(a.backend_start, o.session_started_at) = o.session_started_at
      or a.application_name like 'schoolbell % ' || o.claimed_by || '%'))`;

/** A live worker that lost its session has a new one, or the others of its process, well before this. */
const goneMs = 7_000;
/** A worker that has not reached the database for this long begins no calls, because others may free its work a second later. */
export const unseenMs = goneMs - 1_000;
/** The time between two looks counts as this much at most, because a session may have come and gone meanwhile. */
const longestStepMs = 2_000;
/** After a longer pause than this the observer itself stood still, and counts anew. */
const longestPauseMs = 5_000;

/** Returns a function, to be called about every second, that returns the claims of workers that have had no session for some seconds. */
export function createDeathWatch(db: Db, elapsedMs: () => number): () => Promise<string[]> {
  let goneFor = new Map<string, number>();
  let lookedAt = -Infinity;
  return async () => {
    const rows = await db<{ claim: string }[]>`select o.claim from outbox o where o.state = 'running' and ${hasSessionEnded(db)}`;
    const at = elapsedMs();
    const passed = at - lookedAt;
    lookedAt = at;
    const before = passed > longestPauseMs ? new Map<string, number>() : goneFor;
    const lengthen = (ms: number | undefined) => (ms === undefined ? 0 : ms + Math.min(passed, longestStepMs));
    goneFor = new Map(rows.map(({ claim }) => [claim, lengthen(before.get(claim))]));
    return [...goneFor].filter(([, ms]) => ms >= goneMs).map(([claim]) => claim);
  };
}

/** Marks a transaction as one that works under a claim, until it ends, so that it can be ended when the lease is over. */
export async function markTransaction(tx: Sql, { claim }: Readonly<{ claim: string }>): Promise<void> {
  await tx`select pg_advisory_xact_lock_shared(${advisoryLock}, hashtext(${claim}))`;
}

/**
 * Ends the sessions whose transactions work under these claims. A process that stands still would keep its locks until it goes on; its claim
 * keeps it from writing then. A session of another role, which this one may not end, is left to its own limits.
 */
export async function endTransactions(db: Db, claims: readonly string[]): Promise<void> {
  if (claims.length === 0) return;
  await db`
    select pg_terminate_backend(a.pid) from (
      select l.pid, s.backend_start from pg_locks l join pg_stat_activity s on s.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.classid = ${advisoryLock}::int::oid
        and l.database = (select oid from pg_database where datname = current_database())
        and l.objid in (select hashtext(claim)::bit(32)::bigint::oid from unnest(${[...claims]}::text[]) claim)) held
    join pg_stat_activity a on a.pid = held.pid and a.backend_start = held.backend_start
    where a.pid <> pg_backend_pid() and pg_has_role(a.usesysid, 'member')`;
}
