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
  const findSigningSecrets = createSecretFinder(db, seal);
  return {
    longestSeconds: outboundLimits.totalMs / 1000,
    async run(work) {
      const secrets = await findSigningSecrets(work);
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

type Asked = { work: ClaimedWork; resolve(secrets: string[] | undefined): void; reject(error: unknown): void };

/** The secrets that are valid, newest first; undefined when the pair is no longer authorised. Asked for a batch at a time. */
function createSecretFinder(db: Db, seal: Seal): (work: ClaimedWork) => Promise<string[] | undefined> {
  let asked: Asked[] = [];

  async function answer(): Promise<void> {
    const batch = asked;
    asked = [];
    try {
      const rows = await db<{ estab: string; rp: string; sealed: Uint8Array }[]>`
        select distinct a.estab, a.rp, s.sealed, s.created_at
        from unnest(${batch.map(({ work }) => work.estab)}::text[], ${batch.map(({ work }) => work.rp ?? '')}::text[]) as pair (estab, rp)
        join authorisation a on a.estab = pair.estab and a.rp = pair.rp and a.state = 'Approved'
        join application_secret s on s.rp = a.rp and s.kind = 'signing' and (s.valid_until is null or s.valid_until > now())
        order by s.created_at desc`;
      const found = Map.groupBy(rows, ({ estab, rp }) => `${estab} ${rp}`);
      for (const { work, resolve } of batch) resolve(found.get(`${work.estab} ${work.rp}`)?.map((row) => seal.open(row.sealed)));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return (work) =>
    new Promise((resolve, reject) => {
      if (asked.length === 0) setImmediate(() => void answer());
      asked.push({ work, resolve, reject });
    });
}

function judge(work: ClaimedWork, result: OutboundResult, request: object, now: number): Outcome {
  const { status, error, address, timings } = result;
  const detail = { request, status: status ?? null, responseHeaders: result.headers, address: address ?? null, timings, ...(error ? { message: error.message } : {}) };
  const seen = { detail, response: result.response };
  // The status decides: a receiver that took the event and then fumbled its answer has taken it.
  const success = status !== undefined && status >= 200 && status < 300;
  if (success) return { success, state: 'done', ...seen };
  const errorClass = error?.class ?? (status !== undefined && status >= 300 && status < 400 ? 'redirect' : `status_${status}`);
  if (status === 410) return { success, state: 'failed', errorClass, disableLane: 'the receiver answered 410 Gone', ...seen };
  const delaySeconds = findRetryDelay(work.attempts + 1, parseRetryAfter(result.headers['retry-after'], now));
  return delaySeconds === undefined ? { success, state: 'failed', errorClass, ...seen } : { success, state: 'waiting', delaySeconds, errorClass, ...seen };
}
