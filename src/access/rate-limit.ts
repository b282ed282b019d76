// In charge of the request limit per credential and minute, and of what answers say of it. Each process counts for itself and exchanges counts
// with the others through the database about once a second: no request waits for it. A process misses what the others have counted since they
// last told, and what they told since it last asked: so much goes beyond the limit, about two seconds of what the others take.
import type { FastifyInstance } from 'fastify';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from '../db/connect.ts';
import { SchoolbellError } from '../errors.ts';

export type RateLimit = {
  /** Once for each request, however often its caller is looked up. */
  count(request: object, credential: string): void;
  /** How the limit stood after this request was counted; undefined where none was. */
  standing(request: object): Standing | undefined;
  exchange(): Promise<void>;
  close(): Promise<void>;
};

export type Standing = { limit: number; remaining: number; resetSeconds: number };

type Count = { minute: number; pending: number; known: number };

const minuteMs = 60_000;
const exchangeEveryMs = 1_000;
/** A credential that is new to this process in this minute may have been counted by others. */
const exchangeSoonMs = 50;

export function createRateLimit(db: Db, perMinute: number, now: () => number = Date.now): RateLimit {
  const counts = new Map<string, Count>();
  const standings = new WeakMap<object, Standing & { counted: boolean }>();
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
  let soon: NodeJS.Timeout | undefined;
  const exchangeSoon = () => {
    soon ??= setTimeout(() => {
      soon = undefined;
      void exchangeOnce().catch(() => {});
    }, exchangeSoonMs).unref();
  };

  return {
    count(request, credential) {
      if (perMinute === 0 || standings.get(request)?.counted) return;
      const minute = startOfMinute(now());
      let count = counts.get(credential);
      if (!count || count.minute !== minute) {
        counts.set(credential, (count = { minute, pending: 0, known: 0 }));
        exchangeSoon();
      }
      const resetSeconds = Math.max(1, Math.ceil((minute + minuteMs - now()) / 1000));
      const taken = count.known + count.pending;
      standings.set(request, { limit: perMinute, remaining: Math.max(0, perMinute - taken - 1), resetSeconds, counted: taken < perMinute });
      if (taken >= perMinute) {
        throw new SchoolbellError('too_many_requests', `More than ${perMinute} requests in this minute. Wait and try again.`, {
          headers: { 'retry-after': String(resetSeconds) },
        });
      }
      count.pending += 1;
    },
    standing: (request) => standings.get(request),
    exchange: exchangeOnce,
    async close() {
      clearInterval(timer);
      clearTimeout(soon);
      // What was counted since the last one is the others' to know: whoever is restarted gives nobody a new minute.
      const last = (exchanging ?? Promise.resolve()).catch(() => {}).then(exchangeOnce);
      await Promise.race([last.catch(() => {}), pause(exchangeEveryMs, undefined, { ref: false })]);
    },
  };
}

/** Every answer to a call that was counted says how many more there may be, whatever else became of it. */
export function tellStanding(app: FastifyInstance, limit: RateLimit): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const standing = limit.standing(request);
    if (standing)
      reply.headers({
        'ratelimit-limit': standing.limit,
        'ratelimit-remaining': standing.remaining,
        'ratelimit-reset': standing.resetSeconds,
      });
    done(null, payload);
  });
}

function startOfMinute(instant: number): number {
  return Math.floor(instant / minuteMs) * minuteMs;
}
