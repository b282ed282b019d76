// In charge of callers of the identity API: by token, or by the secret itself as Basic, for one-line scripts.
import type { FastifyRequest } from 'fastify';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { noteCaller } from '../http/request-log.ts';
import { bySchoolOrManagement } from './application-caller.ts';
import type { RequireAnswer } from './demo-faults.ts';
import type { RequireManagementCaller } from './management-caller.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RequireSchoolCaller } from './school-caller.ts';
import { findMatch } from './secrets.ts';
import { judgeTry } from './wrong-tries.ts';

export type IdentityCaller = { rp: string; estab: string | undefined };
export type RequireIdentityCaller = (request: FastifyRequest, kind: 'school' | 'management' | 'either') => Promise<IdentityCaller>;

const unknown = 'The relying party is not known to this establishment, or the secret is wrong.';

type Found = { id: string; hash: Uint8Array; state: string; scopes: string[] };

export function createIdentityCaller({
  db,
  requireSchool,
  requireManagement,
  limit,
  requireAnswer,
}: {
  db: Db;
  requireSchool: RequireSchoolCaller;
  requireManagement: RequireManagementCaller;
  limit: RateLimit;
  /** Of the sandbox, where there is one; tokens have it by themselves. */
  requireAnswer?: RequireAnswer | undefined;
}): RequireIdentityCaller {
  async function byToken(request: FastifyRequest, kind: 'school' | 'management'): Promise<IdentityCaller> {
    if (kind === 'management') return { ...(await requireManagement(request)), estab: undefined };
    const { rp, estab, scopes } = await requireSchool(request);
    requireIdentityScope(scopes);
    return { rp, estab };
  }

  async function bySecret(request: FastifyRequest, kind: 'school' | 'management' | 'either'): Promise<IdentityCaller> {
    const [user = '', secret = ''] = decodeBasic(request.headers.authorization ?? '');
    const cut = user.indexOf('|');
    const [rp, estab] = cut < 0 ? [user, undefined] : [user.slice(0, cut), user.slice(cut + 1)];
    if (kind !== 'either' && (estab === undefined) !== (kind === 'management'))
      throw new SchoolbellError(
        'invalid_token',
        kind === 'school'
          ? 'This takes a school credential: rp|estab with the school secret.'
          : 'This takes a management credential: rp with the management secret.',
      );
    // PostgreSQL has no NUL in a text, so that nobody's name holds one.
    if (user.includes('\0')) throw new SchoolbellError('invalid_token', unknown);
    const found = await judgeTry(db, user, request.ip, async (sql) => findMatch(secret, await findSecrets(sql, rp, estab)));
    if (!found) throw new SchoolbellError('invalid_token', unknown);
    noteCaller(request, { rp, estab });
    await requireAnswer?.(rp);
    limit.count(request, found.id);
    if (found.state !== 'Approved')
      throw new SchoolbellError('forbidden', `The authorisation is ${found.state.toLowerCase()}: the school has to resume or renew it.`);
    if (estab !== undefined) requireIdentityScope(found.scopes);
    return { rp, estab };
  }

  return async (request, kind) => {
    const { authorization } = request.headers;
    if (/^basic\s/i.test(authorization ?? '')) return bySecret(request, kind);
    if (kind !== 'either') return byToken(request, kind);
    return bySchoolOrManagement(() => byToken(request, 'school'), () => byToken(request, 'management'));
  };
}

function requireIdentityScope(scopes: readonly string[]): void {
  if (!scopes.includes('Identity')) throw new SchoolbellError('forbidden', 'The school has not granted Identity.');
}

function decodeBasic(authorization: string): string[] {
  const text = Buffer.from(authorization.replace(/^basic\s+/i, ''), 'base64').toString('utf8');
  const cut = text.indexOf(':');
  return cut < 0 ? [text] : [text.slice(0, cut), text.slice(cut + 1)];
}

async function findSecrets(sql: Sql, rp: string, estab: string | undefined): Promise<Found[]> {
  if (estab === undefined)
    return sql<
      Found[]
    >`select id, hash, 'Approved' as state, '{}'::text[] as scopes from application_secret where rp = ${rp} and kind = 'management'
      and (valid_until is null or valid_until > now())`;
  return sql<Found[]>`
    select s.id, s.hash, a.state, a.scopes from authorisation a join school_secret s on s.estab = a.estab and s.rp = a.rp where a.estab = ${estab}
      and a.rp = ${rp} and (s.valid_until is null or s.valid_until > now())`;
}
