// In charge of what is known of a roster as long as its version stands: the instants of its versions, totals by kind
// and status, and the milestones that make a deep offset a seek. Read once per version and process, then kept.
import type { Sql } from '../db/connect.ts';
import type { CollectionName } from '../roster/resource.ts';
import type { Version } from './field-path.ts';

export type Group = { kind: string; status: string };
export type Milestone = { sourcedId: string; preceding: Readonly<Record<string, number>> };

export type RosterFacts = {
  versions: readonly Version[];
  totals: ReadonlyMap<CollectionName, readonly (Group & { count: number })[]>;
  milestones: Map<CollectionName, readonly Milestone[]>;
};

/** The roster moved on between two statements: ask again with the version that stands now. */
export class RosterMoved extends Error {
  constructor() {
    super('the roster changed while it was being read; try again');
  }
}

const rememberedRosters = 500;

/** A roster at one of its versions. */
export type RosterAt = { estab: string; rosterId: string; version: number };

export type FactsReader = {
  facts(sql: Sql, at: RosterAt): Promise<RosterFacts>;
  milestones(sql: Sql, at: RosterAt, collection: CollectionName): Promise<readonly Milestone[]>;
};

export function createFactsReader(): FactsReader {
  const remembered = new Map<string, { at: RosterAt; facts: RosterFacts }>();

  async function facts(sql: Sql, at: RosterAt): Promise<RosterFacts> {
    const known = remembered.get(at.estab);
    if (known?.at.rosterId === at.rosterId && known.at.version === at.version) return known.facts;
    const fresh = await readFacts(sql, at);
    remembered.delete(at.estab);
    if (remembered.size >= rememberedRosters) remembered.delete(remembered.keys().next().value ?? '');
    remembered.set(at.estab, { at, facts: fresh });
    return fresh;
  }

  return {
    facts,
    async milestones(sql, at, collection) {
      const { milestones } = await facts(sql, at);
      const known = milestones.get(collection) ?? (await readMilestones(sql, at, collection));
      milestones.set(collection, known);
      return known;
    },
  };
}

async function readFacts(sql: Sql, { estab, rosterId, version }: RosterAt): Promise<RosterFacts> {
  const [row] = await sql<{ version: number; versions: Version[] | null; totals: (Group & { collection: CollectionName; count: number })[] | null }[]>`
    select r.version,
      (select json_agg(json_build_object('version', v.version, 'instant', (extract(epoch from v.instant) * 1000)::bigint, 'stamp', v.stamp)
        order by v.version) from roster_version v where v.estab = r.estab) as versions,
      (select json_agg(json_build_object('collection', t.collection, 'kind', t.kind, 'status', t.status, 'count', t.count)) from roster_total t
        where t.estab = r.estab) as totals
    from roster r where r.estab = ${estab} and r.id = ${rosterId}`;
  if (row?.version !== version) throw new RosterMoved();
  return { versions: row.versions ?? [], totals: Map.groupBy(row.totals ?? [], (total) => total.collection), milestones: new Map() };
}

async function readMilestones(sql: Sql, { estab, rosterId, version }: RosterAt, collection: CollectionName): Promise<Milestone[]> {
  const rows = await sql<(Milestone & { version: number })[]>`
    select m.sourced_id as "sourcedId", m.preceding, r.version from roster_milestone m join roster r on r.estab = m.estab and r.id = ${rosterId}
    where m.estab = ${estab} and m.collection = ${collection} order by m.sourced_id`;
  if (rows.some((row) => row.version !== version)) throw new RosterMoved();
  return rows;
}

/** How many records of these groups there are, or precede a milestone. */
export function sumOf(counts: Readonly<Record<string, number>>, kinds: readonly string[], status: string | undefined): number {
  let sum = 0;
  for (const [group, count] of Object.entries(counts)) {
    const cut = group.lastIndexOf(' ');
    if (kinds.includes(group.slice(0, cut)) && (status === undefined || group.slice(cut + 1) === status)) sum += count;
  }
  return sum;
}

/** The last milestone that at most `offset` of these records precede. */
export function findMilestone(
  milestones: readonly Milestone[],
  kinds: readonly string[],
  status: string | undefined,
  offset: number,
): { sourcedId: string; preceding: number } | undefined {
  let [low, high] = [0, milestones.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sumOf(milestones[middle]?.preceding ?? {}, kinds, status) <= offset) low = middle + 1;
    else high = middle;
  }
  const milestone = milestones[low - 1];
  return milestone && { sourcedId: milestone.sourcedId, preceding: sumOf(milestone.preceding, kinds, status) };
}
