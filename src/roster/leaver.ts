// In charge of people who leave for good: who they were, and what it is to forget them.
import type { Db, Tx } from '../db/connect.ts';

export type Leaver = Readonly<{
  sourcedId: string;
  presenceId: string;
  username: string;
  email: string | null;
  givenName: string;
  familyName: string;
}>;

/** Takes from what a feature keeps whatever is about these people of a school, or what names them in it. */
export type Forget = (tx: Tx, estab: string, people: readonly Leaver[]) => Promise<void>;

/** Looks for all who might go, holding nothing; gives what forgets those of them who do. */
export type ForgetPeople = (db: Db, estab: string, people: readonly Leaver[]) => Promise<Forget>;

export const sourcedIdsOf = (people: readonly Leaver[]): string[] => people.map(({ sourcedId }) => sourcedId);
