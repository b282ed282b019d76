// In charge of CreateUser: people whom the roster does not have, each with a login and a registration mail. All or none.
import { randomBytes } from 'node:crypto';
import type { IdentityCaller } from '../access/identity-caller.ts';
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { audit } from './audit.ts';
import { findField, findTextField } from './identity-values.ts';
import { inviteToRegister } from './logins.ts';
import { requireMailsLeft } from './mail-limits.ts';
import { findPresence } from './presences.ts';

const names = ['title', 'firstName', 'lastName', 'displayName', 'email', 'mobile'] as const;
type ManualUser = Record<(typeof names)[number], string>;

const mostUsers = 100;

export async function createUser(db: Db, publicUrl: string, caller: IdentityCaller, body: unknown): Promise<{ manualUser: ManualUser[] }> {
  const orgId = findTextField(body, 'orgId');
  if (!orgId) throw new SchoolbellError('invalid_request', 'orgId is missing.');
  const flow = findField(body, 'authProcessFlow') ?? false;
  if (typeof flow !== 'boolean') throw new SchoolbellError('invalid_request', 'authProcessFlow must be true or false.');
  const users = parseUsers(findField(body, 'manualUser'));
  return db.begin(async (tx) => {
    const { invitation } = await requirePlace(tx, caller, orgId, findTextField(body, 'partnerId'), flow);
    await tx`select pg_advisory_xact_lock(hashtext(${`manual users ${orgId}`}))`;
    await requireNew(tx, orgId, users.map(({ email }) => email));
    await requireMailsLeft(tx, orgId, { mails: users.length });
    for (const user of users) await add(tx, publicUrl, { estab: orgId, rp: caller.rp, invitation }, user);
    return { manualUser: users };
  });
}

function parseUsers(given: unknown): ManualUser[] {
  if (!Array.isArray(given) || given.length === 0) throw new SchoolbellError('invalid_request', 'manualUser must be an array of at least one user.');
  if (given.length > mostUsers) throw new SchoolbellError('invalid_request', `manualUser has ${given.length} users; at most ${mostUsers} are taken at once.`);
  const users = given.map((one: unknown, at) => {
    if (typeof one !== 'object' || one === null || Array.isArray(one)) throw new SchoolbellError('invalid_request', `manualUser[${at}] must be an object.`);
    const user = Object.fromEntries(names.map((name) => [name, findTextField(one, name)?.trim() ?? ''])) as ManualUser;
    for (const name of ['firstName', 'lastName'] as const)
      if (user[name] === '') throw new SchoolbellError('invalid_request', `manualUser[${at}].${name} is missing.`);
    if (!/^[^\s@,;<>()"]+@[^\s@,;<>()"]+$/.test(user.email))
      throw new SchoolbellError('invalid_request', `manualUser[${at}].email "${user.email.slice(0, 60)}" is not an e-mail address.`);
    return { ...user, displayName: user.displayName === '' ? `${user.firstName} ${user.lastName}` : user.displayName };
  });
  const twice = users.find(({ email }, at) => users.findIndex((one) => one.email.toLowerCase() === email.toLowerCase()) !== at);
  if (twice) throw new SchoolbellError('conflict', `${twice.email} is given twice.`);
  return users;
}

/** Where the caller may add people: its own school, or one that authorises the application, or is being asked to. */
async function requirePlace(
  tx: Tx,
  { rp, estab }: IdentityCaller,
  orgId: string,
  partnerId: string | undefined,
  flow: boolean,
): Promise<{ invitation: string | undefined }> {
  const nowhere = new SchoolbellError('not_found', 'There is no such establishment for this caller.');
  const [open] = await tx<{ id: string }[]>`select id from invitation where estab = ${orgId} and rp = ${rp} and state = 'Invited' and expires_at > now()`;
  if (estab !== undefined) {
    if (estab !== orgId || (partnerId !== undefined && partnerId !== '' && partnerId !== rp)) throw nowhere;
    return { invitation: flow ? open?.id : undefined };
  }
  if (partnerId !== rp) throw nowhere;
  const [authorised] = await tx`select from authorisation where estab = ${orgId} and rp = ${rp} and state = 'Approved' and 'Identity' = any(scopes)`;
  if (!authorised && !(flow && open)) throw nowhere;
  return { invitation: flow ? open?.id : undefined };
}

async function requireNew(tx: Tx, estab: string, emails: readonly string[]): Promise<void> {
  const lower = emails.map((email) => email.toLowerCase());
  const [known] = await tx<{ email: string }[]>`
    select email from manual_user where estab = ${estab} and lower(email) = any(${lower})
    union all select email from roster_user where estab = ${estab} and status = 'active' and lower(email) = any(${lower})
    union all select username from login where estab = ${estab} and lower(username) = any(${lower}) limit 1`;
  if (known) throw new SchoolbellError('conflict', `${known.email} is known at this school already; nobody was added.`);
}

async function add(
  tx: Tx,
  publicUrl: string,
  { estab, rp, invitation }: { estab: string; rp: string; invitation: string | undefined },
  user: ManualUser,
): Promise<void> {
  const id = `m-${randomBytes(12).toString('hex')}`;
  await tx`
    insert into manual_user (estab, presence_id, title, first_name, last_name, display_name, email, mobile, rp)
    values (${estab}, ${id}, ${user.title}, ${user.firstName}, ${user.lastName}, ${user.displayName}, ${user.email}, ${user.mobile}, ${rp})`;
  const presence = await findPresence(tx, estab, id);
  if (!presence) throw new Error('the user was not stored');
  await inviteToRegister(tx, publicUrl, { estab, rp, presence, invitation });
  await audit(tx, { estab, rp, operation: 'CreateUser', presenceId: id, outcome: 'done' });
}
