// In charge of the trail as a whole: what operators did, what schools decided, identity operations and sign-ins, what
// applications read, and erasures, one after the other, newest first, however long it is.
import type { Db, Fragment } from '../db/connect.ts';

export const trailKinds = ['operator', 'decision', 'identity', 'reading', 'erasure'] as const;
export type TrailKind = (typeof trailKinds)[number];

/** by: an operator's name, or who else it was: school, operator, application, person, service. reading: what was read on that day. */
export type TrailEntry = {
  at: Date;
  kind: TrailKind;
  what: string;
  by: string | null;
  estab: string | null;
  rp: string | null;
  detail: string;
  /** Of operators: where from, and how it ended; none, if it was cut off. */
  from?: string | null;
  outcome?: string | null;
};

/** before: where an earlier part of it ended. */
export type TrailAsked = Readonly<{
  estab?: string | undefined;
  rp?: string | undefined;
  kind?: TrailKind | undefined;
  since?: Date | undefined;
  before?: string | undefined;
  most: number;
}>;

/** key: its number, as text, or what else there is only once at that moment. moment: to the microsecond, which a Date does not hold. */
type Place = { moment: string; key: string };
type Found = TrailEntry & Place;
type Source = (db: Db, asked: TrailAsked, place: Place | undefined) => Promise<Found[]>;

const moment = (db: Db, at: Fragment) => db`to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;

/**
 * Rows are numbered as they come. Those of one school are read by its index of numbers; those of all schools by their time. Each is one
 * statement, whatever else is asked.
 */
function narrow(db: Db, { estab, rp, since, most }: TrailAsked, place: Place | undefined): Fragment {
  const [at, number] = [place?.moment ?? null, place?.key ?? null];
  const seen =
    estab === undefined
      ? db`(${at}::timestamptz is null or (at, number) < (${at}::timestamptz, ${number}::bigint)) order by at desc, number desc`
      : db`(${number}::bigint is null or number < ${number}::bigint) order by number desc`;
  return db`(${rp ?? null}::text is null or rp = ${rp ?? null}) and (${since ?? null}::timestamptz is null or at >= ${since ?? null})
    and ${seen} limit ${most}`;
}

const ofSchool = (db: Db, { estab }: TrailAsked) => (estab === undefined ? db`true` : db`estab = ${estab}`);

const sources: Readonly<Record<TrailKind, Source>> = {
  operator: (db, asked, place) => db<Found[]>`
    select at, ${moment(db, db`at`)} as moment, number::text as key, 'operator' as kind, action as what, actor as by, estab, rp, address as from, outcome,
      concat_ws('; ', subject, (select string_agg(key || ': ' || value, ', ') from jsonb_each_text(detail)), message) as detail
    from audit_event where ${ofSchool(db, asked)} and ${narrow(db, asked, place)}`,
  decision: (db, asked, place) => db<Found[]>`
    select at, ${moment(db, db`at`)} as moment, number::text as key, 'decision' as kind, state as what, actor as by, estab, rp,
      coalesce(array_to_string(scopes, ', '), '') as detail
    from (select estab, rp, number, at, state, actor, scopes from authorisation_event where ${ofSchool(db, asked)}
      union all select estab, rp, number, at, state, actor, scopes from past_decision where ${ofSchool(db, asked)}) decided
    where ${narrow(db, asked, place)}`,
  identity: (db, asked, place) => db<Found[]>`
    select at, ${moment(db, db`at`)} as moment, number::text as key, 'identity' as kind, operation as what,
      case when rp is null then 'person' else 'application' end as by, estab, rp, concat_ws(' ', outcome, presence_id) as detail
    from identity_audit where ${ofSchool(db, asked)} and ${narrow(db, asked, place)}`,
  reading: listReadings,
  erasure: async (db, asked, place) =>
    asked.estab !== undefined || asked.rp !== undefined
      ? []
      : db<Found[]>`
        select at, ${moment(db, db`at`)} as moment, number::text as key, 'erasure' as kind, what || ' removed' as what, 'operator' as by,
          null as estab, null as rp, (select coalesce(string_agg(value || ' ' || key, ', '), '') from jsonb_each_text(counts)) as detail
        from (select *, null::text as rp from erasure) erased where ${narrow(db, asked, place)}`,
};

/** Summed up by day, so that it stands at the day's beginning. Of one school alone: of all it would be more than anybody reads. */
async function listReadings(db: Db, { estab, rp, since, most }: TrailAsked, place: Place | undefined): Promise<Found[]> {
  if (estab === undefined) return [];
  const [lastRp = '', lastCollection = ''] = place?.key.split('/') ?? [];
  const seen = place && db`and d.day <= ${place.moment}::date and (d.day, d.rp, d.collection) < (${place.moment}::date, ${lastRp}, ${lastCollection})`;
  const known = await db<{ rp: string }[]>`
    select rp from authorisation where estab = ${estab} union select rp from past_decision where estab = ${estab}`;
  const rps = known.map((one) => one.rp).filter((one) => rp === undefined || one === rp);
  return db<Found[]>`
    select d.day::timestamp at time zone 'UTC' as at, d.day::text as moment, d.rp || '/' || d.collection as key, 'reading' as kind, d.collection as what,
      'application' as by, d.estab, d.rp,
      d.records || case d.records when 1 then ' record in ' else ' records in ' end
        || d.requests || case d.requests when 1 then ' request' else ' requests' end as detail
    from unnest(${rps}::text[]) as known (rp)
      cross join lateral (select * from disclosure d where d.estab = ${estab} and d.rp = known.rp
        ${since === undefined ? db`` : db`and d.day >= ${since}::date`} ${seen ?? db``} order by d.day desc, d.collection desc limit ${most}) d
    order by d.day desc, d.rp desc, d.collection desc limit ${most}`;
}

/** Each source is read on from its own place, and none is passed over: what is shown next is the newest of what they have. */
export async function listTrail(db: Db, asked: TrailAsked): Promise<{ entries: TrailEntry[]; next: string | undefined }> {
  const places = parsePlaces(asked.before);
  const wanted = trailKinds.filter((kind) => asked.kind === undefined || asked.kind === kind);
  const found = (await Promise.all(wanted.map((kind) => sources[kind](db, { ...asked, most: asked.most + 1 }, places[kind])))).flatMap(withRanks);
  const merged = found.toSorted((one, other) => other.rank - one.rank);
  const shown = merged.slice(0, asked.most);
  for (const { moment: at, key, kind } of shown) places[kind] = { moment: at, key };
  return { entries: shown.map(entryOf), next: merged.length > shown.length ? renderPlaces(places) : undefined };
}

function entryOf(found: Found & { rank: number }): TrailEntry {
  const { moment: _, key: __, rank: ___, ...entry } = found;
  return entry;
}

/** Two that came at once may be numbered the other way round than they are timed: neither comes before what was numbered after it. */
function withRanks(found: readonly Found[]): (Found & { rank: number })[] {
  let rank = Number.POSITIVE_INFINITY;
  return found.map((one) => ({ ...one, rank: (rank = Math.min(rank, one.at.getTime())) }));
}

type Places = Partial<Record<TrailKind, Place>>;

/** In an address: operator~2026-11-16T08:00:00.123456Z~17, one for each kind. */
function renderPlaces(places: Places): string {
  return Object.entries(places).map(([kind, place]) => [kind, place.moment, place.key].join('~')).join('!');
}

/** What is not of our making is no place: then it begins at the beginning. */
function parsePlaces(before: string | undefined): Places {
  const places: Places = {};
  for (const part of (before ?? '').split('!')) {
    const [, kind, at, key] = /^(\w+)~(\d{4}-\d\d-\d\d(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z)?)~(.+)$/s.exec(part) ?? [];
    const known = trailKinds.find((one) => one === kind);
    if (!known || at === undefined || key === undefined || !isDay(at.slice(0, 10))) continue;
    if (known === 'reading' ? /^[^/]+\/[^/]+$/.test(key) : /^\d{1,18}$/.test(key) && at.includes('T')) places[known] = { moment: at, key };
  }
  return places;
}

/** 31 February is none, and neither is a day of the year 0. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && !text.startsWith('0000') && at.toISOString().startsWith(text);
}
