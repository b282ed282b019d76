// In charge of what a source may know of the roster as it stands, where its rows are no whole records, and of that roster being the same
// when they are merged.
import type { Db, Tx } from '../db/connect.ts';
import { collections } from '../roster/collections.ts';
import type { Item, Status } from '../roster/resource.ts';
import { metadataOfRow, valuesOfRow, type StoredRow } from './stored-row.ts';
import type { LiveRoster } from './source.ts';

/** merged: the last reading, since one that changes no version may still change what is not shown. */
type State = Readonly<{ version: number; merged: number }>;

/** What was read is no newer or older for it, but has to be completed anew. */
export class MovedMeanwhile extends Error {
  constructor() {
    super('the roster changed again and again while this was read, so that nothing of it was taken; try it again');
  }
}

/**
 * wasAsked: what was read may depend on it; of lists that are only put into the order that they had, nothing does the next time.
 * requireUnmoved: to be asked under the lock of the roster.
 */
export type WatchedRoster = LiveRoster & Readonly<{ wasAsked(): boolean; requireUnmoved(tx: Tx): Promise<void> }>;

export function watchLiveRoster(db: Db, estab: string): WatchedRoster {
  let first: Promise<State> | undefined;
  const look = () => (first ??= readState(db, estab));
  let any: Promise<Any> | undefined;
  const findAny = () => (any ??= readAny(db, estab));
  return {
    async people(ids) {
      await look();
      const rows = await db<{ row: StoredRow & { status: Status } }[]>`
        select to_jsonb(t) as row from roster_user t where t.estab = ${estab} and t.sourced_id = any(${[...ids]}::text[])`;
      return new Map(
        rows.map(({ row }) => {
          const metadata = metadataOfRow(collections.users, row);
          return [row.sourced_id, { status: row.status, values: valuesOfRow(collections.users, row), metadata, lacks: row.lacks ?? undefined }];
        }),
      );
    },
    async profiles(ids) {
      await look();
      if (!(await findAny()).profiles) return new Map();
      const rows = await db<{ id: string; profiles: Item[] }[]>`
        select sourced_id as id, user_profiles as profiles from roster_user
        where estab = ${estab} and sourced_id = any(${[...ids]}::text[]) and user_profiles is not null`;
      return new Map(rows.map(({ id, profiles }) => [id, profiles]));
    },
    async lists(ids) {
      const { roles: hasRoles, profiles: hasProfiles } = await findAny();
      if (!hasRoles && !hasProfiles) return new Map();
      const rows = await db<{ id: string; roles: Item[] | null; profiles: Item[] | null }[]>`
        select sourced_id as id, roles, user_profiles as profiles from roster_user where estab = ${estab} and sourced_id = any(${[...ids]}::text[])`;
      return new Map(rows.map(({ id, roles, profiles }) => [id, { roles: roles ?? [], profiles: profiles ?? [] }]));
    },
    async holders({ column, key }, given) {
      await look();
      const [ids, people] = [given.map(({ id }) => id), given.map(({ person }) => person)];
      const unknown = await db<{ id: string }[]>`
        select id, person collate "C" from unnest(${ids}::text[], ${people}::text[]) g (id, person)
        except
        select i.item ->> ${key}, t.sourced_id from roster_user t cross join lateral jsonb_array_elements(t.${db(column)}) i (item)
        where t.estab = ${estab} and t.sourced_id = any(${people}::text[])`;
      // Most are as they were, and for those nobody has to be looked through.
      if (unknown.length === 0) return [];
      return db<{ id: string; holder: string }[]>`
        select i.item ->> ${key} as id, t.sourced_id as holder from roster_user t cross join lateral jsonb_array_elements(t.${db(column)}) i (item)
        where t.estab = ${estab} and i.item ->> ${key} = any(${unknown.map(({ id }) => id)}::text[])`;
    },
    async orgTypes(ids) {
      await look();
      const rows = await db<{ id: string; type: string }[]>`
        select sourced_id as id, type from roster_org where estab = ${estab} and sourced_id = any(${[...ids]}::text[])`;
      return new Map(rows.map(({ id, type }) => [id, type]));
    },
    wasAsked: () => first !== undefined,
    async requireUnmoved(tx) {
      const [before, now] = [await first, first && (await readState(tx, estab))];
      if (before?.version !== now?.version || before?.merged !== now?.merged) throw new MovedMeanwhile();
    },
  };
}

/** Whether anybody has them; where nobody does, nobody needs to be asked for. */
type Any = Readonly<{ roles: boolean; profiles: boolean }>;

async function readAny(db: Db, estab: string): Promise<Any> {
  const [any] = await db<Any[]>`
    select exists (select from roster_user where estab = ${estab} and roles is not null) as roles,
      exists (select from roster_user where estab = ${estab} and user_profiles is not null) as profiles`;
  return any ?? { roles: false, profiles: false };
}

async function readState(sql: Db | Tx, estab: string): Promise<State> {
  const [state] = await sql<State[]>`
    select version, (select roster_merged from reading where estab = ${estab}) as merged from roster where estab = ${estab}`;
  if (!state) throw new Error(`there is no roster for ${estab}`);
  return state;
}
