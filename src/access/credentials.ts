// In charge of how old the secrets of an application are and until when they open, and of ending those that were replaced.
import type { Sql } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import type { SecretKind } from './secrets.ts';

/** validUntil: of one that was replaced. Never the secret itself. */
export type KeptSecret = { id: string; kind: SecretKind; created: Date; validUntil: Date | null };
/** Whose secret: of the application alone, or with `estab` its school secret there. */
export type SecretOf = { rp: string; kind: Exclude<SecretKind, 'school'>; estab?: undefined } | { rp: string; kind: 'school'; estab: string };

/** Those that open something; of each kind the present one first. */
export async function listApplicationSecrets(sql: Sql, rp: string): Promise<KeptSecret[]> {
  return sql<KeptSecret[]>`
    select id, kind, created_at as created, valid_until as "validUntil" from application_secret
    where rp = ${rp} and (valid_until is null or valid_until > now()) order by kind, valid_until desc nulls first`;
}

export async function listSecrets(sql: Sql, of: SecretOf): Promise<KeptSecret[]> {
  if (of.kind !== 'school') return (await listApplicationSecrets(sql, of.rp)).filter(({ kind }) => kind === of.kind);
  return sql<KeptSecret[]>`
    select id, 'school' as kind, created_at as created, valid_until as "validUntil" from school_secret
    where estab = ${of.estab} and rp = ${of.rp} and (valid_until is null or valid_until > now()) order by valid_until desc nulls first`;
}

const replacedMeanwhile = 'This secret has been replaced since the page was opened; nothing was changed now. Replace it once more if need be.';

/** Whoever makes a new one names the secret that they saw, or none: what was replaced meanwhile is not replaced again unseen. */
export async function requireStill(sql: Sql, of: SecretOf, replaces: string | undefined, message = replacedMeanwhile): Promise<void> {
  if (replaces === undefined) return;
  if (presentOf(await listSecrets(sql, of)) !== replaces) throw new SchoolbellError('conflict', message);
}

/** The id of the one that has not been replaced; empty, where there is none. */
export function presentOf(secrets: readonly KeptSecret[]): string {
  return secrets.find(({ validUntil }) => validUntil === null)?.id ?? '';
}

/** Those that were replaced end now, and what was made with them; gives how many. */
export async function endOldSecrets(sql: Sql, { rp, kind, estab }: SecretOf): Promise<number> {
  const { count } =
    kind === 'school'
      ? await sql`delete from school_secret where estab = ${estab} and rp = ${rp} and valid_until > now()`
      : await sql`delete from application_secret where rp = ${rp} and kind = ${kind} and valid_until > now()`;
  return count;
}
