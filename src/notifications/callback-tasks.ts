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

/** How many names are resolved at a time. */
const batchSize = 50;

/**
 * Lists the first tasks, at most `most`. A URL that is allowed costs a look-up of its name and is no task, so the applications are read in batches
 * until there are enough. While name servers do not answer, each name is a task: the first batch is then the last.
 */
export async function listCallbackTasks(db: Db, { publicUrl, allowed }: { publicUrl: string; allowed: AllowList }, most: number): Promise<CallbackTask[]> {
  const rows = await db<CallbackTask[]>`
    select rp, name as application, callback_url as "callbackUrl", confirmed_callback_host as "confirmedHost", callback_changed_by as "changedBy",
      callback_changed_at as since
    from application where confirmed_callback_host is not null or callback_url ~* '^http:'
    order by confirmed_callback_host is null, callback_changed_at, rp`;
  const isTask = async ({ confirmedHost, callbackUrl }: CallbackTask) =>
    confirmedHost !== null || (!findInbox(publicUrl, callbackUrl) && (await findPlainHttpFault(callbackUrl, allowed)) !== undefined);
  const tasks: CallbackTask[] = [];
  for (let from = 0; from < rows.length && tasks.length < most; from += batchSize) {
    const batch = rows.slice(from, from + batchSize);
    const isTaskAt = await Promise.all(batch.map(isTask));
    tasks.push(...batch.filter((_, at) => isTaskAt[at]));
  }
  return tasks.slice(0, most);
}
