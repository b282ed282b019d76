// In charge of how the targets of one application are doing, for an operator: its callback URL and what it registered at each
// school, with when a call last arrived there; and how many are in trouble.
import type { Db, Sql } from '../db/connect.ts';
import { callbackLane } from './move-callback.ts';
import { describeTargets, isIn, requireTarget, type Target } from './targets.ts';
import { laneKey } from './webhooks.ts';

/** lastArrived: as far as it is looked back. */
export type TargetHealth = Target & { lastArrived: Date | null };
/** Targets that are not well; one that an operator has paused is known to them. */
export type Troubles = { failing: number; disabled: number };

/** Newer than that, or not said: looking further back would cost what was ever sent. */
const arrivalsLookedAt = 200;

/** By school and database. after: the last that was seen. */
export async function listRegisteredTargets(
  db: Db,
  rp: string,
  { after, most }: { after?: { estab: string; databaseName: string } | undefined; most: number },
): Promise<TargetHealth[]> {
  const page = await db<{ id: string; lastArrived: Date | null }[]>`
    with page as materialized (
      select w.estab, w.id, w.database_name from authorisation a join webhook w on w.estab = a.estab and w.rp = a.rp
      where a.rp = ${rp} and (a.estab, w.database_name) > (${after?.estab ?? ''}, ${after?.databaseName ?? ''})
      order by w.estab, w.database_name limit ${most}
    )
    select page.id, s.settled_at as "lastArrived" from page
      left join lateral (
        select c.settled_at from (
          select o.lane, o.settled_at from outbox o where o.estab = page.estab and o.rp = ${rp} and o.kind = 'call' and o.state = 'done'
          order by (o.created_at at time zone 'UTC') desc, o.id desc limit ${arrivalsLookedAt}) c
        where c.lane = 'webhook ' || page.id::text limit 1) s on true
    order by page.estab, page.database_name`;
  const arrivals = new Map(page.map(({ id, lastArrived }) => [laneKey(id), lastArrived]));
  return (await describeTargets(db, [...arrivals.keys()])).map((target) => ({ ...target, lastArrived: arrivals.get(target.key) ?? null }));
}

export async function describeCallbackTarget(db: Db, rp: string): Promise<TargetHealth> {
  const [target, [last]] = await Promise.all([
    requireTarget(db, `callback:${rp}`),
    db<{ at: Date }[]>`
      select c.settled_at as at from (
        select o.lane, o.settled_at from outbox o where o.rp = ${rp} and o.kind = 'call' and o.state = 'done'
        order by (o.created_at at time zone 'UTC') desc, o.id desc limit ${arrivalsLookedAt}) c
      where c.lane = ${callbackLane(rp)} limit 1`,
  ]);
  return { ...target, lastArrived: last?.at ?? null };
}

/** From the targets that are not well, of which there are few: one by one, not beside all that were registered. */
export async function countTroubles(db: Sql, rps: readonly string[]): Promise<(rp: string) => Troubles> {
  const rows = await db<(Troubles & { rp: string })[]>`
    with ill as materialized (
      select l.key, ${isIn.disabled(db)} as disabled, case when starts_with(l.key, 'webhook ') then substr(l.key, 9)::uuid end as webhook
      from lane l where ${isIn.disabled(db)} or ${isIn.failing(db)}
    )
    select t.rp, (count(*) filter (where not t.disabled))::int as failing, (count(*) filter (where t.disabled))::int as disabled
    from (
      select w.rp, ill.disabled from ill cross join lateral (select rp from webhook where id = ill.webhook limit 1) w where w.rp = any(${[...rps]})
      union all select p.rp, ill.disabled from ill join unnest(${[...rps]}::text[]) as p (rp)
        on ill.key = 'callback ' || p.rp or starts_with(ill.key, 'one-off ' || p.rp || ' ')) t
    group by t.rp`;
  const byRp = new Map(rows.map(({ rp, ...troubles }) => [rp, troubles]));
  return (rp) => byRp.get(rp) ?? { failing: 0, disabled: 0 };
}
