// In charge of what the log says of work that failed: one line for each failure that nobody will repair by waiting, with
// the school, the application and the reason; no names or addresses of people, and nothing behind a URL's question mark.
import type { ClaimedWork } from './claim.ts';
import { ownFault, waitsForApproval, type Finished } from './settle.ts';

export type WarnLog = { warn(details: object, message: string): void };

const messages = { failed: 'work failed', waiting: 'work failed; it will be tried again', done: 'work failed' } as const;

/** What is tried again is no failure yet, unless it says that somebody should look at it. What was cancelled is nobody's fault. */
export function tellFailure(log: WarnLog, { work, outcome }: Finished): void {
  const { success, state, alarming = false, errorClass, detail, delaySeconds } = outcome;
  if (success || state === 'cancelled' || errorClass === ownFault) return;
  if (state !== 'failed' && !alarming) return;
  const reason = clean(typeof detail.message === 'string' ? detail.message : (errorClass ?? 'unknown'));
  const details = { ...describeWork(work), class: errorClass, reason, ...(state === 'waiting' ? { againInSeconds: Math.round(delaySeconds ?? 0) } : {}) };
  log.warn(details, errorClass === waitsForApproval ? 'work needs a decision by a person' : messages[state]);
}

/** Which work it is, and whose. The kind is that of the metrics. */
export function describeWork({ estab, rp, kind, payload, lane, id }: ClaimedWork): object {
  return { kind: typeof payload.event === 'string' ? payload.event : kind, estab, ...(rp === null ? {} : { rp }), lane, id };
}

function clean(reason: string): string {
  return reason.replaceAll(/(\bhttps?:\/\/[^\s?#"']*)[?#][^\s"']*/gi, '$1').replaceAll(/[^\s<>"'(:,;]+@[^\s<>"'):,;]+/g, '<address>');
}
