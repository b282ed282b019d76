// In charge of logins: made for a presence, registered through a link that opens once, given another password. A login
// works as long as its person is at the school.
import type { Turns } from '../access/hash-pool.ts';
import { findPasswordFault, hashPassword, matchesPassword } from '../access/passwords.ts';
import { makeSchoolKey, schoolOfKey } from '../access/school-key.ts';
import { hashSecret } from '../access/secrets.ts';
import { readClock } from '../db/clock.ts';
import type { Db, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Letter } from '../mail/letter.ts';
import { enqueueMail } from '../mail/mail.ts';
import { audit } from './audit.ts';
import { forgottenHours, linkDays, renderForgotten, renderRegistration } from './mails.ts';
import { findPresence, type Presence } from './presences.ts';

/** Makes the login if there is none, and mails a new link; one that was sent before no longer opens. */
export async function inviteToRegister(
  tx: Tx,
  publicUrl: string,
  given: { estab: string; rp: string; presence: Presence; invitation?: string | undefined },
): Promise<void> {
  const { estab, rp, presence, invitation } = given;
  if (presence.userName === '') await addLogin(tx, estab, presence);
  await mailLink(tx, publicUrl, { estab, rp, presence, invitation: invitation ?? null, hours: 24 * linkDays, write: renderRegistration });
}

/**
 * Mails a link for a new password, or a new registration link to a person who has never chosen one, which keeps its invitation and its time.
 * Returns the link.
 */
export async function sendPasswordLink(tx: Tx, publicUrl: string, estab: string, presence: Presence): Promise<string> {
  const [before] = await tx<{ registered: boolean; invitation: string | null }[]>`
    select l.registered_at is not null as registered, r.invitation
    from login l left join registration_link r on r.estab = ${estab} and r.presence_id = l.presence_id and r.expires_at > now()
    where l.estab = ${estab} and l.presence_id = ${presence.id}`;
  const how = before?.registered ? { hours: forgottenHours, write: renderForgotten } : { hours: 24 * linkDays, write: renderRegistration };
  return mailLink(tx, publicUrl, { estab, rp: null, presence, invitation: before?.invitation ?? null, ...how });
}

type LinkMail = {
  estab: string;
  rp: string | null;
  presence: Presence;
  invitation: string | null;
  hours: number;
  write: (given: { school: string; person: string; userName: string; link: string }) => Letter;
};

/** Replaces the links that the person had. Without an address nothing is mailed, and using the link verifies none. Returns the link. */
async function mailLink(tx: Tx, publicUrl: string, { estab, rp, presence, invitation, hours, write }: LinkMail): Promise<string> {
  await tx`delete from registration_link where estab = ${estab} and presence_id = ${presence.id}`;
  const token = makeSchoolKey(estab);
  await tx`insert into registration_link (hash, estab, presence_id, expires_at, invitation, email)
    values (${hashSecret(token)}, ${estab}, ${presence.id}, now() + make_interval(hours => ${hours}), ${invitation}, ${presence.workEmail || null})`;
  const link = `${publicUrl}/register/${token}`;
  const { displayName: person, userName, workEmail: to } = presence;
  if (to === '') return link;
  const [school] = await tx<{ name: string }[]>`select name from establishment where estab = ${estab}`;
  await enqueueMail(tx, { estab, rp, to, ...write({ school: school?.name ?? estab, person, userName, link }) });
  return link;
}

/** The name of the roster, else the e-mail; where that is taken, with a number. */
async function addLogin(tx: Tx, estab: string, { id, wantedName, workEmail }: Presence): Promise<void> {
  const wanted = [wantedName, workEmail].filter((name) => name !== '');
  for (let at = 0; ; at += 1) {
    const name = wanted[at] ?? `${wanted[0] ?? id}${at - wanted.length + 2}`;
    const added = await tx`insert into login (estab, presence_id, username) values (${estab}, ${id}, ${name}) on conflict do nothing returning presence_id`;
    if (added.length > 0) return;
    const [own] = await tx`select from login where estab = ${estab} and presence_id = ${id}`;
    if (own) return;
  }
}

export type Registration = { estab: string; presence: Presence; invitation: string | null };

export async function findRegistration(sql: Sql, token: string): Promise<Registration | undefined> {
  const estab = schoolOfKey(token);
  if (estab === undefined) return undefined;
  const [link] = await sql<{ id: string; invitation: string | null }[]>`
    select presence_id as id, invitation from registration_link where estab = ${estab} and hash = ${hashSecret(token)} and expires_at > now()`;
  const presence = link && (await findPresence(sql, estab, link.id));
  return presence && { estab, presence, invitation: link.invitation };
}

/** The link is used up in the statement that finds it: of two who use it at once, one is right. */
export async function register(db: Db, turn: Turns, token: string, password: string): Promise<Registration> {
  const found = await findRegistration(db, token);
  if (!found) throw usedUp();
  await requirePassword(password, found.presence);
  const hash = await turn((derive) => hashPassword(derive, password));
  await db.begin(async (tx) => {
    const [used] = await tx<{ email: string | null }[]>`
      delete from registration_link where estab = ${found.estab} and hash = ${hashSecret(token)} and expires_at > now() returning email`;
    if (!used) throw usedUp();
    // Who opens the link reads what is mailed to that address, whatever the roster says by now.
    await tx`update login set password_hash = ${hash}, registered_at = now(), change_at_next_login = false, wrong_tries = 0, locked_until = null,
      verified_email = coalesce(${used.email}, verified_email)
      where estab = ${found.estab} and presence_id = ${found.presence.id}`;
    await endSessions(tx, found.estab, found.presence.id);
    await audit(tx, { estab: found.estab, rp: null, operation: 'Register', presenceId: found.presence.id, outcome: 'done' });
  });
  return found;
}

const usedUp = () => new SchoolbellError('not_found', 'This link has been used or has expired. Ask for a new one, or ask your school.');

export async function requirePassword(password: string, presence: Presence): Promise<void> {
  const { type, firstName, surname, displayName, userName } = presence;
  const fault = await findPasswordFault(password, { whose: type === 'Learners' ? 'learner' : 'staff', names: [firstName, surname, displayName, userName] });
  if (fault) throw new SchoolbellError('unprocessable', fault);
}

/** A password that must change becomes another one. */
export async function requireOther(db: Db, turn: Turns, estab: string, presenceId: string, password: string): Promise<void> {
  const [login] = await db<{ hash: string | null }[]>`select password_hash as hash from login where estab = ${estab} and presence_id = ${presenceId}`;
  if (await turn((derive) => matchesPassword(derive, password, login?.hash ?? undefined))) throw samePassword();
}

export const samePassword = () => new SchoolbellError('unprocessable', 'This is the password that you have; choose another.');

/** Sets a password, ends every session of the login, and shuts a link that would set another. */
export async function setPassword(
  tx: Tx,
  estab: string,
  presenceId: string,
  hash: string,
  how: { changeAtNextLogin: boolean; unlock: boolean },
): Promise<void> {
  await tx`
    update login set password_hash = ${hash}, change_at_next_login = ${how.changeAtNextLogin}, registered_at = coalesce(registered_at, ${await readClock(tx)})
      ${how.unlock ? tx`, wrong_tries = 0, locked_until = null` : tx``} where estab = ${estab} and presence_id = ${presenceId}`;
  await tx`delete from registration_link where estab = ${estab} and presence_id = ${presenceId}`;
  await endSessions(tx, estab, presenceId);
}

export async function endSessions(sql: Sql, estab: string, presenceId: string): Promise<void> {
  await sql`delete from login_session where estab = ${estab} and presence_id = ${presenceId}`;
  await sql`delete from oidc_record where model in ('Session', 'Grant', 'AccessToken', 'RefreshToken')
    and payload ->> 'accountId' = ${`${estab}|${presenceId}`}`;
}
