// In charge of what follows when an application is edited: calls that wait for its callback URL go to the new one, and no
// school grants, or is asked for, what the application does not ask for any more. What it asks for besides is granted by
// nobody until the school approves again.
import { changeApplication, requireApplication, type Application, type ApplicationChange, type Editor } from '../access/applications.ts';
import type { Sql, Tx } from '../db/connect.ts';
import type { AllowList } from '../http/address-guard.ts';
import { notifyCallbackChange, notifyContactChange } from '../mail/application-changed.ts';
import { requireCallbackUrl } from '../notifications/inbox/require-target.ts';
import { moveCallback, releaseCallback } from '../notifications/move-callback.ts';
import { changeScopes, type Deciding } from './approve.ts';

export type Edited = { application: Application; narrowed: string[]; moved: number };

/** `allowed`: OUTBOUND_ALLOW, inside which a callback URL may use plain http. */
export type Editing = Deciding & { allowed: AllowList };

export async function editApplication(deciding: Editing, rp: string, change: ApplicationChange, editor: Editor): Promise<Edited> {
  const { db, publicUrl } = deciding;
  // An unchanged URL is not validated: one that is no longer allowed is no reason to refuse every other change.
  if (change.callbackUrl !== undefined && change.callbackUrl !== (await requireApplication(db, rp)).callbackUrl)
    await requireCallbackUrl(db, deciding, change.callbackUrl, rp);
  const moved = await db.begin(async (tx) => {
    const { before, after } = await changeApplication(tx, rp, change, editor);
    const schools = await listSchools(tx, rp);
    if (change.scopes !== undefined) for (const estab of schools) await narrowInvitation(tx, estab, after);
    const isMoved = before.callbackUrl !== after.callbackUrl;
    if (after.confirmedCallbackHost === null && (isMoved || before.confirmedCallbackHost !== null)) await releaseCallback(tx, rp, schools);
    if (editor.isDeveloper && before.contact !== after.contact)
      await notifyContactChange(tx, publicUrl, { application: after, from: before.contact, to: after.contact, by: editor });
    if (!isMoved) return 0;
    const waits = after.confirmedCallbackHost !== null;
    const contacts = [before.contact, after.contact];
    await notifyCallbackChange(tx, publicUrl, { application: after, contacts, from: before.callbackUrl, to: after.callbackUrl, waits, by: editor });
    return moveCallback(tx, rp, after.callbackUrl, schools);
  });
  const application = await requireApplication(deciding.db, rp);
  return { application, narrowed: await narrowGrants(deciding, application), moved };
}

/** Those that it is authorised at, or has asked. */
export async function listSchools(sql: Sql, rp: string): Promise<string[]> {
  const rows = await sql<{ estab: string }[]>`
    select estab from authorisation where rp = ${rp} union select estab from invitation where rp = ${rp} order by estab`;
  return rows.map(({ estab }) => estab);
}

/** An invitation that asked for nothing but what is asked for no more asks for what the application asks for now. */
async function narrowInvitation(tx: Tx, estab: string, { rp, requiredScopes, optionalScopes }: Application): Promise<void> {
  const open = tx`estab = ${estab} and rp = ${rp} and state in ('Proposed', 'Invited')`;
  const [asked] = await tx<{ scopes: string[] }[]>`select required_scopes || optional_scopes as scopes from invitation where ${open} for update`;
  if (!asked) return;
  const still = (scopes: readonly string[]) => scopes.filter((scope) => asked.scopes.includes(scope));
  const [required, optional] = [still(requiredScopes), still(optionalScopes)];
  const none = required.length + optional.length === 0;
  await tx`update invitation set required_scopes = ${none ? requiredScopes : required}, optional_scopes = ${none ? optionalScopes : optional} where ${open}`;
}

/** Each school by itself, with its record and its receipt; a sudden end leaves the rest to the next edit. */
async function narrowGrants(deciding: Deciding, { rp, requiredScopes, optionalScopes }: Application): Promise<string[]> {
  const asked = [...requiredScopes, ...optionalScopes];
  const wider = await deciding.db<{ estab: string; scopes: string[] }[]>`
    select estab, scopes from authorisation where rp = ${rp} and state in ('Approved', 'Paused') and not scopes <@ ${asked} order by estab`;
  for (const { estab, scopes } of wider) await changeScopes(deciding, { estab, rp, scopes, actor: 'operator' });
  return wider.map(({ estab }) => estab);
}
