// In charge of authorisations: one application at one establishment, what it may read, and its school secret.
import type { Db, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { parseScopes, type Scope } from './scopes.ts';
import { makeSecret } from './secrets.ts';

export type Authorised = { rp: string; estab: string; scopes: string[]; state: 'Approved'; schoolSecret: string };
export type AuthorisationState = 'Approved' | 'Paused' | 'Revoked';

const nothing = async () => {};

/** Approves, or approves again: the new scopes hold at once, and the old secret for another 24 hours, unless it was revoked. */
export async function authorise(db: Db, given: { rp: string; estab: string; scopes?: string | undefined }, meanwhile: (tx: Tx) => Promise<unknown> = nothing): Promise<Authorised> {
  return db.begin(async (tx) => {
    const asked = await requirePair(tx, given.rp, given.estab);
    const [before] = await tx`select state from authorisation where estab = ${given.estab} and rp = ${given.rp} for update`;
    if (before?.state === 'Revoked') await tx`delete from school_secret where estab = ${given.estab} and rp = ${given.rp}`;
    const scopes = given.scopes === undefined ? [...asked.required, ...asked.optional] : chosenScopes(given.scopes, asked);
    await tx`
      insert into authorisation (estab, rp, scopes, state) values (${given.estab}, ${given.rp}, ${scopes}, 'Approved')
      on conflict (estab, rp) do update set scopes = excluded.scopes, state = 'Approved', changed_at = now()`;
    await tx`update school_secret set valid_until = now() + interval '24 hours' where estab = ${given.estab} and rp = ${given.rp} and valid_until is null`;
    const schoolSecret = await storeSchoolSecret(tx, given.estab, given.rp);
    await meanwhile(tx);
    return { rp: given.rp, estab: given.estab, scopes, state: 'Approved', schoolSecret };
  });
}

function chosenScopes(text: string, asked: { required: string[]; optional: string[] }): Scope[] {
  const request = parseScopes(text);
  const chosen = [...request.required, ...request.optional];
  const stranger = chosen.find((scope) => !asked.required.includes(scope) && !asked.optional.includes(scope));
  if (stranger) throw new SchoolbellError('invalid_request', `the application does not ask for ${stranger}; it asks for ${[...asked.required, ...asked.optional].join(', ')}`);
  return chosen;
}

/** Pauses, resumes or revokes; the next call with any token of the pair sees it. `meanwhile` is part of the same transaction, here as above. */
export async function changeState(db: Db, given: { rp: string; estab: string; from: readonly AuthorisationState[]; to: AuthorisationState }, meanwhile: (tx: Tx) => Promise<unknown> = nothing): Promise<{ rp: string; estab: string; state: AuthorisationState }> {
  return db.begin(async (tx) => {
    await requirePair(tx, given.rp, given.estab);
    const [row] = await tx<{ state: AuthorisationState }[]>`select state from authorisation where estab = ${given.estab} and rp = ${given.rp} for update`;
    if (!row) throw new SchoolbellError('not_found', `${given.estab} has not authorised ${given.rp}`);
    if (row.state !== given.to && !given.from.includes(row.state)) throw new SchoolbellError('conflict', `the authorisation is ${row.state}; approve it again with: authorise --rp ${given.rp} --estab ${given.estab}`);
    await tx`update authorisation set state = ${given.to}, changed_at = now() where estab = ${given.estab} and rp = ${given.rp}`;
    await meanwhile(tx);
    return { rp: given.rp, estab: given.estab, state: given.to };
  });
}

export async function rotateSchoolSecret(db: Db, rp: string, estab: string): Promise<string> {
  return db.begin(async (tx) => {
    const [row] = await tx`select state from authorisation where estab = ${estab} and rp = ${rp} for update`;
    if (!row) throw new SchoolbellError('not_found', `${estab} has not authorised ${rp}`);
    if (row.state === 'Revoked') throw new SchoolbellError('conflict', `the authorisation is Revoked; approve it again with: authorise --rp ${rp} --estab ${estab}`);
    await tx`delete from school_secret where estab = ${estab} and rp = ${rp}`;
    return storeSchoolSecret(tx, estab, rp);
  });
}

async function storeSchoolSecret(tx: Tx, estab: string, rp: string): Promise<string> {
  const { text, hash } = makeSecret('school');
  await tx`insert into school_secret (estab, rp, hash) values (${estab}, ${rp}, ${hash})`;
  return text;
}

async function requirePair(tx: Tx, rp: string, estab: string): Promise<{ required: string[]; optional: string[] }> {
  const [application] = await tx<{ required: string[]; optional: string[] }[]>`select required_scopes as required, optional_scopes as optional from application where rp = ${rp}`;
  if (!application) throw new SchoolbellError('not_found', `there is no application ${rp}`);
  const [establishment] = await tx`select from establishment where estab = ${estab}`;
  if (!establishment) throw new SchoolbellError('not_found', `there is no establishment ${estab}`);
  return application;
}
