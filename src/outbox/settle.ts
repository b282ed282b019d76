// In charge of saying what became of claimed work: the attempt and its outcome in one statement, fenced by the claim,
// together with what it means for the lane (its breaker, its next turn, its end after days of nothing but failures).
import type { Db, Tx } from '../db/connect.ts';
import type { ClaimedWork } from './claim.ts';

export type Outcome = {
  success: boolean;
  /** waiting: to be tried again, after so many seconds. */
  state: 'waiting' | 'done' | 'failed' | 'cancelled';
  delaySeconds?: number;
  errorClass?: string;
  /** For the log; never a secret. */
  detail: Record<string, unknown>;
  response?: Buffer;
  /** The lane takes no more work, for this reason. */
  disableLane?: string;
};

/** The class of failures that are ours, not the receiver's: they cost neither an attempt nor its good name. */
export const ownFault = 'unexpected';

/** A lane that fails this often in a row is paused, for longer each time; one probe then decides. */
const breaker = { failures: 5, firstPauseSeconds: 30, longestPauseSeconds: 900 } as const;
export async function settleWork(db: Db, claim: string, settled: readonly { work: ClaimedWork; outcome: Outcome }[]): Promise<void> {
  const given = settled.map(({ work, outcome }) => ({
    estab: work.estab,
    id: work.id,
    state: outcome.state,
    success: outcome.success,
    delay: outcome.delaySeconds ?? 0,
    error_class: outcome.errorClass ?? null,
    detail: outcome.detail,
    response: outcome.response?.toString('base64') ?? null,
    disable: outcome.disableLane ?? null,
  }));
  const lanes = [...new Set(settled.map(({ work }) => work.lane))];
  await db.begin(async (tx) => {
    // Locked first, for the same reason as in a claim: no lane may miss what is put into it meanwhile.
    await tx`select from lane where key = any(${lanes}) order by key for update`;
    await settle(tx, claim, given);
  });
}

async function settle(tx: Tx, claim: string, given: readonly object[]): Promise<void> {
  await tx`
    with given as (
      select * from jsonb_to_recordset(${tx.json(given as never)}) as given (estab text, id text, state text, success boolean, delay float8, error_class text, detail jsonb, response text, disable text)
    ), settled as (
      update outbox o set attempts = o.attempts + 1, forgiven = o.forgiven + case when given.error_class = ${ownFault} then 1 else 0 end, claim = null, lease_until = null,
        state = case when given.state = 'waiting' and exists (select from outbox n where n.estab = o.estab and n.topic = o.topic and n.created_at > o.created_at and n.state in ('waiting', 'running', 'done')) then 'superseded' else given.state end,
        due_at = case when given.state = 'waiting' then now() + make_interval(secs => given.delay) else o.due_at end,
        settled_at = case when given.state = 'waiting' and not exists (select from outbox n where n.estab = o.estab and n.topic = o.topic and n.created_at > o.created_at and n.state in ('waiting', 'running', 'done')) then null else now() end
      from given
      where o.estab = given.estab and o.id = given.id and o.claim = ${claim} and o.state = 'running'
      returning o.estab, o.id, o.lane, o.attempts, o.state, o.due_at, given.success, given.error_class, given.detail, given.response, given.disable
    ), logged as (
      insert into outbox_attempt (estab, id, number, success, error_class, detail, response, next_at)
      select estab, id, attempts, success, error_class, detail, decode(response, 'base64'), case when state = 'waiting' then due_at end from settled
    ), per_lane as (
      select lane, bool_or(success) as ok, (count(*) filter (where not success and state <> 'cancelled' and error_class is distinct from ${ownFault}))::int as failed,
        min(due_at) filter (where state = 'waiting') as due, max(disable) as disable from settled group by lane
    ), judged as (
      select l.key, p.ok, p.disable, p.due,
        case when p.ok then 0 else l.failures + p.failed end as failures,
        not p.ok and p.failed > 0 and (l.open_until <= now() or (l.open_until is null and l.failures + p.failed >= ${breaker.failures})) as opens,
        case when p.ok then null when p.failed > 0 then coalesce(l.failing_since, now()) else l.failing_since end as failing_since
      from lane l join per_lane p on p.lane = l.key
    )
    update lane l set
      failures = j.failures,
      failing_since = j.failing_since,
      openings = case when j.ok then 0 when j.opens then l.openings + 1 else l.openings end,
      open_until = case when j.ok then null when j.opens then now() + make_interval(secs => least(${breaker.longestPauseSeconds}::float8, ${breaker.firstPauseSeconds} * 2 ^ least(l.openings, 10))) else l.open_until end,
      warned_at = case when j.ok then null else l.warned_at end,
      disabled_at = case when j.disable is not null and l.lasting then now() else l.disabled_at end,
      disabled_why = case when l.lasting then coalesce(j.disable, l.disabled_why) end,
      next_at = nullif(greatest(
        least(coalesce(j.due, 'infinity'), coalesce((select min(o.due_at) from outbox o where o.lane = l.key and o.state = 'waiting'), 'infinity')),
        case when j.opens then now() + make_interval(secs => least(${breaker.longestPauseSeconds}::float8, ${breaker.firstPauseSeconds} * 2 ^ least(l.openings, 10))) else '-infinity' end), 'infinity')
    from judged j where l.key = j.key`;
}
