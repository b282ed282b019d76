// In charge of which addresses an application may have called: its own inboxes, and whatever the guard of outgoing calls lets through.
import type { Db, Sql } from '../../db/connect.ts';
import { SchoolbellError } from '../../errors.ts';
import type { AllowList } from '../../http/address-guard.ts';
import { requireCallable } from '../../http/callable.ts';
import { findInbox } from './address.ts';

/** Throws unless that application may have it called; gives a remark, if there is one. */
export type RequireTarget = (parameter: string, url: string, rp: string) => Promise<string | undefined>;

export function createRequireTarget(db: Db, publicUrl: string, allowed: AllowList): RequireTarget {
  return async (parameter, url, rp) => {
    if (await isOwnInbox(db, publicUrl, url, rp, `"${parameter}" cannot be called`)) return undefined;
    return requireCallable(parameter, url, allowed);
  };
}

/** A callback URL is judged by the guard at every call, and here by whose it is. */
export async function requireOwnInbox(sql: Sql, publicUrl: string, url: string, rp: string): Promise<void> {
  await isOwnInbox(sql, publicUrl, url, rp, `--callback-url "${url}"`);
}

/** An inbox of another application, or of none, is refused in the same words: whether it is there is nobody else's business. */
async function isOwnInbox(sql: Sql, publicUrl: string, url: string, rp: string, what: string): Promise<boolean> {
  const inbox = findInbox(publicUrl, url);
  if (!inbox) return false;
  const [own] = await sql`select from inbox where key = ${inbox.key} and rp = ${rp}`;
  if (!own) throw new SchoolbellError('invalid_request', `${what}: ${rp} has no such inbox; the console shows the address of each that it has.`);
  return true;
}
