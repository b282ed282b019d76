// In charge of who is calling and what they may reach: turns a bearer token into a caller. What can be revoked is read at every call,
// together with the version of each roster.
import type { FastifyRequest } from 'fastify';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { noteCaller } from '../http/request-log.ts';
import type { RateLimit } from './rate-limit.ts';
import { createSharedCheck, type Reach, type Standing } from './shared-check.ts';
import { requireValid, type RosteringTokenKind, type Tokens } from './tokens.ts';

export type { Reach, Standing } from './shared-check.ts';

export type Caller = { rp: string; reach: readonly Reach[]; oneRosterScopes: readonly string[] | undefined };

export type Authenticate = (request: FastifyRequest, kind: RosteringTokenKind) => Promise<Caller>;

export function createAuthenticate(db: Db, tokens: Tokens, limit: RateLimit): Authenticate {
  const check = createSharedCheck(db);
  /** Of rows that are the same object the reach is, too. */
  const reaches = new WeakMap<readonly Standing[], readonly Reach[]>();
  return async (request, kind) => {
    const claims = await tokens.verify(bearerToken(request.headers.authorization), kind);
    noteCaller(request, { rp: claims.rp, estab: claims.estab });
    const { rows, secretHolds, ...facts } = await check(claims);
    if (rows.length === 0 || !secretHolds)
      throw new SchoolbellError(
        'invalid_token',
        'The secret behind this token is no longer valid, or no school authorises the application any more; obtain a new token.',
      );
    requireValid(claims, facts);
    limit.count(request, claims.secretId);
    const reach = reaches.get(rows) ?? requireReach(rows);
    reaches.set(rows, reach);
    if (reach.length === 1) noteCaller(request, { estab: reach[0]?.estab });
    return { rp: claims.rp, reach, oneRosterScopes: claims.oneRosterScopes };
  };
}

/** Those that hold; where none does the caller is refused. */
export function requireReach(rows: readonly Standing[]): Reach[] {
  const reach = rows
    .filter((row) => row.state === 'Approved')
    .map(({ estab, scopes, rosterId, version, keptFrom }) => ({ estab, scopes, rosterId, version, keptFrom }));
  if (reach.length > 0) return reach;
  throw new SchoolbellError('forbidden', `The authorisation is ${rows.map((row) => row.state.toLowerCase()).at(0)}: the school has to resume or renew it.`);
}

/** Of an application at one school, whatever its secrets. */
export async function findStanding(db: Db, rp: string, estab: string): Promise<Standing | undefined> {
  const [row] = await db<Standing[]>`
    select a.estab, a.scopes, a.state, r.roster_id as "rosterId", r.version, r.kept_from as "keptFrom" from authorisation a join roster_standing r using (estab)
    where a.rp = ${rp} and a.estab = ${estab}`;
  return row;
}

function bearerToken(authorization: string | undefined): string {
  if (authorization === undefined)
    throw new SchoolbellError('missing_token', 'There is no Authorization header. Send "Authorization: Bearer" and a token from the token endpoint.');
  const [scheme = '', token = '', ...rest] = authorization.trim().split(/\s+/);
  if (scheme.toLowerCase() !== 'bearer' || token === '' || rest.length > 0)
    throw new SchoolbellError('invalid_token', 'The Authorization header must be "Bearer" followed by one token.');
  return token;
}
