// In charge of one delivery attempt: signs the stored bytes, makes the guarded call, and says what it means.
import type { Seal } from '../access/seal.ts';
import type { Db } from '../db/connect.ts';
import { idHeader, outboundLimits, type Outbound, type OutboundResult } from '../http/outbound.ts';
import type { ClaimedWork } from '../outbox/claim.ts';
import { findRetryDelay, parseRetryAfter } from '../outbox/schedule.ts';
import type { Outcome } from '../outbox/settle.ts';
import type { Handler } from '../outbox/worker.ts';
import { databases } from './databases.ts';
import { renderSignature } from './sign.ts';

type Call = { method: string; url: string; contentType?: string };

export function createDelivery(db: Db, seal: Seal, outbound: Outbound, version: string, now: () => number = Date.now): Handler {
  const findSigningSecrets = createSecretFinder(db, seal);
  return {
    longestSeconds: outboundLimits.totalMs / 1000,
    async run(work) {
      const secrets = await findSigningSecrets(work);
      if (!secrets) return { success: false, state: 'cancelled', errorClass: 'not_authorised', detail: { message: 'the school no longer authorises this, or the registration is gone' } };
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

type Standing = { position: number; scopes: string[]; url: string | null; databaseName: string | null; sealed: Uint8Array };

/** A database event is wanted as long as its registration stands as it was and the scopes still open the database. */
function stillStands(work: ClaimedWork | undefined, { url, databaseName, scopes }: Standing): boolean {
  if (!work?.lane.startsWith('webhook ')) return true;
  return url === (work.payload as Call).url && (databases[databaseName ?? ''] ?? []).some((scope) => scopes.includes(scope));
}

type Asked = { work: ClaimedWork; resolve(secrets: string[] | undefined): void; reject(error: unknown): void };

/** The secrets that are valid, newest first; undefined when nobody wants the call any more. Asked for a batch at a time. */
function createSecretFinder(db: Db, seal: Seal): (work: ClaimedWork) => Promise<string[] | undefined> {
  let asked: Asked[] = [];

  async function answer(): Promise<void> {
    const batch = asked;
    asked = [];
    try {
      const rows = await db<Standing[]>`
        select pair.position::int - 1 as position, a.scopes, w.url, w.database_name as "databaseName", s.sealed
        from unnest(${batch.map(({ work }) => work.estab)}::text[], ${batch.map(({ work }) => work.rp ?? '')}::text[], ${batch.map(({ work }) => work.lane)}::text[]) with ordinality as pair (estab, rp, lane, position)
        join authorisation a on a.estab = pair.estab and a.rp = pair.rp and a.state = 'Approved'
        join application_secret s on s.rp = a.rp and s.kind = 'signing' and (s.valid_until is null or s.valid_until > now())
        left join webhook w on w.estab = pair.estab and w.rp = pair.rp and 'webhook ' || w.id = pair.lane
        order by s.created_at desc`;
      const found = Map.groupBy(rows.filter((row) => stillStands(batch[row.position]?.work, row)), (row) => row.position);
      const open = openOnce(seal);
      batch.forEach(({ resolve }, position) => resolve(found.get(position)?.map((row) => open(row.sealed))));
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

/** A batch is mostly for a few applications, and opening a secret costs as much as signing with it. */
function openOnce(seal: Seal): (sealed: Uint8Array) => string {
  const opened = new Map<string, string>();
  return (sealed) => {
    const key = Buffer.from(sealed).toString('latin1');
    const secret = opened.get(key) ?? seal.open(sealed);
    opened.set(key, secret);
    return secret;
  };
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
