// In charge of going through deliveries of everybody by key, newest first, so that each page costs the same whatever there
// is. No index knows all of them by time and state: they are merged from the stretches of the applications' own indexes.
// What no index knows, such as the kind of event, is looked for among so many, and the next page goes on from there.
import type { Fragment, Sql } from '../db/connect.ts';
import { beside, columns, deliveryStates, type Delivery, type DeliveryState } from './deliveries.ts';

export const deliveryEvents = ['authentication', 'availability', 'writeback', 'database', 'test'] as const;
export type DeliveryEvent = (typeof deliveryEvents)[number];

export type Browsing = {
  estab?: string | undefined;
  rp?: string | undefined;
  event?: DeliveryEvent | undefined;
  /** The key of a target's lane. */
  lane?: string | undefined;
  state?: DeliveryState | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
  /** As the page before gave it. */
  before?: string | undefined;
  most: number;
};

/** next: where the next page begins. lookedBack: fewer than a page were found down to there, and there may be more. */
export type Browsed = { deliveries: readonly Delivery[]; next: string | undefined; lookedBack: Date | undefined };

/** Rows that are looked at for one page, over all stretches. */
const longestLook = 2_000;
/** Among everything by time, for each that is shown. */
const mixedIn = 8;
/** With more, even the newest of each would be too many to look at. */
const mostStretches = 150;

type Place = { estab: string; id: string; created: string; wanted: boolean };
/** places: what is wanted, and the last that was looked at. */
type Seen = { places: readonly Place[]; goesOn: boolean };

export async function browseDeliveries(db: Sql, asked: Browsing): Promise<Browsed> {
  const { most } = asked;
  const { places, goesOn } = await look(db, asked);
  const wanted = places.filter((place) => place.wanted);
  const page = wanted.slice(0, most);
  const last = wanted.length > most ? page.at(-1) : goesOn ? places.at(-1) : undefined;
  return {
    deliveries: await show(db, page),
    next: last && `${last.created}Z,${last.id}`,
    lookedBack: last && wanted.length <= most ? new Date(`${last.created}Z`) : undefined,
  };
}

async function look(db: Sql, asked: Browsing): Promise<Seen> {
  const { state, estab, rp, event, lane, most } = asked;
  const ofLane = lane === undefined ? undefined : await lookAtLane(db, asked);
  if (ofLane) return ofLane;
  const whole = event === undefined && lane === undefined;
  if (estab === undefined && rp === undefined && state === undefined) return lookByTime(db, asked, whole ? (most + 1) * mixedIn : longestLook);
  const owners = rp === undefined ? await listOwners(db, estab) : [rp];
  const stretches = owners.flatMap((owner) => (state === undefined ? deliveryStates : [state]).map((one) => [owner, one] as const));
  if (stretches.length > mostStretches) return lookByTime(db, asked, longestLook);
  return lookByStretch(db, asked, stretches, whole ? most + 1 : Math.max(most + 1, Math.floor(longestLook / Math.max(1, stretches.length))));
}

/**
 * The newest so many of each stretch, by the expression of the indexes `outbox_calls` and `outbox_school_calls`. Where one has
 * more, nothing that is older than the oldest of these is certain to be whole.
 */
async function lookByStretch(db: Sql, asked: Browsing, stretches: readonly (readonly [string, DeliveryState])[], each: number): Promise<Seen> {
  const { estab } = asked;
  const [created, { since, until, place, isWanted }] = [db`(o.created_at at time zone 'UTC')`, boundsOf(db, asked)];
  const rows = await db<(Place & { goesOn: boolean })[]>`
    with seen as materialized (
      select o.*, row_number() over (partition by s.rp, s.state order by o.created desc, o.id desc) = ${each} as cut
      from unnest(${stretches.map(([owner]) => owner)}::text[], ${stretches.map(([, state]) => state)}::text[]) as s (rp, state) cross join lateral (
        select o.estab, o.id, ${created} as created, ${isWanted} as wanted from outbox o
        where o.kind = 'call' and o.rp = s.rp and o.state = s.state ${estab === undefined ? db`` : db`and o.estab = ${estab}`}
          and ${created} >= ${since} and ${created} < ${until} and (${created}, o.id) < (${place.created}::timestamp, ${place.id})
        order by ${created} desc, o.id desc limit ${each}) o
    ), horizon as (select created, id from seen where cut order by created desc, id desc limit 1)
    ${worthSending(db, db`
      select o.estab, o.id, o.created, o.wanted, h.id is not null as "goesOn"
      from seen o left join horizon h on true where h.id is null or (o.created, o.id) >= (h.created, h.id)`, asked.most)}`;
  return { places: rows, goesOn: rows.at(-1)?.goesOn ?? false };
}

/** All of a target, where those are not too many; undefined where they are. */
async function lookAtLane(db: Sql, asked: Browsing): Promise<Seen | undefined> {
  const [tooMany] = await db`select from outbox o where o.lane = ${asked.lane ?? null} offset ${longestLook} limit 1`;
  if (tooMany) return undefined;
  const [created, { since, until, place, isWanted }] = [db`(o.created_at at time zone 'UTC')`, boundsOf(db, asked)];
  const rows = await db<(Place & { goesOn: boolean })[]>`${worthSending(db, db`
    select o.estab, o.id, o.created, false as "goesOn",
      o.wanted and o.created >= ${since} and o.created < ${until} and (o.created, o.id) < (${place.created}::timestamp, ${place.id}) as wanted
    from (
      select o.estab, o.id, ${created} as created, ${isAsked(db, asked)} and ${isWanted} as wanted from outbox o where o.lane = ${asked.lane ?? null}
      limit ${longestLook}) o`, asked.most)}`;
  return { places: rows, goesOn: false };
}

const isAsked = (sql: Sql, { estab, rp, state }: Browsing): Fragment => sql`
  (o.kind = 'call' and o.estab = coalesce(${estab ?? null}, o.estab) and o.rp = coalesce(${rp ?? null}, o.rp)
    and o.state = coalesce(${state ?? null}, o.state))`;

/** Among everything by time are mails and other work as well; what is asked for has to be looked for among them. */
async function lookByTime(db: Sql, asked: Browsing, rows: number): Promise<Seen> {
  const { since, until, place, isWanted } = boundsOf(db, asked);
  const utc = db`at time zone 'UTC'`;
  const places = await db<(Place & { goesOn: boolean })[]>`${worthSending(db, db`
    select o.estab, o.id, o.created_at ${utc} as created, count(*) over () = ${rows} as "goesOn",
      ${isAsked(db, asked)} and ${isWanted} as wanted
    from (
      select o.estab, o.id, o.created_at, o.payload, o.lane, o.kind, o.rp, o.state from outbox o
      where o.created_at >= ${since} ${utc} and o.created_at < ${until} ${utc} and o.created_at <= ${place.created}::timestamp ${utc}
        and (o.created_at < ${place.created}::timestamp ${utc} or o.id < ${place.id})
      order by o.created_at desc, o.id desc limit ${rows}) o`, asked.most)}`;
  return { places, goesOn: places.at(-1)?.goesOn ?? false };
}

/** A page of what is wanted with one more, and the last of all. */
const worthSending = (sql: Sql, looked: Fragment, most: number): Fragment => sql`
  select n.estab, n.id, to_char(n.created, 'YYYY-MM-DD"T"HH24:MI:SS.US') as created, n.wanted, n."goesOn" from (
    select l.*, row_number() over newest = count(*) over () as last, count(*) filter (where l.wanted) over newest as place
    from (${looked}) l window newest as (order by l.created desc, l.id desc)) n
  where n.last or (n.wanted and n.place <= ${most} + 1) order by n.created desc, n.id desc`;

/** One statement whatever is asked for: what is not said is no bound. */
function boundsOf(sql: Sql, { since, until, before, event, lane }: Browsing) {
  return {
    since: sql`coalesce(${since ?? null}::timestamptz at time zone 'UTC', '-infinity')`,
    until: sql`coalesce(${until ?? null}::timestamptz at time zone 'UTC', 'infinity')`,
    place: parsePlace(before) ?? { created: 'infinity', id: '' },
    isWanted: sql`(coalesce(o.payload ->> 'event' = ${event ?? null}::text, ${event ?? null}::text is null) and o.lane = coalesce(${lane ?? null}, o.lane))`,
  };
}

/** Undefined for what is no place: the first page then. */
function parsePlace(before: string | undefined): { created: string; id: string } | undefined {
  const [, created, id] = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6})Z,([\w-]{1,100})$/.exec(before ?? '') ?? [];
  return created !== undefined && id !== undefined && isTime(created) ? { created, id } : undefined;
}

/** One that PostgreSQL takes as well: of a year that was, and a day that its month has. */
function isTime(text: string): boolean {
  const time = new Date(`${text.slice(0, -3)}Z`);
  return !Number.isNaN(time.getTime()) && time.getUTCFullYear() > 0 && text.startsWith(time.toISOString().slice(0, -1));
}

/** Which applications have deliveries, at one school or at all: from one to the next, without reading what lies between. */
export async function listOwners(db: Sql, estab?: string): Promise<string[]> {
  const within = estab === undefined ? db`o.kind = 'call'` : db`o.estab = ${estab}`;
  const rows = await db<{ rp: string }[]>`
    with recursive owner as (
      (select o.rp from outbox o where ${within} and o.rp is not null order by o.rp limit 1)
      union all
      select (select o.rp from outbox o where ${within} and o.rp > owner.rp order by o.rp limit 1) from owner where owner.rp is not null
    )
    select rp from owner where rp is not null`;
  return rows.map(({ rp }) => rp);
}

/** One by one by their keys, as the lists of an application are. */
async function show(db: Sql, places: readonly Place[]): Promise<Delivery[]> {
  const anybody = { rp: undefined, estab: undefined };
  return db<Delivery[]>`
    select shown.* from unnest(${places.map(({ estab }) => estab)}::text[], ${places.map(({ id }) => id)}::text[]) with ordinality as page (estab, id, place)
    cross join lateral (select ${columns(db)} from outbox o ${beside(db, anybody)} where o.estab = page.estab and o.id = page.id limit 1) shown
    order by page.place`;
}
