// In charge of one delivery attempt: signs the stored bytes, makes the guarded call, and says what it means.
import type { Seal } from '../access/seal.ts';
import { sealedAs } from '../access/sealed-as.ts';
import { readMoment } from '../db/clock.ts';
import type { Db } from '../db/connect.ts';
import type { AllowList } from '../http/address-guard.ts';
import { outboundLimits, type Outbound, type OutboundResult } from '../http/outbound.ts';
import type { ClaimedWork } from '../outbox/claim.ts';
import { notHeld } from '../outbox/leases.ts';
import { findRetryDelay, parseRetryAfter } from '../outbox/schedule.ts';
import type { Outcome } from '../outbox/settle.ts';
import type { Handler } from '../outbox/worker.ts';
import { databases } from './databases.ts';
import { eraseSecret } from './erase-secrets.ts';
import type { EventFaults } from './event-faults.ts';
import { keepAnswer } from './kept-answer.ts';
import { forCallback } from './move-callback.ts';
import { isOutdated } from './outdated.ts';
import { renderSignature } from './sign.ts';
import { isCallbackTest } from './test-callback.ts';
import { describeEvent } from './webhooks.ts';

/** Only whoever runs this can do something about these. */
const alarming: readonly string[] = ['blocked_address', 'invalid_url'];

type Call = { event: string; method: string; url: string; contentType?: string };

/** answersFrom: addresses that are not public but whose answers are kept. faults: what the sandbox does, where there is one. */
export type DeliveryOptions = { answersFrom?: AllowList; now?: (() => number) | undefined; faults?: EventFaults | undefined };

export function createDelivery(db: Db, seal: Seal, outbound: Outbound, version: string, options: DeliveryOptions = {}): Handler {
  const { answersFrom = [], now = Date.now, faults } = options;
  const find = createStandingFinder(db, seal);
  return {
    longestSeconds: outboundLimits.totalMs / 1000,
    async run(work, isHeld = () => true) {
      // The stored copy is erased once it arrived; a worker that died right after has delivered it.
      if (work.payload.sealed && !work.body) return { success: true, state: 'done', detail: { message: 'was delivered before' } };
      const received = now();
      if (work.payload.tellsState !== undefined && (await isOutdated(db, work, { justSaid: 'holds' })))
        return { success: false, state: 'cancelled', errorClass: 'outdated', detail: { message: 'how it stands was told anew meanwhile' } };
      const found = await find(work);
      if (!found)
        return {
          success: false,
          state: 'cancelled',
          errorClass: 'not_authorised',
          detail: { message: 'the school does not authorise this at present, or the registration is gone' },
        };
      if (found.unconfirmed)
        return waitForCallback(work, 'callback_unconfirmed', { message: 'a developer moved the callback URL to a host that the operator has not confirmed' });
      const instead = await faults?.before(work);
      if (instead) return instead;
      const {
        secrets,
        body,
        payload: { method, url, contentType, event },
      } = found;
      // By the database's clock: a receiver refuses what seems old or from the future, and workers' clocks differ.
      const timestamp = Math.floor(work.claimedAt + (now() - received) / 1000);
      const headers: Record<string, string> = {
        'webhook-id': work.id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': renderSignature(work.id, timestamp, body, secrets),
        'user-agent': `Schoolbell/${version}`,
        'cache-control': 'no-store',
        ...(contentType ? { 'content-type': contentType } : {}),
        ...(event === 'test' ? { 'schoolbell-test': 'true' } : {}),
      };
      if (!isHeld()) return notHeld;
      const result = await outbound.call({ method, url, headers, body, ...(work.payload.sealed ? { secret: true } : {}) });
      const answered = judge(work, result, { method, url, headers }, answersFrom, now());
      const judged: Outcome = event === 'test' && answered.state === 'waiting' ? { ...answered, state: 'failed' } : answered;
      // It was made: that the sandbox cannot be asked is no reason to make it again.
      const outcome = faults ? await faults.after(work, judged).catch(() => judged) : judged;
      if (outcome.state === 'done' && work.payload.sealed) await eraseSecret(db, work);
      return outcome;
    },
  };
}

/** `unconfirmed`: the call carries a secret, and its host waits for the operator's confirmation. */
type Found = { secrets: string[]; payload: Call; body: Uint8Array | null; unconfirmed?: boolean };
type Standing = {
  position: number;
  /** Of the authorisation; null where there is none. */
  state: string | null;
  scopes: string[] | null;
  webhookId: string | null;
  url: string | null;
  method: 'GET' | 'POST' | null;
  databaseName: string | null;
  callbackUrl: string;
  confirmedCallbackHost: string | null;
  rp: string;
  secretId: string;
  sealed: Uint8Array;
};
type Asked = { work: ClaimedWork; resolve(found: Found | undefined): void; reject(error: unknown): void };

/**
 * The secrets that are valid, newest first, and the bytes to send; undefined when nobody wants the call any more, or
 * may not have it at present. A database event goes to where its registration says now. Asked for a batch at a time.
 */
function createStandingFinder(db: Db, seal: Seal): (work: ClaimedWork) => Promise<Found | undefined> {
  let asked: Asked[] = [];
  /** They wait for locks: one after the other, and no others wait for them. */
  let judging = Promise.resolve();

  async function answer(): Promise<void> {
    const batch = asked;
    asked = [];
    try {
      const rows = await db<Standing[]>`
        select pair.position::int - 1 as position, a.state, a.scopes, w.id as "webhookId", w.url, w.method, w.database_name as "databaseName",
          p.callback_url as "callbackUrl", p.confirmed_callback_host as "confirmedCallbackHost", s.rp, s.id as "secretId", s.sealed
        from unnest(${batch.map(({ work }) => work.estab)}::text[], ${batch.map(({ work }) => work.rp ?? '')}::text[],
          ${batch.map(({ work }) => work.lane)}::text[]) with ordinality as pair (estab, rp, lane, position)
        join application_secret s on s.rp = pair.rp and s.kind = 'signing' and (s.valid_until is null or s.valid_until > now())
        join application p on p.rp = pair.rp
        left join authorisation a on a.estab = pair.estab and a.rp = pair.rp
        left join webhook w on w.estab = pair.estab and w.rp = pair.rp and 'webhook ' || w.id = pair.lane
        order by s.created_at desc`;
      const found = Map.groupBy(rows, (row) => row.position);
      const open = openOnce(seal);
      const settle = ({ work, resolve, reject }: Asked, rows: readonly Standing[]) => {
        // One application's secret that cannot be opened is no reason to leave the others without.
        try {
          resolve(decide(work, rows, open));
        } catch (error) {
          reject(error);
        }
      };
      const held: { row: Standing; more: readonly Standing[]; one: Asked }[] = [];
      for (const [position, one] of batch.entries()) {
        const [row, ...more] = found.get(position) ?? [];
        if (row?.webhookId && one.work.payload.event === 'database' && !mayHave(row, one.work)) held.push({ row, more, one });
        else settle(one, row ? [row, ...more] : []);
      }
      for (const { row, more, one } of held)
        judging = judging.then(() => judgeAgain(db, one.work, row).then((now) => settle(one, [now, ...more]), one.reject));
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

function decide(work: ClaimedWork, rows: readonly Standing[], open: Open): Found | undefined {
  const [row] = rows;
  if (!row || !mayHave(row, work)) return undefined;
  const secrets = rows.map(({ rp, secretId, sealed }) => open(sealed, sealedAs.signingSecret(rp, secretId)));
  const stored = { secrets, payload: work.payload as Call, body: openBody(work, open) };
  // A secret goes to the callback URL of this moment and to no earlier one.
  if (work.payload.sealed)
    return { ...stored, payload: { ...stored.payload, url: row.callbackUrl }, unconfirmed: row.confirmedCallbackHost !== null };
  if (!row.webhookId || row.url === null || row.method === null) return stored;
  if (row.url === stored.payload.url && row.method === stored.payload.method) return stored;
  const { payload, body } = describeEvent({
    estab: work.estab,
    id: row.webhookId,
    rp: work.rp ?? '',
    databaseName: row.databaseName ?? '',
    url: row.url,
    method: row.method,
  });
  return { secrets, payload: { ...(payload as Call), event: stored.payload.event }, body };
}

function openBody({ estab, rp, id, payload, body }: ClaimedWork, open: Open): Uint8Array | null {
  return payload.sealed && body ? Buffer.from(open(body, sealedAs.authenticationEvent(estab, rp ?? '', id))) : body;
}

/** A call for a registration is wanted as long as that is there and the scopes still open its database; how it stands is told however it stands. */
function mayHave({ state, scopes, webhookId, databaseName }: Standing, work: ClaimedWork): boolean {
  const { lane, payload } = work;
  if (payload.tellsState !== undefined || isCallbackTest(work)) return true;
  if (state !== 'Approved') return false;
  if (!lane.startsWith('webhook ')) return true;
  return webhookId !== null && (databases[databaseName ?? ''] ?? []).some((scope) => scopes?.includes(scope));
}

/**
 * A registration that is held back is told later of what it misses now. Judged once more under a lock that whoever
 * resumes it waits for: either this event goes out, or they find that one was missed. Gives what holds.
 */
async function judgeAgain(db: Db, work: ClaimedWork, row: Standing): Promise<Standing> {
  return db.begin(async (tx) => {
    const [now] = await tx<
      Pick<Standing, 'state' | 'scopes'>[]
    >`select state, scopes from authorisation where estab = ${work.estab} and rp = ${work.rp} for share`;
    // It may have waited long for its turn, and the registration have moved.
    const [webhook] = await tx<Pick<Standing, 'webhookId' | 'url' | 'method' | 'databaseName'>[]>`
      select id as "webhookId", url, method, database_name as "databaseName" from webhook where estab = ${work.estab} and id = ${row.webhookId}`;
    const judged = { ...row, ...now, webhookId: null, ...webhook };
    if (!mayHave(judged, work)) await tx`update webhook set missed_at = ${await readMoment(tx)} where estab = ${work.estab} and id = ${row.webhookId}`;
    return judged;
  });
}

type Open = Seal['open'];

/** Caches decrypted values: a batch is mostly for a few applications, and decrypting a secret costs as much as signing with it. */
function openOnce(seal: Seal): Open {
  const opened = new Map<string, string>();
  return (sealed, as) => {
    const key = `${JSON.stringify(as)} ${Buffer.from(sealed).toString('latin1')}`;
    const secret = opened.get(key) ?? seal.open(sealed, as);
    opened.set(key, secret);
    return secret;
  };
}

/**
 * Returns the outcome of a call that waits for a change or a confirmation of the callback URL, which make it due at once. Until then it follows
 * the schedule of every other call, and ends with it. It is no failure of the receiver.
 */
function waitForCallback(work: ClaimedWork, errorClass: string, detail: Record<string, unknown>): Outcome {
  const outcome = { success: false, charged: false, waitsFor: forCallback, errorClass, detail } as const;
  const delaySeconds = findRetryDelay(work.attempts + 1, undefined);
  return delaySeconds === undefined ? { ...outcome, state: 'failed' } : { ...outcome, state: 'waiting', delaySeconds };
}

function judge(work: ClaimedWork, result: OutboundResult, request: object, answersFrom: AllowList, now: number): Outcome {
  const { status, error, address, timings } = result;
  const answer = keepAnswer(result, { address: address ?? null, sealed: work.payload.sealed === true, answersFrom });
  const detail = {
    request,
    status: status ?? null,
    ...(answer ? { responseHeaders: answer.headers } : {}),
    address: address ?? null,
    timings,
    ...(error ? { message: error.message } : {}),
  };
  const alarm = error && alarming.includes(error.class) ? { alarming: true as const } : {};
  if (error?.class === 'plain_http') return waitForCallback(work, error.class, detail);
  const seen = { detail, ...(answer?.response ? { response: answer.response } : {}), ...alarm };
  // The status decides: a receiver that took the event and then fumbled its answer has taken it.
  const success = status !== undefined && status >= 200 && status < 300;
  if (success) return { success, state: 'done', ...seen };
  const errorClass = error?.class ?? (status !== undefined && status >= 300 && status < 400 ? 'redirect' : `status_${status}`);
  if (status === 410) return { success, state: 'failed', errorClass, disableLane: 'the receiver answered 410 Gone', ...seen };
  const delaySeconds = findRetryDelay(work.attempts + 1, parseRetryAfter(result.headers['retry-after'], now));
  return delaySeconds === undefined ? { success, state: 'failed', errorClass, ...seen } : { success, state: 'waiting', delaySeconds, errorClass, ...seen };
}
