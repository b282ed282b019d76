// In charge of authorisations: one application at one establishment, what it may read, and its school secret.
import type { Db, Fragment, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { requireStill } from './credentials.ts';
import { parseScopes, type Scope } from './scopes.ts';
import { keptSeconds, makeSecret } from './secrets.ts';

export type Authorised = { rp: string; estab: string; scopes: string[]; state: 'Approved'; schoolSecret: string };
export type AuthorisationState = 'Approved' | 'Paused' | 'Revoked';

export type IssuedSecret = { id: string; text: string };

type Approval = { rp: string; estab: string; scopes?: string | undefined; replaces?: string | undefined };
type Meanwhile = (tx: Tx, issued: IssuedSecret, scopes: readonly string[]) => Promise<unknown>;

const nothing = async () => {};

const decidedMeanwhile = 'It has been decided since the page was opened; nothing was changed now. See below how it stands.';

/**
 * Approves an application for a school, or approves it again, and issues a new school secret. The new scopes apply at once; the old secret stays
 * valid for another 24 hours, unless it was revoked. `scopes`: if left out, the required scopes and the optional scopes of the grant in force are
 * granted; a grant that was refused or revoked is not in force. `replaces`: the id of the current secret as the caller saw it, or an empty string
 * if there was none; if the secret has changed since, nothing is done.
 */
export async function authorise(db: Db, given: Approval, meanwhile?: Meanwhile): Promise<Authorised> {
  return db.begin((tx) => authoriseWithin(tx, given, meanwhile));
}

export async function authoriseWithin(tx: Tx, given: Approval, meanwhile: Meanwhile = nothing): Promise<Authorised> {
  const asked = await requirePair(tx, given.rp, given.estab);
  const [before] = await tx<{ state: AuthorisationState; scopes: string[] }[]>`
    select state, scopes from authorisation where estab = ${given.estab} and rp = ${given.rp} for update`;
  const inForce = before && before.state !== 'Revoked' ? before.scopes : [];
  const scopes =
    given.scopes === undefined ? [...asked.required, ...asked.optional.filter((scope) => inForce.includes(scope))] : chosenScopes(given.scopes, asked);
  if (scopes.length === 0)
    throw new SchoolbellError('invalid_request', `all scopes of the application are optional; name those to grant with --scopes: ${asked.optional.join(', ')}`);
  await tx`
    insert into authorisation (estab, rp, scopes, state) values (${given.estab}, ${given.rp}, ${scopes}, 'Approved')
    on conflict (estab, rp) do update set scopes = excluded.scopes, state = 'Approved', changed_at = excluded.changed_at`;
  // Only now does everybody else who approves the same wait: one of two that come at once was first.
  await requireStill(tx, { rp: given.rp, estab: given.estab, kind: 'school' }, given.replaces, decidedMeanwhile);
  if (before?.state === 'Revoked') await tx`delete from school_secret where estab = ${given.estab} and rp = ${given.rp}`;
  await tx`update school_secret set valid_until = now() + interval '24 hours' where estab = ${given.estab} and rp = ${given.rp} and valid_until is null`;
  const issued = await storeSchoolSecret(tx, given.estab, given.rp);
  await meanwhile(tx, issued, scopes);
  return { rp: given.rp, estab: given.estab, scopes, state: 'Approved', schoolSecret: issued.text };
}

/** The state of authorisation a at establishment e as people see it: what was approved is installed, and then live. */
export function shownState(sql: Sql): Fragment {
  return sql`
    case when a.state <> 'Approved' then a.state when a.installed_at is not null then 'Live' when e.connector is not null then 'Installing'
      else 'Approved' end`;
}

function chosenScopes(text: string, asked: { required: string[]; optional: string[] }): Scope[] {
  const request = parseScopes(text);
  const chosen = [...request.required, ...request.optional];
  const stranger = chosen.find((scope) => !asked.required.includes(scope) && !asked.optional.includes(scope));
  if (stranger)
    throw new SchoolbellError(
      'invalid_request',
      `the application does not ask for ${stranger}; it asks for ${[...asked.required, ...asked.optional].join(', ')}`,
    );
  return chosen;
}

/** Pauses, resumes or revokes; the next call with any token of the pair sees it. `meanwhile` is part of the same transaction, here as above. */
export async function changeState(
  db: Db,
  given: { rp: string; estab: string; from: readonly AuthorisationState[]; to: AuthorisationState },
  meanwhile: (tx: Tx) => Promise<unknown> = nothing,
): Promise<{ rp: string; estab: string; state: AuthorisationState }> {
  return db.begin(async (tx) => {
    await requirePair(tx, given.rp, given.estab);
    const [row] = await tx<{ state: AuthorisationState }[]>`select state from authorisation where estab = ${given.estab} and rp = ${given.rp} for update`;
    if (!row) throw new SchoolbellError('not_found', `${given.estab} has not authorised ${given.rp}`);
    if (row.state !== given.to && !given.from.includes(row.state))
      throw new SchoolbellError('conflict', `the authorisation is ${row.state}; approve it again with: authorise --rp ${given.rp} --estab ${given.estab}`);
    if (row.state === given.to) return { rp: given.rp, estab: given.estab, state: given.to };
    await tx`update authorisation set state = ${given.to}, changed_at = now() where estab = ${given.estab} and rp = ${given.rp}`;
    await meanwhile(tx);
    return { rp: given.rp, estab: given.estab, state: given.to };
  });
}

/** The old one ends after so many seconds, or when it would have ended anyway; with 0, at once. */
export async function rotateSchoolSecret(
  db: Db,
  rp: string,
  estab: string,
  meanwhile: (tx: Tx, issued: IssuedSecret) => Promise<unknown> = nothing,
  keepSeconds: number = keptSeconds.school,
  replaces?: string,
): Promise<string> {
  return db.begin(async (tx) => {
    const [row] = await tx`select state from authorisation where estab = ${estab} and rp = ${rp} for update`;
    if (!row) throw new SchoolbellError('not_found', `${estab} has not authorised ${rp}`);
    if (row.state === 'Revoked')
      throw new SchoolbellError('conflict', `the authorisation is Revoked; approve it again with: authorise --rp ${rp} --estab ${estab}`);
    await requireStill(tx, { rp, estab, kind: 'school' }, replaces);
    if (keepSeconds > 0)
      await tx`update school_secret set valid_until = least(valid_until, now() + make_interval(secs => ${keepSeconds})) where estab = ${estab}
        and rp = ${rp}`;
    else await tx`delete from school_secret where estab = ${estab} and rp = ${rp}`;
    const issued = await storeSchoolSecret(tx, estab, rp);
    await meanwhile(tx, issued);
    return issued.text;
  });
}

async function storeSchoolSecret(tx: Tx, estab: string, rp: string): Promise<IssuedSecret> {
  const { text, hash } = makeSecret('school');
  const [row] = await tx<{ id: string }[]>`insert into school_secret (estab, rp, hash) values (${estab}, ${rp}, ${hash}) returning id`;
  return { id: row?.id ?? '', text };
}

async function requirePair(tx: Tx, rp: string, estab: string): Promise<{ required: string[]; optional: string[] }> {
  const [application] = await tx<
    { required: string[]; optional: string[] }[]
  >`select required_scopes as required, optional_scopes as optional from application where rp = ${rp}`;
  if (!application) throw new SchoolbellError('not_found', `there is no application ${rp}`);
  const [establishment] = await tx`select from establishment where estab = ${estab}`;
  if (!establishment) throw new SchoolbellError('not_found', `there is no establishment ${estab}`);
  return application;
}
