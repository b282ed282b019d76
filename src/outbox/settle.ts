// In charge of saying what became of claimed work: the attempt and its outcome in one statement, fenced by the claim,
// together with what it means for the lane (its breaker, its next turn, its end after days of nothing but failures).
import type { Db, Sql } from '../db/connect.ts';
import type { Statement } from '../db/statement.ts';
import type { ClaimedWork } from './claim.ts';
import { heldLanes, holdLanes } from './held-lanes.ts';

export type Outcome = {
  success: boolean;
  /** waiting: to be tried again, after so many seconds. */
  state: 'waiting' | 'done' | 'failed' | 'cancelled';
  delaySeconds?: number;
  /** The event that makes waiting work due earlier; see `wake`. With a failure: the event for which it waited until its schedule ended. */
  waitsFor?: string;
  errorClass?: string;
  /** For the log; never a secret. */
  detail: Record<string, unknown>;
  response?: Buffer;
  /** Somebody should look at it, although it will be tried again. */
  alarming?: true;
  /** Whether a failure is held against the lane; unless said otherwise, every one that is not ours. */
  charged?: boolean;
  /** It costs no attempt of the schedule; unless said otherwise, what is ours costs none. */
  forgiven?: boolean;
  /** The lane takes no more work, for this reason. */
  disableLane?: string;
};

export type Finished = { work: ClaimedWork; outcome: Outcome };

/** later: those whose lane is busy; to be settled by another call. What was removed meanwhile needs no settling. ended: lanes that take no more work. */
export type Settled = { later: readonly Finished[]; ended: readonly { key: string; why: string }[] };

/** The class of failures that are ours, not the receiver's: they cost neither an attempt nor its good name. */
export const ownFault = 'unexpected';
/** The class of attempts that found the database too slow. They cost as little as those of `ownFault`. */
export const slowness = 'slow';
const isOurs = (errorClass: string | undefined) => errorClass === ownFault || errorClass === slowness;
/** Error class of an attempt whose import waits for approval. Its work is done: the decision is recorded with the import. */
export const waitsForApproval = 'waits_for_approval';

/** A lane that fails this often in a row is paused, for longer each time; one probe then decides. */
export const breaker = { failures: 5, firstPauseSeconds: 30, longestPauseSeconds: 900 } as const;
/** One that has only failed for so long, and fails once more, has ended. */
export const endAfterHours = 120;

export async function settleWork(db: Db, finished: readonly Finished[]): Promise<Settled> {
  const lanes = [...new Set(finished.map(({ work }) => work.lane))];
  // As in a claim, the lanes are locked before their rows are read, so that work enqueued at the same time is either seen or arms the lane
  // afterwards. Lanes that another transaction holds are skipped, and their work is settled later.
  const lock = (sql: Sql) => sql<{ keys: string[] }[]>`
    with locked as materialized (select key from lane where key = any(${lanes}) order by key for update skip locked)
    select ${holdLanes(sql, sql`select key from locked`)}`;
  const given = finished.map(describe);
  // Only failures end a lane, and then what waits in it fails in the same transaction.
  const canEnd = finished.some(({ outcome }) => !outcome.success);
  const [[held], settled] = canEnd
    ? await db.begin(async (tx) => {
        const [locked, judged] = [await lock(tx), await settle(tx, given)];
        const ended = judged.filter(hasEnded).map(({ key }) => key);
        if (ended.length > 0) await tx`update outbox set state = 'failed', settled_at = now() where lane = any(${ended}) and state = 'waiting'`;
        return [locked, judged] as const;
      })
    : await db.together(lock(db), settle(db, given));
  const locked = new Set(held?.keys);
  const busy = finished.filter(({ work }) => !locked.has(work.lane));
  const there = busy.length === 0 ? [] : await db<{ key: string }[]>`select key from lane where key = any(${busy.map(({ work }) => work.lane)})`;
  return { later: busy.filter(({ work }) => there.some(({ key }) => key === work.lane)), ended: settled.filter(hasEnded) };
}

function describe({ work, outcome }: Finished): object {
  return {
    lane: work.lane,
    estab: work.estab,
    id: work.id,
    claim: work.claim,
    epoch: work.epoch,
    state: outcome.state,
    success: outcome.success,
    charged: outcome.charged ?? !isOurs(outcome.errorClass),
    forgiven: outcome.forgiven ?? isOurs(outcome.errorClass),
    delay: outcome.delaySeconds ?? 0,
    waits_for: outcome.waitsFor ?? null,
    claimed_at: work.claimedAt,
    error_class: outcome.errorClass ?? null,
    detail: outcome.detail,
    response: outcome.response?.toString('base64') ?? null,
    disable: outcome.disableLane ?? null,
  };
}

type Judged = { key: string; why: string | null };
const hasEnded = (lane: Judged): lane is Judged & { why: string } => lane.why !== null;

/** Of what was given, that whose lane is held. */
function settle(tx: Sql, given: readonly object[]): Statement<Judged[]> {
  // What the receiver before would not take is for the one that was registered meanwhile.
  const moved = tx`(given.state = 'failed' and given.epoch <> l.epoch and o.topic is not null)`;
  const newer = tx`exists (select from outbox n where n.estab = o.estab and n.topic = o.topic and n.seq > o.seq and n.state in ('waiting', 'running', 'done'))`;
  const pause = tx`now() + make_interval(secs => least(${breaker.longestPauseSeconds}::float8, ${breaker.firstPauseSeconds} * 2 ^ least(l.openings, 10)))`;
  // Somebody woke the lane while this was under way: it may have found what is no longer so.
  const missed = tx`(given.waits_for is not null and l.woken_at > to_timestamp(given.claimed_at))`;
  // Work whose schedule ended while it waited for that event gets a new schedule.
  const released = tx`(given.state = 'failed' and ${missed})`;
  const waits = tx`(given.state = 'waiting' or ${moved} or ${released})`;
  return tx<Judged[]>`
    with given as (
      select * from jsonb_to_recordset(${tx.json(given)}) as given (lane text, estab text, id text, claim uuid, epoch int, state text, success boolean,
        charged boolean, forgiven boolean, delay float8, waits_for text, claimed_at float8, error_class text, detail jsonb, response text, disable text)
      where lane = any(${heldLanes(tx)})
    ), settled as (
      update outbox o set attempts = o.attempts + 1, claim = null, lease_until = null,
        forgiven = case when ${released} then o.attempts + 1 when given.forgiven then o.forgiven + 1 else o.forgiven end,
        state = case when ${waits} and ${newer} then 'superseded' when ${waits} then 'waiting' else given.state end,
        due_at = case when ${waits} then now() + make_interval(secs => case when ${missed} then 0 else given.delay end)
          else o.due_at end,
        waits_for = given.waits_for,
        settled_at = case when ${waits} and not ${newer} then null else now() end
      from given, lane l
      -- By its key alone: only what runs has a claim, and by the index of what runs everything would be compared with everything.
      where l.key = o.lane and o.estab = given.estab and o.id = given.id and o.claim = given.claim
      returning o.estab, o.id, o.lane, o.attempts, o.state, o.due_at, given.epoch = l.epoch as same, given.success, given.charged,
        given.error_class, given.detail, given.response, given.disable
    ), logged as (
      insert into outbox_attempt (estab, id, number, success, error_class, detail, response, next_at)
      select estab, id, attempts, success, error_class, detail, decode(response, 'base64'), case when state = 'waiting' then due_at end from settled
    ), per_lane as (
      -- What another receiver answered, before this one was registered, is no fault of this one.
      select s.lane, bool_or(s.success and s.same) as ok,
        (count(*) filter (where not s.success and s.same and s.state <> 'cancelled' and s.charged))::int as failed,
        min(s.due_at) filter (where s.state = 'waiting') as due, max(s.disable) filter (where s.same) as disable
      from settled s group by s.lane
    ), judged as (
      select l.key, p.ok, p.due,
        case when p.ok then 0 else l.failures + p.failed end as failures,
        not p.ok and p.failed > 0 and (l.open_until <= now() or (l.open_until is null and l.failures + p.failed >= ${breaker.failures})) as opens,
        case when p.ok then null when p.failed > 0 then coalesce(l.failing_since, now()) else l.failing_since end as failing_since,
        case when not l.lasting or l.disabled_at is not null then null
          when p.disable is not null then p.disable
          when not p.ok and p.failed > 0 and l.failures + p.failed >= ${breaker.failures}
            and l.failing_since < now() - make_interval(hours => ${endAfterHours}) then 'five days of nothing but failures'
        end as ends
      from lane l join per_lane p on p.lane = l.key
    )
    update lane l set
      failures = j.failures,
      failing_since = j.failing_since,
      openings = case when j.ok then 0 when j.opens then l.openings + 1 else l.openings end,
      open_until = case when j.ok then null when j.opens then ${pause} else l.open_until end,
      warned_at = case when j.ok then null else l.warned_at end,
      disabled_at = case when j.ends is not null then now() else l.disabled_at end,
      disabled_why = coalesce(j.ends, l.disabled_why),
      next_at = case when l.paused_at is null then nullif(greatest(
        least(coalesce(j.due, 'infinity'), coalesce((select min(o.due_at) from outbox o where o.lane = l.key and o.state = 'waiting'), 'infinity')),
        case when j.opens then ${pause} else '-infinity' end), 'infinity') end
    from judged j where l.key = j.key
    returning l.key, j.ends as why`;
}

/** Returns the outcome without its detail: a detail that cannot be stored must not keep the outcome from being stored. */
export function withoutDetail({ work, outcome }: Finished): Finished {
  const { success, state, delaySeconds = 0, waitsFor = '', errorClass = 'unstorable', disableLane = '' } = outcome;
  return {
    work,
    outcome: {
      success,
      state,
      delaySeconds,
      ...(waitsFor ? { waitsFor } : {}),
      ...(success ? {} : { errorClass }),
      ...(disableLane ? { disableLane } : {}),
      detail: { message: 'the details of this attempt could not be stored' },
    },
  };
}
