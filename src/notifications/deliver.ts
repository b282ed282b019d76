// In charge of one delivery attempt: signs the stored bytes, makes the guarded call, and says what it means.
import type { Seal } from '../access/seal.ts';
import type { Db } from '../db/connect.ts';
import { idHeader, outboundLimits, type Outbound, type OutboundResult } from '../http/outbound.ts';
import type { ClaimedWork } from '../outbox/claim.ts';
import { findRetryDelay, parseRetryAfter } from '../outbox/schedule.ts';
import type { Outcome } from '../outbox/settle.ts';
import type { Handler } from '../outbox/worker.ts';
import { renderSignature } from './sign.ts';

type Call = { method: string; url: string; contentType?: string };

export function createDelivery(db: Db, seal: Seal, outbound: Outbound, version: string, now: () => number = Date.now): Handler {
  return {
    longestSeconds: outboundLimits.totalMs / 1000,
    async run(work) {
      const secrets = await findSigningSecrets(db, seal, work);
      if (!secrets) return { success: false, state: 'cancelled', errorClass: 'not_authorised', detail: { message: 'the school no longer authorises the application' } };
      const { method, url, contentType } = work.payload as Call;
      const timestamp = Math.floor(now() / 1000);
      const headers: Record<string, string> = {
        [idHeader]: work.id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': renderSignature(work.id, timestamp, work.body, secrets),
        'user-agent': `Schoolbell/${version}`,
        'cache-control': 'no-store',
        ...(contentType ? { 'content-type': contentType } : {}),
      };
      const result = await outbound.call({ id: work.id, method, url, headers, body: work.body });
      return judge(work, result, { method, url, headers }, now());
    },
  };
}

/** The secrets that are valid, newest first; undefined when the pair is no longer authorised. */
async function findSigningSecrets(db: Db, seal: Seal, { estab, rp }: ClaimedWork): Promise<string[] | undefined> {
  const rows = await db<{ sealed: Uint8Array }[]>`
    select s.sealed from authorisation a join application_secret s on s.rp = a.rp and s.kind = 'signing' and (s.valid_until is null or s.valid_until > now())
    where a.estab = ${estab} and a.rp = ${rp} and a.state = 'Approved' order by s.created_at desc`;
  return rows.length === 0 ? undefined : rows.map((row) => seal.open(row.sealed));
}

function judge(work: ClaimedWork, result: OutboundResult, request: object, now: number): Outcome {
  const { status, error, address, timings } = result;
  const detail = { request, status: status ?? null, responseHeaders: result.headers, address: address ?? null, timings, ...(error ? { message: error.message } : {}) };
  const seen = { detail, response: result.response };
  const success = status !== undefined && status >= 200 && status < 300 && (!error || error.class === 'body_too_large');
  if (success) return { success, state: 'done', ...seen };
  const errorClass = error?.class ?? (status !== undefined && status >= 300 && status < 400 ? 'redirect' : `status_${status}`);
  if (status === 410) return { success, state: 'failed', errorClass, disableLane: 'the receiver answered 410 Gone', ...seen };
  const delaySeconds = findRetryDelay(work.attempts + 1, parseRetryAfter(result.headers['retry-after'], now));
  return delaySeconds === undefined ? { success, state: 'failed', errorClass, ...seen } : { success, state: 'waiting', delaySeconds, errorClass, ...seen };
}
