// In charge of forgetting what is only found by reading it: texts are searched for people before anything is locked, and
// once more, those that were written meanwhile, in the transaction that forgets.
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import { placements } from '../db/placement.ts';
import { sourcedIdsOf, type Forget, type Leaver } from './leaver.ts';
import type { NameFinder } from './name-finder.ts';

/** Looks in what one feature keeps, holding nothing; gives what forgets those who do go. `since` is from before it looks. */
export type Search = (db: Db, estab: string, names: NameFinder, since: Since) => Promise<Forget>;

/** Something that names people: by their sourcedIds. */
export type Naming = Readonly<{ people: ReadonlySet<string> }>;

/**
 * The oldest transaction that was under way, by its number: whatever it or a later one wrote may not have been seen. Nodes count for
 * themselves: where the records of the school lie, and where all else does.
 */
export type Since = Readonly<{ school: string; elsewhere: string }>;

/** Which rows, by the name that they have in the statement, of a table. */
export type Written = (table: string, row: string) => Fragment;

export async function readSince(db: Db, estab: string): Promise<Since> {
  const [elsewhere] = await db<{ oldest: string }[]>`select pg_snapshot_xmin(pg_current_snapshot())::xid::text as oldest`;
  const [school] = await db<{ oldest: string }[]>`
    select pg_snapshot_xmin(pg_current_snapshot())::xid::text as oldest from roster where estab = ${estab}`;
  if (!elsewhere || !school) throw new Error(`there is no snapshot, or no roster of ${estab}`);
  return { school: school.oldest, elsewhere: elsewhere.oldest };
}

/** `find` reads what may name them, all of it or what was written since; `forget` is given what it found. */
export function searching<Found>({ find, forget }: {
  find(sql: Sql, estab: string, names: NameFinder, written: Written): Promise<Found>;
  forget(tx: Tx, estab: string, people: readonly Leaver[], found: readonly Found[]): Promise<void>;
}): Search {
  return async (db, estab, names, since) => {
    const found = await find(db, estab, names, () => db`true`);
    return async (tx, _, people) => {
      const written: Written = (table, row) => {
        const oldest = placements.get(table) === 'school' ? since.school : since.elsewhere;
        return tx`age(${tx(`${row}.xmin`)}) <= age(${oldest}::xid)`;
      };
      await forget(tx, estab, people, [found, await find(tx, estab, names, written)]);
    };
  };
}

/** Those that name one of these people. */
export function namingOneOf<T extends Naming>(people: readonly Leaver[], found: readonly T[]): T[] {
  const going = sourcedIdsOf(people);
  return found.filter((one) => going.some((id) => one.people.has(id)));
}
