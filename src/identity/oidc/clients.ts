// In charge of who may send people here to sign in: an application with redirect URIs, known by its client id and secret.
import type { AdapterPayload } from 'oidc-provider';
import { findMatch } from '../../access/secrets.ts';
import type { Db } from '../../db/connect.ts';

type Row = { rp: string; name: string; redirectUris: string[] };

export async function findClient(db: Db, clientId: string): Promise<AdapterPayload | undefined> {
  if (clientId.includes('\0')) return undefined;
  const [row] = await db<
    Row[]
  >`select rp, name, redirect_uris as "redirectUris" from application where client_id = ${clientId} and cardinality(redirect_uris) > 0`;
  if (!row) return undefined;
  return {
    client_id: clientId,
    // Never compared: the secret is checked against its hash.
    client_secret: 'kept as a hash',
    client_name: row.name,
    redirect_uris: row.redirectUris,
    response_types: ['code'],
    grant_types: ['authorization_code'],
    token_endpoint_auth_method: 'client_secret_post',
    id_token_signed_response_alg: 'RS256',
    require_auth_time: true,
    application_type: row.redirectUris.every((uri) => uri.startsWith('https:')) ? 'web' : 'native',
  } as AdapterPayload;
}

export async function matchesClientSecret(db: Db, clientId: string, secret: string): Promise<boolean> {
  const rows = await db<{ hash: Uint8Array }[]>`
    select s.hash from application a join application_secret s on s.rp = a.rp and s.kind = 'client' and (s.valid_until is null or s.valid_until > now())
      where a.client_id = ${clientId}`;
  return findMatch(secret, rows) !== undefined;
}

/** Whether the school lets this application have its people sign in. */
export async function isWelcome(db: Db, clientId: string, estab: string): Promise<boolean> {
  const [row] = await db`
    select from application a join authorisation g on g.rp = a.rp and g.state = 'Approved' and 'Identity' = any(g.scopes) where a.client_id = ${clientId}
      and g.estab = ${estab}`;
  return row !== undefined;
}
