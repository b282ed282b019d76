// In charge of applications (relying parties), what is said about them, and the secrets that belong to them alone.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Db, Sql, Tx } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';
import { requireStill } from './credentials.ts';
import { isDots } from './establishments.ts';
import { parseScopes, type ScopeRequest } from './scopes.ts';
import type { Seal } from './seal.ts';
import { sealedAs } from './sealed-as.ts';
import { keptSeconds, makeSecret, type SecretKind } from './secrets.ts';

export type NewApplication = { rp: string; clientId: string; clientSecret: string; managementSecret: string; signingSecret: string };
export type ApplicationSecretKind = Exclude<SecretKind, 'school'>;

/** What schools read about it: an empty text takes one away. */
type Profile = { website?: string | undefined; privacyNotice?: string | undefined; contact?: string | undefined; stateEvents?: boolean | undefined };
/** demo: it is there to rehearse with, and the sandbox may do things to it. */
type Given = Profile & { rp: string; name: string; callbackUrl: string; scopes: string; redirectUris: readonly string[]; demo?: boolean };
/** Values that are not given stay. `confirmCallback`: the callback URL that the operator has seen and confirms. */
export type ApplicationChange = Profile &
  Partial<Record<'name' | 'callbackUrl' | 'scopes', string | undefined>> & { redirectUris?: readonly string[]; confirmCallback?: string | undefined };
/** The person who changes an application. A developer's change of the callback URL to another host waits for the operator. */
export type Editor = { name: string; isDeveloper: boolean };

export type Application = {
  rp: string;
  name: string;
  clientId: string;
  callbackUrl: string;
  redirectUris: string[];
  requiredScopes: string[];
  optionalScopes: string[];
  website: string | null;
  privacyNotice: string | null;
  contact: string | null;
  /** The last change of the callback URL; null if there was none. */
  callbackChange: { from: string; by: string; at: string } | null;
  /** The callback host that was confirmed last. Set only while a developer's change to another host waits for the operator. */
  confirmedCallbackHost: string | null;
  stateEvents: boolean;
  demo: boolean;
  created: Date;
};

export async function addApplication(db: Db, seal: Seal, given: Given): Promise<NewApplication> {
  return db.begin((tx) => insertApplication(tx, seal, given));
}

export async function insertApplication(tx: Tx, seal: Seal, given: Given): Promise<NewApplication> {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(given.rp)) throw new SchoolbellError('invalid_request', `--rp "${given.rp}": 1 to 64 of A-Z a-z 0-9 . _ -`);
  if (isDots(given.rp)) throw new SchoolbellError('invalid_request', `--rp "${given.rp}": no address could hold it; choose another`);
  requireUsable(given);
  const { required, optional } = parseScopes(given.scopes);
  const clientId = `${given.rp}.${randomBytes(6).toString('hex')}`;
  const added = await tx`
    insert into application
      (rp, name, callback_url, redirect_uris, required_scopes, optional_scopes, client_id, website, privacy_notice, contact, state_events, demo)
    values (${given.rp}, ${given.name}, ${given.callbackUrl}, ${[...given.redirectUris]}, ${required}, ${optional}, ${clientId}, ${given.website || null},
      ${given.privacyNotice || null}, ${given.contact || null}, ${given.stateEvents === true}, ${given.demo === true})
    on conflict do nothing returning rp`;
  if (added.length === 0) throw new SchoolbellError('conflict', `the application ${given.rp} exists already`);
  const clientSecret = await storeSecret(tx, seal, given.rp, 'client');
  const managementSecret = await storeSecret(tx, seal, given.rp, 'management');
  const signingSecret = await storeSecret(tx, seal, given.rp, 'signing');
  return { rp: given.rp, clientId, clientSecret, managementSecret, signingSecret };
}

function requireUsable({ name, callbackUrl, redirectUris, website, privacyNotice, contact }: ApplicationChange): void {
  if (name?.trim() === '') throw new SchoolbellError('invalid_request', '--name: must not be empty');
  const urls = [
    ['--callback-url', callbackUrl],
    ...(redirectUris ?? []).map((uri) => ['--redirect-uri', uri] as const),
    ['--website', website || undefined],
    ['--privacy-notice', privacyNotice || undefined],
  ] as const;
  for (const [option, url] of urls) {
    if (url !== undefined && (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol)))
      throw new SchoolbellError('invalid_request', `${option} "${url}": not a URL that begins with http:// or https://`);
  }
  if (contact && !/^[^\s@]+@[^\s@]+$/.test(contact)) throw new SchoolbellError('invalid_request', `--contact "${contact}": not an e-mail address`);
}

/** words: of the name or the id. after: the id of the last that was seen. */
export async function searchApplications(
  db: Db,
  { words = '', after = '', most = null }: { words?: string | undefined; after?: string | undefined; most?: number | null } = {},
): Promise<Application[]> {
  const wanted = words.toLowerCase();
  return db<Application[]>`
    select ${columns(db)} from application
    where rp > ${after} and (${wanted} = '' or position(${wanted} in lower(name)) > 0 or position(${wanted} in lower(rp)) > 0) order by rp limit ${most}`;
}

/** To choose one from: in the order of their ids. */
export async function nameApplications(db: Db, most: number): Promise<Pick<Application, 'rp' | 'name'>[]> {
  return db<Pick<Application, 'rp' | 'name'>[]>`select rp, name from application order by rp limit ${most}`;
}

export async function requireApplication(sql: Sql, rp: string): Promise<Application> {
  const [found] = await sql<Application[]>`select ${columns(sql)} from application where rp = ${rp}`;
  if (!found) throw new SchoolbellError('not_found', `there is no application ${rp}; application list shows those there are`);
  return found;
}

const columns = (sql: Sql) => sql`
  rp, name, client_id as "clientId", callback_url as "callbackUrl", redirect_uris as "redirectUris", required_scopes as "requiredScopes",
  optional_scopes as "optionalScopes", website, privacy_notice as "privacyNotice", contact,
  case when callback_changed_at is not null then jsonb_build_object('from', callback_changed_from, 'by', callback_changed_by, 'at', callback_changed_at)
    end as "callbackChange",
  confirmed_callback_host as "confirmedCallbackHost", state_events as "stateEvents", demo, created_at as created`;

/** Returns the host with its port: another port may belong to another program. */
const callbackHostOf = (url: string) => new URL(url).host;

/** Returns the command that confirms exactly this URL. The URL is quoted for a shell because a developer chose it. */
export const renderConfirmCommand = ({ rp, callbackUrl }: Pick<Application, 'rp' | 'callbackUrl'>) =>
  `application edit --rp ${rp} --confirm-callback --callback-url '${callbackUrl.replaceAll("'", String.raw`'\''`)}'`;

/** Returns the confirmed host if events with secrets have to wait for the operator after this change, else null. */
function findConfirmedHost(before: Application, { callbackUrl = before.callbackUrl, confirmCallback }: ApplicationChange, editor: Editor): string | null {
  if (confirmCallback !== undefined) return null;
  if (callbackUrl === before.callbackUrl) return before.confirmedCallbackHost;
  const confirmed = before.confirmedCallbackHost ?? callbackHostOf(before.callbackUrl);
  return editor.isDeveloper && callbackHostOf(callbackUrl) !== confirmed ? confirmed : null;
}

/** Gives what it was and what it is. What follows from it for those who use it is for the caller, in the same transaction. */
export async function changeApplication(tx: Tx, rp: string, change: ApplicationChange, editor: Editor): Promise<{ before: Application; after: Application }> {
  requireUsable(change);
  const scopes: ScopeRequest | undefined = change.scopes === undefined ? undefined : parseScopes(change.scopes);
  await tx`select from application where rp = ${rp} for update`;
  const before = await requireApplication(tx, rp);
  if (change.confirmCallback !== undefined && change.confirmCallback !== before.callbackUrl)
    throw new SchoolbellError('conflict', `The callback URL of ${rp} is ${before.callbackUrl} now. Nothing was changed. Look at this URL, then confirm it.`);
  const kept = (given: string | undefined, old: string | null) => (given === undefined ? old : given || null);
  const moved = change.callbackUrl !== undefined && change.callbackUrl !== before.callbackUrl;
  if (moved)
    await tx`
      update application set callback_changed_from = ${before.callbackUrl}, callback_changed_by = ${editor.name}, callback_changed_at = now()
      where rp = ${rp}`;
  await tx`
    update application set confirmed_callback_host = ${findConfirmedHost(before, change, editor)}, name = ${change.name ?? before.name},
      callback_url = ${change.callbackUrl ?? before.callbackUrl},
      redirect_uris = ${[...(change.redirectUris ?? before.redirectUris)]}, required_scopes = ${scopes?.required ?? before.requiredScopes},
      optional_scopes = ${scopes?.optional ?? before.optionalScopes}, website = ${kept(change.website, before.website)},
      privacy_notice = ${kept(change.privacyNotice, before.privacyNotice)}, contact = ${kept(change.contact, before.contact)},
      state_events = ${change.stateEvents ?? before.stateEvents}
    where rp = ${rp}`;
  return { before, after: await requireApplication(tx, rp) };
}

/** Replaces a secret. The old one ends after so many seconds, or when it would have ended anyway; with 0, at once. */
export async function rotateApplicationSecret(
  db: Db,
  seal: Seal,
  rp: string,
  kind: ApplicationSecretKind,
  keepSeconds: number = keptSeconds[kind],
  replaces?: string,
): Promise<string> {
  return db.begin(async (tx) => {
    const [known] = await tx`select from application where rp = ${rp} for update`;
    if (!known) throw new SchoolbellError('not_found', `there is no application ${rp}`);
    await requireStill(tx, { rp, kind }, replaces);
    if (keepSeconds > 0)
      await tx`update application_secret set valid_until = least(valid_until, now() + make_interval(secs => ${keepSeconds})) where rp = ${rp}
        and kind = ${kind}`;
    else await tx`delete from application_secret where rp = ${rp} and kind = ${kind}`;
    return storeSecret(tx, seal, rp, kind);
  });
}

async function storeSecret(sql: Sql, seal: Seal, rp: string, kind: ApplicationSecretKind): Promise<string> {
  const { text, hash } = makeSecret(kind);
  const id = randomUUID();
  const sealed = kind === 'signing' ? seal.seal(text, sealedAs.signingSecret(rp, id)) : null;
  await sql`insert into application_secret (id, rp, kind, hash, sealed) values (${id}, ${rp}, ${kind}, ${hash}, ${sealed})`;
  return text;
}
