// In charge of the rostering token endpoints: the same exchange over two kinds of client, each kind at its own address or both at one.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { oauthShape, plainTextShape, type ErrorShape } from '../http/error-shape.ts';
import { noteCaller } from '../http/request-log.ts';
import { readCredentials, readParameters, type Presented } from './client-credentials.ts';
import { narrowScopes, oneRosterScopes, oneRosterScopesOf, type OneRosterScopes } from './scopes.ts';
import { findMatch } from './secrets.ts';
import type { RosteringTokenKind, Tokens } from './tokens.ts';
import { judgeTry } from './wrong-tries.ts';

type Client = { rp: string; estab: string | undefined; secretId: string; hash: Uint8Array; open: boolean; scopes: string[] };

/** How clients are named: whoever the name and the secret may be of. */
export type FindClients = (sql: Sql, client: string) => Promise<Client[]>;

/** The client is the application, and opens every establishment that authorises it. */
export const findApplication: FindClients = (sql, client) => sql<Client[]>`
  select a.rp, null as estab, s.id as "secretId", s.hash, g.scopes is not null as open, coalesce(g.scopes, '{}') as scopes
  from application a
  join application_secret s on s.rp = a.rp and s.kind = 'client' and (s.valid_until is null or s.valid_until > now())
  left join lateral (select array_agg(distinct scope) as scopes from authorisation g, unnest(g.scopes) scope where g.rp = a.rp
    and g.state = 'Approved') g on true
  where a.client_id = ${client}`;

/** The client is the pair rp|estab, and opens that establishment. */
export const findSchoolClient: FindClients = (sql, client) => {
  const [rp = '', estab = ''] = client.split('|');
  return sql<Client[]>`
    select g.rp, g.estab, s.id as "secretId", s.hash, g.state = 'Approved' as open, g.scopes
    from authorisation g
    join school_secret s on s.estab = g.estab and s.rp = g.rp and (s.valid_until is null or s.valid_until > now())
    where g.rp = ${rp} and g.estab = ${estab} and ${client} = g.rp || '|' || g.estab`;
};

export type RosteringTokenEndpoint = Readonly<{
  path: string;
  kind: RosteringTokenKind;
  clients: readonly FindClients[];
  scopes: OneRosterScopes;
  /** Whether what is granted, if anything, is answered also to whoever asked for nothing. */
  answersScope: boolean;
  errors: ErrorShape;
}>;

export const rosteringTokenEndpoints = {
  A: {
    path: '/api/ims/oneroster/v1p1/token',
    kind: 'rostering-a',
    clients: [findApplication],
    scopes: oneRosterScopes.v1p1,
    answersScope: false,
    errors: { ...oauthShape, ownFaults: plainTextShape },
  },
  B: {
    path: '/ims/oneroster/v1p1/auth/token',
    kind: 'rostering-b',
    clients: [findSchoolClient],
    scopes: oneRosterScopes.v1p1,
    answersScope: false,
    errors: oauthShape,
  },
  '1p2': {
    path: '/ims/oneroster/rostering/v1p2/token',
    kind: 'rostering-1p2',
    clients: [findSchoolClient, findApplication],
    scopes: oneRosterScopes.v1p2,
    answersScope: true,
    errors: oauthShape,
  },
} as const satisfies Record<string, RosteringTokenEndpoint>;
export type RosteringTokenName = keyof typeof rosteringTokenEndpoints;

export function exchangeForRosteringToken(db: Db, tokens: Tokens, { kind, clients, scopes, answersScope }: RosteringTokenEndpoint) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const parameters = readParameters(request);
    const client = await requireClient(db, clients, readCredentials(request), request.ip);
    noteCaller(request, { rp: client.rp, estab: client.estab ?? undefined });
    const grant = parameters.get('grant_type');
    if (grant !== undefined && grant !== 'client_credentials')
      throw new SchoolbellError('unsupported_grant_type', `The grant type "${grant.slice(0, 60)}" is not supported; use client_credentials.`);
    const narrowed = narrowScopes(parameters.get('scope'), client.scopes, scopes);
    const { token, expiresIn } = await tokens.issue({
      kind,
      rp: client.rp,
      estab: client.estab ?? undefined,
      secretId: client.secretId,
      oneRosterScopes: narrowed,
    });
    const answered = narrowed ?? (answersScope ? oneRosterScopesOf(client.scopes, scopes) : []);
    reply.header('cache-control', 'no-store');
    return { access_token: token, token_type: 'Bearer', expires_in: expiresIn, ...(answered.length > 0 ? { scope: answered.join(' ') } : {}) };
  };
}

async function requireClient(db: Db, clients: readonly FindClients[], presented: readonly Presented[], address: string): Promise<Client> {
  // Counted under the decoded name: every spelling of it is the same client.
  const client = await judgeTry(db, presented.at(-1)?.client ?? '', address, async (sql) => {
    for (const { client: name, secret } of presented) {
      for (const findClients of clients) {
        const match = findMatch(secret, await findClients(sql, name));
        if (match?.open) return match;
      }
    }
    return undefined;
  });
  if (client) return client;
  throw new SchoolbellError('invalid_client', 'The client ID or secret is invalid, or no school authorises this client at present.');
}
