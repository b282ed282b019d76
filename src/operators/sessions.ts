// In charge of who is at the console: a random cookie, kept as a hash, and whose it is. It ends after twelve hours, when its
// password, role or second factor changes, and when its account is removed.
import type { FastifyRequest } from 'fastify';
import { randomBytes } from 'node:crypto';
import { hashSecret } from '../access/secrets.ts';
import { readClock } from '../db/clock.ts';
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { findCookie, renderCookie } from '../http/cookies.ts';
import { markOf } from './known-browser.ts';

/** An admin and a viewer are operators; a developer sees their applications, and nothing else. */
export type Role = 'admin' | 'viewer' | 'developer';
/** proven: has shown the second factor, or needs none. applications: whose developer they are, at this moment. */
export type Operator = Readonly<{
  id: string;
  signInName: string;
  name: string;
  role: Role;
  applications: readonly string[];
  hasSecondFactor: boolean;
  proven: boolean;
  key: string;
}>;

/** What the browser is to hold, and whether it opens everything already. mark: by which it is known when it comes back. */
export type Opened = Readonly<{ cookie: string; key: string; proven: boolean; mark: string }>;
/** shown: the second factor, just now. */
export type Opening = Readonly<{ address: string; publicUrl: string; shown?: boolean }>;

const sessionHours = 12;
const listedSessions = 50;
export const consoleCookie = { name: 'schoolbell_console', path: '/console' } as const;

/** The account is locked while it is looked at, so that a second factor or a password which changes meanwhile ends this session too. */
export async function openSession(tx: Tx, account: string, { address, publicUrl, shown = false }: Opening): Promise<Opened> {
  const key = randomBytes(32).toString('base64url');
  const now = await readClock(tx);
  const [opened] = await tx<{ proven: boolean; hash: string | null }[]>`
    update console_account set last_signed_in = case when ${shown}::boolean or sealed_totp is null then ${now}::timestamptz else last_signed_in end
    where id = ${account} returning ${shown}::boolean or sealed_totp is null as proven, password_hash as hash`;
  if (opened)
    await tx`
      insert into console_session (hash, account, proven, address, expires_at)
      values (${hashSecret(key)}, ${account}, ${opened.proven}, ${address}, now() + make_interval(hours => ${sessionHours}))`;
  const [rule] = await tx<{ isEnough: boolean }[]>`select ${isEnough(tx)} as "isEnough" from console_account a where a.id = ${account}`;
  const cookie = renderCookie(consoleCookie, key, publicUrl, sessionHours * 3600);
  return { cookie, key, proven: opened?.proven === true && rule?.isEnough === true, mark: markOf(account, opened?.hash ?? null) };
}

/**
 * Of an account that has no second factor where all need one nothing is proven, from the moment on that this is switched on. A database that is
 * spread over nodes keeps what such a subselect gives, which has to be something.
 */
function isEnough(sql: Sql): Fragment {
  return sql`(a.sealed_totp is not null or not exists (select 1 from console_rule where name = 'second factor' and required))`;
}

export async function findOperator(db: Db, request: FastifyRequest): Promise<Operator | undefined> {
  const key = findCookie(request, consoleCookie);
  if (!key) return undefined;
  const [row] = await db<Omit<Operator, 'key'>[]>`
    select a.id, a.sign_in_name as "signInName", a.name, a.role, a.sealed_totp is not null as "hasSecondFactor", s.proven and ${isEnough(db)} as proven,
      array(select d.rp from console_developer d where d.account = a.id and a.role = 'developer' order by d.rp) as applications
    from console_session s join console_account a on a.id = s.account
    where s.hash = ${hashSecret(key)} and s.expires_at > now()`;
  return row && { ...row, key };
}

/**
 * Looked at again by whoever has locked the account: what ended the session since the request began, a second factor that was
 * switched on say, ends what is under way with it too.
 */
export async function requireSession(tx: Tx, { id, key, proven }: Operator): Promise<void> {
  const [kept] = await tx<{ proven: boolean }[]>`
    select proven from console_session where hash = ${hashSecret(key)} and account = ${id} and expires_at > now() for update`;
  if (!kept || (proven && !kept.proven)) throw new SchoolbellError('forbidden', 'You were signed out meanwhile, and nothing was changed. Sign in again.');
}

export type SessionLine = Readonly<{ address: string; created: Date; proven: boolean; own: boolean }>;

/** The newest; own: the one that asks. */
export async function listSessions(db: Db, { id, key }: Operator): Promise<SessionLine[]> {
  return db<SessionLine[]>`
    select address, created_at as created, proven, hash = ${hashSecret(key)} as own from console_session
    where account = ${id} and expires_at > now() order by created_at desc limit ${listedSessions}`;
}

export async function endSession(sql: Sql, key: string): Promise<void> {
  await sql`delete from console_session where hash = ${hashSecret(key)}`;
}

/** Everywhere; but for the one that is given. */
export async function endSessionsOf(sql: Sql, account: string, but = ''): Promise<void> {
  await sql`delete from console_session where account = ${account} and hash <> ${hashSecret(but)}`;
}

export async function forgetConsoleSessions(db: Db): Promise<void> {
  await db`delete from console_session where expires_at < now()`;
  await db`delete from console_link where expires_at < now()`;
}
