// In charge of the developers of an application: invited by the operator or by a colleague, to that application alone, and let
// go again. Their accounts are those of the console, with all that opens and locks them; with the last application an account goes.
import type { Db, Sql, Tx } from '../db/connect.ts';
import { noteTry, requireTriesLeft, takeTurn, type TryLimit } from '../access/wrong-tries.ts';
import { SchoolbellError } from '../errors.ts';
import { sendAdded, sendInvitation } from './links.ts';
import { requireEmail, requireName, type OperatorParts } from './operators.ts';
import { endSessionsOf, requireSession, type Operator, type Role } from './sessions.ts';

/** A page lists them all. */
const mostDevelopers = 100;
/** Whoever is invited gets a mail from us: a developer cannot have strangers written to without an end. */
const invitationTries: TryLimit = { kind: 'link', what: 'invitations', minutes: 10, most: { client: 20 } };

/** signInName: their address. invited: has not chosen a password yet. */
export type DeveloperLine = Readonly<{
  rp: string;
  application: string;
  signInName: string;
  name: string;
  email: string;
  invited: boolean;
  hasSecondFactor: boolean;
  lastSignedIn: Date | null;
  added: Date;
  addedBy: string;
}>;

/** By application and address: those of one, or of all. */
export async function listDevelopers(db: Sql, { rp, most = mostDevelopers }: { rp?: string | undefined; most?: number }): Promise<DeveloperLine[]> {
  return db<DeveloperLine[]>`
    select d.rp, p.name as application, a.sign_in_name as "signInName", a.name, a.email, a.password_hash is null as invited,
      a.sealed_totp is not null as "hasSecondFactor", a.last_signed_in as "lastSignedIn", d.added_at as added, d.added_by as "addedBy"
    from console_developer d join console_account a on a.id = d.account join application p on p.rp = d.rp
    where ${rp === undefined ? db`true` : db`d.rp = ${rp}`} order by d.rp, a.sign_in_name limit ${most}`;
}

export async function nameOwnApplications(db: Db, account: string): Promise<{ rp: string; name: string }[]> {
  return db<{ rp: string; name: string }[]>`
    select p.rp, p.name from console_developer d join application p on p.rp = d.rp where d.account = ${account} order by p.rp`;
}

/** Whoever makes an application to rehearse with is its first developer. */
export async function addOwnDeveloper(db: Db, { account, rp, by }: { account: string; rp: string; by: string }): Promise<void> {
  await db`insert into console_developer (account, rp, added_by) values (${account}, ${rp}, ${by}) on conflict do nothing`;
}

/** link: for a password; none for who has one already and was only told. */
export type InvitedDeveloper = Readonly<{ rp: string; signInName: string; name: string; link: string | undefined }>;
type Wanted = Readonly<{ rp: string; name: string; email: string; by: string }>;

/** by: who invites, for the mail and for the record. Who has not chosen a password yet is sent another link. */
export async function inviteDeveloper(db: Db, { publicUrl, by: asking }: OperatorParts, wanted: Wanted): Promise<InvitedDeveloper> {
  const [name, email, { rp, by }] = [requireName(wanted.name), requireEmail(wanted.email), wanted];
  const signInName = email.toLowerCase();
  // For itself, so that one which is refused counts too: it says whether an address is an operator's.
  if (asking?.role === 'developer') await db.begin((tx) => countInvitation(tx, rp));
  return db.begin(async (tx) => {
    await lockAccounts(tx, asking, signInName);
    await requireRoom(tx, rp, signInName);
    const account = await addAccount(tx, { signInName, name, email, by });
    const [added] = await tx`
      insert into console_developer (account, rp, added_by) values (${account.id}, ${rp}, ${by}) on conflict do nothing returning account`;
    // To the address that the account has: a link to whatever reads alike would open what is another application's.
    const told = { ...account, email: account.email ?? email, by };
    if (!account.invited) {
      if (!added) throw new SchoolbellError('conflict', `${email} is a developer of this application already.`);
      await sendAdded(tx, publicUrl, told, rp);
      return { rp, signInName, name: account.name, link: undefined };
    }
    await tx`delete from console_link where account = ${account.id}`;
    return { rp, signInName, name: account.name, link: await sendInvitation(tx, publicUrl, told) };
  });
}

type Account = Readonly<{ id: string; name: string; email: string | null; role: Role; invited: boolean }>;

/** The one that is there keeps its name. An operator's stays one: as a developer they would see less. */
async function addAccount(tx: Tx, { signInName, name, email, by }: { signInName: string; name: string; email: string; by: string }): Promise<Account> {
  await tx`
    insert into console_account (sign_in_name, name, email, role, created_by) values (${signInName}, ${name}, ${email}, 'developer', ${by})
    on conflict do nothing`;
  const [account] = await tx<Account[]>`
    select id, name, email, role, password_hash is null as invited from console_account where sign_in_name = ${signInName} for update`;
  if (!account) throw new SchoolbellError('conflict', `${email} was removed just now. Invite them again.`);
  if (account.role !== 'developer') throw new SchoolbellError('conflict', `${email} is an operator, who sees every application already.`);
  return account;
}

async function countInvitation(tx: Tx, rp: string): Promise<void> {
  const tried = { client: `developers of ${rp}`, address: '' };
  await takeTurn(tx, invitationTries, tried);
  await requireTriesLeft(tx, invitationTries, tried);
  await noteTry(tx, invitationTries, tried);
}

/** Until the transaction ends the application stays, and nobody else is added to it. Who is one already takes no more room. */
async function requireRoom(tx: Tx, rp: string, signInName: string): Promise<void> {
  const [kept] = await tx`select from application where rp = ${rp} for no key update`;
  if (!kept) throw new SchoolbellError('not_found', `there is no application ${rp.slice(0, 64)}`);
  const [counted] = await tx<{ count: number }[]>`
    select count(*)::int as count from console_developer d join console_account a on a.id = d.account where d.rp = ${rp} and a.sign_in_name <> ${signInName}`;
  if ((counted?.count ?? 0) >= mostDevelopers)
    throw new SchoolbellError('conflict', `An application has ${mostDevelopers} developers at most. Remove one who has gone first.`);
}

export type Removed = Readonly<{ rp: string; signInName: string; name: string; accountRemoved: boolean }>;

/**
 * They are signed out everywhere, at once. Nobody removes themselves: whoever is left could not undo it, and of two who remove
 * each other one has gone meanwhile and is refused, so that an application keeps a developer unless the operator takes the last one.
 */
export async function removeDeveloper(db: Db, { by }: Pick<OperatorParts, 'by'>, { rp, signInName }: { rp: string; signInName: string }): Promise<Removed> {
  const whom = signInName.trim().toLowerCase();
  if (by?.signInName === whom) throw new SchoolbellError('conflict', 'You cannot remove yourself. Ask a colleague or the operator.');
  return db.begin(async (tx) => {
    await lockAccounts(tx, by, whom);
    const [account] = await tx<{ id: string; name: string }[]>`
      delete from console_developer d using console_account a where a.id = d.account and d.rp = ${rp} and a.sign_in_name = ${whom} returning a.id, a.name`;
    if (!account) throw noSuch(rp, whom);
    await endSessionsOf(tx, account.id);
    return { rp, signInName: whom, name: account.name, accountRemoved: await removeLeft(tx, [account.id]) };
  });
}

/** others: how many more applications are theirs. invited: has not chosen a password yet. */
type Known = Readonly<{ name: string; others: number; invited: boolean }>;

export async function requireDeveloper(sql: Sql, rp: string, signInName: string): Promise<Known> {
  const [found] = await sql<Known[]>`
    select a.name, a.password_hash is null as invited, (select count(*)::int from console_developer o where o.account = a.id and o.rp <> d.rp) as others
    from console_developer d join console_account a on a.id = d.account where d.rp = ${rp} and a.sign_in_name = ${signInName.toLowerCase()}`;
  if (!found) throw noSuch(rp, signInName);
  return found;
}

const noSuch = (rp: string, signInName: string) =>
  new SchoolbellError('not_found', `${signInName.slice(0, 60)} is no developer of ${rp.slice(0, 64)}.`);

/** Both, in order; then whoever asks is looked at again, who may have been removed since the request began. */
async function lockAccounts(tx: Tx, by: Operator | undefined, signInName: string): Promise<void> {
  await tx`select from console_account where id = ${by?.id ?? null} or sign_in_name = ${signInName} order by id for update`;
  if (by) await requireSession(tx, by);
}

/** Whose application was removed: they could sign in until now, and saw nothing. Whoever is being invited to another stays. */
export async function forgetLeftDevelopers(db: Db): Promise<void> {
  await db.begin(async (tx) => {
    const left = await tx<{ id: string }[]>`
      select a.id from console_account a where a.role = 'developer' and not exists (select from console_developer d where d.account = a.id)
      order by a.id for update skip locked`;
    await removeLeft(tx, left.map(({ id }) => id));
  });
}

/** Of these, which are locked, those without an application; looked at once they are, so that nobody who was just invited goes. */
async function removeLeft(tx: Tx, accounts: readonly string[]): Promise<boolean> {
  const { count } = await tx`
    delete from console_account a where a.id = any(${[...accounts]}::uuid[]) and a.role = 'developer'
      and not exists (select from console_developer d where d.account = a.id)`;
  return count > 0;
}
