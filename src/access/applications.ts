// In charge of applications (relying parties) and the secrets that belong to them alone.
import { randomBytes } from 'node:crypto';
import type { Db, Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { parseScopes } from './scopes.ts';
import type { Seal } from './seal.ts';
import { makeSecret, type SecretKind } from './secrets.ts';

export type NewApplication = { rp: string; clientId: string; clientSecret: string; managementSecret: string; signingSecret: string };
export type ApplicationSecretKind = Exclude<SecretKind, 'school'>;

type Given = { rp: string; name: string; callbackUrl: string; scopes: string; redirectUris: readonly string[] };

export async function addApplication(db: Db, seal: Seal, given: Given): Promise<NewApplication> {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(given.rp)) throw new SchoolbellError('invalid_request', `--rp "${given.rp}": 1 to 64 of A-Z a-z 0-9 . _ -`);
  if (given.name.trim() === '') throw new SchoolbellError('invalid_request', '--name: must not be empty');
  for (const [option, url] of [['--callback-url', given.callbackUrl] as const, ...given.redirectUris.map((uri) => ['--redirect-uri', uri] as const)]) {
    if (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol))
      throw new SchoolbellError('invalid_request', `${option} "${url}": not a URL that begins with http:// or https://`);
  }
  const { required, optional } = parseScopes(given.scopes);
  const clientId = `${given.rp}.${randomBytes(6).toString('hex')}`;
  return db.begin(async (tx) => {
    const added = await tx`
      insert into application (rp, name, callback_url, redirect_uris, required_scopes, optional_scopes, client_id)
      values (${given.rp}, ${given.name}, ${given.callbackUrl}, ${[...given.redirectUris]}, ${required}, ${optional}, ${clientId})
      on conflict do nothing returning rp`;
    if (added.length === 0) throw new SchoolbellError('conflict', `the application ${given.rp} exists already`);
    const clientSecret = await storeSecret(tx, seal, given.rp, 'client');
    const managementSecret = await storeSecret(tx, seal, given.rp, 'management');
    const signingSecret = await storeSecret(tx, seal, given.rp, 'signing');
    return { rp: given.rp, clientId, clientSecret, managementSecret, signingSecret };
  });
}

/** Replaces a secret. The old one ends at once; a signing secret stays valid for a day, so that receivers can change over. */
export async function rotateApplicationSecret(db: Db, seal: Seal, rp: string, kind: ApplicationSecretKind): Promise<string> {
  return db.begin(async (tx) => {
    const [known] = await tx`select from application where rp = ${rp} for update`;
    if (!known) throw new SchoolbellError('not_found', `there is no application ${rp}`);
    if (kind === 'signing')
      await tx`update application_secret set valid_until = now() + interval '24 hours' where rp = ${rp} and kind = ${kind} and valid_until is null`;
    else await tx`delete from application_secret where rp = ${rp} and kind = ${kind}`;
    return storeSecret(tx, seal, rp, kind);
  });
}

async function storeSecret(sql: Sql, seal: Seal, rp: string, kind: ApplicationSecretKind): Promise<string> {
  const { text, hash } = makeSecret(kind);
  await sql`insert into application_secret (rp, kind, hash, sealed) values (${rp}, ${kind}, ${hash}, ${kind === 'signing' ? seal.seal(text) : null})`;
  return text;
}
