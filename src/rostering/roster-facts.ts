// In charge of what is known of a roster as long as its version stands: the instants of its versions, totals by kind
// and status, and the milestones that make a deep offset a seek. Read once per version and process, then kept.
import { groupTotals } from '../collection/measure-collection.ts';
import type { Sql } from '../db/connect.ts';
import { Behind } from '../db/replicas.ts';
import type { CollectionName } from '../roster/resource.ts';
import { isPast } from './as-of.ts';
import type { Version } from './field-path.ts';
import type { Milestone } from './milestones.ts';
import { createPastFactsReader, type PastFacts, type PastFactsReader } from './past-facts.ts';
import { createRemembered } from './remembered.ts';
import type { Target } from './visibility.ts';

type RosterFacts = {
  versions: readonly Version[];
  totals: ReadonlyMap<CollectionName, Readonly<Record<string, number>>>;
};

/** The roster moved on between two statements: ask again with the version that stands now. */
export class RosterMoved extends Error {
  constructor() {
    super('the roster changed while it was being read; try again');
  }
}

const rememberedBytes = 24 * 1024 * 1024;
const bytesPerRoster = 1_000;
const bytesPerVersion = 150;
const bytesPerTotal = 60;
const bytesPerMilestone = 200;

/** A roster at one of its versions. */
type RosterAt = { estab: string; rosterId: string; version: number };

export type FactsReader = {
  /** When each version came to be, of the roster as it stands. */
  versions(sql: Sql, target: Target): Promise<readonly Version[]>;
  /** How many records of each kind and status the collection has at the version that is asked for. */
  totals(sql: Sql, target: Target, collection: CollectionName): Promise<Readonly<Record<string, number>>>;
  milestones(sql: Sql, target: Target, collection: CollectionName): Promise<readonly Milestone[]>;
  /** A version of the same number may be another one from now on. */
  forget(): void;
};

export function createFactsReader(): FactsReader {
  const past = createPastFactsReader();
  const remembered = createRemembered<{ at: RosterAt; facts: RosterFacts }>(rememberedBytes);
  const rememberedMilestones = createRemembered<readonly Milestone[]>(rememberedBytes);

  async function facts(sql: Sql, at: RosterAt): Promise<RosterFacts> {
    const known = remembered.get(at.estab);
    if (known?.at.rosterId === at.rosterId && known.at.version === at.version) return known.facts;
    const fresh = await readFacts(sql, at);
    const totals = [...fresh.totals.values()].reduce((sum, groups) => sum + Object.keys(groups).length, 0);
    remembered.set(at.estab, { at, facts: fresh }, bytesPerRoster + fresh.versions.length * bytesPerVersion + totals * bytesPerTotal);
    return fresh;
  }

  const requirePast: (...asked: Parameters<PastFactsReader['read']>) => Promise<PastFacts> = async (sql, target, collection) => {
    const found = await past.read(sql, target, collection);
    if (!found) throw new RosterMoved();
    return found;
  };
  const standing = ({ estab, rosterId, current }: Target): RosterAt => ({ estab, rosterId, version: current });

  return {
    versions: async (sql, target) => (await facts(sql, standing(target))).versions,
    async totals(sql, target, collection) {
      if (isPast(target)) return (await requirePast(sql, target, collection)).totals;
      return (await facts(sql, standing(target))).totals.get(collection) ?? {};
    },
    async milestones(sql, target, collection) {
      if (isPast(target)) return (await requirePast(sql, target, collection)).milestones;
      const at = standing(target);
      const key = `${at.rosterId} ${at.version} ${collection}`;
      const known = rememberedMilestones.get(key) ?? (await readMilestones(sql, at, collection));
      rememberedMilestones.set(key, known, known.length * bytesPerMilestone);
      return known;
    },
    forget() {
      past.forget();
      remembered.clear();
      rememberedMilestones.clear();
    },
  };
}

async function readFacts(sql: Sql, { estab, rosterId, version }: RosterAt): Promise<RosterFacts> {
  type Total = { collection: CollectionName; part: string; count: number };
  const [row] = await sql<{ version: number; versions: Version[] | null; totals: Total[] | null }[]>`
    select r.version,
      (select json_agg(json_build_object('version', v.version, 'instant', (extract(epoch from v.instant) * 1000)::bigint, 'stamp', v.stamp)
        order by v.version) from roster_version v where v.estab = ${estab}) as versions,
      (select json_agg(t) from ${groupTotals(sql, estab)} t) as totals
    from roster r where r.estab = ${estab} and r.id = ${rosterId}`;
  if (row && row.version < version) throw new Behind();
  if (row?.version !== version) throw new RosterMoved();
  const totals = [...Map.groupBy(row.totals ?? [], (total) => total.collection)].map(
    ([collection, of]) => [collection, Object.fromEntries(of.map(({ part, count }) => [part, count]))] as const,
  );
  return { versions: row.versions ?? [], totals: new Map(totals) };
}

async function readMilestones(sql: Sql, { estab, rosterId, version }: RosterAt, collection: CollectionName): Promise<Milestone[]> {
  const rows = await sql<(Milestone & { version: number })[]>`
    select m.sourced_id as "sourcedId", m.preceding, r.version from roster_milestone m join roster r on r.estab = ${estab} and r.id = ${rosterId}
    where m.estab = ${estab} and m.collection = ${collection} order by m.sourced_id`;
  if (rows.some((row) => row.version < version)) throw new Behind();
  if (rows.some((row) => row.version !== version)) throw new RosterMoved();
  return rows;
}
