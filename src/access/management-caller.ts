// In charge of callers with a management token: an application speaking for itself, not for a school.
import type { FastifyRequest } from 'fastify';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { noteCaller } from '../http/request-log.ts';
import type { RateLimit } from './rate-limit.ts';
import { tokenFacts, type TokenFacts } from './token-keys.ts';
import { requireValid, type Tokens } from './tokens.ts';

export type ManagementCaller = { rp: string };
export type RequireManagementCaller = (request: FastifyRequest) => Promise<ManagementCaller>;

export function createManagementCaller(db: Db, tokens: Tokens, limit: RateLimit): RequireManagementCaller {
  return async (request) => {
    const { authorization } = request.headers;
    if (authorization === undefined)
      throw new SchoolbellError(
        'missing_token',
        'There is no Authorization header. Send "Authorization: Idaas" and a management token from /api/oauth/GetToken.',
      );
    const token = /^(?:idaas|bearer)\s+(\S+)\s*$/i.exec(authorization)?.[1];
    if (!token) throw new SchoolbellError('invalid_token', 'The Authorization header must be "Idaas" or "Bearer" followed by one token.');
    const claims = await tokens.verify(token, 'management');
    noteCaller(request, { rp: claims.rp });
    const [secret] = await db<TokenFacts[]>`
      select ${tokenFacts(db, claims.kid)} from application_secret
      where rp = ${claims.rp} and id = ${claims.secretId} and kind = 'management' and (valid_until is null or valid_until > now())`;
    if (!secret) throw new SchoolbellError('invalid_token', 'The secret behind this token is no longer valid; obtain a new token with the present secret.');
    requireValid(claims, secret);
    limit.count(request, claims.secretId);
    return { rp: claims.rp };
  };
}
