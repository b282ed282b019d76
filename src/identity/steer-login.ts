// The operator's help for a person who cannot sign in: ending the lock of a login, or resetting it with a new link.
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { audit } from './audit.ts';
import { isLocked } from './login-lock.ts';
import { endSessions, sendPasswordLink } from './logins.ts';
import { findByEmail, findByUserName, findPresence, type Presence } from './presences.ts';

/** `user`: a user name, or the work e-mail address if only one login has it. `id`: a presence id, as pages have it. */
export type WhichLogin = Readonly<{ estab: string } & ({ user: string } | { id: string })>;

export type UnlockedLogin = Readonly<{ presence: Presence; wasLocked: boolean }>;
/** `to`: the address that the link is mailed to, or null if the school has no address for the person. */
export type ResetLogin = Readonly<{ presence: Presence; to: string | null; link: string }>;

export async function requireLogin(sql: Db | Tx, which: WhichLogin): Promise<Presence> {
  const { estab } = which;
  const found =
    'id' in which ? await findPresence(sql, estab, which.id) : ((await findByUserName(sql, estab, which.user)) ?? (await findByEmail(sql, estab, which.user)));
  if (!found || found.userName === '') throw new SchoolbellError('not_found', `There is no such user with a login at ${estab}.`);
  return found;
}

export async function unlockLogin(db: Db, which: WhichLogin): Promise<UnlockedLogin> {
  return db.begin(async (tx) => {
    const presence = await requireLogin(tx, which);
    const wasLocked = await endLock(tx, which.estab, presence.id);
    await audit(tx, { estab: which.estab, rp: null, operation: 'UnlockLogin', presenceId: presence.id, outcome: 'done' });
    return { presence, wasLocked };
  });
}

/** Ends the lock and all sessions, and mails a link to choose a new password. The old password works until the link is used. */
export async function resetLogin(db: Db, publicUrl: string, which: WhichLogin): Promise<ResetLogin> {
  return db.begin(async (tx) => {
    const presence = await requireLogin(tx, which);
    await endLock(tx, which.estab, presence.id);
    await endSessions(tx, which.estab, presence.id);
    const link = await sendPasswordLink(tx, publicUrl, which.estab, presence);
    await audit(tx, { estab: which.estab, rp: null, operation: 'ResetLogin', presenceId: presence.id, outcome: 'done' });
    return { presence, to: presence.workEmail === '' ? null : presence.workEmail, link };
  });
}

/** Returns whether the login was locked. Wrong tries are forgotten too, so that the next one does not lock it again. */
async function endLock(tx: Tx, estab: string, presenceId: string): Promise<boolean> {
  const [login] = await tx<{ locked: boolean }[]>`
    select ${isLocked(tx, tx`login`)} as locked from login where estab = ${estab} and presence_id = ${presenceId} for update`;
  await tx`update login set wrong_tries = 0, locked_until = null where estab = ${estab} and presence_id = ${presenceId}`;
  return login?.locked ?? false;
}

/** The person as the audit log names them, so that their name goes from there when they are purged. */
export const subjectOf = ({ sourcedId, id }: Presence) => (sourcedId === null ? id : `users/${sourcedId}`);
