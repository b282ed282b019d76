// In charge of GetToken: a school or management secret is exchanged for the token that the school data, identity and
// webhook APIs take.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { fine } from '../http/envelope.ts';
import { envelopeShape, type ErrorShape } from '../http/error-shape.ts';
import { noteCaller } from '../http/request-log.ts';
import { readParameters } from './client-credentials.ts';
import { findMatch } from './secrets.ts';
import type { Tokens } from './tokens.ts';
import { judgeTry } from './wrong-tries.ts';

/** Errors say `token: null` as well, for clients that look there first. */
export const getTokenErrorShape: ErrorShape = {
  ...envelopeShape,
  headers: {},
  body: (error) => JSON.stringify({ token: null, expires: null, ...(JSON.parse(envelopeShape.body(error)) as object) }),
};

type Found = { secretId: string; hash: Uint8Array; state: string };

export function getToken(db: Db, tokens: Tokens) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const parameters = readParameters(request);
    const rp = required(parameters.get('relyingparty'), 'relyingParty');
    const password = required(parameters.get('password'), 'password');
    const estab = parameters.get('estab') || undefined;
    const client = estab === undefined ? rp : `${rp}|${estab}`;
    const found = await judgeTry(db, client, request.ip, async (sql) => findMatch(password, await findTokenSecrets(sql, rp, estab)));
    if (!found) throw new SchoolbellError('invalid_client', 'The relying party is not known to this establishment, or the secret is wrong.');
    noteCaller(request, { rp, estab });
    if (found.state !== 'Approved')
      throw new SchoolbellError('forbidden', `The authorisation is ${found.state.toLowerCase()}: the school has to resume or renew it.`);
    const issued = await tokens.issue({ kind: estab === undefined ? 'management' : 'school', rp, estab, secretId: found.secretId, oneRosterScopes: undefined });
    reply.header('cache-control', 'no-store');
    return { token: issued.token, expires: issued.expiresAt.toISOString(), ...fine };
  };
}

/** Of the school where one is named, and else of the application itself. */
export function findTokenSecrets(sql: Sql, rp: string, estab: string | undefined): Promise<Found[]> {
  if (estab === undefined) {
    return sql<
      Found[]
    >`select id as "secretId", hash, 'Approved' as state from application_secret where rp = ${rp} and kind = 'management'
      and (valid_until is null or valid_until > now())`;
  }
  return sql<Found[]>`
    select s.id as "secretId", s.hash, a.state from authorisation a join school_secret s on s.estab = a.estab and s.rp = a.rp
    where a.estab = ${estab} and a.rp = ${rp} and (s.valid_until is null or s.valid_until > now())`;
}

function required(value: string | undefined, name: string): string {
  if (value) return value;
  throw new SchoolbellError('invalid_request', `"${name}" is missing. Send estab, relyingParty and password, as JSON or as a form.`);
}
