// In charge of what can be counted about the outbox: rows and their age by state, attempts by class, lag, breakers.
import type { Db } from '../db/connect.ts';
import type { Metric } from '../http/metrics.ts';
import { countDay } from './tally.ts';

type Counted<Label extends string> = Record<Label, string> & { value: number };
type Unsettled = { kind: string; state: string; value: number; oldest: number; failing: number };

const laneStates = ['closed', 'half_open', 'open', 'paused', 'disabled'] as const;

export async function measureOutbox(db: Db): Promise<Metric[]> {
  const { settled, attempts } = await countDay(db);
  // By the indexes of what waits and of what runs: a condition on both would read everything. What waits because somebody
  // paused its target has a state of its own: it is meant to wait, however long.
  const unsettled = await db<Unsettled[]>`
    select coalesce(payload ->> 'event', kind) as kind, state, count(*)::float8 as value, extract(epoch from now() - min(created_at))::float8 as oldest,
      (count(*) filter (where state = 'waiting' and attempts > forgiven))::float8 as failing from (
      select payload, kind, case when lane in (select key from lane where paused_at is not null) then 'paused' else state end as state,
        created_at, attempts, forgiven from outbox where state = 'waiting'
      union all
      select payload, kind, state, created_at, attempts, forgiven from outbox where state = 'running') open
    group by 1, 2`;
  const [lag] = await db<
    Counted<never>[]
  >`select coalesce(extract(epoch from now() - min(due_at)), 0)::float8 as value from outbox o where state = 'waiting' and due_at <= now()
      and exists (select from lane l where l.key = o.lane and l.disabled_at is null and l.paused_at is null
        and (l.open_until is null or l.open_until <= now()))`;
  const breakers = await db<Counted<'state'>[]>`
    select case when disabled_at is not null then 'disabled' when paused_at is not null then 'paused' when open_until > now() then 'open'
      when open_until is not null then 'half_open'
      else 'closed' end as state, count(*)::float8 as value from lane group by 1`;
  // None is a number too: an alert sees it change.
  const lanes = laneStates.map((state) => breakers.find((row) => row.state === state) ?? { state, value: 0 });
  const ages = unsettled.map((row) => ({ ...row, value: row.oldest }));
  const failing = unsettled.filter(({ state }) => state === 'waiting').map((row) => ({ ...row, value: row.failing }));
  return [
    gauge('schoolbell_outbox_rows', 'Rows of the outbox by state; settled ones of the last day', [...unsettled, ...settled], ['kind', 'state']),
    gauge('schoolbell_outbox_oldest_seconds', 'Age of the oldest row that is not settled', ages, ['kind', 'state']),
    gauge('schoolbell_outbox_failing_rows', 'Rows that failed at least once and wait to be tried again', failing, ['kind']),
    gauge('schoolbell_outbox_attempts_day', 'Attempts of the last day by outcome', attempts, ['kind', 'class']),
    gauge('schoolbell_outbox_lag_seconds', 'How long the longest due row has been waiting, behind closed breakers and no pause', lag ? [lag] : [], []),
    gauge('schoolbell_lanes', 'Targets of calls and other lanes of work, by the state of their breaker, or paused', lanes, ['state']),
  ];
}

function gauge<Label extends string>(name: string, help: string, rows: readonly Counted<Label>[], labels: readonly Label[]): Metric {
  return {
    name,
    help,
    type: 'gauge',
    values: rows.map((row) => ({ labels: Object.fromEntries(labels.map((label) => [label, String(row[label])])), value: row.value })),
  };
}
