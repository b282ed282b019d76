// In charge of trying a password: limits that count only wrong tries, a lock after ten of them, and as much work for
// nobody as for somebody.
import { findEstab } from '../access/find-school.ts';
import type { Turns } from '../access/hash-pool.ts';
import { matchesPassword } from '../access/passwords.ts';
import { noteTry, requireTriesLeft, type TryLimit } from '../access/wrong-tries.ts';
import { readClock } from '../db/clock.ts';
import type { Db } from '../db/connect.ts';
import { audit } from './audit.ts';
import { isLocked, lockedMinutes } from './login-lock.ts';
import { findPresence, type Presence } from './presences.ts';

/** Who signs in, or shows the present password for another reason. estab: the school as it was typed. */
export type Try = { operation: 'SignIn' | 'ChangePassword'; estab: string; userName: string; password: string; address: string };
export type TriedLogin = { kind: 'right'; estab: string; presence: Presence; mustChange: boolean } | { kind: 'wrong' };

/** A school may stand behind one address; a guesser may come from many. */
const signInTries: TryLimit = { kind: 'sign-in', what: 'wrong passwords', minutes: 1, most: { address: 60, client: 30 } };
const mostWrongTries = 10;

/** No connection is held while it is hashed. */
export async function tryLogin(db: Db, turn: Turns, typed: Try): Promise<TriedLogin> {
  const given = { ...typed, estab: (await findEstab(db, typed.estab)) ?? typed.estab };
  const tried = { client: `${given.estab}|${given.userName.toLowerCase()}`, address: given.address };
  await requireTriesLeft(db, signInTries, tried);
  return turn(async (derive) => {
    // Again: others may have been wrong while this one waited for its turn.
    await requireTriesLeft(db, signInTries, tried);
    const [login] = await db<{ id: string; hash: string | null; mustChange: boolean }[]>`
      select presence_id as id, password_hash as hash, change_at_next_login as "mustChange" from login
      where estab = ${given.estab} and lower(username) = lower(${given.userName})`;
    const presence = await findPresence(db, given.estab, login?.id ?? '');
    const right = await matchesPassword(derive, given.password, (presence && login?.hash) ?? undefined);
    if (right && presence && login && (await open(db, given, presence.id, login.hash)))
      return { kind: 'right', estab: given.estab, presence, mustChange: login.mustChange };
    await noteTry(db, signInTries, tried);
    if (!right) await countWrong(db, given, presence?.id ?? '');
    return { kind: 'wrong' };
  });
}

/**
 * Read again where it is written: a try that was under way while the login was locked does not open it. A locked login
 * is as wrong as any: to say more would tell a guesser that the password was right.
 */
async function open(db: Db, { estab, operation }: Try, presenceId: string, hash: string | null): Promise<boolean> {
  return db.begin(async (tx) => {
    const opened = await tx`
      update login set wrong_tries = 0, locked_until = null ${operation === 'SignIn' ? tx`, last_logged_in = now()` : tx``}
      where estab = ${estab} and presence_id = ${presenceId} and password_hash = ${hash} and not ${isLocked(tx, tx`login`)}
      returning presence_id`;
    await audit(tx, { estab, rp: null, operation, presenceId, outcome: opened.length > 0 ? 'done' : 'locked' });
    return opened.length > 0;
  });
}

/** While it is locked nothing is counted, so that nobody can keep it locked. For nobody the statements do nothing, and there are as many. */
async function countWrong(db: Db, { estab, operation }: Try, presenceId: string): Promise<void> {
  const until = new Date((await readClock(db)).getTime() + lockedMinutes * 60_000);
  await db.begin(async (tx) => {
    await tx`
      update login set wrong_tries = case when locked_until is null then wrong_tries + 1 else 1 end,
        locked_until = case when locked_until is null and wrong_tries + 1 >= ${mostWrongTries} then ${until}::timestamptz end
      where estab = ${estab} and presence_id = ${presenceId} and not ${isLocked(tx, tx`login`)}`;
    const [known] = await tx`select presence_id from login where estab = ${estab} and presence_id = ${presenceId}`;
    await tx`
      insert into identity_audit (estab, rp, operation, presence_id, outcome)
      select ${estab}, null, ${operation}, ${presenceId}, 'wrong password' where ${known !== undefined}::boolean`;
  });
}
