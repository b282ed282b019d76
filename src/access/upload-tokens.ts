// In charge of upload tokens: the one secret with which a school's export job sends its package and reads what became of
// it, and which opens nothing else. It names its school, which has one at most; who made and who ended each stays as a record.
import type { FastifyRequest } from 'fastify';
import type { Db, Sql, Tx } from '../db/connect.ts';
import { deleteOfSchool } from '../db/delete-in-batches.ts';
import { SchoolbellError } from '../errors.ts';
import { noteCaller } from '../http/request-log.ts';
import type { RateLimit } from './rate-limit.ts';
import { makeSchoolKey, schoolOfKey } from './school-key.ts';
import { findMatch, hashSecret } from './secrets.ts';
import { judgeTry } from './wrong-tries.ts';

export type TokenActor = 'school' | 'operator';
export type UploadToken = { id: string; madeAt: Date; madeBy: TokenActor; lastUsedAt: Date | null };
/** Throws unless the request carries the upload token of that school. */
export type RequireUploadCaller = (request: FastifyRequest, estab: string) => Promise<void>;

const uploadPrefix = 'sb_upload_';
const advisoryLock = 5_219_033;
const howToMake = 'It is made on the page of the school, or by the operator with: school upload-token --estab';

/**
 * The text is given once; the token before it opens nothing from now on. replaces: the id of the one that was seen, empty for none; if that is
 * not so any more, as when a page is loaded again, nothing is done.
 */
export async function makeUploadToken(db: Db, estab: string, actor: TokenActor, replaces?: string): Promise<string> {
  const text = `${uploadPrefix}${makeSchoolKey(estab)}`;
  await db.begin(async (tx) => {
    await requireConfirmed(tx, estab);
    if (replaces !== undefined && replaces !== ((await findUploadToken(tx, estab))?.id ?? ''))
      throw new SchoolbellError('conflict', 'A token was made or removed since the page was opened; nothing was changed now. Make one once more if need be.');
    await end(tx, estab, actor);
    await tx`insert into upload_token (estab, hash, made_by) values (${estab}, ${hashSecret(text)}, ${actor})`;
  });
  return text;
}

/** Whether there was one. */
export async function removeUploadToken(db: Db, estab: string, actor: TokenActor): Promise<boolean> {
  return db.begin(async (tx) => {
    await requireConfirmed(tx, estab);
    return end(tx, estab, actor);
  });
}

/** Those that make or remove one take turns. */
async function requireConfirmed(tx: Tx, estab: string): Promise<void> {
  await tx`select pg_advisory_xact_lock(${advisoryLock}, hashtext(${estab}))`;
  const [school] = await tx<{ confirmed: boolean }[]>`select confirmed_at is not null as confirmed from establishment where estab = ${estab}`;
  // Whoever may send a school's data must be the school.
  if (!school?.confirmed)
    throw new SchoolbellError('conflict', `only an application has named ${estab} so far; vouch for it first: school confirm --estab ${estab}`);
}

async function end(tx: Tx, estab: string, actor: TokenActor): Promise<boolean> {
  const { count } = await tx`
    update upload_token set hash = null, ended_at = greatest(made_at, now()), ended_by = ${actor} where estab = ${estab} and ended_at is null`;
  return count > 0;
}

export async function findUploadToken(sql: Sql, estab: string): Promise<UploadToken | undefined> {
  const [found] = await sql<UploadToken[]>`
    select id, made_at as "madeAt", made_by as "madeBy", last_used_at as "lastUsedAt" from upload_token where estab = ${estab} and ended_at is null`;
  return found;
}

export function createUploadCaller(db: Db, limit: RateLimit): RequireUploadCaller {
  return async (request, estab) => {
    const { authorization } = request.headers;
    if (authorization === undefined)
      throw new SchoolbellError('missing_token', `There is no Authorization header. Send "Authorization: Bearer" and the school's upload token. ${howToMake}`);
    const token = /^bearer\s+(\S+)\s*$/i.exec(authorization)?.[1];
    if (!token) throw new SchoolbellError('invalid_token', 'The Authorization header must be "Bearer" followed by the upload token.');
    if (!token.startsWith(uploadPrefix))
      throw new SchoolbellError('invalid_token', `This address takes a school's upload token (${uploadPrefix}…) and no other. ${howToMake}`);
    const found = await judgeTry(db, `upload ${estab}`, request.ip, (sql) => findToken(sql, token, estab));
    if (!found) throw new SchoolbellError('invalid_token', `The upload token is not known; it may have been replaced or removed. ${howToMake}`);
    if (found.estab !== estab) throw new SchoolbellError('forbidden', `The upload token is for ${found.estab}, not for ${estab.slice(0, 40)}.`);
    noteCaller(request, { estab });
    limit.count(request, found.id);
  };
}

/** Finds the token at the school that it names, and records its use to the minute. */
async function findToken(sql: Sql, token: string, asked: string): Promise<{ estab: string; id: string } | undefined> {
  const estab = schoolOfKey(token.slice(uploadPrefix.length));
  if (estab === undefined) return undefined;
  const rows = await sql<{ id: string; hash: Uint8Array }[]>`select id, hash from upload_token where estab = ${estab} and hash = ${hashSecret(token)}`;
  const found = findMatch(token, rows);
  if (found && estab === asked)
    await sql`
      update upload_token set last_used_at = now()
      where estab = ${estab} and id = ${found.id} and (last_used_at is null or last_used_at < now() - interval '1 minute')`;
  return found && { estab, id: found.id };
}

export async function forgetUploadTokens(db: Db, estab: string, days: number): Promise<void> {
  await deleteOfSchool(db, 'upload_token', estab, db`ended_at < now() - make_interval(days => ${days})`);
}
