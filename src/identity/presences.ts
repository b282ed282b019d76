// In charge of presences: the people of an establishment who can have a login. They are those of the roster who learn or
// work there and those whom an application has added by hand; whoever has left is none.
import type { Fragment, Sql } from '../db/connect.ts';
import { isLocked } from './login-lock.ts';

export const presenceTypes = ['Learners', 'Teach', 'NonTeach'] as const;
export type PresenceType = (typeof presenceTypes)[number];

export type Presence = {
  id: string;
  /** Of the roster; null for whom an application has added. */
  sourcedId: string | null;
  type: PresenceType;
  displayName: string;
  firstName: string;
  surname: string;
  roles: string;
  /** The name that a login would get. */
  wantedName: string;
  workEmail: string;
  email: string;
  userName: string;
  lastLoggedIn: Date | null;
  registered: boolean;
  /** A registration link that was sent to the work e-mail was opened. */
  emailVerified: boolean;
};

/** All of an establishment as (id, type, …) without their logins. */
function people(sql: Sql, estab: string): Fragment {
  return sql`
    select presence_id(u.estab, u.sourced_id) as id, u.sourced_id as "sourcedId",
      case u.kind when 'student' then 'Learners' when 'teacher' then 'Teach' else 'NonTeach' end as type,
      u.given_name || ' ' || u.family_name as "displayName", u.given_name as "firstName", u.family_name as surname,
      u.role as roles, u.username as "wantedName", coalesce(u.email, '') as "workEmail", coalesce(u.email, '') as email
    from roster_user u where u.estab = ${estab} and u.status = 'active' and u.kind in ('student', 'teacher', 'staff')
    union all
    select m.presence_id, null, 'NonTeach', m.display_name, m.first_name, m.last_name, 'manual', m.email, m.email, m.email from manual_user m
      where m.estab = ${estab}`;
}

const columns = (sql: Sql) =>
  sql`p.*, coalesce(l.username, '') as "userName", l.last_logged_in as "lastLoggedIn", coalesce(l.password_hash is not null, false) as registered,
    coalesce(lower(l.verified_email) = lower(p."workEmail"), false) as "emailVerified"`;

export async function listPresences(sql: Sql, estab: string, type: PresenceType | undefined): Promise<Presence[]> {
  return sql<Presence[]>`
    select ${columns(sql)} from (${people(sql, estab)}) p left join login l on l.estab = ${estab} and l.presence_id = p.id
    where ${type === undefined ? sql`true` : sql`p.type = ${type}`} order by p.surname, p."firstName", p.id`;
}

export async function findPresence(sql: Sql, estab: string, id: string): Promise<Presence | undefined> {
  const [presence] = await sql<Presence[]>`
    select ${columns(sql)} from (
      select * from (${people(sql, estab)}) everybody where id = ${id}) p left join login l on l.estab = ${estab} and l.presence_id = p.id`;
  return presence;
}

export type ListedLogin = Pick<Presence, 'id' | 'displayName' | 'userName' | 'workEmail' | 'lastLoggedIn' | 'registered'> & { lockedUntil: Date | null };

/** Lists logins in the order of their user names. `words`: part of a user name or of a person's name. `after`: the last user name that was seen. */
export async function listLogins(
  sql: Sql,
  estab: string,
  { words, locked, after, most }: { words: string; locked: boolean; after: string; most: number },
): Promise<ListedLogin[]> {
  return sql<ListedLogin[]>`
    select p.id, p."displayName", l.username as "userName", p."workEmail", l.last_logged_in as "lastLoggedIn", l.password_hash is not null as registered,
      case when ${isLocked(sql, sql`l`)} then l.locked_until end as "lockedUntil"
    from login l join (${people(sql, estab)}) p on p.id = l.presence_id
    where l.estab = ${estab} and lower(l.username) > lower(${after}) and (not ${locked}::boolean or ${isLocked(sql, sql`l`)})
      and (strpos(lower(l.username), lower(${words})) > 0 or strpos(lower(p."displayName"), lower(${words})) > 0)
    order by lower(l.username) limit ${most}`;
}

/** By its work e-mail, in any case, if that is one person's alone. */
export async function findByEmail(sql: Sql, estab: string, email: string): Promise<Presence | undefined> {
  const [first, second] = await sql<Presence[]>`
    select ${columns(sql)} from (${people(sql, estab)}) p join login l on l.estab = ${estab} and l.presence_id = p.id
    where p."workEmail" <> '' and lower(p."workEmail") = lower(${email}) limit 2`;
  return second === undefined ? first : undefined;
}

/** By the name of its login, in any case. */
export async function findByUserName(sql: Sql, estab: string, userName: string): Promise<Presence | undefined> {
  const [login] = await sql<{ id: string }[]>`select presence_id as id from login where estab = ${estab} and lower(username) = lower(${userName})`;
  return login && findPresence(sql, estab, login.id);
}
