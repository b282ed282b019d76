// In charge of how many records of each kind a school has, as its last import counted them.
import type { Db } from '../db/connect.ts';
import type { CollectionName } from '../roster/resource.ts';
import { findableKinds, type FindableKind } from './find-records.ts';

const collectionOf: Readonly<Partial<Record<FindableKind, CollectionName>>> = { class: 'classes', course: 'courses', org: 'orgs', session: 'academicSessions' };

/** gone: to be deleted, but found as well. */
export type Counted = Readonly<{ active: number; gone: number }>;

export async function countKinds(db: Db, estab: string): Promise<Map<FindableKind, Counted>> {
  const rows = await db<(Counted & { collection: string; kind: string })[]>`
    select collection, kind, coalesce(sum(count) filter (where status = 'active'), 0)::int as active,
      coalesce(sum(count) filter (where status <> 'active'), 0)::int as gone
    from roster_total where estab = ${estab} group by collection, kind`;
  const counts = new Map<FindableKind, Counted>();
  for (const kind of findableKinds) {
    const of = collectionOf[kind];
    const own = rows.filter((row) => (of === undefined ? row.collection === 'users' && row.kind === kind : row.collection === of));
    counts.set(kind, own.reduce((sum, { active, gone }) => ({ active: sum.active + active, gone: sum.gone + gone }), { active: 0, gone: 0 }));
  }
  return counts;
}
