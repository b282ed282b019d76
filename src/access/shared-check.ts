// In charge of the one check for all who wait: whether the secret and the key behind each token hold, and what each application may reach.
// Requests that arrive while a check is under way are answered together by the next one, which begins after they arrived: what was revoked
// before a request came is refused to it.
import type { Db, Fragment } from '../db/connect.ts';
import { tokenFacts, type TokenFacts } from './token-keys.ts';
import type { Claims } from './tokens.ts';

/** One establishment that the caller reaches, with what it grants, where its roster stands and since when it can be read. */
export type Reach = { estab: string; scopes: readonly string[]; rosterId: string; version: number; keptFrom: number };

/** How an authorisation stands, and what it opens if it holds. */
export type Standing = Reach & { state: string };

/** rows: the same object as long as nothing of them changes. */
export type Checked = Readonly<{ rows: readonly Standing[]; secretHolds: boolean } & TokenFacts>;
export type Asked = Pick<Claims, 'rp' | 'estab' | 'secretId' | 'kid'>;
export type Check = (asked: Asked) => Promise<Checked>;

type Waiting = { asked: Asked; resolve: (checked: Checked) => void; reject: (error: Error) => void };
type Row = { place: number; digest: string; rows: Standing[] | null; secretHolds: boolean } & TokenFacts;

/** Nobody waits longer than this for a check that others wait for: a connection may be silent. */
const patienceMs = 50;
const mostRemembered = 50_000;

export function createSharedCheck(db: Db): Check {
  const known = createKnown();
  // What follows from the same rows is remembered by whoever asks, too.
  db.onMoved(() => known.clear());
  let waiting: Waiting[] = [];
  let underWay: symbol | undefined;
  let timer: NodeJS.Timeout | undefined;

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    const these = waiting;
    waiting = [];
    const own = (underWay = Symbol());
    void answer(these).finally(() => {
      if (underWay !== own) return;
      underWay = undefined;
      if (waiting.length > 0) begin();
    });
  }

  async function answer(these: readonly Waiting[]): Promise<void> {
    const distinct = [...Map.groupBy(these, ({ asked: { rp, estab, secretId, kid } }) => [rp, estab ?? '', secretId, kid].join('\0')).values()];
    const all = distinct.map(([first]) => (first as Waiting).asked);
    const before = all.map(known.find);
    try {
      for (const { place, digest, rows, ...facts } of await ask(db, all, before)) {
        const reached = rows ? known.note(all[place] as Asked, { digest, rows }) : (before[place]?.rows ?? []);
        for (const { resolve } of distinct[place] ?? []) resolve({ rows: reached, ...facts });
      }
    } catch (error) {
      for (const { reject } of these) reject(error as Error);
    }
  }

  return (asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject });
      if (underWay === undefined) begin();
      else timer ??= setTimeout(begin, patienceMs);
    });
}

type Reached = Readonly<{ digest: string; rows: readonly Standing[] }>;

/** What each reaches, as long as it is what the database has: told by a digest, so that hundreds of schools need not be sent every time. */
function createKnown() {
  const known = new Map<string, Reached>();
  let held = 0;
  const keyOf = ({ rp, estab }: Asked) => `${rp}\0${estab ?? ''}`;
  const forget = (key: string) => {
    const reached = known.get(key);
    if (reached) held -= reached.rows.length + 1;
    known.delete(key);
  };
  return {
    find: (asked: Asked): Reached | undefined => known.get(keyOf(asked)),
    clear() {
      known.clear();
      held = 0;
    },
    note(asked: Asked, reached: Reached): readonly Standing[] {
      const key = keyOf(asked);
      forget(key);
      known.set(key, reached);
      held += reached.rows.length + 1;
      for (const oldest of known.keys()) {
        if (held <= mostRemembered || oldest === key) break;
        forget(oldest);
      }
      return reached.rows;
    },
  };
}

async function ask(db: Db, all: readonly Asked[], before: readonly (Reached | undefined)[]): Promise<Row[]> {
  const reached = db`select a.estab, a.scopes, a.state, r.roster_id as "rosterId", r.version, r.kept_from as "keptFrom"
    from authorisation a join roster_standing r on r.estab = a.estab`;
  const each = db`(${reached} where a.rp = ask.rp and a.estab = ask.estab union all ${reached} where ask.estab is null and a.rp = ask.rp)`;
  const holds = (table: Fragment, more: Fragment) =>
    db`exists (select from ${table} s where s.id = ask.secret and s.rp = ask.rp ${more} and (s.valid_until is null or s.valid_until > now()))`;
  return db<Row[]>`
    select ask.place, now_at.digest,
      case when now_at.digest <> ask.known then (select coalesce(json_agg(each order by each.estab), '[]') from ${each} each) end as rows,
      case when ask.estab is null then ${holds(db`application_secret`, db``)}
        else ${holds(db`school_secret`, db`and s.estab = ask.estab`)} end as "secretHolds",
      ${tokenFacts(db, db`ask.kid`)}
    from unnest(${all.map((_, place) => place)}::int[], ${all.map(({ rp }) => rp)}::text[], ${all.map(({ estab }) => estab ?? null)}::text[],
        ${all.map(({ secretId }) => secretId)}::uuid[], ${all.map(({ kid }) => kid)}::text[], ${before.map((one) => one?.digest ?? '')}::text[])
      as ask (place, rp, estab, secret, kid, known)
    cross join lateral (
      select count(*) || ' ' || coalesce(sum(hash_record_extended(each, 0)), 0) as digest from ${each} each) now_at`;
}
