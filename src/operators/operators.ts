// In charge of who may come to the console: invited by name and address, given a role, let go again. There is always an
// admin left who can sign in, whatever two of them do at once; and what somebody may do changes for open sessions too.
import type { Db, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { adminName } from './admin.ts';
import { sendInvitation } from './links.ts';
import { forgetSecondFactor } from './second-factor.ts';
import { endSessionsOf, requireSession, type Operator, type Role } from './sessions.ts';

/** Of operators. Developers of an application have accounts as well, and are looked after in `developers`. */
export const roles = ['admin', 'viewer'] as const satisfies readonly Role[];
const longestName = 200;
const longestEmail = 254;

/** signInName: their address, or `admin`. invited: has not chosen a password yet. */
export type OperatorLine = Readonly<{
  signInName: string;
  name: string;
  email: string | null;
  role: Role;
  invited: boolean;
  hasSecondFactor: boolean;
  lastSignedIn: Date | null;
  created: Date;
  createdBy: string;
}>;

/** adminKept: the password of `admin` is a setting or a file, which would bring the account back. by: who asks for it in the console. */
export type OperatorParts = Readonly<{ publicUrl: string; adminKept: boolean; by?: Operator | undefined }>;

const columns = (sql: Sql) => sql`sign_in_name as "signInName", name, email, role, password_hash is null as invited,
  sealed_totp is not null as "hasSecondFactor", last_signed_in as "lastSignedIn", created_at as created, created_by as "createdBy"`;

/** By name; `after` is the last one that was seen. */
export async function listOperators(db: Db, { after = '', most }: { after?: string | undefined; most: number }): Promise<OperatorLine[]> {
  return db<OperatorLine[]>`select ${columns(db)} from console_account
    where role <> 'developer' and sign_in_name > ${after} order by sign_in_name limit ${most}`;
}

export async function requireOperatorLine(db: Db, signInName: string): Promise<OperatorLine> {
  const [found] = await db<OperatorLine[]>`select ${columns(db)} from console_account where sign_in_name = ${signInName.toLowerCase()}`;
  if (!found) throw noSuch(signInName);
  if (found.role === 'developer') throw notAnOperator(found.signInName);
  return found;
}

/** Whom somebody means who says an address or a name. */
export async function findSignInName(db: Db, given: string): Promise<string> {
  const found = await db<{ signInName: string; exact: boolean }[]>`
    select sign_in_name as "signInName", sign_in_name = ${given.toLowerCase()} as exact from console_account
    where sign_in_name = ${given.toLowerCase()} or (name = ${given} and role <> 'developer') order by exact desc limit 2`;
  const [first, second] = found;
  if (!first) throw noSuch(given);
  if (second && !first.exact) throw new SchoolbellError('ambiguous', `Several operators are called ${given.slice(0, 60)}: give the address.`);
  return first.signInName;
}

/** Whether anybody may come at all: until then there is no console. */
export async function hasOperators(db: Db): Promise<boolean> {
  const [row] = await db<{ known: boolean }[]>`select exists (select from console_account) as known`;
  return row?.known === true;
}

export type Invited = Readonly<{ signInName: string; name: string; role: Role; link: string }>;

/** by: who invites, for the mail and for the record. */
export async function inviteOperator(
  db: Db,
  { publicUrl, by }: OperatorParts,
  given: { name: string; email: string; role: string; by: string },
): Promise<Invited> {
  const [name, email, role] = [requireName(given.name), requireEmail(given.email), requireRole(given.role)];
  const signInName = email.toLowerCase();
  return db.begin(async (tx) => {
    if (by) await requireSession(tx, by);
    const [added] = await tx<{ id: string }[]>`
      insert into console_account (sign_in_name, name, email, role, created_by) values (${signInName}, ${name}, ${email}, ${role}, ${given.by})
      on conflict do nothing returning id`;
    if (!added) throw await isThereAlready(tx, signInName, email);
    const link = await sendInvitation(tx, publicUrl, { id: added.id, name, email, role, by: given.by });
    return { signInName, name, role, link };
  });
}

async function isThereAlready(tx: Tx, signInName: string, email: string): Promise<SchoolbellError> {
  const [developer] = await tx`select from console_account where sign_in_name = ${signInName} and role = 'developer'`;
  return developer ? notAnOperator(email) : new SchoolbellError('conflict', `${email} is an operator already.`);
}

/** Links from before open nothing any more. */
export async function inviteAgain(db: Db, { publicUrl, by: asking }: OperatorParts, signInName: string, by: string): Promise<Invited> {
  return changing(db, asking, signInName, async (tx, { id, name, email, role, invited }) => {
    if (!invited || email === null)
      throw new SchoolbellError('conflict', `${name} has a password already; who has forgotten it asks for a link on the sign-in page.`);
    await tx`delete from console_link where account = ${id}`;
    const link = await sendInvitation(tx, publicUrl, { id, name, email, role, by });
    return { signInName: signInName.toLowerCase(), name, role, link };
  });
}

export type OperatorChange = Readonly<{ name?: string | undefined; role?: string | undefined; resetsSecondFactor?: boolean }>;

/** All that is given, or, if any of it is refused, nothing. */
export async function editOperator(db: Db, parts: OperatorParts, signInName: string, given: OperatorChange): Promise<void> {
  const name = given.name === undefined ? undefined : requireName(given.name);
  const role = given.role === undefined ? undefined : requireRole(given.role);
  await changing(db, parts.by, signInName, async (tx, account) => {
    if (name !== undefined) await tx`update console_account set name = ${name} where id = ${account.id}`;
    if (role !== undefined) await changeRole(tx, parts, account, role);
    if (given.resetsSecondFactor) await resetSecondFactor(tx, account);
  });
}

async function changeRole(tx: Tx, parts: OperatorParts, account: Account, role: Role): Promise<void> {
  if (account.role === role) throw new SchoolbellError('conflict', `${account.signInName} is ${role === 'admin' ? 'an admin' : 'a viewer'} already.`);
  requireNotKept(parts, account.signInName, 'Its role stays as it is.');
  await requireAnotherAdmin(tx, account.id);
  await tx`update console_account set role = ${role} where id = ${account.id}`;
  await endSessionsOf(tx, account.id);
}

/** For somebody who has lost it; they set up another when they sign in next, if all need one. */
async function resetSecondFactor(tx: Tx, { id, name, hasSecondFactor }: Account): Promise<void> {
  if (!hasSecondFactor) throw new SchoolbellError('conflict', `${name} has no second factor.`);
  await forgetSecondFactor(tx, id);
  await endSessionsOf(tx, id);
}

export async function removeOperator(db: Db, parts: OperatorParts, signInName: string): Promise<void> {
  await changing(db, parts.by, signInName, async (tx, account) => {
    requireNotKept(parts, account.signInName, 'It cannot be removed.');
    await requireAnotherAdmin(tx, account.id);
    await tx`delete from console_account where id = ${account.id}`;
  });
}

export async function requireSecondFactorOfAll(db: Db, { by }: OperatorParts, required: boolean): Promise<void> {
  await db.begin(async (tx) => {
    if (by) await requireSession(tx, by);
    await tx`insert into console_rule (name, required) values ('second factor', ${required}) on conflict (name) do update set required = excluded.required`;
  });
}

type Account = OperatorLine & { id: string };

/** All admins are locked first, in order: of two who each take the other away, one has gone meanwhile and is refused. */
async function changing<T>(db: Db, by: Operator | undefined, signInName: string, work: (tx: Tx, account: Account) => Promise<T>): Promise<T> {
  return db.begin(async (tx) => {
    await tx`select from console_account where role = 'admin' or sign_in_name = ${signInName.toLowerCase()} order by id for update`;
    if (by) await requireSession(tx, by);
    const [account] = await tx<Account[]>`select id, ${columns(tx)} from console_account where sign_in_name = ${signInName.toLowerCase()}`;
    if (!account) throw noSuch(signInName);
    // Their own name is theirs to change.
    if (account.role === 'developer' && by?.id !== account.id) throw notAnOperator(account.signInName);
    return work(tx, account);
  });
}

/** One who has not chosen a password yet is none who could help. */
async function requireAnotherAdmin(tx: Tx, account: string): Promise<void> {
  const [last] = await tx`select from console_account a where a.id = ${account} and a.role = 'admin' and a.password_hash is not null
    and not exists (select from console_account o where o.id <> a.id and o.role = 'admin' and o.password_hash is not null)`;
  if (last) throw new SchoolbellError('conflict', 'This is the last admin who can sign in. Invite another one first.');
}

function requireNotKept({ adminKept }: OperatorParts, signInName: string, words: string): void {
  if (adminKept && signInName === adminName)
    throw new SchoolbellError('conflict', `The password of admin is a setting of the service: ADMIN_PASSWORD, or the file of the first start. ${words}`);
}

export function requireName(given: string): string {
  const name = given.trim();
  if (name === '' || name.length > longestName || /\p{Cc}/u.test(name))
    throw new SchoolbellError('invalid_request', `A name has 1 to ${longestName} characters, on one line.`);
  return name;
}

export function requireEmail(given: string): string {
  const email = given.trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || email.length > longestEmail)
    throw new SchoolbellError('invalid_request', `“${email.slice(0, 60)}” is not an e-mail address.`);
  // Some letters become another's when they are made small (the sign for kelvin a k): one mailbox would sign in as another.
  if (email.toLowerCase() !== email.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase()))
    throw new SchoolbellError('invalid_request', `“${email.slice(0, 60)}”: write letters other than A to Z small.`);
  return email;
}

function requireRole(given: string): Role {
  const role = roles.find((one) => one === given);
  if (!role) throw new SchoolbellError('invalid_request', `A role is ${roles.join(' or ')}.`);
  return role;
}

/** Silently made one, they would see every school. */
const notAnOperator = (address: string) =>
  new SchoolbellError('conflict', `${address.slice(0, 254)} is a developer of an application, and no operator. Remove them there before they become one.`);

const noSuch = (signInName: string) => new SchoolbellError('not_found', `There is no operator ${signInName.slice(0, 60)}.`);
