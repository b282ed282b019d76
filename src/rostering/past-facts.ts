// In charge of totals and milestones of versions that are past. They are those of now, less what came since and with what
// it replaced; and since a version does not change any more, what was found out once holds.
import { historyTable } from '../collection/history.ts';
import { groupOf, groupTotals } from '../collection/measure-collection.ts';
import type { Sql } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { CollectionName } from '../roster/resource.ts';
import type { Milestone } from './milestones.ts';
import { createRemembered } from './remembered.ts';
import type { Target } from './visibility.ts';

/** Counts by group. There are no milestones if too much has changed since. */
export type PastFacts = { totals: Readonly<Record<string, number>>; milestones: readonly Milestone[] };

export type PastFactsReader = {
  /** Undefined when the version is no longer kept. */
  read(sql: Sql, target: Target, collection: CollectionName): Promise<PastFacts | undefined>;
  forget(): void;
};

/** More than these are not put into place one by one; deep offsets are then counted off. */
const mostMoved = 50_000;
const rememberedBytes = 16 * 1024 * 1024;
const bytesPerMilestone = 200;

type Moved = [sourcedId: string, group: string, by: number];
type Row = { kept: boolean; totals: Record<string, number> | null; moved: number; milestones: Milestone[] | null; moves: Moved[] | null };

export function createPastFactsReader(): PastFactsReader {
  const remembered = createRemembered<PastFacts>(rememberedBytes);
  const read: PastFactsReader['read'] = async (sql, target, collection) => {
    const key = `${target.rosterId} ${target.version} ${collection}`;
    const known = remembered.get(key);
    if (known) return known;
    const row = await readPast(sql, target, collection);
    if (!row?.kept) return undefined;
    const tooMany = row.moves === null && row.moved > 0;
    const milestones = tooMany ? [] : moveMilestones(row.milestones ?? [], row.moves ?? []);
    const facts: PastFacts = { totals: row.totals ?? {}, milestones };
    remembered.set(key, facts, (facts.milestones.length + 1) * bytesPerMilestone);
    return facts;
  };
  return { read, forget: () => remembered.clear() };
}

/** In one statement, so that all of it is of one moment. */
async function readPast(sql: Sql, { estab, rosterId, version }: Target, collection: CollectionName): Promise<Row | undefined> {
  const resource = collections[collection];
  const [row] = await sql<Row[]>`
    with moved as materialized (
      select sourced_id, ${groupOf(sql, resource, sql`t`)} as part, -1 as by from ${sql(resource.table)} t where estab = ${estab}
        and version > ${version}
      union all
      select sourced_id, ${groupOf(sql, resource, sql`t`)}, 1 from ${sql(historyTable(resource))} t where estab = ${estab} and version <= ${version}
        and until_version > ${version}
    ), counted as (
      select part, sum(count) as count from (
        select part, count from ${groupTotals(sql, estab, collection)} totals
        union all select part, sum(by) from moved group by part) each group by part
    )
    select ${version} between r.kept_from and r.version as kept, (select jsonb_object_agg(part, count) from counted) as totals,
      (select count(*)::int from moved) as moved,
      case when (select count(*) from moved) <= ${mostMoved} then (select jsonb_agg(jsonb_build_array(sourced_id, part, by) order by sourced_id) from moved) end
        as moves,
      (select jsonb_agg(jsonb_build_object('sourcedId', m.sourced_id, 'preceding', m.preceding) order by m.sourced_id) from roster_milestone m
        where m.estab = ${estab} and m.collection = ${collection}) as milestones
    from roster r where r.estab = ${estab} and r.id = ${rosterId}`;
  return row;
}

/** Each with what preceded it then. A key need not have been there: what precedes it did. */
function moveMilestones(milestones: readonly Milestone[], moves: readonly Moved[]): Milestone[] {
  const sum: Record<string, number> = {};
  let at = 0;
  return milestones.map(({ sourcedId, preceding }) => {
    for (; at < moves.length; at += 1) {
      const [id, group, by] = moves[at] as Moved;
      if (!isBefore(id, sourcedId)) break;
      sum[group] = (sum[group] ?? 0) + by;
    }
    const then: Record<string, number> = { ...preceding };
    for (const [group, by] of Object.entries(sum)) then[group] = (then[group] ?? 0) + by;
    return { sourcedId, preceding: then };
  });
}

/** In the order of the database, which is that of code points. */
function isBefore(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
}
