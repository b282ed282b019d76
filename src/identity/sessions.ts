// In charge of who is signed in: a random cookie behind the name of the school, kept as a hash. It ends when the password is reset, when the person
// leaves, and after twelve hours.
import type { FastifyRequest } from 'fastify';
import { makeSchoolKey, schoolOfKey } from '../access/school-key.ts';
import { hashSecret } from '../access/secrets.ts';
import type { Db } from '../db/connect.ts';
import { findCookie, renderCookie } from '../http/cookies.ts';
import { noteCaller } from '../http/request-log.ts';
import { findPresence, type Presence } from './presences.ts';

export type SignedIn = { estab: string; presence: Presence; mustChange: boolean; key: string };

const sessionHours = 12;
export const loginCookie = { name: 'schoolbell_login', path: '/' } as const;

export async function openSession(db: Db, estab: string, presenceId: string, publicUrl: string): Promise<string> {
  const key = makeSchoolKey(estab);
  await db`
    insert into login_session (hash, estab, presence_id, expires_at)
    values (${hashSecret(key)}, ${estab}, ${presenceId}, now() + make_interval(hours => ${sessionHours}))`;
  return renderCookie(loginCookie, key, publicUrl, sessionHours * 3600);
}

export async function findSignedIn(db: Db, request: FastifyRequest): Promise<SignedIn | undefined> {
  const key = findCookie(request, loginCookie);
  const estab = key && schoolOfKey(key);
  if (!key || !estab) return undefined;
  const [row] = await db<{ id: string; mustChange: boolean }[]>`
    select s.presence_id as id, l.change_at_next_login as "mustChange"
    from login_session s join login l on l.estab = ${estab} and l.presence_id = s.presence_id
    where s.estab = ${estab} and s.hash = ${hashSecret(key)} and s.expires_at > now()`;
  if (row) noteCaller(request, { estab });
  const presence = row && (await findPresence(db, estab, row.id));
  return presence && { estab, presence, mustChange: row.mustChange, key };
}

/** With it single sign-on ends, which would let the next at this browser in; another browser of theirs has its own session to sign on with. */
export async function endSession(db: Db, { key, estab, presence }: SignedIn): Promise<void> {
  await db`delete from oidc_record where model = 'Session' and payload ->> 'accountId' = ${`${estab}|${presence.id}`}`;
  await db`delete from login_session where estab = ${estab} and hash = ${hashSecret(key)}`;
}
