// In charge of the links by which a school comes to its pages, and the sessions they open. Both are random behind the name of the school, and
// kept as hashes. A link goes to the school's address of record and to nowhere else.
import { makeSchoolKey, schoolOfKey } from '../access/school-key.ts';
import { hashSecret } from '../access/secrets.ts';
import type { Db, Sql } from '../db/connect.ts';

export type SchoolSession = { estab: string; key: string };

export const linkDays = 30;
const signInMinutes = 60;
const sessionHours = 12;
const advisoryLock = 5_219_031;

/** The part of a link behind the address of the service. */
export const linkPath = (token: string) => `/school/open/${token}`;

/** For an invitation: opens until the school has decided. */
export async function makeInvitationLink(sql: Sql, estab: string, invitation: string): Promise<string> {
  const token = makeSchoolKey(estab);
  await sql`insert into school_link (hash, estab, invitation, expires_at)
    values (${hashSecret(token)}, ${estab}, ${invitation}, now() + make_interval(days => ${linkDays}))`;
  return token;
}

/** For a school that comes back. */
export async function makeSignInLink(sql: Sql, estab: string): Promise<string> {
  const token = makeSchoolKey(estab);
  await sql`insert into school_link (hash, estab, expires_at) values (${hashSecret(token)}, ${estab}, now() + make_interval(mins => ${signInMinutes}))`;
  return token;
}

/** Opens a session, if the link is one that still opens; gives what the cookie is to hold. */
export async function openLink(db: Db, token: string): Promise<{ cookie: string; estab: string; invitation: string | null; seconds: number } | undefined> {
  const estab = schoolOfKey(token);
  if (estab === undefined) return undefined;
  const [link] = await db<{ invitation: string | null }[]>`
    select invitation from school_link where estab = ${estab} and hash = ${hashSecret(token)} and expires_at > now()`;
  if (!link || (link.invitation !== null && !(await isOpen(db, estab, link.invitation)))) return undefined;
  const cookie = makeSchoolKey(estab);
  await db`insert into school_session (hash, estab, expires_at) values (${hashSecret(cookie)}, ${estab}, now() + make_interval(hours => ${sessionHours}))`;
  return { cookie, estab, invitation: link.invitation, seconds: sessionHours * 3600 };
}

async function isOpen(db: Db, estab: string, invitation: string): Promise<boolean> {
  const [open] = await db`select from invitation where estab = ${estab} and id = ${invitation} and state = 'Invited' and expires_at > now()`;
  return open !== undefined;
}

export async function findSession(db: Db, cookie: string | undefined): Promise<SchoolSession | undefined> {
  const estab = cookie && schoolOfKey(cookie);
  if (!cookie || !estab) return undefined;
  const [row] = await db`select from school_session where estab = ${estab} and hash = ${hashSecret(cookie)} and expires_at > now()`;
  return row && { estab, key: cookie };
}

export async function endSession(db: Db, { estab, key }: SchoolSession): Promise<void> {
  await db`delete from school_session where estab = ${estab} and hash = ${hashSecret(key)}`;
}

/** Whoever sends one, and whoever ends those to another address, take turns: none is sent to an address that has just been given up. */
export async function lockLinks(sql: Sql, estab: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
}

/** What was sent to another address opens nothing any more. */
export async function endLinks(sql: Sql, estab: string): Promise<void> {
  await lockLinks(sql, estab);
  await sql`delete from school_link where estab = ${estab}`;
  await sql`delete from school_session where estab = ${estab}`;
}

export async function forgetLinks(db: Db, estab: string): Promise<void> {
  await db`delete from school_link where estab = ${estab} and expires_at < now()`;
  await db`delete from school_session where estab = ${estab} and expires_at < now()`;
}
