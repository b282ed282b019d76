// In charge of calls to inboxes of this service: written there without leaving the process, so that they arrive although the
// service has a private address; every other call goes out as ever.
import type { Seal } from '../../access/seal.ts';
import type { Db } from '../../db/connect.ts';
import { outboundLimits, type Outbound, type OutboundCall, type OutboundResult } from '../../http/outbound.ts';
import { findInbox } from './address.ts';
import { answerOf, noRoom, type InboxReply } from './answer.ts';
import { createHold, ownHoldLimits, type HoldLimits } from './hold.ts';
import { receiveCall } from './receive.ts';

/** limits: how long callers are kept waiting; a call that is never answered is given up as one over the network is. */
export function createHandOver(db: Db, seal: Seal, publicUrl: string, outbound: Outbound, limits: HoldLimits = ownHoldLimits): Outbound {
  const hold = createHold(limits);
  const ending = new AbortController();
  const longestMs = Math.min(limits.neverMs, outboundLimits.totalMs);

  async function handOver(key: string, path: string, { method, headers, body }: OutboundCall): Promise<OutboundResult> {
    const started = performance.now();
    const received = await receiveCall(db, seal, key, { method, path, headers, body: body ?? new Uint8Array(), address: null });
    const reply = answerOf(received);
    const waits = received.kind === 'taken' && (received.answer === 'slow' || received.answer === 'never');
    const held = !waits || (await hold(key, reply ? limits.slowMs : longestMs, ending.signal));
    return describe(held ? reply : noRoom, performance.now() - started);
  }

  return {
    call(call) {
      const inbox = findInbox(publicUrl, call.url);
      return inbox ? handOver(inbox.key, inbox.path, call) : outbound.call(call);
    },
    async close() {
      ending.abort();
      await outbound.close();
    },
  };
}

function describe(reply: InboxReply | undefined, total: number): OutboundResult {
  const common = { address: undefined, timings: { total } };
  if (!reply) {
    const message = `no complete answer within ${outboundLimits.totalMs / 1000} s`;
    return { status: undefined, headers: {}, response: Buffer.alloc(0), error: { class: 'timeout', message }, ...common };
  }
  return { status: reply.status, headers: { ...reply.headers }, response: Buffer.from(reply.text), error: undefined, ...common };
}
