// In charge of which addresses an application may have called: its own inboxes, and whatever the guard of outgoing calls lets through.
import type { Db, Sql } from '../../db/connect.ts';
import { SchoolbellError } from '../../errors.ts';
import type { AllowList } from '../../http/address-guard.ts';
import { findPlainHttpFault, requireCallable } from '../../http/callable.ts';
import { findInbox } from './address.ts';

/** Throws unless that application may have it called; gives a remark, if there is one. */
export type RequireTarget = (parameter: string, url: string, rp: string) => Promise<string | undefined>;

export function createRequireTarget(db: Db, publicUrl: string, allowed: AllowList): RequireTarget {
  return async (parameter, url, rp) => {
    const what = `"${parameter}" cannot be called`;
    if (await isOwnInbox(db, publicUrl, url, rp, what)) return undefined;
    return requireCallable(what, url, allowed);
  };
}

/**
 * Throws unless the application may have this callback URL: an inbox of its own, or a URL that may be called and that uses https, or plain http
 * inside OUTBOUND_ALLOW. The rules are the same for operators and developers.
 */
export async function requireCallbackUrl(sql: Sql, { publicUrl, allowed }: { publicUrl: string; allowed: AllowList }, url: string, rp: string): Promise<void> {
  if (await isOwnInbox(sql, publicUrl, url, rp, `--callback-url "${url}"`)) return;
  await requireCallable('--callback-url cannot be called', url, allowed);
  const fault = await findPlainHttpFault(url, allowed);
  if (fault !== undefined) throw new SchoolbellError('invalid_request', `--callback-url "${url}": must begin with https://. ${fault}`);
}

/** An inbox of another application, or of none, is refused in the same words: whether it is there is nobody else's business. */
async function isOwnInbox(sql: Sql, publicUrl: string, url: string, rp: string, what: string): Promise<boolean> {
  const inbox = findInbox(publicUrl, url);
  if (!inbox) return false;
  const [own] = await sql`select from inbox where key = ${inbox.key} and rp = ${rp}`;
  if (!own) throw new SchoolbellError('invalid_request', `${what}: ${rp} has no such inbox; the console shows the address of each that it has.`);
  return true;
}
