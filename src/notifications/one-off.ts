// In charge of calls to a URL that came with one request: data that is ready, the outcome of a writeback.
import type { Sql } from '../db/connect.ts';
import { parseTarget } from '../http/address-guard.ts';
import { enqueue } from '../outbox/enqueue.ts';
import { callKind, callsAtOnce } from './webhooks.ts';

export type OneOff = { estab: string; rp: string; event: 'availability' | 'writeback'; url: string; body: Record<string, unknown> };

export const oneOffLane = (rp: string, origin: string) => `one-off ${rp} ${origin}`;

/** The bytes are made here, once; every attempt sends and signs the same. */
export async function enqueueOneOff(sql: Sql, { estab, rp, event, url, body }: OneOff): Promise<string> {
  const { origin, hostname } = parseTarget(url);
  return enqueue(sql, {
    estab,
    rp,
    kind: callKind,
    lane: { key: oneOffLane(rp, origin), host: hostname, width: callsAtOnce, lasting: false },
    payload: { event, method: 'POST', url, contentType: 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  });
}
