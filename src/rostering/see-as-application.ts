// In charge of one record as an application at the school sees it: what it is answered in each dialect, which fields it gets,
// and why it does not get the others.
import { findStanding, requireReach, type Standing } from '../access/authenticate.ts';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { collections } from '../roster/collections.ts';
import { explainFields, judgeRecord, type Before, type FieldSight, type Judged, type WholeWhy } from './explain-sight.ts';
import { namedIn } from './left-out.ts';
import { nameRecords } from './record-names.ts';
import { readStates } from './record-states.ts';
import { dialects } from './dialects/all.ts';
import { findFullReach, requireApplicationReach, seeRecord, type Asked, type Sight } from './see-record.ts';

export type DialectSight = Sight & Readonly<{ whole: WholeWhy; fields: readonly FieldSight[] }>;
export type ApplicationSight = Readonly<{ rp: string; state: string; scopes: readonly string[]; dialects: readonly DialectSight[] }>;
/** An application that the school knows, and what it gets of a record as a whole. */
export type Onlooker = Readonly<{ rp: string; name: string; state: string; scopes: readonly string[]; whole: WholeWhy }>;

/** How far back a field is looked for that has no value now. */
const statesLookedAt = 30;
const mostOnlookers = 100;

export async function seeAsApplication(db: Db, publicUrl: string, rp: string, asked: Asked & Judged): Promise<ApplicationSight> {
  const { estab, collection } = asked;
  const standing = await findStanding(db, rp, estab);
  if (!standing) throw new SchoolbellError('not_found', `${estab} has not authorised ${rp}`);
  const { state, scopes } = standing;
  const whole = judgeStanding(standing, asked);
  if (whole.is === 'stopped') return { rp, state, scopes, dialects: [] };
  const all = await seeAll(db, publicUrl, asked);
  const seen = await seeRecord(db, publicUrl, rp, () => requireApplicationReach(db, rp, estab), asked);
  const before = await readBefore(db, publicUrl, asked);
  const people = await nameRecords(db, estab, 'users', [...new Set(all.flatMap(({ record = {} }) => Object.values(record).flatMap(namedIn)))]);
  const shown = dialects.flatMap((dialect, at): DialectSight[] => {
    const sight = seen[at];
    if (!sight) return [];
    const full = all[at]?.record;
    if (!sight.record && !sight.refused) return [{ ...sight, whole: { is: 'not offered' }, fields: [] }];
    if (!full) return [{ ...sight, whole: { is: 'purged' }, fields: [] }];
    const own: WholeWhy = sight.record ? { is: 'given' } : judgeRecord(asked, standing, dialect);
    const judged = new Map([...people].map(([id, one]) => [id, { kinds: dialect.byAnyKind ? one.kinds : [one.kind] }]));
    return [{ ...sight, whole: own, fields: explainFields(collection, standing, dialect, full, sight, judged, own, before) }];
  });
  return { rp, state, scopes, dialects: shown };
}

/** What whoever sees everything of the school is answered. */
export async function seeAll(db: Db, publicUrl: string, asked: Asked): Promise<Sight[]> {
  return seeRecord(
    db,
    publicUrl,
    '',
    async () => {
      const reach = await findFullReach(db, asked.estab);
      if (!reach) throw new SchoolbellError('not_found', `there is no establishment ${asked.estab}`);
      return reach;
    },
    asked,
  );
}

/** Every application that the school has authorised: who of them sees such a record is judged without reading it. */
export async function listOnlookers(db: Db, { estab, ...judged }: Pick<Asked, 'estab'> & Judged): Promise<Onlooker[]> {
  const rows = await db<(Standing & { rp: string; name: string })[]>`
    select a.rp, p.name, a.estab, a.scopes, a.state, r.roster_id as "rosterId", r.version, r.kept_from as "keptFrom"
    from authorisation a join roster_standing r on r.estab = a.estab join application p on p.rp = a.rp
    where a.estab = ${estab} order by a.rp limit ${mostOnlookers}`;
  return rows.map((row) => ({ rp: row.rp, name: row.name, state: row.state, scopes: row.scopes, whole: judgeStanding(row, judged) }));
}

/** In the dialect in which most is seen. */
function judgeStanding(standing: Standing, judged: Judged): WholeWhy {
  try {
    requireReach([standing]);
  } catch (error) {
    if (error instanceof SchoolbellError) return { is: 'stopped', message: error.message };
    throw error;
  }
  const [first = { is: 'not offered' } as const, ...others] = dialects.map((dialect) => judgeRecord(judged, standing, dialect));
  return others.find(({ is }) => is === 'given') ?? first;
}

async function readBefore(db: Db, publicUrl: string, { estab, collection, sourcedId }: Asked): Promise<Before[]> {
  const { states } = await readStates(db, publicUrl, estab, collections[collection], sourcedId, { most: statesLookedAt });
  return states.slice(1).map(({ until, untilAt, record }) => ({ until: { version: until ?? 0, at: untilAt }, record }));
}
