// In charge of trying an operator's password, with as much work for nobody as for somebody. What a right one opens is done
// in the transaction that finds it right: a password that changes meanwhile opens nothing.
import { noteLook } from '../access/audit-trail.ts';
import type { Turns } from '../access/hash-pool.ts';
import { matchesPassword } from '../access/passwords.ts';
import { requireTriesLeft } from '../access/wrong-tries.ts';
import type { Db, Tx } from '../db/connect.ts';
import { holdTry, markOf, noteHeldTry, type KnownBrowser } from './known-browser.ts';
import { countWrong, isUnlocked } from './lock-account.ts';
import { endSession, openSession, type Opened } from './sessions.ts';

/** known: the browser, if its owner has signed in with it before. */
export type SignInTry = Readonly<{ name: string; password: string; address: string; known?: KnownBrowser | undefined }>;

/** No connection is held while it is hashed. Undefined: it is wrong, or the account is locked. */
export async function tryPassword<T>(
  db: Db,
  turn: Turns,
  { name, password, address, known }: SignInTry,
  open: (tx: Tx, account: string) => Promise<T>,
): Promise<T | undefined> {
  const find = async () => {
    const [account] = await db<{ id: string; hash: string | null }[]>`
      select id, password_hash as hash from console_account where sign_in_name = ${name.toLowerCase()}`;
    const held = holdTry(known, account && markOf(account.id, account.hash), { client: name.toLowerCase(), address });
    await requireTriesLeft(db, held.limit, held.tried);
    return { account, ...held };
  };
  await find();
  return turn(async (derive) => {
    // Again: others may have been wrong while this one waited for its turn.
    const { account, ...held } = await find();
    const { isKnown } = held;
    const isRight = await matchesPassword(derive, password, account?.hash ?? undefined);
    // The same steps for a right one of a locked account as for a wrong one: how long it takes tells nothing to who guesses on.
    const opened = await db.begin(async (tx) => {
      if (!isRight) await countWrong(tx, isKnown ? null : (account?.id ?? null), address);
      // Read again where it is written: a try that was under way while the account was locked does not open it. With a second
      // factor a right password is half of it: only the other half makes wrong tries good.
      const [right] = !isRight ? [] : await tx<{ id: string }[]>`
        update console_account set wrong_tries = case when sealed_totp is null then 0 else wrong_tries end,
          locked_until = case when sealed_totp is null then null else locked_until end
        where id = ${account?.id ?? null} and password_hash = ${account?.hash ?? null} and ${isUnlocked(tx, isKnown)} returning id`;
      if (right) return { value: await open(tx, right.id) };
      await noteHeldTry(tx, held, { name: name.toLowerCase(), address });
      return undefined;
    });
    return opened?.value;
  });
}

/** before: the session that this browser had, which ends. */
export async function signIn(
  db: Db,
  turn: Turns,
  given: SignInTry & Readonly<{ publicUrl: string; before: string | undefined }>,
): Promise<Opened | undefined> {
  const { name, address, publicUrl, before } = given;
  return tryPassword(db, turn, given, async (tx, account) => {
    if (before !== undefined) await endSession(tx, before);
    const opened = await openSession(tx, account, { address, publicUrl });
    const detail = opened.proven ? {} : { waitsFor: 'second factor' };
    await noteLook(tx, { name: name.toLowerCase(), via: 'console', from: address }, { action: 'sign in', detail });
    return opened;
  });
}
