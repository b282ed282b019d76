// In charge of callers with a school token: the data, writeback, webhook and identity APIs of one establishment.
import type { FastifyRequest } from 'fastify';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { noteCaller } from '../http/request-log.ts';
import type { RateLimit } from './rate-limit.ts';
import { tokenFacts, type TokenFacts } from './token-keys.ts';
import { requireValid, type Tokens } from './tokens.ts';

export type SchoolCaller = { rp: string; estab: string; scopes: readonly string[]; expiresAt: Date };
export type RequireSchoolCaller = (request: FastifyRequest) => Promise<SchoolCaller>;

export function createSchoolCaller(db: Db, tokens: Tokens, limit: RateLimit): RequireSchoolCaller {
  return async (request) => {
    const { authorization } = request.headers;
    if (authorization === undefined)
      throw new SchoolbellError('missing_token', 'There is no Authorization header. Send "Authorization: Idaas" and a token from /api/oauth/GetToken.');
    const token = /^(?:idaas|bearer)\s+(\S+)\s*$/i.exec(authorization)?.[1];
    if (!token) throw new SchoolbellError('invalid_token', 'The Authorization header must be "Idaas" or "Bearer" followed by one token.');
    const claims = await tokens.verify(token, 'school');
    noteCaller(request, { rp: claims.rp, estab: claims.estab });
    const [row] = await db<({ state: string; scopes: string[] } & TokenFacts)[]>`
      select a.state, a.scopes, ${tokenFacts(db, claims.kid)} from authorisation a
      join school_secret s on s.estab = a.estab and s.rp = a.rp and s.id = ${claims.secretId} and (s.valid_until is null or s.valid_until > now())
      where a.estab = ${claims.estab ?? ''} and a.rp = ${claims.rp}`;
    if (!row) throw new SchoolbellError('invalid_token', 'The secret behind this token is no longer valid; obtain a new token with the present secret.');
    requireValid(claims, row);
    limit.count(request, claims.secretId);
    if (row.state !== 'Approved')
      throw new SchoolbellError('forbidden', `The authorisation is ${row.state.toLowerCase()}: the school has to resume or renew it.`);
    return { rp: claims.rp, estab: claims.estab ?? '', scopes: row.scopes, expiresAt: new Date(claims.expiresAt) };
  };
}
