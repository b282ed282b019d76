// In charge of the request limit per credential and minute. Each process counts for itself and exchanges counts
// with the others through the database about once a second: no request waits for it, and the sum is at most a
// second old.
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

export type RateLimit = { count(credential: string): void; exchange(): Promise<void>; close(): Promise<void> };

type Count = { minute: number; pending: number; known: number };

const minuteMs = 60_000;
const exchangeEveryMs = 1_000;

export function createRateLimit(db: Db, perMinute: number, now: () => number = Date.now): RateLimit {
  const counts = new Map<string, Count>();
  let exchanging: Promise<void> | undefined;

  async function exchange(): Promise<void> {
    const sent = [...counts]
      .filter(([, count]) => count.pending > 0)
      .map(([credential, count]) => ({ credential, minute: count.minute, pending: count.pending }));
    for (const [credential, count] of counts) if (count.minute < startOfMinute(now())) counts.delete(credential);
    if (sent.length === 0) return;
    const rows = await db<{ credential: string; count: number }[]>`
      insert into request_count (credential, minute, count)
      select credential, to_timestamp(minute / 1000.0), pending
      from unnest(${sent.map((one) => one.credential)}::text[], ${sent.map((one) => one.minute)}::bigint[],
        ${sent.map((one) => one.pending)}::int[]) as given (credential, minute, pending)
      order by credential
      on conflict (credential, minute) do update set count = request_count.count + excluded.count
      returning credential, count`;
    for (const { credential, count } of rows) {
      const local = counts.get(credential);
      const shared = sent.find((one) => one.credential === credential);
      if (!local || !shared || local.minute !== shared.minute) continue;
      local.known = count;
      local.pending -= shared.pending;
    }
  }

  /** One at a time, so that no count is sent twice. */
  const exchangeOnce = () => (exchanging ??= exchange().finally(() => (exchanging = undefined)));
  // When the database is away, requests fail for that reason already, and the counts wait.
  const timer = setInterval(() => void exchangeOnce().catch(() => {}), exchangeEveryMs).unref();

  return {
    count(credential) {
      if (perMinute === 0) return;
      const minute = startOfMinute(now());
      let count = counts.get(credential);
      if (!count || count.minute !== minute) counts.set(credential, (count = { minute, pending: 0, known: 0 }));
      if (count.known + count.pending >= perMinute) {
        const wait = Math.max(1, Math.ceil((minute + minuteMs - now()) / 1000));
        throw new SchoolbellError('too_many_requests', `More than ${perMinute} requests in this minute. Wait and try again.`, {
          headers: { 'retry-after': String(wait) },
        });
      }
      count.pending += 1;
    },
    exchange: exchangeOnce,
    async close() {
      clearInterval(timer);
      await Promise.race([exchanging?.catch(() => {}), pause(exchangeEveryMs, undefined, { ref: false })]);
    },
  };
}

function startOfMinute(instant: number): number {
  return Math.floor(instant / minuteMs) * minuteMs;
}
