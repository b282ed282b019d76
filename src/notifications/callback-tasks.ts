// Finds applications whose events with secrets wait: the callback URL uses plain http outside OUTBOUND_ALLOW, or a developer moved it to a
// host that the operator has not confirmed.
import type { Db } from '../db/connect.ts';
import type { AllowList } from '../http/address-guard.ts';
import { findPlainHttpFault } from '../http/callable.ts';
import { findInbox } from './inbox/address.ts';

export type CallbackTask = {
  rp: string;
  application: string;
  callbackUrl: string;
  /** The host that was confirmed last, if the new one waits; else the URL uses plain http. */
  confirmedHost: string | null;
  changedBy: string | null;
  since: Date | null;
};

/** Names are resolved for no more applications than this. */
const mostResolved = 50;

export async function listCallbackTasks(db: Db, { publicUrl, allowed }: { publicUrl: string; allowed: AllowList }, most: number): Promise<CallbackTask[]> {
  const rows = await db<CallbackTask[]>`
    select rp, name as application, callback_url as "callbackUrl", confirmed_callback_host as "confirmedHost", callback_changed_by as "changedBy",
      callback_changed_at as since
    from application where confirmed_callback_host is not null or callback_url ~* '^http:'
    order by confirmed_callback_host is null, callback_changed_at, rp limit ${mostResolved}`;
  const waits = await Promise.all(rows.map(async ({ confirmedHost, callbackUrl }) => {
    if (confirmedHost !== null) return true;
    return !findInbox(publicUrl, callbackUrl) && (await findPlainHttpFault(callbackUrl, allowed)) !== undefined;
  }));
  return rows.filter((_, at) => waits[at]).slice(0, most);
}
