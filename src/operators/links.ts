// In charge of the links by which an operator chooses a password: the first one, or another. A link is random, kept as a hash,
// goes to the operator's own address, and opens once.
import { randomBytes } from 'node:crypto';
import { noteLook } from '../access/audit-trail.ts';
import type { Turns } from '../access/hash-pool.ts';
import { findPasswordFault, hashPassword } from '../access/passwords.ts';
import { hashSecret } from '../access/secrets.ts';
import { noteTry, requireTriesLeft, type TryLimit } from '../access/wrong-tries.ts';
import type { Db, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { Letter } from '../mail/letter.ts';
import { enqueueMail, noSchool } from '../mail/mail.ts';
import { forgottenHours, invitationDays, renderAdded, renderForgotten, renderInvitation } from './mails.ts';
import { endSession, endSessionsOf, openSession, type Opened, type Role } from './sessions.ts';

/** Shared with the links that schools and people ask for: so many of a kind from one address. */
export const linkTries: TryLimit = { kind: 'link', what: 'links that were wrong or asked for', minutes: 10, most: { address: 20 } };


type Addressed = { id: string; name: string; email: string };

/** A developer's says which applications it is about. */
export async function sendInvitation(tx: Tx, publicUrl: string, to: Addressed & { role: Role; by: string }): Promise<string> {
  const own = to.role !== 'developer' ? [] : await tx<{ name: string }[]>`
    select p.name from console_developer d join application p on p.rp = d.rp where d.account = ${to.id} order by p.rp`;
  return sendLink(tx, publicUrl, to, 24 * invitationDays, (link) => renderInvitation({ ...to, link, applications: own.map(({ name }) => name) }));
}

/** To a developer who has a password already: one more application is theirs. */
export async function sendAdded(tx: Tx, publicUrl: string, to: Addressed & { by: string }, rp: string): Promise<void> {
  const [application] = await tx<{ name: string }[]>`select name from application where rp = ${rp}`;
  const link = `${publicUrl}/console/applications/${encodeURIComponent(rp)}`;
  await enqueueMail(tx, { estab: noSchool, rp: null, to: to.email, ...renderAdded({ ...to, link, application: application?.name ?? rp }) });
}

export async function sendForgotten(tx: Tx, publicUrl: string, to: Addressed): Promise<string> {
  return sendLink(tx, publicUrl, to, forgottenHours, (link) => renderForgotten({ ...to, link }));
}

async function sendLink(tx: Tx, publicUrl: string, { id, email }: Addressed, hours: number, write: (link: string) => Letter): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await tx`insert into console_link (hash, account, expires_at) values (${hashSecret(token)}, ${id}, now() + make_interval(hours => ${hours}))`;
  const link = `${publicUrl}/console/operators/invited/${token}`;
  await enqueueMail(tx, { estab: noSchool, rp: null, to: email, ...write(link) });
  return link;
}

/** first: no password was chosen before. */
export type Linked = Readonly<{ account: string; signInName: string; name: string; first: boolean }>;

/** Wrong ones are counted, and after too many of them nothing is looked for. */
export async function requireLinked(db: Db, token: string, address: string): Promise<Linked> {
  const tried = { client: '', address };
  await requireTriesLeft(db, linkTries, tried);
  const linked = await findLinked(db, token);
  if (linked) return linked;
  await noteTry(db, linkTries, tried);
  throw usedUp();
}

async function findLinked(sql: Sql, token: string): Promise<Linked | undefined> {
  const [linked] = await sql<Linked[]>`
    select a.id as account, a.sign_in_name as "signInName", a.name, a.password_hash is null as first
    from console_link l join console_account a on a.id = l.account where l.hash = ${hashSecret(token)} and l.expires_at > now()`;
  return linked;
}

const usedUp = () =>
  new SchoolbellError('not_found', 'This link has been used or has expired. Ask whoever invited you for another, or have one sent from the sign-in page.');

/**
 * The link is used up in the statement that finds it: of two who use it at once, one is right. A lock that wrong codes have
 * brought about stays: whoever reads the mail has shown one half alone. before: the session that this browser had, which ends.
 */
export async function choosePassword(
  db: Db,
  turn: Turns,
  { token, password, address, publicUrl, before }: { token: string; password: string; address: string; publicUrl: string; before: string | undefined },
): Promise<Opened> {
  const { account, signInName, name } = await requireLinked(db, token, address);
  await requireGoodPassword(password, { signInName, name });
  const hash = await turn((derive) => hashPassword(derive, password));
  return db.begin(async (tx) => {
    const [used] = await tx`delete from console_link where hash = ${hashSecret(token)} and expires_at > now() returning hash`;
    if (!used) throw usedUp();
    await setPassword(tx, account, hash);
    if (before !== undefined) await endSession(tx, before);
    await tx`update console_account set wrong_tries = 0, locked_until = null where id = ${account} and sealed_totp is null`;
    await noteLook(tx, { name: signInName, via: 'console', from: address }, { action: 'choose password' });
    return openSession(tx, account, { address, publicUrl });
  });
}

/** Every session ends, and every link that would set another. */
export async function setPassword(tx: Tx, account: string, hash: string): Promise<void> {
  await tx`update console_account set password_hash = ${hash} where id = ${account}`;
  await tx`delete from console_link where account = ${account}`;
  await endSessionsOf(tx, account);
}

export async function requireGoodPassword(password: string, { signInName, name }: { signInName: string; name: string }): Promise<void> {
  const fault = await findPasswordFault(password, { whose: 'operator', names: [name, signInName, signInName.split('@', 1)[0] ?? ''] });
  if (fault) throw new SchoolbellError('unprocessable', fault);
}
