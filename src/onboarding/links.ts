// In charge of the links by which a school comes to its pages, and the sessions they open. Both are random and kept as
// hashes. A link goes to the school's address of record and to nowhere else.
import { randomBytes } from 'node:crypto';
import { hashSecret } from '../access/secrets.ts';
import type { Db, Sql } from '../db/connect.ts';

export type SchoolSession = { estab: string; key: string };

export const linkDays = 30;
const signInMinutes = 60;
const sessionHours = 12;

/** The part of a link behind the address of the service. */
export const linkPath = (token: string) => `/school/open/${token}`;

const makeToken = () => randomBytes(32).toString('base64url');

/** For an invitation: opens until the school has decided. */
export async function makeInvitationLink(sql: Sql, estab: string, invitation: string): Promise<string> {
  const token = makeToken();
  await sql`insert into school_link (hash, estab, invitation, expires_at)
    values (${hashSecret(token)}, ${estab}, ${invitation}, now() + make_interval(days => ${linkDays}))`;
  return token;
}

/** For a school that comes back. */
export async function makeSignInLink(sql: Sql, estab: string): Promise<string> {
  const token = makeToken();
  await sql`insert into school_link (hash, estab, expires_at) values (${hashSecret(token)}, ${estab}, now() + make_interval(mins => ${signInMinutes}))`;
  return token;
}

/** Opens a session, if the link is one that still opens; gives what the cookie is to hold. */
export async function openLink(db: Db, token: string): Promise<{ cookie: string; estab: string; invitation: string | null; seconds: number } | undefined> {
  const [link] = await db<{ estab: string; invitation: string | null }[]>`
    select l.estab, l.invitation from school_link l left join invitation i on i.estab = l.estab and i.id = l.invitation
    where l.hash = ${hashSecret(token)} and l.expires_at > now() and (l.invitation is null or (i.state = 'Invited' and i.expires_at > now()))`;
  if (!link) return undefined;
  const cookie = makeToken();
  await db`insert into school_session (hash, estab, expires_at) values (${hashSecret(cookie)}, ${link.estab}, now() + make_interval(hours => ${sessionHours}))`;
  return { cookie, ...link, seconds: sessionHours * 3600 };
}

export async function findSession(db: Db, cookie: string | undefined): Promise<SchoolSession | undefined> {
  if (!cookie) return undefined;
  const [row] = await db<{ estab: string }[]>`select estab from school_session where hash = ${hashSecret(cookie)} and expires_at > now()`;
  return row && { estab: row.estab, key: cookie };
}

export async function endSession(db: Db, { key }: SchoolSession): Promise<void> {
  await db`delete from school_session where hash = ${hashSecret(key)}`;
}

/** What was sent to another address opens nothing any more. */
export async function endLinks(sql: Sql, estab: string): Promise<void> {
  await sql`delete from school_link where estab = ${estab}`;
  await sql`delete from school_session where estab = ${estab}`;
}

export async function forgetLinks(db: Db): Promise<void> {
  await db`delete from school_link where expires_at < now()`;
  await db`delete from school_session where expires_at < now()`;
  await db`delete from unnamed_link where expires_at < now()`;
}
