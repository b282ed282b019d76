// In charge of the two rostering token endpoints: the same exchange over two kinds of client.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { noteCaller } from '../http/request-log.ts';
import { readCredentials, readParameters, type Presented } from './client-credentials.ts';
import { narrowScopes } from './scopes.ts';
import { findMatch } from './secrets.ts';
import type { Tokens } from './tokens.ts';
import { judgeTry } from './wrong-tries.ts';

type Client = { rp: string; estab: string | undefined; secretId: string; hash: Uint8Array; open: boolean; scopes: string[] };

/** How a variant names its clients. */
export type ClientKind = {
  kind: 'rostering-a' | 'rostering-b';
  findClients(sql: Sql, client: string): Promise<Client[]>;
};

/** Variant A: the client is the application, and opens every establishment that authorises it. */
export const applicationClient: ClientKind = {
  kind: 'rostering-a',
  findClients: (sql, client) => sql<Client[]>`
    select a.rp, null as estab, s.id as "secretId", s.hash, g.scopes is not null as open, coalesce(g.scopes, '{}') as scopes
    from application a
    join application_secret s on s.rp = a.rp and s.kind = 'client' and (s.valid_until is null or s.valid_until > now())
    left join lateral (select array_agg(distinct scope) as scopes from authorisation g, unnest(g.scopes) scope where g.rp = a.rp
      and g.state = 'Approved') g on true
    where a.client_id = ${client}`,
};

/** Variant B: the client is the pair rp|estab, and opens that establishment. */
export const schoolClient: ClientKind = {
  kind: 'rostering-b',
  findClients: (sql, client) => {
    const [rp = '', estab = ''] = client.split('|');
    return sql<Client[]>`
      select g.rp, g.estab, s.id as "secretId", s.hash, g.state = 'Approved' as open, g.scopes
      from authorisation g
      join school_secret s on s.estab = g.estab and s.rp = g.rp and (s.valid_until is null or s.valid_until > now())
      where g.rp = ${rp} and g.estab = ${estab} and ${client} = g.rp || '|' || g.estab`;
  },
};

export function exchangeForRosteringToken(db: Db, tokens: Tokens, { kind, findClients }: ClientKind) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const parameters = readParameters(request);
    const client = await requireClient(db, findClients, readCredentials(request), request.ip);
    noteCaller(request, { rp: client.rp, estab: client.estab ?? undefined });
    const grant = parameters.get('grant_type');
    if (grant !== undefined && grant !== 'client_credentials')
      throw new SchoolbellError('unsupported_grant_type', `The grant type "${grant.slice(0, 60)}" is not supported; use client_credentials.`);
    const oneRosterScopes = narrowScopes(parameters.get('scope'), client.scopes);
    const { token, expiresIn } = await tokens.issue({ kind, rp: client.rp, estab: client.estab ?? undefined, secretId: client.secretId, oneRosterScopes });
    reply.header('cache-control', 'no-store');
    return { access_token: token, token_type: 'Bearer', expires_in: expiresIn, ...(oneRosterScopes ? { scope: oneRosterScopes.join(' ') } : {}) };
  };
}

async function requireClient(db: Db, findClients: ClientKind['findClients'], presented: readonly Presented[], address: string): Promise<Client> {
  // Counted under the decoded name: every spelling of it is the same client.
  const client = await judgeTry(db, presented.at(-1)?.client ?? '', address, async (sql) => {
    for (const { client: name, secret } of presented) {
      const match = findMatch(secret, await findClients(sql, name));
      if (match?.open) return match;
    }
    return undefined;
  });
  if (client) return client;
  throw new SchoolbellError('invalid_client', 'The client ID or secret is invalid, or no school authorises this client at present.');
}
